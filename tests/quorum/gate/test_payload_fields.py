"""A field that is not known asks, and is named: in a call, notes among them, and beside it by its words."""

from __future__ import annotations

import json
import os

import pytest

from quorum.domain.calls.tool_traits import CallEffect
from quorum.gate.agent_forms import name_as_claude
from quorum.gate.caller_calls import translate_call
from quorum.gate.payload import (
    CODEX_NOTES,
    NOTES,
    QUESTIONS,
    BadPayload,
    list_unknown_beside,
    require_hook_fields,
)
from quorum.infrastructure.doctor.diagnosis import check_machine
from quorum.infrastructure.gate.unknown_fields import describe_unknown_fields
from tests.quorum.gate.test_agent_dialects import payload
from tests.support.command_line import run_command
from tests.support.gate_rig import GateAnswer, GateRig


def explain(answer: GateAnswer) -> str:
    """Why a call does not run unasked; empty where it does."""
    is_allowed = answer.code == 0 and '"ask"' not in answer.out and '"deny"' not in answer.out
    return "" if is_allowed else answer.out + answer.err


@pytest.mark.parametrize("tool", sorted({*NOTES, *QUESTIONS, *CODEX_NOTES} - {"StructuredOutput"}))
def test_a_note_has_the_fields_that_are_known_and_no_others(tool: str) -> None:
    known = {**NOTES, **QUESTIONS, **CODEX_NOTES}[tool].split()
    is_codex = tool in CODEX_NOTES
    given = dict.fromkeys(known, "x")

    noted = translate_call(tool, given, cwd="/w", is_before_use=True, is_codex=is_codex)

    assert noted.effect is CallEffect.NOTE
    with pytest.raises(BadPayload, match="'then_run'"):
        translate_call(tool, {**given, "then_run": "x"}, cwd="/w", is_before_use=True, is_codex=is_codex)


@pytest.mark.parametrize(
    ("tool", "fields"),
    [
        ("update_topic", "title summary strategic_intent wait_for_previous"),
        ("write_todos", "todos"),
        ("todowrite", "todos"),
        ("TodoList", "todos"),
        ("tool_search", "query max_results"),
    ],
)
def test_notes_of_other_agents_have_the_fields_that_these_have(tool: str, fields: str) -> None:
    named, given = name_as_claude(tool, dict.fromkeys(fields.split(), "x"))

    assert translate_call(named, given, cwd="/w").effect is CallEffect.NOTE


@pytest.mark.parametrize(
    ("agent", "tool", "given"),
    [
        ("copilot", "read_agent", {"agent_id": "a", "wait": True, "timeout": 1, "since_turn": 1}),
        ("gemini", "read_background_output", {"pid": 1, "lines": 5, "delay_ms": 1}),
        ("kimi", "UpdateGoal", {"status": "done"}),
        ("vibe", "process.output", {"processId": "p", "from": "end", "waitMs": 1, "maxBytes": 9}),
        ("vibe", "self.sleep", {"seconds": 1}),
        ("vibe", "vibe.todo", {"action": "write", "todos": []}),
        ("qwen", "update_goal", {"status": "complete", "reason": "r", "blockerKind": "authority"}),
        ("qwen", "list_agents", {}),
        ("gemini", "ask_user", {"questions": []}),
        ("gemini", "enter_plan_mode", {"reason": "r"}),
        ("gemini", "exit_plan_mode", {"plan_filename": "p.md"}),
    ],
)
def test_an_agent_asks_about_its_own_work_unasked_by_the_fields_that_it_has(
    rig: GateRig, agent: str, tool: str, given: dict[str, object]
) -> None:
    def send(**more: object) -> str:
        return explain(rig.send(json.dumps(payload(rig, agent, tool, {**given, **more})).encode(), agent))

    assert send() == ""
    assert "'then_run'" in send(then_run="x")


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "kimi", "qwen", "copilot", "opencode", "vibe"])
def test_a_field_beside_the_call_asks_where_it_says_what_runs_or_where(rig: GateRig, agent: str) -> None:
    def send(name: str) -> str:
        match agent:
            case "claude" | "codex":
                sent = rig.payload("TodoWrite" if agent == "claude" else "get_goal")
            case "opencode":
                sent = payload(rig, agent, "todowrite", {"todos": []})["input"]
            case _:
                tools = {"kimi": "TodoList", "copilot": "list_bash", "vibe": "process.list"}
                sent = payload(rig, agent, tools.get(agent, "write_todos"), {})
        sent = {**sent, name: "x"}
        if agent == "opencode":
            sent = {"input": sent, "output": {"args": {"todos": []}}}
        return explain(rig.send(json.dumps(sent).encode(), agent))

    for name in ("trace_id", "durationMs", "input_tokens", "serverVersion", "root_span_id"):
        assert send(name) == ""
    for name in ("remote_host", "unsandboxed", "updatedInput", "container_id", "ssh_target"):
        assert f"'{name}'" in send(name)


def test_a_write_that_adds_to_its_file_is_not_taken_for_one_that_replaces_it(rig: GateRig) -> None:
    rig.configure('[review]\nmode = "auto"\n')

    def send(mode: str) -> str:
        given = {"path": "made.txt", "content": "x", "mode": mode}
        return explain(rig.send(json.dumps(payload(rig, "kimi", "Write", given)).encode(), "kimi"))

    assert send("overwrite") == ""
    assert "'mode'" in send("append")


SENT = {  # what the versions in docs/gate.md send before a call
    "claude": "cwd effort hook_event_name permission_mode prompt_id session_id tool_input tool_use_id",
    "codex": "cwd hook_event_name model permission_mode session_id source tool_input tool_use_id turn_id",
    "copilot": "cwd hookName permissionSuggestions sessionId timestamp toolArgs toolInput toolName",
    "gemini": "cwd hook_event_name mcp_context session_id timestamp tool_input tool_name transcript_path",
    "kimi": "client_type cwd hook_event_name session_id tool_call_id tool_input tool_name",
    "opencode": "args callID sessionID tool",
    "qwen": "cwd hook_event_name permission_mode prompt_id session_id timestamp tool_call_id tool_input",
    "vibe": "cwd hook_event_name parent_session_id session_id tool_call_id tool_input tool_name",
}


@pytest.mark.parametrize("agent", SENT)
def test_of_what_an_agent_sends_beside_a_call_nothing_is_unknown(agent: str) -> None:
    sent = dict.fromkeys(SENT[agent].split(), "x")

    require_hook_fields(sent)
    assert list_unknown_beside(sent) == ()
    assert list_unknown_beside({**sent, "trace_id": "x"}) == ("trace_id",)


def test_unknown_fields_beside_a_call_are_told_with_place_and_remedy(
    rig: GateRig, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = payload(rig, "kimi", "GetGoal", {}) | {"trace_id": "x"}
    for more in ({}, {"span\x1b[31m": "y"}, {}):
        assert rig.send(json.dumps(sent | more).encode(), "kimi").code == 0
    told = list(describe_unknown_fields(os.environ))
    capsys.readouterr()

    status = run_command(["gate", "status"], rig.root)

    shown = capsys.readouterr().out.splitlines()[-1]
    assert status == 0
    assert len(told) == 1
    assert "Kimi Code also sends 'trace_id', 'span" in shown
    assert "\x1b" not in shown
    (place,) = rig.home.rglob("gate-unknown-fields")
    assert str(place) in shown
    assert [(each.text, each.remedy) for each in check_machine(os.environ) if each.name == "gate"] == told
    place.write_text("{")
    assert run_command(["gate", "status"], rig.root) == 1
    assert "delete it" in capsys.readouterr().out
    assert "delete it" in rig.send(json.dumps(sent).encode(), "kimi").err
