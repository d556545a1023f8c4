"""Whatever arrives, leaves or is preempted: every finished answer is the one it would be alone."""

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.backends.fake import FakeOptions
from engine.scheduler.kv_store import KvStore
from tests.unit.test_scheduler import Engine, alone, sequence

SHARED = list(b"a shared system prompt. ")


@given(
    prompts=st.lists(
        st.tuples(st.booleans(), st.binary(min_size=1, max_size=40)), min_size=1, max_size=7
    ),
    arrivals=st.lists(st.integers(0, 25), min_size=7, max_size=7),
    aborted=st.sets(st.integers(0, 6), max_size=2),
    memory=st.sampled_from(["full", "window", "recurrent"]),
    num_sequences=st.integers(1, 4),
    context=st.sampled_from([90, 140, 2000]),
    chunk=st.sampled_from([1, 5, 64]),
    num_tokens=st.integers(1, 20),
    kept_bytes=st.sampled_from([None, 0, 900, 1 << 20]),
)
@settings(max_examples=60, deadline=None)
def test_schedules_do_not_change_answers(
    prompts, arrivals, aborted, memory, num_sequences, context, chunk, num_tokens, kept_bytes
) -> None:
    engine = Engine(
        context=context,
        num_sequences=num_sequences,
        options=FakeOptions(memory=memory, window=8, n_batch=64),
        prefill_chunk=chunk,
        store=None if kept_bytes is None else KvStore("fake", memory_bytes=kept_bytes),
    )
    wanted = {
        str(i): [*(SHARED if shared else []), *text] for i, (shared, text) in enumerate(prompts)
    }
    for now in range(1500):
        for i, name in enumerate(wanted):
            if arrivals[i] == now:
                engine.scheduler.add(sequence(name, wanted[name]))
            if i in aborted and arrivals[i] + 3 == now:
                engine.scheduler.abort(name)
        if now > max(arrivals) + 3 and engine.scheduler.idle:
            break
        engine.step(num_tokens)
        assert sum(map(len, engine.backend._seqs)) <= context
    assert engine.scheduler.idle
    engine.scheduler.slots.check()
    for i, (name, prompt) in enumerate(wanted.items()):
        answer = engine.answers.get((name, 0), [])
        assert answer == alone(sequence(name, prompt), num_tokens)[: len(answer)]
        assert i in aborted or len(answer) == num_tokens
