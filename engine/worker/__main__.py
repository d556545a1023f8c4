"""Entry of a worker process: `python -m engine.worker`. Frames on stdin and stdout, log on stderr."""

import logging
import os
import sys
import time

import psutil

from engine import logs
from engine.backends.registry import OpenedModel, OpenRequest, open_model
from engine.errors import EngineError
from engine.ipc.channel import Channel
from engine.ipc.messages import Failed, Load, Loaded, LoadProgress
from engine.text.template import ChatTemplate, choose_template
from engine.text.tokenizer import Tokenizer
from engine.worker.inbox import Inbox
from engine.worker.intake import Intake
from engine.worker.keeping import make_store
from engine.worker.loop import Loop
from engine.worker.speculating import make_speculation
from engine.worker.tuning import Tuning

logger = logging.getLogger(__name__)

_SWITCH_INTERVAL_S = 0.0005
"""How long the loop may wait for the GIL while a side thread computes (Python's default: 5 ms)."""
_PROGRESS_INTERVAL_S = 0.05


def main() -> int:
    """Load what the first frame names, then serve until the pipe closes."""
    logs.setup()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    channel = Channel.over_standard_streams()
    inbox = Inbox(channel)
    inbox.start_reader()
    load = inbox.first_load()
    started = time.monotonic()
    notes: list[str] = []
    try:
        request = _request(load)
        opened = _open(load, request, channel)
        template, notice = _template(opened.tokenizer, load.chat_template)
        store = make_store(load, opened.backend.caps)
        tuning = Tuning(load, opened.backend, channel.send)
        speculation = make_speculation(load, opened, request, tuning.costs, notes)
    except EngineError as error:
        logger.warning("load failed: %s", error)
        channel.send(Failed("", error.to_wire()))
        return 0
    caps = opened.backend.caps
    intake = Intake(opened.tokenizer, template, caps, notice or "")
    inbox.start_intake(
        intake, opened.backend.request_abort, store.read_ahead if store is not None else None
    )
    channel.send(
        Loaded(
            n_ctx=caps.n_ctx_seq,
            n_vocab=caps.n_vocab,
            description=opened.description,
            load_seconds=time.monotonic() - started,
            resident_bytes=psutil.Process().memory_info().rss,
            notes=notes,
        )
    )
    Loop(opened.backend, channel, inbox, tuning=tuning, speculation=speculation, store=store).run()
    opened.backend.close()
    return 0


def _template(tokenizer: Tokenizer, chosen: str | None) -> tuple[ChatTemplate, str | None]:
    bos, eos = tokenizer.bos, tokenizer.eos
    return choose_template(
        tokenizer.chat_template,
        chosen,
        bos_token="" if bos is None else tokenizer.token_text(bos),
        eos_token="" if eos is None else tokenizer.token_text(eos),
    )


def _request(load: Load) -> OpenRequest:
    return OpenRequest(
        path=load.path,
        context=load.context,
        num_sequences=load.num_sequences,
        decode_threads=load.decode_threads,
        prefill_threads=load.prefill_threads,
        exact=load.exact,
        kv_type=load.kv_type,
        flash_attention=load.flash_attention,
        pads_from=load.pads_from,
        gpu=load.gpu,
        options=load.options,
    )


def _open(load: Load, request: OpenRequest, channel: Channel) -> OpenedModel:
    last_sent = 0.0

    def progress(fraction: float) -> None:
        nonlocal last_sent
        now = time.monotonic()
        if now - last_sent >= _PROGRESS_INTERVAL_S or fraction >= 1:
            last_sent = now
            channel.send(LoadProgress(fraction))

    return open_model(load.backend, request, progress)


if __name__ == "__main__":
    # Not sys.exit: a daemon thread inside native code would keep the interpreter from finishing.
    code = main()
    logging.shutdown()
    os._exit(code)
