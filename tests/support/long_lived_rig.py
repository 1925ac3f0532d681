"""Drives `tests.support.long_lived`: a process that goes on with one session from prompt to prompt."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

_REPOSITORY = Path(__file__).parents[2]


class LongLived:
    """The process, started on entering and ended on leaving. What it said so far is in `said`."""

    def __init__(self, *arguments: str, cwd: Path, env: Mapping[str, str]) -> None:
        self.said: list[dict[str, Any]] = []
        self._arguments, self._cwd = arguments, cwd
        self._env = {**env, "PYTHONPATH": str(_REPOSITORY)}

    async def __aenter__(self) -> LongLived:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.support.long_lived",
            *self._arguments,
            cwd=self._cwd,
            env=self._env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=2**26,
        )
        assert await self._until_done() == "opened"
        return self

    async def __aexit__(self, *_exc: object) -> None:
        if self._process.returncode is None:
            self.kill()
        await self._process.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, 9)

    async def do(self, **order: object) -> str:
        """Have it do something; how that ended. `said` holds only what came meanwhile."""
        self.order(**order)
        return await self._until_done()

    def order(self, **order: object) -> None:
        """Have it do something, and do not wait for the end of it."""
        assert self._process.stdin is not None
        self.said = []
        self._process.stdin.write(json.dumps(order).encode() + b"\n")

    async def close(self) -> str:
        """End its input and wait for its end: what it said of that, if anything."""
        assert self._process.stdin is not None
        self.said = []
        self._process.stdin.close()
        done = await self._until_done()
        await self._process.wait()
        return done

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of this type among what it said."""
        return [event for event in self.said if event.get("type") == kind]

    @property
    def errors(self) -> list[str]:
        """What the person was told of trouble."""
        return [event["message"] for event in self.of("error_occurred")]

    async def until(self, kind: str) -> None:
        """Wait for an event of this type."""
        while not self.of(kind):
            assert await self._line(), f"it ended before {kind}"

    async def _until_done(self) -> str:
        while await self._line():
            if "done" in self.said[-1]:
                return str(self.said[-1]["done"])
        return ""

    async def _line(self) -> bool:
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), timeout=300)
        if line:
            self.said.append(json.loads(line))
        return bool(line)
