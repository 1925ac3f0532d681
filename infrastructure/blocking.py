"""Blocking work of tools: in a thread that is never abandoned, and that notices when it should stop."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import ClassVar, ParamSpec, TypeVar
from weakref import WeakSet

from quorum.application.cancellation import is_off_loop
from quorum.domain.calls.execution import CallControls

_Result = TypeVar("_Result")
_P = ParamSpec("_P")


class Stopped(Exception):
    """The work noticed that it should stop, and has had no effect."""


class Stop:
    """Tells blocking work whether to continue. Safe to use from any thread."""

    def __init__(self, controls: CallControls | None = None) -> None:
        self._controls = controls
        self._asked = threading.Event()

    def ask(self) -> None:
        """Make the next `check` raise."""
        self._asked.set()

    @property
    def is_asked(self) -> bool:
        """Whether the call is cancelled."""
        return self._asked.is_set() or (self._controls is not None and self._controls.cancelled)

    def wait(self, secs: float) -> None:
        """Wait so long, or until `ask` is called."""
        self._asked.wait(secs)

    def check(self) -> None:
        """Raises Stopped once the call is cancelled."""
        if self.is_asked:
            raise Stopped


_stop_of_work: ContextVar[Stop | None] = ContextVar("_stop_of_work", default=None)

PATIENCE_SECS = 60.0
"""How long a server that does not answer is waited for. A database fails over in less."""
_RETRY_SECS = 0.2
_TELL_SECS = 1.0
"""A shorter wait is not worth a word."""
_watchers: list[Callable[[str], None]] = []


@contextmanager
def watch_outages(tell: Callable[[str], None]) -> Iterator[None]:
    """Meanwhile `tell` is called, in any thread, with a sentence when a server is waited for, or is back."""
    _watchers.append(tell)
    try:
        yield
    finally:
        _watchers.remove(tell)


class Outage:
    """Since when a server does not answer, as all threads see it that wait for it."""

    most_secs: ClassVar[float] = math.inf
    """How long this process waits at most for any server: less where somebody else does not wait for it."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._since = self._last = -math.inf
        self._is_told = False
        self.patience_secs = 0.0

    @property
    def _patience(self) -> float:
        return min(self.patience_secs, self.most_secs)

    def outlast(
        self,
        work: Callable[[], _Result],
        lost: type[Exception],
        is_lost: Callable[[Exception], bool] = lambda _: True,
    ) -> _Result:
        """Do this in a thread; where it raises `lost` and that `is_lost`, wait and do it again, for as long as
        that is worth it.

        Raises Stopped once the work of `run_in_thread` that waits so is cancelled.
        """
        until = math.inf
        while True:
            began = time.monotonic()
            try:
                result = work()
            except lost as error:
                if not is_lost(error):
                    raise
                now = time.monotonic()
                # A server that is there and breaks each connection is not waited for without end, either.
                until = min(until, now + self._patience)
                if not self._note_failure(began, now) or now >= until:
                    raise
            else:
                self._note_answer()
                return result
            self._pause()

    def _pause(self) -> None:
        """Wait before the next try. Raises Stopped as `outlast` does."""
        if (stop := _stop_of_work.get()) is None:
            time.sleep(_RETRY_SECS)
        else:
            stop.wait(_RETRY_SECS)
            stop.check()

    def _note_failure(self, began: float, now: float) -> bool:
        """Whether the server is waited for still, after a try between these times."""
        with self._lock:
            if began - self._last > max(self._patience, _TELL_SECS):  # nobody has asked for so long
                self._since, self._is_told = now, False
            self._last = now
            is_waited_for = now - self._since < self._patience
            is_news = is_waited_for and not self._is_told and now - self._since >= _TELL_SECS
            self._is_told |= is_news
        if is_news:
            _tell_all(f"{self._place} does not answer; it is waited for, at most {self._patience:g} s")
        return is_waited_for

    def _note_answer(self) -> None:
        """The server answers."""
        if self._last == -math.inf:
            return
        with self._lock:
            is_news, self._is_told, self._last = self._is_told, False, -math.inf
        if is_news:
            _tell_all(f"{self._place} answers again")


def _tell_all(sentence: str) -> None:
    for tell in tuple(_watchers):
        tell(sentence)


class ThreadsApart:
    """Threads that see other files than those of the process at the same paths: each calls `enter` first, and
    where that raises does nothing else."""

    def __init__(self, enter: Callable[[], None], name: str) -> None:
        def begin() -> None:
            enter()
            _thread.is_apart = True

        self.works = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix=name, initializer=begin)
        self.looks = ThreadPoolExecutor(1, thread_name_prefix=f"{name}-looks", initializer=begin)
        self.is_closed = False

    def use(self) -> None:
        """From now on all that the current task hands to threads, and all programs that it starts, are there:
        also those of the tasks that it begins."""
        loop = asyncio.get_running_loop()
        if loop not in _sorting:
            loop.set_default_executor(_SortingThreads())
            _sorting.add(loop)
        _apart.set(self)
        is_off_loop.set(True)

    @staticmethod
    def leave() -> None:
        """From now on the current task works in the threads of the process."""
        _apart.set(None)
        is_off_loop.set(False)

    def close(self) -> None:
        """End them; blocks until they have done what they were given. What tasks have for them later, the
        threads of the process do."""
        self.is_closed = True
        self.works.shutdown()
        self.looks.shutdown()


class _ThreadKind(threading.local):
    is_apart = False


_AT_ONCE = 8
_thread = _ThreadKind()
_apart: ContextVar[ThreadsApart | None] = ContextVar("_apart", default=None)
_sorting: WeakSet[asyncio.AbstractEventLoop] = WeakSet()


class _SortingThreads(ThreadPoolExecutor):
    """The threads of an event loop, where some of its tasks have threads of their own."""

    def submit(self, fn: Callable[_P, _Result], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_Result]:
        apart = _apart.get()
        if apart is None or apart.is_closed:
            return super().submit(fn, *args, **kwargs)
        return apart.works.submit(fn, *args, **kwargs)


def sees_other_files() -> bool:
    """Whether this thread has other files before it than the current task."""
    apart = _apart.get()
    return apart is not None and not apart.is_closed and not _thread.is_apart


def look_where_we_work(look: Callable[[], _Result]) -> _Result:
    """Look at files, or start a program, with the files that the current task has. Blocks meanwhile."""
    apart = _apart.get()
    if apart is None or not sees_other_files():
        return look()
    return apart.looks.submit(copy_context().run, look).result()


async def run_in_thread(work: Callable[[Stop], _Result], controls: CallControls | None = None) -> _Result:
    """Run `work` in a thread, in the context of the caller, and wait for its end, also when cancelled.

    Work that finished returns its result although the call was cancelled, because its effect is real; work
    that stopped or failed after the cancellation ends in CancelledError.
    """
    stop = Stop(controls)

    def run() -> _Result:
        stop.check()
        _stop_of_work.set(stop)
        return work(stop)

    future = asyncio.get_running_loop().run_in_executor(None, copy_context().run, run)
    cancelled = False
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            cancelled = True
            stop.ask()
    try:
        return future.result()
    except Stopped as stopped:
        raise asyncio.CancelledError("the call was cancelled before it had an effect") from stopped
    except Exception as error:
        if cancelled:
            raise asyncio.CancelledError("the call was cancelled and failed") from error
        raise


_walking = threading.Lock()
_LONGEST_TURN_SECS = 3.0


@contextmanager
def walk_alone() -> Iterator[None]:
    """Look at thousands of files while no other thread does, or, where another one takes long, beside it.

    Each system call hands the interpreter on, and getting it back from another thread takes longer than the
    call: two that look at the same files at once take three times as long as one after the other.
    """
    has_turn = _walking.acquire(timeout=_LONGEST_TURN_SECS)
    try:
        yield
    finally:
        if has_turn:
            _walking.release()


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
