"""`inglenook chat`: one question, or a conversation in the terminal.

Runs the service in this process on a free loopback port with a key of its own, and is its client, as
the window will be. Answers go to stdout, everything else to stderr.
"""

import argparse
import importlib
import sys
from contextlib import AsyncExitStack

from engine.api.requests import ChatRequest
from engine.cli.answer_view import AnswerView
from engine.cli.conversation import Conversation
from engine.cli.loop_thread import LoopThread
from engine.cli.setup import Context, ensure_a_model, prepare
from engine.cli.temporary_service import client_of
from engine.client.client import Client
from engine.errors import ContextOverflow, EngineError, InvalidRequest

_HELP = "Ctrl-C stops an answer, Ctrl-D leaves."


def run(args: argparse.Namespace) -> int:
    """Answer one question or talk until the user leaves."""
    prompt = getattr(args, "prompt", None)
    if prompt is None and not sys.stdin.isatty():
        prompt = sys.stdin.read()
    if prompt is not None and not prompt.strip():
        raise InvalidRequest(
            "There is no question.", hint='Ask one: `inglenook chat "Name three colours."`'
        )
    context = prepare(args)
    ensure_a_model(context)
    model = _choose_model(context, getattr(args, "model", None))
    with LoopThread() as loop:
        stack = AsyncExitStack()
        try:
            client = loop.run(stack.enter_async_context(client_of(context, join=False)))
            talk = _Talk(loop, client, args, model)
            if prompt is not None:
                return talk.ask_once(prompt)
            return talk.converse()
        finally:
            loop.run(stack.aclose())


def _choose_model(context: Context, wanted: str | None) -> str:
    """The one asked for, else the newest that can be used."""
    if wanted:
        return context.library.get(wanted).id
    models = context.library.models()
    usable = [model for model in models if model.problem is None]
    if not usable:
        problem = next((model.problem for model in models if model.problem), "")
        raise InvalidRequest(
            f"No model can be used. {problem}", hint="See `inglenook models list`."
        )
    return max(usable, key=lambda model: model.modified).id


class _Talk:
    """The terminal's side of a conversation."""

    def __init__(
        self, loop: LoopThread, client: Client, args: argparse.Namespace, model: str
    ) -> None:
        self._loop = loop
        self._client = client
        self._args = args
        self._model = model
        self._conversation = Conversation(getattr(args, "system", None))

    def ask_once(self, prompt: str) -> int:
        """One question; the exit code says whether the answer is whole."""
        return 0 if self._ask(prompt) else 130

    def converse(self) -> int:
        """Until Ctrl-D."""
        _enable_line_editing()
        sys.stderr.write(f"{self._model}. {_HELP}\n")
        while True:
            try:
                return self._converse()
            except KeyboardInterrupt:  # another one, while the last was being handled
                continue

    def _converse(self) -> int:
        while True:
            try:
                line = input("> ")
                if line.strip():
                    self._ask(line)
            except EngineError as error:
                sys.stderr.write(f"{error}\n")
            except EOFError:
                sys.stderr.write("\n")
                return 0
            except KeyboardInterrupt:
                sys.stderr.write("\n")  # gives up the line or the answer, never the program

    def _ask(self, prompt: str) -> bool:
        """Show an answer; False when it was stopped. A full context forgets the oldest exchanges."""
        self._conversation.ask(prompt)
        while True:
            try:
                return self._answer()
            except ContextOverflow as error:
                forgotten = self._conversation.shrink(error.prompt_tokens, error.limit)
                if not forgotten:
                    self._conversation.take_back()
                    raise
                sys.stderr.write(
                    f"The context is full: the oldest {forgotten} exchanges are left out.\n"
                )

    def _answer(self) -> bool:
        """Show one answer and keep what came of it, also if it was stopped or broke off."""
        view = AnswerView()
        try:
            self._loop.run(self._stream(view))
        except KeyboardInterrupt:
            return False
        finally:
            view.end()
            self._conversation.answer(view.content)
        return True

    async def _stream(self, view: AnswerView) -> None:
        args = self._args
        request = ChatRequest(
            messages=self._conversation.messages,
            model=self._model,
            max_tokens=getattr(args, "max_tokens", None),
            temperature=getattr(args, "temperature", None),
            seed=getattr(args, "seed", None),
        )
        async with self._client.chat(request) as stream:
            async for event in stream:
                view.show(event)


def _enable_line_editing() -> None:
    """Arrow keys and history in `input`, where the platform has readline."""
    try:
        importlib.import_module("readline")
    except ImportError:
        return
