"""The worker's hot loop: drain → schedule → decode → commit → emit.

Zone: worker process, main thread, which owns the backend. Messages come from `engine.worker.inbox`;
a Step frame leaves for all answers together, at most fifty a second (`engine.worker.outgoing`).
"""

import gc
import logging
import time

from engine.backends.base import Backend
from engine.ipc.channel import Channel
from engine.ipc.messages import Abort, Delta, Exit, Failed, Forget, Reading
from engine.sampling.sampler import Sampled
from engine.scheduler.kv_store import KvStore
from engine.scheduler.scheduler import Scheduler, Work
from engine.scheduler.sequence import HINT, Sequence
from engine.scheduler.step import (
    PrefillProgress,
    SampledTokens,
    SequenceFailed,
    StepEvent,
    Stepper,
)
from engine.speculative.speculation import Speculation
from engine.types import FinishReason, Timings
from engine.worker.emit import Emission, Emitter
from engine.worker.inbox import Inbox
from engine.worker.intake import Admitted
from engine.worker.outgoing import Outgoing
from engine.worker.tuning import Tuning

logger = logging.getLogger(__name__)

_LAST_WRITE_S = 3.0
"""How long a worker that leaves waits for the disk."""


class Loop:
    """Serves requests until told to leave."""

    def __init__(
        self,
        backend: Backend,
        channel: Channel,
        inbox: Inbox,
        *,
        tuning: Tuning,
        speculation: Speculation | None = None,
        store: KvStore | None = None,
    ) -> None:
        self._backend = backend
        self._channel = channel
        self._inbox = inbox
        self._outgoing = Outgoing(channel)
        self._tuning = tuning
        self._scheduler = Scheduler(
            backend, pacing=tuning.pacing, speculation=speculation, store=store
        )
        self._stepper = Stepper(
            self._scheduler,
            backend,
            compute=tuning.compute,
            speculation=speculation,
            about_to_decode=self._about_to_decode,
        )
        self._emitters: dict[Sequence, Emitter] = {}
        self._announce: set[Sequence] = set()
        """Resumed sequences whose re-reading is not yet reported."""

    def run(self) -> None:
        """Until Exit or a closed pipe. A collection in mid-answer would be a pause: they wait for idle."""
        gc.freeze()
        gc.disable()
        while True:
            if self._scheduler.idle:
                gc.collect()
            wait = self._scheduler.idle and not self._use_spare_time()
            for message in self._inbox.take(wait=wait):
                if isinstance(message, Exit):
                    self._scheduler.prefixes.close(_LAST_WRITE_S)
                    return
                self._handle(message)
            events = self._stepper.step()
            self._inbox.spare, self._inbox.reading = None, frozenset()
            if events:
                self._emit(events)

    def _use_spare_time(self) -> bool:
        """Do a little of what can wait; False when there is nothing. A request that comes stops it."""
        prefixes = self._scheduler.prefixes
        if prefixes.keep_one():
            return True
        self._inbox.spare = ""
        worked = self._tuning.measure(prefixes.slots.empty)
        self._inbox.spare = None
        return worked

    def _handle(self, message: Admitted | Abort | Forget) -> None:
        if isinstance(message, Forget):
            self._scheduler.prefixes.forget(message.key)
            return
        if isinstance(message, Abort):
            self._outgoing.drop(message.request)
            for sequence in self._scheduler.abort(message.request):
                self._forget(sequence)
            return
        self._channel.send(message.accepted)
        for sequence, emitter in message.sequences:
            self._emitters[sequence] = emitter
            if message.resumed:
                self._announce.add(sequence)
            self._scheduler.add(sequence)

    def _about_to_decode(self, work: list[Work]) -> None:
        first = work[0].sequence
        if first.priority >= HINT:
            self._inbox.spare = first.request
        else:
            self._inbox.reading = frozenset(w.sequence.request for w in work if w.is_reading)
        if not first.is_answering:
            self._outgoing.flush()  # a chunk of a prompt takes long
        if self._announce:
            for item in work:
                if item.sequence in self._announce:
                    self._announce.discard(item.sequence)
                    self._channel.send(_reading(item.sequence))

    def _emit(self, events: list[StepEvent]) -> None:
        deltas: list[Delta] = []
        for event in events:
            sequence = event.sequence
            if sequence not in self._emitters:
                continue  # another choice of its request has failed in this very step
            match event:
                case SampledTokens():
                    deltas.append(self._push(sequence, event.sampled))
                case PrefillProgress():
                    self._channel.send(_reading(sequence))
                case SequenceFailed():
                    self._outgoing.flush()
                    self._channel.send(Failed(sequence.request, event.error.to_wire()))
                    for gone in self._scheduler.abort(sequence.request):
                        self._forget(gone)
                case _:
                    deltas.append(self._delta(sequence, [], self._emitters[sequence].end()))
        if deltas:
            self._outgoing.add(deltas)

    def _push(self, sequence: Sequence, sampled: tuple[Sampled, ...]) -> Delta:
        emitter = self._emitters[sequence]
        whole, tokens = Emission(), []
        for one in sampled:
            emission = emitter.push(one)
            tokens.append(one.token)
            whole.content += emission.content
            whole.reasoning += emission.reasoning
            whole.logprobs += emission.logprobs
            if emission.finish is not None:
                whole.finish = emission.finish
                break
        if rest := len(sampled) - len(tokens):
            self._scheduler.cut(sequence, rest)  # a draft went on beyond the end
        return self._delta(sequence, tokens, whole)

    def _delta(self, sequence: Sequence, tokens: list[int], emission: Emission) -> Delta:
        finish: FinishReason | None = emission.finish
        timings = None
        if finish is not None:
            timings = _timings(sequence)
            self._scheduler.finish(sequence)
            self._forget(sequence)
        return Delta(
            sequence.request,
            sequence.choice,
            tokens,
            emission.content,
            emission.reasoning,
            list(emission.logprobs),
            finish,
            timings,
        )

    def _forget(self, sequence: Sequence) -> None:
        self._emitters.pop(sequence, None)
        self._announce.discard(sequence)


def _reading(sequence: Sequence) -> Reading:
    return Reading(
        sequence.request, sequence.num_computed, len(sequence.tokens), sequence.num_reused
    )


def _timings(sequence: Sequence) -> Timings:
    now = time.monotonic()
    admitted = sequence.admitted_at or now
    first = sequence.first_token_at or now
    return Timings(
        queue_s=admitted - sequence.created_at,
        prefill_s=first - admitted,
        decode_s=now - first,
        prompt_tokens=sequence.num_prompt,
        reused_tokens=sequence.num_reused,
        completion_tokens=sequence.num_answer,
        drafted_tokens=sequence.num_drafted,
        accepted_tokens=sequence.num_accepted,
        restored_tokens=min(sequence.num_restored, sequence.num_reused),
        restore_s=sequence.restore_s,
        paced_by=sequence.paced_by,
    )
