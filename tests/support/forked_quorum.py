"""`quorum` as a fork of a process that has imported it, which takes a new program most of its time."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tests.support.quorum_parent import LONGEST_REQUEST

_READ_AS_IT_STARTS = ("PYTHON", "LD_", "LC_", "TEXTUAL", "MALLOC", "SSL_")
_LONGEST_LINE = 2**24


def can_fork(env: Mapping[str, str]) -> bool:
    """Whether nothing in the environment acts before the first line of a program, or while it imports."""
    return env.get("LANG") == "C.UTF-8" and not any(name.startswith(_READ_AS_IT_STARTS) for name in env)


class ForkedQuorum:
    """The running process: the part of `asyncio.subprocess.Process` that tests use."""

    def __init__(
        self,
        pid: int,
        life: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        stdin: asyncio.StreamWriter,
        stdout: asyncio.StreamReader,
        stderr: asyncio.StreamReader,
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
        printed = await asyncio.gather(self.stdout.read(), self.stderr.read())
        await self.wait()
        return printed[0], printed[1]

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if not self._ended.done():
            os.kill(self.pid, number)

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


async def fork_quorum(*words: str | Path, cwd: Path, env: Mapping[str, str]) -> ForkedQuorum:
    """Start the program with these words, its own name the first; its streams are pipes."""
    pipes = [os.pipe() for _ in range(3)]
    (given, prompt), (printed, out), (complained, err) = pipes[0], *((write, read) for read, write in pipes[1:])
    life, of_child = socket.socketpair()
    request = {"argv": [*map(str, words)], "cwd": str(cwd), "env": dict(env)}
    message = json.dumps(request).encode()
    assert len(message) < LONGEST_REQUEST
    try:
        socket.send_fds(_start_parent(), [message], [given, printed, complained, of_child.fileno()])
    finally:
        of_child.close()
        for descriptor in (given, printed, complained):
            os.close(descriptor)
    told, line = await asyncio.open_connection(sock=life)
    pid = int(await told.readline())
    return ForkedQuorum(pid, (told, line), await _writer(prompt), await _reader(out), await _reader(err))


async def _writer(descriptor: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(descriptor, "wb", buffering=0)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, pipe)
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
