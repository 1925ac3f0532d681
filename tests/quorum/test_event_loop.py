"""What a command's event loop leaves in the end."""

from __future__ import annotations

import asyncio
import threading

import pytest

from quorum.event_loop import run_event_loop


async def use_a_thread(result: int) -> int:
    await asyncio.to_thread(int)
    return result


@pytest.fixture
def no_further_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith("asyncio_"):  # one for work
            start(thread)
        else:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)


@pytest.mark.usefixtures("no_further_thread")
def test_that_no_thread_can_wait_for_the_others_does_not_change_how_it_ended() -> None:
    assert run_event_loop(use_a_thread(7)) == 7


@pytest.mark.usefixtures("no_further_thread")
def test_nor_what_it_raised() -> None:
    async def fail() -> None:
        raise ValueError(str(await use_a_thread(7)))

    with pytest.raises(ValueError, match="7"):
        run_event_loop(fail())


def test_any_other_trouble_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    async def break_down(_loop: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(asyncio.BaseEventLoop, "shutdown_default_executor", break_down)

    with pytest.raises(RuntimeError, match="broken"):
        run_event_loop(use_a_thread(7))
