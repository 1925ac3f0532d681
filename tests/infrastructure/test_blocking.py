from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest

from quorum.domain.errors import ToolError
from quorum.infrastructure import blocking
from quorum.infrastructure.blocking import Stop, run_in_thread
from tests.infrastructure.tools.calling import TestControls

_PATIENCE = 120


class Work:
    """Work in a thread that a test can hold and let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.released = threading.Event()
        self.ended = False

    def hold(self) -> None:
        self.begun.set()
        assert self.released.wait(_PATIENCE)
        self.ended = True

    async def running(self) -> None:
        assert await asyncio.to_thread(self.begun.wait, _PATIENCE)


async def test_the_result_of_the_work_is_returned():
    assert await run_in_thread(lambda _stop: 42) == 42


async def test_an_error_of_the_work_is_raised():
    def fail(_stop: Stop) -> None:
        raise ToolError("no")

    with pytest.raises(ToolError, match="no"):
        await run_in_thread(fail)


async def test_work_whose_effect_is_done_returns_it_although_it_was_cancelled():
    work = Work()

    def do(_stop: Stop) -> str:
        work.hold()
        return "done"

    task = asyncio.create_task(run_in_thread(do))
    await work.running()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    work.released.set()

    assert await task == "done"


async def test_cancelled_work_is_waited_for_until_it_noticed():
    work = Work()

    def do(stop: Stop) -> None:
        work.hold()
        stop.check()

    task = asyncio.create_task(run_in_thread(do))
    await work.running()
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    work.released.set()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.ended


async def test_work_that_fails_after_a_cancellation_counts_as_cancelled():
    work = Work()

    def do(_stop: Stop) -> None:
        work.hold()
        raise ToolError("no")

    task = asyncio.create_task(run_in_thread(do))
    await work.running()
    task.cancel()
    work.released.set()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_work_of_a_call_that_is_already_cancelled_is_not_begun():
    begun: list[int] = []

    with pytest.raises(asyncio.CancelledError):
        await run_in_thread(lambda _stop: begun.append(1), TestControls(cancelled=True))

    assert begun == []


class Away(Exception):
    """What the server raises in these tests."""


def waited_for() -> blocking.Outage:
    """One that is waited for a minute."""
    outage = blocking.Outage("there")
    outage.patience_secs = 60.0
    return outage


def test_work_is_repeated_until_the_server_answers_and_its_patience_is_at_most_that_of_the_process(monkeypatch):
    monkeypatch.setattr(blocking, "_RETRY_SECS", 0.0)
    tries: list[int] = []

    def answer_third() -> int:
        tries.append(1)
        if len(tries) < 3:
            raise Away
        return len(tries)

    assert waited_for().outlast(answer_third, Away) == 3
    monkeypatch.setattr(blocking.Outage, "most_secs", 0.0)
    tries.clear()
    with pytest.raises(Away):
        waited_for().outlast(answer_third, Away)
    assert len(tries) == 1


def test_tries_that_take_longer_than_the_patience_are_of_one_outage(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(blocking, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=lambda _: None))
    outage, tries = waited_for(), []

    def fail_late() -> None:
        tries.append(now[0])
        now[0] += 100.0
        raise Away

    for _ in range(2):  # the second finds the server waited for long enough
        with pytest.raises(Away):
            outage.outlast(fail_late, Away)
    assert tries == [0.0, 100.0, 200.0]
    now[0] += 1000.0  # nobody asks meanwhile
    with pytest.raises(Away):
        outage.outlast(fail_late, Away)
    assert len(tries) == 5
