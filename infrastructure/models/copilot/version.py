"""Which version a Copilot CLI is that speaks another protocol."""

from __future__ import annotations

import asyncio
import re

from infrastructure.models.copilot.launch import CliLaunch

_LONGEST_SECS = 20.0
_MISMATCH = re.compile(r"protocol version mismatch|does not report a protocol version", re.IGNORECASE)
_SPOKEN = re.compile(r"reports version (\d+)")


def is_mismatch(error: Exception) -> bool:
    """Whether the SDK refused the CLI because of its protocol."""
    return _MISMATCH.search(str(error)) is not None


async def version_found(launch: CliLaunch, mismatch: Exception) -> str:
    """The version that the program gives, and the protocol that it spoke."""
    spoken = _SPOKEN.search(str(mismatch))
    protocol = f"protocol {spoken[1]}" if spoken else "another protocol"
    said = await _first_line_of_version(launch)
    return f"{said} ({protocol})" if said else protocol


async def _first_line_of_version(launch: CliLaunch) -> str:
    try:
        asked = await asyncio.create_subprocess_exec(
            launch.program,
            "--version",
            env=dict(launch.environ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return ""
    try:
        async with asyncio.timeout(_LONGEST_SECS):
            said, _ = await asked.communicate()
    except TimeoutError:
        return ""
    finally:
        if asked.returncode is None:
            asked.kill()
            await asked.wait()
    return said.decode("utf-8", "replace").strip().partition("\n")[0]
