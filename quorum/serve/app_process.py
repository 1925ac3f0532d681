"""One app for one browser: a quorum of its own whose screen goes through pipes, as Textual's web driver has it.

A packet is a kind (D: what a terminal would get, M: a JSON object), four bytes of length, and a payload.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress

from quorum.domain.text.printable import make_printable
from quorum.infrastructure.execution.program import open_program

GREETING = b"__GANGLION__\n"
DRIVER = "textual.drivers.web_driver:WebDriver"

_MOST_PACKET_BYTES = 64 << 20
_MOST_REPORTED_BYTES = 8 << 10
_CLOSING_SECS = 15.0  # the app cuts itself off after twelve
_OF_OTHER_TERMINALS = frozenset(
    {"COLUMNS", "LINES", "ROWS", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "STY"}
)


def build_app_environment(inherited: Mapping[str, str], size: tuple[int, int]) -> dict[str, str]:
    """The environment of an app in a browser: nothing in it is about the terminal that the server runs in."""
    kept = {name: value for name, value in inherited.items() if name not in _OF_OTHER_TERMINALS}
    return {
        **kept,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "TEXTUAL_DRIVER": DRIVER,
        "TEXTUAL_COLOR_SYSTEM": "truecolor",
        "COLUMNS": str(size[0]),
        "ROWS": str(size[1]),
    }


def build_app_command(arguments: Sequence[str]) -> tuple[str, ...]:
    """What starts a quorum like this one; the working directory brings no module of its own into it."""
    return (sys.executable, "-P", "-m", "quorum", *arguments)


class AppProcess:
    """A running app. `close` ends it as the end of a terminal does; when the server dies the app ends."""

    def __init__(self, process: asyncio.subprocess.Process, exits: AsyncExitStack) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process, self._exits = process, exits
        self._in, self._out = process.stdin, process.stdout
        self._reported = b""
        self._reporting = asyncio.create_task(self._collect(process.stderr), name="stderr of an app")

    @classmethod
    async def start(
        cls, command: Sequence[str], size: tuple[int, int], *, pass_fds: Sequence[int] = ()
    ) -> AppProcess:
        """Start it in a session of its own: Ctrl+C in the server's terminal is for the server."""
        async with AsyncExitStack() as started:
            process = await started.enter_async_context(
                open_program(
                    command,
                    environment=build_app_environment(os.environ, size),
                    stdin=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    pass_fds=pass_fds,
                )
            )
            return cls(process, started.pop_all())

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return self._process.returncode is not None

    async def stream_screen(self) -> AsyncIterator[bytes]:
        """What a terminal would get, until the app ends."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            if await self._out.readexactly(len(GREETING)) != GREETING:
                return
            while True:
                kind = await self._out.readexactly(1)
                size = int.from_bytes(await self._out.readexactly(4), "big")
                if size > _MOST_PACKET_BYTES:
                    return
                payload = await self._out.readexactly(size)
                # Files to download and pages to open are not asked for by this app, and not taken from it.
                if kind == b"D":
                    yield payload
                elif kind == b"M" and json.loads(payload).get("type") == "exit":
                    return

    async def type(self, text: str) -> None:
        """Press keys. Half a surrogate pair is not text and becomes a question mark."""
        await self._send(b"D", text.encode("utf-8", "replace"))

    async def resize(self, columns: int, lines: int) -> None:
        await self._tell({"type": "resize", "width": columns, "height": lines})

    async def focus(self, *, has_focus: bool) -> None:
        """The window has got or lost the focus."""
        await self._tell({"type": "focus" if has_focus else "blur"})

    async def close(self) -> str:
        """End it, if it has not ended, and wait for that; returns what it printed on stderr."""
        self._in.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_SECS):
                # Its output is read to the end: an app that cannot write does not come to its end.
                while await self._out.read(1 << 16):
                    pass
                await self._process.wait()
        await self._exits.aclose()
        await self._reporting
        return make_printable(self._reported.decode("utf-8", "replace"), strip_ansi=True).strip()

    def kill(self) -> None:
        """End it at once; the supervisors of its commands end those."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def _tell(self, meta: Mapping[str, object]) -> None:
        await self._send(b"M", json.dumps(meta).encode())

    async def _send(self, kind: bytes, payload: bytes) -> None:
        with suppress(ConnectionError):  # it has ended; its output tells
            self._in.write(b"%b%b%b" % (kind, len(payload).to_bytes(4, "big"), payload))
            await self._in.drain()

    async def _collect(self, stderr: asyncio.StreamReader) -> None:
        while data := await stderr.read(1 << 12):
            self._reported = (self._reported + data)[-_MOST_REPORTED_BYTES:]
