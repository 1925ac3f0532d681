"""The parent of a fleet's worker and of its sessions: it has imported what they need, and forks them.

It has one thread, no event loop, no connection and no settings: a fork copies nothing that is in use, and
nothing of one session into the next. It starts what the worker asks for, and kills it when the worker ends.
"""

from __future__ import annotations

import gc
import json
import os
import secrets
import select
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from types import FrameType
from typing import Any, TypeAlias

import quorum.version
from quorum.errors import complain
from quorum.infrastructure.execution.program import close_process_to_inspection
from quorum.infrastructure.extras import is_installed

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_RESTART_SECS = 1.0
"""How far the starts of two workers are apart, where the first one was killed at once."""
_LONGEST_READ = 1 << 16
_DESCRIPTORS = 3
"""That come with a session: its output, its errors, and one whose other end its owner holds."""
OWNER = 3
"""The number of the last one in the process of the session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkedWorker:
    """What a child of the parent is to be: the worker. `parent` leads to the parent, whose `server_id` tells
    all of its workers, of which the last one alone lives, from others."""

    parent: socket.socket
    server_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkedSession:
    """What a child of the parent is to be: the process of a session, with these arguments of `quorum`.

    Where it `is_exec`, it has to load all it needs itself, as another program.
    """

    arguments: tuple[str, ...]
    is_exec: bool


Forked: TypeAlias = ForkedWorker | ForkedSession


@dataclass(slots=True)
class _Worker:
    """The process, and what has arrived of it."""

    pid: int
    socket: socket.socket
    text: bytes = b""
    descriptors: deque[int] = field(default_factory=deque)
    has_closed: bool = False
    is_ready: bool = False
    """Whether it reached the queue of the sessions."""

    def close(self) -> None:
        """Let go of it, and of what it sent last."""
        self.socket.close()
        while self.descriptors:
            os.close(self.descriptors.popleft())


class ForkServer:
    """Starts a worker, and another one in its place where it is killed.

    `modules` are imported before the worker is started, `later` ones while it connects; then `prepare` is
    called, which must start no thread. With `uses_exec`, and wherever a fork without an exec is not safe, the
    process of a session loads what it needs itself.
    """

    def __init__(
        self,
        modules: Sequence[str],
        later: Sequence[str],
        prepare: Callable[[], None] = lambda: None,
        *,
        uses_exec: bool = False,
        quiet: bool = False,
    ) -> None:
        self._modules, self._later = modules, later
        self._prepare = prepare
        self._uses_exec = uses_exec or sys.platform != "linux"
        self._quiet = quiet
        self._program = _identify_program()
        self._id = secrets.token_hex(8)
        self._worker: _Worker | None = None
        self._started_at = -_RESTART_SECS
        self._sessions: dict[int, int] = {}
        """By the process, the number by which the worker knows it."""
        self._has_stopped = False
        self._has_served = False
        self._former: dict[signal.Signals, Any] = {}
        self._woken, self._waking = os.pipe()

    def serve(self) -> Forked | int:
        """Serve until the worker ends by itself; its exit code. In a child: what that is to be.

        Raises OSError where no worker can be started.
        """
        close_process_to_inspection()  # the keys of the providers are in its environment, too
        self._preload(self._modules)
        self._listen_for_signals()
        while True:
            if self._worker is None:
                if (worker := self._start_worker()) is not None:
                    return worker
                self._preload(self._later, self._prepare)
            for request in self._wait_for_requests():
                if (session := self._answer(request)) is not None:
                    return session
            if (code := self._reap()) is not None:
                return code

    def _preload(self, names: Sequence[str], prepare: Callable[[], None] = lambda: None) -> None:
        """Import these, and `prepare`. What cannot be imported, the process that needs it explains."""
        missing = [name for name in names if name not in sys.modules]
        if self._uses_exec or not missing:
            return
        gc.disable()  # what is imported lives on
        for name in missing:
            if is_installed(name.partition(".")[0]):
                with suppress(ImportError):
                    import_module(name)
        prepare()
        gc.freeze()  # a child that looked through all of it would copy it
        gc.enable()

    def _listen_for_signals(self) -> None:
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waking, False)
        for number in (*_STOPPING, signal.SIGCHLD):
            former = signal.getsignal(number)
            if number != signal.SIGHUP or former is not signal.SIG_IGN:  # as nohup has it
                self._former[number] = former
                signal.signal(number, _do_nothing)
        signal.set_wakeup_fd(self._waking, warn_on_full_buffer=False)

    def _fork(self) -> int:
        """As `os.fork`; the child has the signals of the start, and none of the descriptors of the parent."""
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, self._former)  # none may be told to the wrong one
        try:
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                for number, former in self._former.items():
                    signal.signal(number, former)
                os.close(self._woken)
                os.close(self._waking)
                if self._worker is not None:
                    self._worker.close()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        return pid

    def _start_worker(self) -> ForkedWorker | None:
        """None in the parent."""
        time.sleep(max(0.0, self._started_at + _RESTART_SECS - time.monotonic()))
        self._started_at = time.monotonic()
        ours, theirs = socket.socketpair()
        pid = self._fork()
        if pid == 0:
            ours.close()
            for number in _STOPPING:  # a terminal sends them to both, and the parent tells it once
                signal.signal(number, signal.SIG_IGN)
            return ForkedWorker(parent=theirs, server_id=self._id)
        theirs.close()
        self._worker = _Worker(pid, ours)
        return None

    def _wait_for_requests(self) -> Iterator[Mapping[str, Any]]:
        """What the worker asks next, if anything; returns at signals, too."""
        worker = self._worker
        assert worker is not None
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        if not worker.has_closed:
            poll.register(worker.socket, select.POLLIN)
        ready = {number for number, _ in poll.poll()}
        if self._woken in ready:
            with suppress(BlockingIOError):
                if not set(os.read(self._woken, _LONGEST_READ)).isdisjoint(_STOPPING):
                    self._has_stopped = True
                    self._tell({"stop": True})
        if worker.socket.fileno() not in ready:
            return
        try:
            text, descriptors, _, _ = socket.recv_fds(worker.socket, _LONGEST_READ, _DESCRIPTORS * 8)
        except OSError:
            text, descriptors = b"", []
        worker.has_closed = not text
        worker.descriptors.extend(descriptors)
        *lines, worker.text = (worker.text + text).split(b"\n")
        for line in lines:
            yield json.loads(line)

    def _answer(self, request: Mapping[str, Any]) -> ForkedSession | None:
        """Do what the worker asks; None in the parent."""
        worker = self._worker
        assert worker is not None
        match request:
            case {"start": int(number), "arguments": [*arguments], "folder": str(folder)}:
                return self._start_session(number, tuple(arguments), folder)
            case {"signal": int(sent), "session": int(number)}:
                for pid in [pid for pid, session in self._sessions.items() if session == number]:
                    os.kill(pid, sent)  # a child that was not waited for: nobody else has its number
            case {"ready": True, "modules": [*modules]}:
                self._has_served = worker.is_ready = True
                self._preload(modules)
            case _:
                raise ValueError(f"the worker asked {request!r:.200}")
        return None

    def _start_session(self, number: int, arguments: tuple[str, ...], folder: str) -> ForkedSession | None:
        assert self._worker is not None
        descriptors = [self._worker.descriptors.popleft() for _ in range(_DESCRIPTORS)]
        is_exec = not self._may_fork()
        try:
            pid = self._fork()
        except OSError as error:
            self._tell({"ended": number, "error": f"no process can be started: {error.strerror}"})
            pid = -1
        if pid == 0:
            _arrange_descriptors(descriptors, inherit=is_exec)
            os.setsid()  # a signal from the terminal is the worker's
            with suppress(OSError):  # the arguments name it, too, and it is said there
                os.chdir(folder)
            return ForkedSession(arguments=arguments, is_exec=is_exec)
        for descriptor in descriptors:
            os.close(descriptor)
        if pid > 0:
            self._sessions[pid] = number
        return None

    def _may_fork(self) -> bool:
        """Whether a child can go on with what is loaded here: no other thread holds a lock in it, and it is
        the program that a new process would load."""
        return (
            not self._uses_exec
            and len(os.listdir("/proc/self/task")) == 1
            and _identify_program() == self._program
        )

    def _tell(self, message: Mapping[str, object]) -> None:
        assert self._worker is not None
        with suppress(OSError):  # it has just ended
            self._worker.socket.sendall(json.dumps(message).encode() + b"\n")

    def _reap(self) -> int | None:
        """Wait for the children that have ended. The exit code, where the worker is one and ended by itself."""
        worker = self._worker
        assert worker is not None
        worker_status = None
        while self._sessions or worker_status is None:
            pid, status = os.waitpid(-1, 0 if worker_status is not None else os.WNOHANG)
            if pid == 0:
                return None
            if pid == worker.pid:
                worker_status = status
                for session in self._sessions:  # at once: another worker is to continue them
                    os.kill(session, signal.SIGKILL)
            elif (number := self._sessions.pop(pid, None)) is not None and worker_status is None:
                self._tell({"ended": number, "code": os.waitstatus_to_exitcode(status)})
        worker.close()
        self._worker = None
        code = os.waitstatus_to_exitcode(worker_status)
        if self._has_stopped or not (code < 0 or (self._has_served and code and not worker.is_ready)):
            return 128 - code if code < 0 else code
        # Killed, or one that took its place does not get as far as that one: the database is away, perhaps.
        if not self._quiet:
            how = f"was killed by signal {-code}" if code < 0 else "could not begin"
            complain([f"the worker {how}; another one takes its place"])
        return None


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    """A handler: the number is read from the descriptor that wakes the parent."""


def _identify_program() -> tuple[int, ...]:
    """Another one where quorum was installed anew since."""
    try:
        found = os.stat(quorum.version.__file__)
    except OSError:
        return ()
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _arrange_descriptors(descriptors: Sequence[int], *, inherit: bool) -> None:
    """Have these as output, errors and OWNER, no input, and no other descriptor."""
    output, errors, owner = descriptors
    os.dup2(output, 1)
    os.dup2(errors, 2)
    if owner == OWNER:
        os.set_inheritable(OWNER, inherit)
    else:
        os.dup2(owner, OWNER, inheritable=inherit)
    os.closerange(OWNER + 1, os.sysconf("SC_OPEN_MAX"))
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
