"""Tasks that are kept, named, and never fail in silence."""

import asyncio
import gc
import logging

import pytest

from engine.aio import spawn


def test_a_task_that_nobody_holds_still_ends() -> None:
    done: list[str] = []

    async def work() -> None:
        await asyncio.sleep(0.01)
        done.append("yes")

    async def main() -> None:
        spawn(work(), name="work")
        gc.collect()
        await asyncio.sleep(0.05)

    asyncio.run(main())
    assert done == ["yes"]


def test_a_failure_is_logged_with_the_task_s_name(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ValueError("broken")

    async def main() -> None:
        await asyncio.wait([spawn(fail(), name="the culprit")])

    with caplog.at_level(logging.ERROR):
        asyncio.run(main())
    assert "the culprit" in caplog.text
    assert "broken" in caplog.text
