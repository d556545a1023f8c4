"""`inglenook search` and `inglenook pull`: the model hub from the terminal.

A service that runs already does the work, so that one file is never fetched twice at once; otherwise one of our own, for as long
as it takes. What is found goes to stdout, progress to stderr.
"""

import argparse
import json
import sys
from contextlib import AsyncExitStack, aclosing

import msgspec

from engine.api.hub import DownloadChange, DownloadInfo, DownloadRequest, HubCard, HubModel
from engine.cli.loop_thread import LoopThread
from engine.cli.setup import prepare
from engine.cli.temporary_service import client_of
from engine.client.client import Client
from engine.errors import EngineError, HubError
from engine.hardware.units import gigabytes

_CLEAR_LINE = "\r\x1b[2K"
_MEGABYTE = 1e6


def search(args: argparse.Namespace) -> int:
    """List repositories, or the files of one (`owner/name`)."""
    context = prepare(args)
    with LoopThread() as loop:
        stack = AsyncExitStack()
        try:
            client = loop.run(stack.enter_async_context(client_of(context)))
            if args.text.count("/") == 1 and " " not in args.text:
                _print_card(loop.run(client.hub.card(args.text)), as_json=args.json)
            else:
                page = loop.run(client.hub.search(args.text, args.sort))
                _print_models(page.models, as_json=args.json)
                if page.offline:
                    sys.stderr.write("Offline: these are the models that the app knows.\n")
        finally:
            loop.run(stack.aclose())
    return 0


def pull(args: argparse.Namespace) -> int:
    """Download one model; Ctrl-C pauses it, and the next `pull` goes on."""
    context = prepare(args)
    repo, _, name = args.model.partition(":")
    with LoopThread() as loop:
        stack = AsyncExitStack()
        try:
            client = loop.run(stack.enter_async_context(client_of(context)))
            started = loop.run(client.hub.download(DownloadRequest(repo, name, args.revision)))
            try:
                ended = loop.run(_follow(client, started))
            except KeyboardInterrupt:
                loop.run(client.hub.change(started.id, DownloadChange(action="pause")))
                sys.stderr.write(f"{_CLEAR_LINE}Paused; `inglenook pull {args.model}` goes on.\n")
                return 130
        finally:
            loop.run(stack.aclose())
    sys.stderr.write(_CLEAR_LINE if sys.stderr.isatty() else "")
    if ended.state != "done":
        raise HubError(ended.problem or "The download did not end.")
    print(
        msgspec.json.encode(ended).decode() if args.json else f"Downloaded {ended.model or repo}."
    )
    return 0


async def _follow(client: Client, started: DownloadInfo) -> DownloadInfo:
    if started.state == "paused":
        await client.hub.change(started.id, DownloadChange(action="resume"))
    async with aclosing(client.hub.download_changes()) as changes:
        async for news in changes:
            info = next((d for d in news.downloads if d.id == started.id), None)
            if info is None:
                raise EngineError("The download was cancelled by another program.")
            if info.state in ("done", "failed") or (info.state == "paused" and info.problem):
                return info
            _show(info)
    raise AssertionError("the stream of changes never ends")


def _show(info: DownloadInfo) -> None:
    if not sys.stderr.isatty():
        return
    share = info.done_bytes / max(1, info.total_bytes)
    parts = [f"{info.state} {share:.0%} of {gigabytes(info.total_bytes)}"]
    if info.bytes_per_s:
        parts.append(f"{info.bytes_per_s / _MEGABYTE:.1f} MB/s")
    if info.left_s is not None:
        parts.append(f"{round(info.left_s) // 60}:{round(info.left_s) % 60:02} left")
    if info.problem:
        parts.append(info.problem)
    sys.stderr.write(_CLEAR_LINE + " · ".join(parts)[:200])
    sys.stderr.flush()


def _print_models(models: list[HubModel], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(msgspec.to_builtins(models), indent=2))
        return
    width = max((len(model.repo) for model in models), default=0)
    for model in models:
        billions = f"{model.parameters / 1e9:.1f}B" if model.parameters else ""
        gated = "licence to accept" if model.gated else ""
        facts = [billions, model.architecture, model.license, gated, model.about]
        print(f"{model.repo:<{width}}  {'  '.join(fact for fact in facts if fact)}")
    if not models:
        print("Nothing was found.")


def _print_card(card: HubCard, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(msgspec.to_builtins(card), indent=2))
        return
    print(card.url)
    if card.problem:
        print(card.problem)
    width = max((len(choice.name) for choice in card.choices), default=0)
    for choice in card.choices:
        fit = choice.fit
        facts = [choice.quantization, gigabytes(choice.size_bytes)]
        if fit is not None and fit.verdict != "unknown":
            words = {"fits": "fits", "shorter": "fits with a shorter context", "no": "does not fit"}
            facts.append(f"{words[fit.verdict]}, needs {gigabytes(fit.needed_bytes)}")
            if fit.writes:
                facts.append(f"about {fit.writes:.0f} tokens/s")
        if choice.recommended:
            facts.append(f"recommended: {choice.recommended}")
        print(f"{choice.name:<{width}}  {'  '.join(fact for fact in facts if fact)}")
