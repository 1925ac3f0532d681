"""A run or the app with subagents at work in layers of their own is ended from outside: nothing is lost."""

from __future__ import annotations

import asyncio
import json
import signal
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.infrastructure.commands.command_bench import alive_with, eventually
from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap
from tests.support.headless_run import configure_for, environment, run, run_quorum, start_quorum
from tests.support.layer_process import layers
from tests.support.sse_server import Say, ScriptedCall, SseServer
from tests.support.terminal import Terminal

pytestmark = [pytest.mark.usefixtures("layers"), pytest.mark.long(after=1), needs_bubblewrap]
__all__ = ["layers"]

AGENT = """---
description: Writes
tools: run_command, read_file, write_file
---
Write.
"""
TASKS = ("first", "second")
_SYSTEM_MOUNTS = Path("/proc/self/mountinfo")


class Work:
    """A folder, and a model that gives two tasks, at whose second command each subagent stays."""

    def __init__(self, tmp: Path) -> None:
        self.home, self.token = tmp, f"{600_000 + uuid.uuid4().int % 100_000}.{uuid.uuid4().int % 10**9}"
        self.root = (tmp / "project").resolve()
        self.root.mkdir()
        (self.root / "kept.txt").write_text("kept\n")
        agents = tmp / "config/quorum/agents"
        agents.mkdir(parents=True)
        (agents / "writer.md").write_text(AGENT)
        self.said = dict.fromkeys(("", *TASKS), 0)

    @property
    def env(self) -> Mapping[str, str]:
        return environment(self.home)

    def answer(self, body: dict[str, Any]) -> Say:
        first = body["input"][0]
        who = next((each for each in TASKS if f"task {each}" in json.dumps(first["content"])), "")
        self.said[who] += 1
        match (who, self.said[who]):
            case ("", 1):
                return call(*(("task", {"prompt": f"task {each}", "agent": "writer"}) for each in TASKS))
            case (str(name), 1) if name:
                return call(("run_command", {"command": f"echo {name} > {name}; echo {name} >> kept.txt"}))
            case (str(name), 2) if name:
                return call(("run_command", {"command": f"sleep {self.token}", "timeout_secs": 600}))
            case _:
                return Say(pieces=["done"])

    async def begin(self, server: SseServer) -> None:
        server.respond = self.answer
        configure_for(self.home, server)
        trusted = await run_quorum("config", "trust", cwd=self.root, env=self.env)
        assert trusted.code == 0, trusted.err

    async def are_all_at_work(self) -> None:
        await eventually(lambda: len(self.list_sleepers()) >= len(TASKS))

    def list_sleepers(self) -> list[int]:
        return [pid for pid in alive_with(self.token) if _read_name(pid) == "sleep"]

    def require_untouched(self) -> None:
        assert sorted(each.name for each in self.root.iterdir()) == ["kept.txt"]
        assert (self.root / "kept.txt").read_text() == "kept\n"
        assert str(self.root) not in _SYSTEM_MOUNTS.read_text()
        assert alive_with(self.token) == []

    async def resume(self) -> dict[str, str]:
        """What waits in the layer once the session was continued, by path with its change."""
        words = ("--mode", "staged", "--output", "json", "--continue", "go on")
        again = await run(*words, cwd=self.root, env=self.env, is_program=True)
        assert again.code == 3, again.err
        return {each["path"]: each["kind"] for each in again.report["staged"]["files"]}


def _read_name(pid: int) -> str:
    """The name of a process; nothing once it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def call(*calls: tuple[str, dict[str, object]]) -> Say:
    made = [ScriptedCall(uuid.uuid4().hex, name, json.dumps(given)) for name, given in calls]
    return Say(calls=made, stop="tool_use")


WAITS = {"first": "create", "second": "create", "kept.txt": "replace", "kept.txt.writer-2": "create"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
async def test_a_run(number: signal.Signals, tmp_path: Path) -> None:
    work = Work(tmp_path)
    async with SseServer("openai") as server:
        await work.begin(server)
        words = ("run", "--mode", "staged", "--output", "json", "do both")
        ended = await start_quorum(*words, cwd=work.root, env=work.env, is_program=True)
        await work.are_all_at_work()

        ended.send_signal(number)
        await asyncio.wait_for(ended.communicate(), 120)
        await eventually(lambda: alive_with(work.token) == [])
        work.require_untouched()
        waits = await work.resume()

    assert waits == WAITS
    work.require_untouched()


@pytest.mark.long
@pytest.mark.parametrize("how", ["hang up", "SIGTERM"])
async def test_the_app(how: str, tmp_path: Path) -> None:
    work = Work(tmp_path)
    async with SseServer("openai") as server:
        await work.begin(server)

        def use_app() -> None:
            arguments = ["--mode", "staged"]
            with Terminal(
                work.root, tmp_path, rows=40, columns=120, arguments=arguments, is_program=True
            ) as terminal:
                terminal.wait_for("staged")
                terminal.submit("do both")
                asyncio.run(work.are_all_at_work())
                if how == "hang up":
                    terminal.hang_up()
                else:
                    terminal.process.kill(signal.SIGTERM)
                asyncio.run(eventually(lambda: alive_with(work.token) == []))
                asyncio.run(eventually(lambda: not terminal.process.isalive()))

        await asyncio.to_thread(use_app)
        work.require_untouched()
        waits = await work.resume()

    assert waits == WAITS
