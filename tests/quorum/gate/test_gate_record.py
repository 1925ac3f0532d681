"""What is recorded of the calls of another agent."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence

import pytest

from quorum.domain.calls.execution import Outcome
from quorum.domain.events.event import (
    CallFinished,
    CallStarted,
    Event,
    NoticeGiven,
    ReviewDecided,
    ReviewRequested,
    SessionStarted,
)
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.session_summary import LedgerRecord, SessionSummary
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage
from tests.quorum.gate.test_agent_dialects import payload
from tests.support.gate_rig import GateAnswer, GateRig
from tests.support.headless_run import QUORUM


async def sessions_of(rig: GateRig) -> list[tuple[SessionSummary, Sequence[LedgerRecord]]]:
    storage = open_storage(StorageTable(), os.environ)
    try:
        archive = storage.archive
        found = await archive.list_sessions()
        for each in found:
            assert (await archive.verify(each.id)).holds
        return [(each, await archive.read(each.id)) for each in found]
    finally:
        storage.close()


async def events_of(rig: GateRig) -> list[Event]:
    ((_, records),) = await sessions_of(rig)
    return [record.event for record in records if record.event is not None]


def only(events: Sequence[Event], kind: type) -> list[Event]:
    return [event for event in events if isinstance(event, kind)]


async def in_thread(work: object, *args: object, **kwargs: object) -> object:
    import asyncio

    return await asyncio.to_thread(work, *args, **kwargs)


async def test_a_field_beside_the_call_of_which_nothing_is_known_is_recorded(rig: GateRig) -> None:
    for more in ({}, {"trace_id": "t", "durationMs": 5}):
        sent = json.dumps(rig.payload("Bash", command="ls") | more).encode()
        answer = await in_thread(rig.send, sent)
        assert isinstance(answer, GateAnswer)
        assert answer.permission == "allow"

    (noted,) = only(await events_of(rig), NoticeGiven)

    assert isinstance(noted, NoticeGiven)
    assert "'durationMs', 'trace_id'" in noted.message


async def test_so_it_is_in_the_two_parts_of_the_hook_of_opencode(rig: GateRig) -> None:
    sent = payload(rig, "opencode", "bash", {"command": "ls"})
    sent["input"]["trace_id"] = sent["output"]["span_id"] = "x"

    await in_thread(rig.send, json.dumps(sent).encode(), "opencode")

    (noted,) = only(await events_of(rig), NoticeGiven)
    assert isinstance(noted, NoticeGiven)
    assert "'span_id', 'trace_id'" in noted.message


async def test_each_session_of_a_caller_is_one_session_of_ours(rig: GateRig) -> None:
    await in_thread(rig.claude, "Bash", command="ls")
    await in_thread(rig.claude, "Bash", command="touch a")

    ((summary, records),) = await sessions_of(rig)

    assert (summary.cwd, summary.turns, summary.open_in) == (str(rig.root), 2, None)
    assert "Claude Code works in" in summary.title
    assert sum(isinstance(record.event, SessionStarted) for record in records) == 1
    state = replay_state(records)
    assert (state.mended, state.open_calls, state.finished) == ((), (), True)
    assert [type(message).__name__ for message in state.messages] == [
        "UserMessage",
        *("AssistantMessage", "ToolResults") * 2,
    ]


async def test_what_may_run_is_on_record_as_left_to_the_caller(rig: GateRig) -> None:
    await in_thread(rig.claude, "Bash", command="ls")

    events = await events_of(rig)

    assert [event.tool for event in only(events, CallStarted)] == ["run_command"]
    (finished,) = only(events, CallFinished)
    assert (finished.outcome, finished.output) == (Outcome.OK, "allowed: the caller runs it")


async def test_what_is_asked_about_is_on_record_with_the_digest_that_was_answered(rig: GateRig) -> None:
    answer = await in_thread(rig.own, "run_command", command="touch a")

    events = await events_of(rig)

    (asked,), (decided,) = only(events, ReviewRequested), only(events, ReviewDecided)
    assert asked.digest == decided.digest == answer.json["digest"]
    assert decided.decision is DecisionLabel.NEEDS_APPROVAL
    assert only(events, CallStarted) == []


async def test_sessions_of_a_caller_in_two_folders_are_two(rig: GateRig) -> None:
    (rig.root / "inner").mkdir()
    await in_thread(rig.claude, "Bash", command="ls")
    rig.set_environment(CLAUDE_PROJECT_DIR=str(rig.root / "inner"))
    await in_thread(rig.claude, "Bash", command="ls")

    assert {each.cwd for each, _ in await sessions_of(rig)} == {str(rig.root), str(rig.root / "inner")}


async def test_the_id_of_a_caller_cannot_name_another_session(rig: GateRig) -> None:
    await in_thread(rig.claude, "Bash", command="ls")
    ((summary, _),) = await sessions_of(rig)
    payload = rig.payload("Bash", command="ls") | {"session_id": summary.id}

    await in_thread(rig.send, json.dumps(payload).encode())

    assert len(await sessions_of(rig)) == 2


async def test_a_prompt_of_the_person_is_the_task_of_the_calls_after_it(rig: GateRig) -> None:
    payload = {
        "session_id": "caller-session",
        "cwd": str(rig.root),
        "hook_event_name": "UserPromptSubmit",
        "prompt": "make the tests pass",
    }
    await in_thread(rig.send, json.dumps(payload).encode())
    await in_thread(rig.claude, "Bash", command="ls")

    ((summary, records),) = await sessions_of(rig)

    assert summary.title == "make the tests pass"
    assert replay_state(records).prompts == ("make the tests pass",)


@pytest.mark.parametrize(
    ("dialect", "sent"),
    [
        ("claude", {"prompt": "<task-notification>\n<summary>run the rest</summary>\n</task-notification>"}),
        ("claude", {"prompt": "run the rest", "agent_id": "a1", "agent_type": "general-purpose"}),
        ("copilot", {"sessionId": "s", "timestamp": 1, "prompt": "run the rest", "parentAgentId": "p"}),
    ],
)
async def test_a_prompt_that_no_person_wrote_is_no_task(
    rig: GateRig, dialect: str, sent: dict[str, object]
) -> None:
    common = {"cwd": str(rig.root)}
    if dialect == "claude":
        common |= {"session_id": "caller-session", "hook_event_name": "UserPromptSubmit"}
    answer = await in_thread(rig.send, json.dumps(common | sent).encode(), dialect)
    await in_thread(rig.claude, "Bash", command="ls")

    assert (answer.code, answer.out) == (0, "")
    assert all("run the rest" not in str(replay_state(records)) for _, records in await sessions_of(rig))


def gate_process(rig: GateRig, payload: object) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [QUORUM, "gate", "--dialect", "claude"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ),
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(payload))
    process.stdin.close()
    process.stdin = None
    return process


@pytest.mark.long
async def test_gates_that_run_at_once_answer_one_after_the_other(rig: GateRig) -> None:
    processes = [
        gate_process(rig, rig.payload("Bash", command=command)) for command in ("ls", "pwd", "touch a")
    ]

    answers = [await in_thread(process.communicate) for process in processes]

    decided = [json.loads(out)["hookSpecificOutput"]["permissionDecision"] for out, _ in answers]
    assert decided == ["allow", "allow", "ask"]
    ((_, records),) = await sessions_of(rig)
    assert replay_state(records).mended == ()
    assert len(only([record.event for record in records], CallFinished)) == 3


@pytest.mark.long
def test_a_caller_that_cannot_be_answered_is_stopped(rig: GateRig) -> None:
    payload = json.dumps(rig.payload("Bash", command="ls"))
    command = [QUORUM, "gate", "--dialect", "claude"]

    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, input=payload, stdout=full, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
        )

    assert (done.returncode, "cannot be answered" in done.stderr) == (2, True)


@pytest.mark.long
def test_a_mistyped_option_stops_the_caller(rig: GateRig) -> None:
    done = subprocess.run([QUORUM, "gate", "--dialect", "cluade"], input="", capture_output=True, text=True)

    assert (done.returncode, "cluade" in done.stderr) == (2, True)
