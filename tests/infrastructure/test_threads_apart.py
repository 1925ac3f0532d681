"""Work of some tasks in threads of their own, which have other files before them."""

from __future__ import annotations

import asyncio
import threading

from quorum.application.cancellation import run_off_loop
from quorum.infrastructure.blocking import ThreadsApart, look_where_we_work, run_in_thread, sees_other_files


def name_thread() -> str:
    return threading.current_thread().name


def build_apart() -> tuple[ThreadsApart, set[str]]:
    """Threads, and the names of those that have entered."""
    entered: set[str] = set()
    return ThreadsApart(lambda: entered.add(name_thread()), "apart"), entered


async def list_threads() -> set[str]:
    """Those that work of the current task lands in, by all ways that there are."""
    return {
        await asyncio.to_thread(name_thread),
        await run_in_thread(lambda _stop: name_thread()),
        await run_off_loop(name_thread),
        look_where_we_work(name_thread),
        await asyncio.to_thread(lambda: look_where_we_work(name_thread)),
        await asyncio.create_task(asyncio.to_thread(name_thread)),
    }


async def test_all_work_of_a_task_is_done_where_it_has_its_files_and_that_of_others_is_not() -> None:
    apart, entered = build_apart()

    async def work_apart() -> set[str]:
        apart.use()
        assert sees_other_files()
        return await list_threads()

    theirs, others = await asyncio.gather(work_apart(), list_threads())

    assert theirs <= entered
    assert not others & entered
    assert not sees_other_files()
    await asyncio.to_thread(apart.close)


async def test_what_is_left_to_do_after_the_end_is_done_in_the_threads_of_the_process() -> None:
    apart, entered = build_apart()

    async def work_apart() -> set[str]:
        apart.use()
        task = asyncio.create_task(is_closed.wait())
        await asyncio.to_thread(name_thread)
        ThreadsApart.leave()
        await asyncio.to_thread(apart.close)
        is_closed.set()
        await task
        return await list_threads()

    is_closed = asyncio.Event()

    assert not await work_apart() & entered


async def test_threads_that_cannot_get_there_do_nothing() -> None:
    def fail() -> None:
        raise OSError("gone")

    apart, done = ThreadsApart(fail, "apart"), list[str]()

    async def work_apart() -> BaseException | None:
        apart.use()
        (result,) = await asyncio.gather(asyncio.to_thread(done.append, "work"), return_exceptions=True)
        return result

    assert isinstance(await asyncio.create_task(work_apart()), Exception)
    assert done == []
    await asyncio.to_thread(apart.close)
