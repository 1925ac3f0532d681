"""Runs the installed `quorum run` as a person's script would."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.forked_quorum import ForkedQuorum, can_fork, fork_quorum
from tests.support.sse_server import SseServer

QUORUM = Path(sys.executable).with_name("quorum")


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """The one object of `--output json`."""
        lines = self.out.splitlines()
        assert len(lines) == 1, self.out + self.err
        parsed: dict[str, Any] = json.loads(lines[0])
        return parsed

    @property
    def events(self) -> list[dict[str, Any]]:
        """The lines of `--output stream-json`."""
        return [json.loads(line) for line in self.out.splitlines()]


def environment(home: Path, **more: str) -> dict[str, str]:
    """A clean environment: nothing of the machine's own configuration or keys."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_STATE_HOME": str(home / "state"),
        "QUORUM_REVIEW__OFFER_SANDBOXED": "false",
        "QUORUM_GATE__IDLE_MINUTES": "0",  # nothing outlives a test
        **more,
    }


def configure(home: Path, text: str) -> None:
    """Write the person's quorum.toml."""
    folder = home / "config" / "quorum"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "quorum.toml").write_text(text, encoding="utf-8")


def configure_for(home: Path, server: SseServer, *, retries: int = 0, timeout_secs: float = 20) -> None:
    """Configure the scripted server as the provider `local`."""
    configure(
        home,
        f'[models]\ndecision = "local/scripted"\n[providers.local]\ntype = "{server.dialect}"\n'
        f'base_url = "{server.base_url}"\nmax_retries = {retries}\ntimeout_secs = {timeout_secs}\n',
    )


async def start(*arguments: str, cwd: Path, env: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Start `quorum run` with these arguments."""
    return await asyncio.create_subprocess_exec(
        QUORUM,
        "run",
        *arguments,
        cwd=cwd,
        env=env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=2**24,
    )


async def run(
    *arguments: str, cwd: Path, env: Mapping[str, str], stdin: str = "", is_program: bool = False
) -> Ended:
    """Run it to its end: in a fork of a process that has imported it, or, where that matters, as a program."""
    process: asyncio.subprocess.Process | ForkedQuorum
    if is_program or not can_fork(env):
        process = await start(*arguments, cwd=cwd, env=env)
    else:
        process = await fork_quorum(QUORUM, "run", *arguments, cwd=cwd, env=env)
    out, err = await asyncio.wait_for(process.communicate(stdin.encode()), timeout=60)
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())
