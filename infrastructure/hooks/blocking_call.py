"""Plain functions of hooks: run in a thread that nobody has to wait for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

_Result = TypeVar("_Result")


async def run_in_daemon_thread(work: Callable[[], _Result]) -> _Result:
    """Run `work` in a thread of its own and wait for its end.

    Cancelled, it leaves the thread to itself: a function that hangs can hold up neither the turn nor, since
    the thread is a daemon, the end of the program. What it still answers is dropped.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[_Result] = loop.create_future()

    def settle(result: _Result | None, error: BaseException | None) -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result: _Result | None = None
        error: BaseException | None = None
        try:
            result = work()
        except StopIteration as stop:  # a future cannot carry it
            error = RuntimeError(f"raised StopIteration: {stop}")
        except BaseException as raised:  # noqa: BLE001 - it travels to whoever awaits the answer
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=copy_context().run, args=(run,), name="hook", daemon=True).start()
    return await answer
