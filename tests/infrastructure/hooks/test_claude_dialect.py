"""Commands that were written as hooks of Claude Code, at the points that it has too."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from quorum.application.calls.hooks import (
    CallDraft,
    CompactionDraft,
    HookSample,
    Notification,
    PermissionRequest,
    SessionEnd,
    TurnEnd,
    build_subject,
)
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.hook_points import Ask, Continue, ContinueWithMessages, Finish, HookPoint, Skip
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.history import UserMessage
from quorum.domain.errors import HookFailure
from quorum.domain.text.json_value import JsonValue
from quorum.infrastructure.hooks.claude_dialect import (
    CLAUDE_EVENTS,
    matches,
    read_claude_answer,
    translate_input,
)
from tests.infrastructure.hooks.hook_bench import Programs
from tests.support.builders import a_context
from tests.support.hook_drafts import a_call_draft, a_permission_request, a_session_start

_KEEP = "open('seen.json', 'w').write(json.dumps(given | {'project': os.environ['CLAUDE_PROJECT_DIR']}))\n"


def _seen(programs: Programs) -> dict[str, object]:
    seen: dict[str, object] = json.loads((programs.workspace / "seen.json").read_text())
    return seen


async def test_a_hook_reads_the_fields_that_all_events_have_and_its_own(programs: Programs) -> None:
    await programs.claude(_KEEP).answer(a_session_start("resume"))

    assert _seen(programs) == {
        "session_id": "s-1",
        "transcript_path": "",
        "cwd": str(programs.workspace),
        "permission_mode": "default",
        "hook_event_name": "SessionStart",
        "source": "resume",
        "model": "fake/model",
        "project": str(programs.workspace),
    }


@pytest.mark.parametrize(
    ("tool", "given", "name", "tool_input"),
    [
        ("run_command", {"command": "make", "timeout_secs": 5}, "Bash", {"command": "make"}),
        ("write_file", {"path": "a", "content": "x"}, "Write", {"file_path": "/w/a", "content": "x"}),
        ("read_file", {"path": "b/../../a"}, "Read", {"file_path": "/a"}),
        ("list_directory", {"path": "."}, "LS", {"path": "/w"}),
        ("glob_search", {"pattern": "*.py", "path": "a"}, "Glob", {"pattern": "*.py", "path": "/w/a"}),
        (
            "grep_search",
            {"pattern": "x", "path": "/b", "file_pattern": "*.py", "case_insensitive": True},
            "Grep",
            {"pattern": "x", "path": "/b", "glob": "*.py", "-i": True},
        ),
        ("task", {"prompt": "look", "agent": "scout"}, "Task", {"prompt": "look", "subagent_type": "scout"}),
        (
            "edit_file",
            {"path": "a", "old_text": "x", "new_text": "y"},
            "Edit",
            {"file_path": "/w/a", "old_string": "x", "new_string": "y", "replace_all": False},
        ),
        (
            "edit_file",
            {"path": "a", "edits": [{"old_text": "x", "new_text": "y"}] * 2},
            "MultiEdit",
            {"file_path": "/w/a", "edits": [{"old_string": "x", "new_string": "y", "replace_all": False}] * 2},
        ),
        ("mcp__time__now", {"zone": "UTC"}, "mcp__time__now", {"zone": "UTC"}),
    ],
)
async def test_a_call_has_the_name_and_the_arguments_that_it_would_have_there(
    programs: Programs, tool: str, given: dict[str, object], name: str, tool_input: dict[str, object]
) -> None:
    await programs.claude(_KEEP).answer(a_permission_request(tool, given))  # type: ignore[arg-type]

    said = json.dumps(_seen(programs)).replace(str(programs.workspace), "/w")
    seen = json.loads(said.replace(str(programs.workspace.parent), ""))
    assert (seen["hook_event_name"], seen["tool_name"], seen["tool_input"]) == (
        "PermissionRequest",
        name,
        tool_input,
    )


@pytest.mark.parametrize(
    ("kind", "theirs"),
    [
        ("needs_approval", "permission_prompt"),
        ("question", "elicitation_dialog"),
        ("turn_ended", "idle_prompt"),
    ],
)
async def test_a_notification_has_its_type(programs: Programs, kind: str, theirs: str) -> None:
    await programs.claude(_KEEP).answer(Notification(kind=kind, message="look"))

    seen = _seen(programs)
    assert (seen["message"], seen["notification_type"]) == ("look", theirs)


async def test_the_other_events_have_their_fields(programs: Programs) -> None:
    await programs.claude(_KEEP).answer(CompactionDraft(trigger="manual", focus="tests"))
    assert _seen(programs) | {"trigger": "manual", "custom_instructions": "tests"} == _seen(programs)


_SAMPLE = HookSample(
    context=a_context(1),
    tool="read_file",
    arguments={"path": "a"},
    risk=RiskLevel.LOW,
    paths=(),
    result="",
    outcome=Outcome.OK,
    messages=(),
)


@pytest.mark.parametrize("event", CLAUDE_EVENTS)
def test_each_event_has_a_field_that_not_all_have(programs: Programs, event: str) -> None:
    subjects = {point: build_subject(point, _SAMPLE) for point in CLAUDE_EVENTS.values()}
    fields = {point: set(programs.claude("").encode(subject)) for point, subject in subjects.items()}

    assert fields[CLAUDE_EVENTS[event]] > set.intersection(*fields.values())


@pytest.mark.parametrize(
    ("reason", "theirs"),
    [("closed", "prompt_input_exit"), ("new", "clear"), ("resume", "resume"), ("finished", "other")],
)
async def test_the_end_of_a_session_has_the_reason_that_it_would_have_there(
    programs: Programs, reason: str, theirs: str
) -> None:
    end = SessionEnd(session_id="s-1", cwd="/", reason=reason)
    hook = programs.claude(_KEEP, matcher=theirs)

    assert hook.wants(end)
    await hook.answer(end)
    assert _seen(programs)["reason"] == theirs


async def test_a_call_is_read_before_it_is_decided_on_as_it_would_be_there(programs: Programs) -> None:
    hook = programs.claude(_KEEP, matcher="Bash|Write")

    assert hook.wants(a_call_draft("run_command"))
    assert not hook.wants(a_call_draft("read_file"))
    await hook.answer(a_call_draft("run_command", {"command": "make"}))
    seen = _seen(programs)
    assert (seen["hook_event_name"], seen["tool_name"]) == ("PreToolUse", "Bash")
    assert seen["tool_input"] == {"command": "make"}


def _use(decision: object = None, **more: object) -> bytes:
    specific = {"hookEventName": "PreToolUse", "permissionDecision": decision, **more}
    return json.dumps({"hookSpecificOutput": specific}).encode()


@pytest.mark.parametrize(
    ("printed", "answer"),
    [
        (_use("deny", permissionDecisionReason="not here"), Skip("not here")),
        (_use("deny", updatedInput={"command": "true"}), Skip()),
        (b'{"decision": "block", "reason": "not here"}', Skip("not here")),
        (b'{"continue": false, "stopReason": "stop"}', Skip("stop")),
        (_use("allow"), Continue()),
        (b'{"decision": "approve"}', Continue()),
        (b"all is well", Continue()),
    ],
)
def test_a_call_is_held_back_or_left_to_be_decided_on(printed: bytes, answer: object) -> None:
    assert read_claude_answer(printed, HookPoint.BEFORE_TOOL_CALL).answer() == answer


async def test_a_call_that_a_hook_wants_asked_about_is_asked_about_with_its_new_input(
    programs: Programs,
) -> None:
    answer = _use("ask", permissionDecisionReason="it is late", updatedInput={"command": "make test"})
    draft = a_call_draft("run_command", {"command": "make"})

    assert await programs.claude(f"print({answer.decode()!r})").answer(draft) == Ask("it is late")
    assert draft.arguments["command"] == "make test"


@pytest.mark.parametrize(
    "printed",
    [
        _use("maybe"),
        _use(5),
        _use("allow", updatedInput="make"),
        b'{"hookSpecificOutput": {"permissionDecision": "deny"',
    ],
)
def test_an_answer_about_a_call_that_means_nothing_is_a_failure(printed: bytes) -> None:
    with pytest.raises(HookFailure):
        read_claude_answer(printed, HookPoint.BEFORE_TOOL_CALL)


_PATCH = """*** Begin Patch
*** Update File: src/a.py
*** Move to: src/b.py
@@
 same
-old
+new
*** Add File: notes.txt
+a line
*** Delete File: .env
*** End Patch
"""


@pytest.mark.parametrize("make", [a_call_draft, a_permission_request])
@pytest.mark.parametrize(
    ("matcher", "seen"),
    [
        (
            "Edit|Write|MultiEdit",
            ["Edit /w/src/a.py", "Edit /w/src/b.py", "Write /w/notes.txt", "Write /w/.env"],
        ),
        ("Edit", ["Edit /w/src/a.py", "Edit /w/src/b.py"]),
        ("apply_patch", ["apply_patch "]),
        ("Bash", []),
    ],
)
async def test_a_hook_that_guards_files_is_asked_about_each_one_of_a_patch(
    programs: Programs, make: Callable[..., CallDraft | PermissionRequest], matcher: str, seen: list[str]
) -> None:
    call = make("apply_patch", {"patch": _PATCH})
    name = "given['tool_name'] + ' ' + given['tool_input'].get('file_path', '')"
    hook = programs.claude(f"print({name}, file=open('log', 'a'))", matcher=matcher)

    assert hook.wants(call) == bool(seen)
    assert await hook.answer(call) == Continue()
    file = programs.workspace / "log"
    found = file.read_text().replace(str(programs.workspace), "/w").splitlines() if file.exists() else []
    assert found == seen


async def test_a_hook_that_refuses_one_file_of_a_patch_refuses_the_patch(programs: Programs) -> None:
    body = "sys.exit(2 if given['tool_input'].get('file_path', '').endswith('.env') else 0)"

    assert isinstance(
        await programs.claude(body, matcher="Write").answer(a_call_draft("apply_patch", {"patch": _PATCH})),
        Skip,
    )


async def test_exit_code_2_before_a_call_skips_it_with_what_was_said(programs: Programs) -> None:
    hook = programs.claude("sys.stderr.write('frozen'), sys.exit(2)")

    assert await hook.answer(a_call_draft()) == Skip("frozen")


@pytest.mark.parametrize(
    ("tool", "given", "wanted", "arguments"),
    [
        (
            "run_command",
            {"command": "make", "timeout_secs": 5},
            {"command": "make -n"},
            {"command": "make -n", "timeout_secs": 5},
        ),
        (
            "write_file",
            {"path": "a", "content": "x"},
            {"file_path": "/w/a", "content": "y"},
            {"path": "a", "content": "y"},
        ),
        (
            "edit_file",
            {"path": "a", "edits": [{"old_text": "x", "new_text": "y"}]},
            {"file_path": "b", "old_string": "x", "new_string": "z", "replace_all": False},
            {"path": "b", "edits": [{"old_text": "x", "new_text": "z"}]},
        ),
        (
            "edit_file",
            {"path": "a", "old_text": "x", "new_text": "y"},
            {"file_path": "/w/a", "old_string": "x", "new_string": "y", "replace_all": True},
            {"path": "a", "old_text": "x", "new_text": "y", "replace_all": True},
        ),
        (
            "grep_search",
            {"pattern": "x", "path": "a", "context_lines": 2},
            {"pattern": "y", "path": "/w/a", "-C": 2},
            {"pattern": "y", "path": "a", "context_lines": 2},
        ),
        ("mcp__time__now", {"zone": "UTC"}, {"zone": "CET"}, {"zone": "CET"}),
    ],
)
def test_input_that_a_hook_changed_becomes_arguments(
    tool: str, given: dict[str, JsonValue], wanted: dict[str, JsonValue], arguments: dict[str, JsonValue]
) -> None:
    assert translate_input(tool, given, wanted, "/w") == arguments


@pytest.mark.parametrize(
    ("tool", "given", "wanted"),
    [
        ("run_command", {"command": "make"}, {"command": "make", "timeout": 5}),
        ("run_command", {"command": "make"}, {}),
        (
            "edit_file",
            {"path": "a", "edits": [{"old_text": "x", "new_text": "y"}] * 2},
            {"file_path": "a", "edits": []},
        ),
    ],
)
def test_input_that_a_tool_does_not_have_here_is_a_failure_and_the_call_does_not_run(
    tool: str, given: dict[str, JsonValue], wanted: dict[str, JsonValue]
) -> None:
    with pytest.raises(HookFailure, match="of the input"):
        translate_input(tool, given, wanted, "/w")


async def test_what_a_hook_changed_is_what_is_decided_on(programs: Programs) -> None:
    call = a_call_draft("run_command", {"command": "make"})
    more = {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "make -n"}}}

    assert await programs.claude(f"print(json.dumps({more!r}))").answer(call) == Continue()
    assert call.arguments == {"command": "make -n"}


async def test_what_is_printed_at_the_beginning_is_context_as_text_or_in_its_field(programs: Programs) -> None:
    start = a_session_start()

    await programs.claude("print('plain words')").answer(start)
    more = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "from a field"}}
    await programs.claude(f"print(json.dumps({more!r}))").answer(start)

    assert start.context == "plain words\nfrom a field"


def _permission(decision: object, **more: object) -> bytes:
    specific = {"hookEventName": "PermissionRequest", "decision": decision}
    return json.dumps({"hookSpecificOutput": specific, **more}).encode()


async def test_a_permission_is_denied_by_a_decision_or_by_exit_code_2(programs: Programs) -> None:
    denied = _permission({"behavior": "deny", "message": "not here"})
    assert read_claude_answer(denied, HookPoint.ON_PERMISSION_REQUEST).answer() == Skip("not here")

    exits = programs.claude("sys.exit('frozen') if False else (sys.stderr.write('frozen'), sys.exit(2))")
    assert await exits.answer(a_permission_request()) == Skip("frozen")


async def test_a_hook_that_would_allow_a_call_approves_nothing_and_the_person_reads_so(
    programs: Programs,
) -> None:
    request = a_permission_request()
    allowing = {"hookSpecificOutput": {"decision": {"behavior": "allow", "updatedInput": {"command": "true"}}}}

    answer = await programs.claude(f"print(json.dumps({allowing!r}))").answer(request)

    assert answer == Continue()
    assert request.note == "it would allow this call; here only you can"
    assert request.arguments == {"command": "make"}


@pytest.mark.parametrize("decision", [{"behavior": "maybe"}, {}, "yes", 5])
def test_a_decision_that_means_nothing_is_a_failure_so_that_the_person_is_asked(decision: object) -> None:
    with pytest.raises(HookFailure, match="must have the behavior allow or deny"):
        read_claude_answer(_permission(decision), HookPoint.ON_PERMISSION_REQUEST)


def test_a_summary_is_blocked_or_told_what_to_dwell_on() -> None:
    block = json.dumps({"decision": "block", "reason": "not yet"}).encode()
    stop = json.dumps({"continue": False, "stopReason": "no"}).encode()

    assert read_claude_answer(block, HookPoint.ON_COMPACTION).answer() == Skip("not yet")
    assert read_claude_answer(stop, HookPoint.ON_COMPACTION).answer() == Skip("no")
    assert read_claude_answer(b"keep the plan\n", HookPoint.ON_COMPACTION).carried == "keep the plan"


@pytest.mark.parametrize(
    "point", [HookPoint.ON_SESSION_START, HookPoint.ON_SESSION_END, HookPoint.ON_NOTIFICATION]
)
def test_holding_back_what_cannot_be_held_back_is_a_failure_and_no_silence(point: HookPoint) -> None:
    with pytest.raises(HookFailure, match="nothing can be held back"):
        read_claude_answer(b'{"continue": false}', point)


async def test_exit_code_2_where_nothing_is_held_back_is_a_failure(programs: Programs) -> None:
    with pytest.raises(HookFailure, match="gone"):
        await programs.claude("sys.stderr.write('gone'); sys.exit(2)").answer(
            Notification(kind="question", message="m")
        )


@pytest.mark.parametrize(
    ("matcher", "value", "fits"),
    [
        ("", "Bash", True),
        ("*", "Bash", True),
        ("Bash", "Bash", True),
        ("Bash", "BashOutput", False),
        ("Edit|Write", "Write", True),
        ("mcp__.*", "mcp__time__now", True),
        ("mcp__.*", "Bash", False),
        ("startup|resume", "resume", True),
    ],
)
def test_a_matcher_means_what_it_means_there(matcher: str, value: str, fits: bool) -> None:
    assert matches(matcher, value) is fits


async def test_a_hook_is_asked_only_about_what_its_matcher_fits(programs: Programs) -> None:
    hook = programs.claude(_KEEP, "startup")

    assert (hook.wants(a_session_start("new")), hook.wants(a_session_start("resume"))) == (True, False)
    assert programs.claude(_KEEP, "Bash").wants(a_permission_request("run_command"))


def _end(*texts: str) -> TurnEnd:
    return TurnEnd(tuple(UserMessage(text) for text in texts))


@pytest.mark.parametrize(
    "body",
    [
        "print(json.dumps({'decision': 'block', 'reason': 'run the tests'}))",
        "sys.stderr.write('run the tests'); sys.exit(2)",
    ],
    ids=["decision", "exit code"],
)
async def test_a_hook_makes_the_turn_go_on_with_its_reason(programs: Programs, body: str) -> None:
    answer = await programs.claude(body, matcher="Bash").answer(_end("do it"))

    assert answer == ContinueWithMessages(("run the tests",))


async def test_a_hook_learns_that_the_turn_goes_on_because_of_it_and_lets_it_end(programs: Programs) -> None:
    hook = programs.claude(
        _KEEP + "if not given['stop_hook_active']: answer(decision='block', reason='run the tests')"
    )

    assert await hook.answer(_end("do it")) == ContinueWithMessages(("run the tests",))
    assert await hook.answer(_end("do it", "run the tests")) == Finish()
    assert _seen(programs)["hook_event_name"] == "Stop"
    assert await hook.answer(_end("do it", "run the tests", "more")) == ContinueWithMessages(("run the tests",))


@pytest.mark.parametrize(
    "printed", [b"", b"all is well", b"{}", b'{"continue": false, "decision": "block", "reason": "x"}']
)
def test_the_turn_ends_where_nothing_holds_it(printed: bytes) -> None:
    assert read_claude_answer(printed, HookPoint.ON_TURN_END).answer() == Finish()


def test_a_turn_that_may_not_end_for_no_reason_is_a_failure() -> None:
    with pytest.raises(HookFailure, match="no reason to go on"):
        read_claude_answer(b'{"decision": "block"}', HookPoint.ON_TURN_END)


def test_whatever_the_matcher_a_hook_hears_of_the_end_of_each_turn(programs: Programs) -> None:
    assert programs.claude("", matcher="Bash").wants(_end("x"))
