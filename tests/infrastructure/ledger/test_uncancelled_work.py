"""Work that goes on although nobody waits for it any more."""

import asyncio
import gc
import sys
from contextlib import suppress

import pytest

from quorum.domain.errors import LedgerError
from quorum.infrastructure.store.sql.session_locks import wait_to_the_end


async def fails_at_the_end_of_the_loop() -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise LedgerError("the record is closed") from None


def test_a_failure_that_nobody_waits_for_is_not_printed_when_the_loop_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def leave_it() -> None:
        waiting = asyncio.create_task(wait_to_the_end(fails_at_the_end_of_the_loop()))
        for _ in range(3):
            await asyncio.sleep(0)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting

    asyncio.run(leave_it())

    assert caplog.records == []


async def test_who_waits_gets_the_result_or_the_failure() -> None:
    async def fails() -> None:
        raise LedgerError("no room")

    async def answers() -> int:
        return 7

    assert await wait_to_the_end(answers()) == 7
    with pytest.raises(LedgerError, match="no room"):
        await wait_to_the_end(fails())


@pytest.mark.long(after=1)
@pytest.mark.parametrize("steps", range(5))
def test_work_that_the_end_of_the_loop_overtakes_leaves_no_warning(
    steps: int, recwarn: pytest.WarningsRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    unraisable: list[object] = []

    async def work() -> None:
        await asyncio.Event().wait()

    async def wait() -> None:
        await wait_to_the_end(work())

    async def leave_it() -> None:
        waiting = asyncio.create_task(wait())
        for _ in range(steps):
            await asyncio.sleep(0)
        if steps:
            waiting.cancel()

    before, sys.unraisablehook = sys.unraisablehook, unraisable.append
    try:
        asyncio.run(leave_it())
        gc.collect()
    finally:
        sys.unraisablehook = before

    assert (unraisable, list(recwarn), caplog.records) == ([], [], [])
