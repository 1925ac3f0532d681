"""`quorum` as a fork of a process that has imported it, which takes a new program most of its time."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.support.quorum_parent import LONGEST_REQUEST

_READ_AS_IT_STARTS = ("PYTHON", "LD_", "LC_", "TEXTUAL", "MALLOC", "SSL_")
_LONGEST_LINE = 2**26
_LONGEST_NUMBER = 32


def can_fork(env: Mapping[str, str]) -> bool:
    """Whether nothing in the environment acts before the first line of a program, or while it imports."""
    return env.get("LANG") == "C.UTF-8" and not any(name.startswith(_READ_AS_IT_STARTS) for name in env)


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # its end is told a moment after it
        os.kill(pid, number)


class ForkedQuorum:
    """The running process: the part of `asyncio.subprocess.Process` that tests use."""

    def __init__(
        self,
        pid: int,
        life: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        stdin: asyncio.StreamWriter,
        stdout: asyncio.StreamReader,
        stderr: asyncio.StreamReader | None,
    ) -> None:
        self.pid, self.stdin, self.stdout, self.stderr = pid, stdin, stdout, stderr
        self._ended = asyncio.ensure_future(self._follow(*life))

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._ended.result() if self._ended.done() else None

    async def wait(self) -> int:
        """Its exit code, once it has one."""
        return await asyncio.shield(self._ended)

    async def communicate(self, given: bytes = b"") -> tuple[bytes, bytes]:
        """What it prints, until nobody can print more there, on being given this."""
        self.stdin.write(given)
        self.stdin.close()
        out, err, _ = await asyncio.gather(self.stdout.read(), self._read_errors(), self.wait())
        return out, err

    async def _read_errors(self) -> bytes:
        return await self.stderr.read() if self.stderr is not None else b""

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if not self._ended.done():
            _kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    @staticmethod
    async def _follow(told: asyncio.StreamReader, line: asyncio.StreamWriter) -> int:
        try:
            return int(await told.readline())
        finally:
            line.close()


class ForkedBesides:
    """A running process that shares the streams of this one: the part of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int, life: socket.socket) -> None:
        self.pid, self._life = pid, life
        self._told = b""

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._read_code(socket.MSG_DONTWAIT)

    def wait(self) -> int:
        """Its exit code, once it has one."""
        while (code := self._read_code(0)) is None:
            continue
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            _kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def _read_code(self, flags: int) -> int | None:
        if not self._told:
            with contextlib.suppress(BlockingIOError):
                self._told = self._life.recv(_LONGEST_NUMBER, flags)
                self._life.close()
        return int(self._told) if self._told else None


def fork_quorum_besides(*words: str, cwd: Path, env: Mapping[str, str]) -> ForkedBesides:
    """Start the program with these words, its own name the first, and with the streams of this process."""
    life = socket.socketpair()
    with life[1]:
        _request([life[1].fileno(), 0, 1, 2], words, cwd, env)
    return ForkedBesides(_read_number(life[0]), life[0])


def _read_number(life: socket.socket) -> int:
    """The number of a process, and no more: one that ends at once has told its code by then."""
    told = life.recv(_LONGEST_NUMBER, socket.MSG_PEEK)
    return int(life.recv(told.index(b"\n") + 1))


def fork_quorum_in_a_terminal(
    *words: str, terminal: int, cwd: Path, env: Mapping[str, str]
) -> tuple[int, socket.socket]:
    """Start the program as the leader of a terminal's session: its process, and what says its exit code."""
    life = socket.socketpair()
    with life[1]:
        _request([life[1].fileno(), terminal, terminal, terminal], words, cwd, env, leads_session=True)
    return _read_number(life[0]), life[0]


async def fork_quorum(
    *words: str | Path,
    cwd: Path,
    env: Mapping[str, str],
    pass_fds: Sequence[int] = (),
    stderr: int | None = None,
) -> ForkedQuorum:
    """Start the program with these words, its own name the first.

    Its streams are pipes, but for a `stderr` that is given; descriptors that are passed keep their numbers.
    """
    (given, prompt), (out, printed), life = os.pipe(), os.pipe(), socket.socketpair()
    err, complained = os.pipe() if stderr is None else (None, stderr)
    streams = [life[1].fileno(), given, printed, complained]
    try:
        _request([*streams, *pass_fds], words, cwd, env, passed=[*pass_fds])
    finally:
        life[1].close()
        for descriptor in (given, printed, *(() if err is None else (complained,))):
            os.close(descriptor)
    told, line = await asyncio.open_connection(sock=life[0])
    pid = int(await told.readline())
    errors = None if err is None else await _reader(err)
    return ForkedQuorum(pid, (told, line), await _writer(prompt), await _reader(out), errors)


def _request(
    descriptors: list[int], words: Sequence[str | Path], cwd: Path, env: Mapping[str, str], **more: object
) -> None:
    """Ask for a fork with these descriptors: where its end is told, its three streams, and others."""
    request = {"argv": [*map(str, words)], "cwd": str(cwd), "env": dict(env), **more}
    message = json.dumps(request).encode()
    assert len(message) < LONGEST_REQUEST
    socket.send_fds(_start_parent(), [message], descriptors)


class _Writing(asyncio.streams.FlowControlMixin):
    """What a stream writer needs of its protocol."""

    def __init__(self) -> None:
        super().__init__()
        self._lost = asyncio.get_running_loop().create_future()

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._lost.set_result(None)

    def _get_close_waiter(self, stream: asyncio.StreamWriter) -> asyncio.Future[None]:
        return self._lost


async def _writer(descriptor: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(descriptor, "wb", buffering=0)
    transport, protocol = await loop.connect_write_pipe(_Writing, pipe)
    return asyncio.StreamWriter(transport, protocol, None, loop)


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(_LONGEST_LINE)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
    )
    return reader


@cache
def _start_parent() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        parent = subprocess.Popen(
            [sys.executable, "-P", Path(__file__).with_name("quorum_parent.py"), str(theirs.fileno())],
            cwd="/",
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
    atexit.register(_end, ours, parent)
    return ours


def _end(requests: socket.socket, parent: subprocess.Popen[bytes]) -> None:
    requests.close()
    parent.wait()
