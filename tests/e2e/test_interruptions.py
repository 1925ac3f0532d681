"""Esc while the answer streams, while tools run and in a dialog: the next prompt works on a legal history."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests.support.headless_run import configure_for
from tests.support.sse_server import Dialect, Say, ScriptedCall, SseServer
from tests.support.terminal import ESCAPE, Terminal

SCRIPT = [
    Say(pieces=["I will stream"], ending="stall"),
    Say(
        calls=[
            ScriptedCall("c1", "read_file", '{"path": "a.txt"}'),
            ScriptedCall("c2", "run_command", '{"command": "echo it be\'\'gan; sleep 300"}'),
        ],
        stop="tool_use",
    ),
    Say(calls=[ScriptedCall("c3", "write_file", '{"path": "b.txt", "content": "x"}')], stop="tool_use"),
    Say(pieces=["All is well."]),
]


def drive(project: Path, home: Path) -> None:
    with Terminal(project, home, rows=40, columns=120, arguments=[]) as terminal:
        terminal.wait_for("scripted")
        terminal.submit("one")
        terminal.wait_for("I will stream")
        with terminal.fresh():
            terminal.type(ESCAPE)
            terminal.wait_for("interrupted")
        terminal.submit("two")
        terminal.wait_for("2 of 2")
        terminal.press_when_awake("y", "it began")  # by the command: Esc before it runs only keeps it from that
        with terminal.fresh():
            terminal.type(ESCAPE)
            terminal.wait_for("cancelled")
        terminal.submit("three")
        terminal.wait_for("Create b.txt")
        with terminal.fresh():
            terminal.type(ESCAPE)
            terminal.wait_for("rejected")
        terminal.submit("four")
        terminal.wait_for("All is well.")


@pytest.mark.long
@pytest.mark.parametrize("dialect", ["anthropic", "openai", "openai-chat"])
async def test_after_escape_at_any_stage_every_request_is_legal(dialect: Dialect, tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    (project / "a.txt").write_text("alpha\n", encoding="utf-8")
    async with SseServer(dialect) as server:
        configure_for(home, server)
        server.script = list(SCRIPT)

        await asyncio.to_thread(drive, project, home)

        bodies = server.bodies

    assert len(bodies) == len(SCRIPT)
    for body in bodies:
        assert unpaired(body, dialect) == []
    results = json.dumps(bodies[-1])
    assert "interrupted while it ran" in results
    assert "rejected by the user" in results
    assert not (project / "b.txt").exists()


def unpaired(body: dict[str, Any], dialect: Dialect) -> list[str]:
    """Ids of calls whose results do not follow at once and in order, as the provider demands."""
    wrong: list[str] = []
    awaited: list[str] = []
    for calls, results, is_one_of_many in _turns(body, dialect):
        if is_one_of_many:
            wrong += results if results != awaited[:1] else []
            awaited = awaited[1:]
            continue
        wrong += awaited if results != awaited else []
        awaited = calls
    return wrong + awaited


def _turns(body: dict[str, Any], dialect: Dialect) -> Iterator[tuple[list[str], list[str], bool]]:
    """Of each message: the ids of its calls, those of its results, and whether it is one result of several."""
    match dialect:
        case "anthropic":
            for message in body["messages"]:
                blocks = message["content"] if isinstance(message["content"], list) else []
                calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
                yield calls, [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"], False
        case "openai-chat":
            for message in body["messages"]:
                if message["role"] == "tool":
                    yield [], [message["tool_call_id"]], True
                else:
                    yield [call["id"] for call in message.get("tool_calls") or []], [], False
        case "openai":
            for kind, group in groupby(body["input"], key=lambda item: item.get("type", "message")):
                ids = [item.get("call_id", "") for item in group]
                if kind == "function_call_output":
                    yield from (([], [id_], True) for id_ in ids)
                else:
                    yield ids if kind == "function_call" else [], [], False
