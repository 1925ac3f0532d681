"""A program that is asked something and ends, at the latest, when nobody waits for its answer any more."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from application.cancellation import run_shielded

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
        lambda: asyncio.subprocess.SubprocessStreamProtocol(limit=_BUFFER_BYTES, loop=loop),
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
        # Without its pipes closed it does not count as ended while somebody else holds their other ends.
        transport.close()
        await run_shielded(process.wait())
