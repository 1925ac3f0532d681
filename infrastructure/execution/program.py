"""Runs a program that is asked something, and keeps our own process closed to the programs we run.

A program ends at the latest when nobody waits for its answer any more. The commands of a session have our user,
but no business in our memory.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import struct
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.util import MAGIC_NUMBER, spec_from_file_location
from pathlib import Path

from quorum.application.cancellation import run_shielded

_PR_SET_DUMPABLE = 4  # linux/prctl.h


def open_process_to_inspection() -> None:
    """Take back what `close_process_to_inspection` did, also before a fork: a process enters a user namespace
    only so. Linux only."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def close_process_to_inspection() -> bool:
    """Refuse debuggers, and readers of our environment under /proc, that run as the same user.

    The keys of the providers are in our environment; a command that a model asked for must not be able to
    read them there. Linux only; False where the system does not offer it. Root is not held back by it.
    """
    if sys.platform != "linux":
        return False
    return bool(ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)


_BUFFER_BYTES = 1 << 16


@asynccontextmanager
async def open_program(
    words: Sequence[str | Path],
    *,
    environment: Mapping[str, str],
    cwd: Path | str | None = None,
    stdin: int = asyncio.subprocess.DEVNULL,
    stdout: int = asyncio.subprocess.PIPE,
    stderr: int = asyncio.subprocess.DEVNULL,
    pass_fds: Sequence[int] = (),
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start a program in a session of its own. At the end of the block it is killed, if it still runs, with
    what it started and kept in its process group; what left that group is not waited for.

    Its process and pipes are gone behind the block, however that ends and however often it is cancelled.
    Raises OSError where it cannot be started.
    """
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(
        lambda: _Streams(loop),
        *words,
        env=dict(environment),
        cwd=cwd,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        pass_fds=pass_fds,
        start_new_session=True,
    )
    process = asyncio.subprocess.Process(transport, protocol, loop)
    try:
        yield process
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        await run_shielded(_close(transport, protocol))


class _Streams(asyncio.subprocess.SubprocessStreamProtocol):
    """The pipes of a process. `has_exited` and `is_closed` are done once it, and then they, are gone."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=_BUFFER_BYTES, loop=loop)
        self.has_exited: asyncio.Future[None] = loop.create_future()
        self.is_closed: asyncio.Future[None] = loop.create_future()

    def process_exited(self) -> None:
        super().process_exited()
        if not self.has_exited.done():
            self.has_exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if not self.is_closed.done():
            self.is_closed.set_result(None)


async def _close(transport: asyncio.SubprocessTransport, protocol: _Streams) -> None:
    """Wait for a process that has ended or was killed, and close its pipes.

    In this order: to close the transport of a process that has just ended takes its exit status from whoever
    waits for it, and asyncio makes up another. Nobody waits for the other ends of the pipes, which may be held.
    """
    try:
        await protocol.has_exited
    finally:
        transport.close()
    await protocol.is_closed


def find_compiled_form(source: str) -> str:
    """The file of a program in Python; compiled where that is at hand, which saves it some milliseconds."""
    spec = spec_from_file_location("program", source)
    compiled = spec.cached if spec is not None else None
    return compiled if compiled is not None and is_compiled_from(compiled, source) else source


def is_compiled_from(compiled: str, source: str) -> bool:
    """Whether a compiled file is of this source as it is now: run by its path, nobody else would look."""
    try:
        status = os.stat(source)
        with open(compiled, "rb") as file:
            head = file.read(16)
    except OSError:  # nothing was compiled, or only that is installed
        return False
    changed = int(status.st_mtime) & 0xFFFFFFFF
    size = status.st_size & 0xFFFFFFFF
    return head == MAGIC_NUMBER + struct.pack("<III", 0, changed, size)
