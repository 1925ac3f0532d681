"""A program that is asked something: it is gone, with its pipes, when the block that asks it is over."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading

import pytest

from quorum.infrastructure.execution.program import open_program
from tests.support.liveness import is_alive

_ENVIRONMENT = {"PATH": os.environ["PATH"]}


async def pid_said(process: asyncio.subprocess.Process) -> int:
    assert process.stdout is not None
    return int(await process.stdout.readline())


async def test_what_it_prints_is_read_to_its_end() -> None:
    async with open_program(("/bin/sh", "-c", "echo hello; exit 3"), environment=_ENVIRONMENT) as process:
        out, _ = await process.communicate()
    assert (out, process.returncode) == (b"hello\n", 3)


async def test_it_is_killed_at_the_end_of_the_block_with_what_it_started() -> None:
    command = ("/bin/sh", "-c", "sleep 1000 & echo $!; wait")
    async with asyncio.timeout(30):
        async with open_program(command, environment=_ENVIRONMENT) as process:
            child = await pid_said(process)
        while is_alive(child):  # noqa: ASYNC110 - its end is on its way, and nobody tells of it
            await asyncio.sleep(0.01)
    assert process.returncode == -signal.SIGKILL


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python 3.12 takes the status elsewhere")
async def test_the_exit_status_of_one_that_has_just_ended_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, has_ended, may_go = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    take_status = asyncio.ThreadedChildWatcher._do_waitpid  # type: ignore[attr-defined]

    def take_status_later(
        watcher: object, told: asyncio.AbstractEventLoop, pid: int, tell: object, args: object
    ) -> None:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        loop.call_soon_threadsafe(has_ended.set)
        may_go.wait()
        take_status(watcher, told, pid, tell, args)

    monkeypatch.setattr(asyncio.ThreadedChildWatcher, "_do_waitpid", take_status_later)
    async with asyncio.timeout(30):
        async with open_program(("/bin/sh", "-c", "exit 3"), environment=_ENVIRONMENT) as process:
            await has_ended.wait()
            loop.call_soon(may_go.set)
    assert process.returncode == 3


async def test_whoever_left_its_group_and_holds_its_output_is_not_waited_for() -> None:
    command = ("/bin/sh", "-c", "setsid sh -c 'echo $$; exec sleep 1000' & wait")
    async with asyncio.timeout(30):
        async with open_program(command, environment=_ENVIRONMENT) as process:
            stranger = await pid_said(process)
    try:
        assert is_alive(stranger)
        assert process.returncode == -signal.SIGKILL
    finally:
        os.kill(stranger, signal.SIGKILL)


async def test_it_does_not_outlive_whoever_is_cancelled_again_and_again() -> None:
    started = asyncio.Event()
    pids = []

    async def ask() -> None:
        command = ("/bin/sh", "-c", "trap '' TERM; echo $$; while :; do sleep 1; done")
        async with open_program(command, environment=_ENVIRONMENT) as process:
            pids.append(await pid_said(process))
            started.set()
            await process.wait()

    asking = asyncio.create_task(ask())
    async with asyncio.timeout(30):
        await started.wait()
        while not asking.done():
            asking.cancel()
            await asyncio.sleep(0)
    assert asking.cancelled()
    assert not is_alive(pids[0])
    gc.collect()  # a pipe or process that was left open would be warned about here


async def test_one_that_cannot_be_started_is_an_error_of_the_system() -> None:
    with pytest.raises(FileNotFoundError):
        async with open_program(("/no/such/program",), environment=_ENVIRONMENT):
            pass
