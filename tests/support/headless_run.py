"""Runs the installed `quorum run` as a person's script would."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
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


def configure_for(home: Path, server: SseServer, *, retries: int = 0, timeout_secs: float = 300) -> None:
    """Configure the scripted server as the provider `local`."""
    configure(
        home,
        f'[models]\ndecision = "local/scripted"\n[providers.local]\ntype = "{server.dialect}"\n'
        f'base_url = "{server.base_url}"\nmax_retries = {retries}\ntimeout_secs = {timeout_secs}\n',
    )


Started = asyncio.subprocess.Process | ForkedQuorum


async def start_quorum(
    *words: str | Path,
    cwd: Path,
    env: Mapping[str, str],
    pass_fds: Sequence[int] = (),
    is_program: bool = False,
) -> Started:
    """Start `quorum`: a fork of a process that has imported it, or, where that matters, the program."""
    if can_fork(env) and not is_program:
        return await fork_quorum(QUORUM, *words, cwd=cwd, env=env, pass_fds=pass_fds)
    return await asyncio.create_subprocess_exec(
        QUORUM,
        *words,
        cwd=cwd,
        env=env,
        pass_fds=pass_fds,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=2**24,
    )


async def end(process: Started, stdin: str = "") -> Ended:
    """What it comes to, on being given this."""
    out, err = await asyncio.wait_for(process.communicate(stdin.encode()), timeout=300)
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


async def run_quorum(
    *words: str | Path, cwd: Path, env: Mapping[str, str], stdin: str = "", is_program: bool = False
) -> Ended:
    """Run `quorum` with these words to its end."""
    return await end(await start_quorum(*words, cwd=cwd, env=env, is_program=is_program), stdin)


def run_quorum_now(*words: str | Path, cwd: Path, env: Mapping[str, str], stdin: str = "") -> Ended:
    """The same for a test that awaits nothing."""
    with ThreadPoolExecutor(1) as beside:
        return beside.submit(asyncio.run, run_quorum(*words, cwd=cwd, env=env, stdin=stdin)).result()


async def start(*arguments: str, cwd: Path, env: Mapping[str, str]) -> Started:
    """Start `quorum run` with these arguments."""
    return await start_quorum("run", *arguments, cwd=cwd, env=env)


async def run(
    *arguments: str, cwd: Path, env: Mapping[str, str], stdin: str = "", is_program: bool = False
) -> Ended:
    """Run `quorum run` with these arguments to its end."""
    return await run_quorum("run", *arguments, cwd=cwd, env=env, stdin=stdin, is_program=is_program)
