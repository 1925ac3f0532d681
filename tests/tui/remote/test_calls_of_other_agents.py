"""Calls of other agents, decided by an app that listens."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.app_stage import Clock
from tests.support.headless_run import environment
from tests.support.remote_stage import TOKEN, RemoteStage, on_remote_stage


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("QUORUM_")]:
        monkeypatch.delenv(name)
    for name, value in environment(tmp_path / "home").items():
        monkeypatch.setenv(name, value)


def call(folder: Path, command: str) -> str:
    return json.dumps(
        {
            "session_id": "of-the-caller",
            "transcript_path": "/nowhere/transcript.jsonl",
            "permission_mode": "default",
            "cwd": str(folder),
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": command},
        }
    )


async def decide(stage: RemoteStage, folder: Path, command: str, **more: object) -> tuple[str, str]:
    reply: dict[str, Any] = await stage.call(
        "gate.decide", dialect="claude", call=call(folder, command), folder=str(folder), **more
    )
    assert (reply["code"], reply["err"]) == (0, "")
    said = json.loads(reply["out"])["hookSpecificOutput"]
    return said["permissionDecision"], said["permissionDecisionReason"]


async def test_what_only_reads_is_answered_without_a_question(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        assert (await decide(stage, tmp_path, "ls"))[0] == "allow"
        assert stage.agent.prompts == []


@pytest.mark.long
async def test_the_person_at_the_app_answers_what_is_to_be_asked(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path, token=TOKEN) as stage:
        asking = asyncio.create_task(decide(stage, tmp_path, "touch a"))
        await stage.asked()
        question = (await stage.call("state.get"))["question"]
        assert question["reasons"][0].startswith(f"Claude Code asks, working in {tmp_path}")
        assert (await stage.refused("hil.respond", decision="approve", digest=question["digest"])).reason == (
            "needs_approval"
        )

        await stage.call("hil.respond", decision="approve", digest=question["digest"], token=TOKEN)

        assert (await asking)[0] == "allow"


@pytest.mark.long
async def test_a_rejection_is_a_denial_with_the_words_of_the_person(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        asking = asyncio.create_task(decide(stage, tmp_path, "touch a"))
        await stage.asked()
        digest = (await stage.call("state.get"))["question"]["digest"]

        await stage.call("hil.respond", decision="reject", digest=digest, reason="not today")

        assert await asking == ("deny", "quorum: rejected by the user: not today")


@pytest.mark.long
async def test_nobody_answers_in_time_and_the_caller_is_to_ask(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path, clock=Clock()) as stage:
        answer, reason = await decide(stage, tmp_path, "touch a", timeout_secs=1)

        assert (answer, "within 1 s" in reason) == ("ask", True)
        await stage.unasked()


async def test_settings_that_change_count_for_the_next_call(tmp_path: Path) -> None:
    file = tmp_path / "home" / "config" / "quorum" / "quorum.toml"
    file.parent.mkdir(parents=True)
    async with on_remote_stage(tmp_path) as stage:
        assert (await decide(stage, tmp_path, "ls"))[0] == "allow"

        file.write_text('[permissions]\ndeny = ["run_command(ls *)"]\n')

        assert (await decide(stage, tmp_path, "ls"))[0] == "deny"


@pytest.mark.long
async def test_another_environment_of_the_caller_counts_for_the_next_call(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        assert (await decide(stage, tmp_path, "ls"))[0] == "allow"

        asking = asyncio.create_task(decide(stage, tmp_path, "ls", environment={"CDPATH": "/"}))
        await stage.asked()
        question = (await stage.call("state.get"))["question"]
        await stage.call("hil.respond", decision="reject", digest=question["digest"])

        assert "sets CDPATH" in " ".join(question["reasons"])
        assert (await asking)[0] == "deny"


@pytest.mark.parametrize("sent", [{"A": 7}, ["PATH"], "PATH"], ids=str)
async def test_an_environment_that_is_none_is_refused(tmp_path: Path, sent: object) -> None:
    async with on_remote_stage(tmp_path) as stage:
        error = await stage.refused("gate.decide", dialect="claude", call="{}", environment=sent)

        assert error.code == -32602


async def test_what_cannot_be_read_asks(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        reply = await stage.call("gate.decide", dialect="quorum", call="no JSON")

        assert (reply["code"], json.loads(reply["out"])["decision"]) == (3, "ask")
