"""Calls of agents over the Agent Client Protocol, in the forms in which the programs show them."""

from __future__ import annotations

from typing import Any

import pytest

from quorum.application.ports.agents import ReportedCall, ReportedDiff
from quorum.domain.calls.packet import ProposedCall
from quorum.domain.calls.tool_traits import CallEffect
from quorum.gate.acp_calls import read_reported_call


def read(*, tells_no_arguments: bool = False, **fields: Any) -> ProposedCall:
    call = ReportedCall(**{"call_id": "1", **fields})
    return read_reported_call(call, cwd="/work", environment={}, tells_no_arguments=tells_no_arguments)


@pytest.mark.parametrize(
    ("agent", "arguments"),
    [
        ("claude", {"command": "touch a", "description": "make a file"}),
        ("codex", {"command": "touch a", "cwd": "/work"}),
        ("copilot", {"command": "touch a", "commands": ["touch a"], "description": "make", "mode": "sync"}),
        ("opencode", {"command": "touch a", "description": "make", "cwd": "/work"}),
        ("vibe", {"command": "touch a"}),
        ("words", {"command": ["touch", "a"]}),
    ],
)
def test_a_command_is_read_from_the_arguments(agent: str, arguments: dict[str, Any]) -> None:
    call = read(kind="execute", title="Make a file", arguments=arguments)

    assert (call.tool, call.arguments, call.cwd) == ("run_command", {"command": "touch a"}, "/work")
    assert call.effect is CallEffect.COMMAND


@pytest.mark.parametrize(
    ("folder", "place"), [("/elsewhere", "/elsewhere"), ("inner", "/work/inner"), ("", "/work")]
)
def test_a_command_runs_where_its_arguments_say(folder: str, place: str) -> None:
    assert read(kind="execute", arguments={"command": "touch a", "cwd": folder}).cwd == place


@pytest.mark.parametrize(
    ("title", "arguments", "tool"),
    [
        ("Write", {"path": "/work/a", "content": "x"}, "write_file"),
        ("Edit", {"path": "/work/a", "old_string": "a", "new_string": "b"}, "edit_file"),
        ("Write", {"path": "/work/a", "content": "x", "mode": "append"}, "caller__edit"),
        ("Write", {"path": "/work/a"}, "caller__edit"),
        ("Writing /work/a", {"path": "/work/a", "content": "x"}, "caller__edit"),
    ],
)
def test_an_edit_without_a_diff_is_known_by_a_title_that_is_the_name_of_its_tool(
    title: str, arguments: dict[str, Any], tool: str
) -> None:
    assert read(kind="edit", title=title, arguments=arguments).tool == tool


@pytest.mark.parametrize(
    ("diff", "paths", "tool"),
    [
        (ReportedDiff(path="/work/a", before="a", after="b", kind="update"), ("/work/a",), "edit_file"),
        (ReportedDiff(path="/work/a", before="a", after="b", kind="modify"), ("/work/a",), "edit_file"),
        (ReportedDiff(path="a", before="a", after="b"), ("/work/a", "/work/./a"), "edit_file"),
        (ReportedDiff(path="/work/a", before=None, after="b", kind="add"), (), "write_file"),
        (ReportedDiff(path="/work/a", before="a", after="", kind="delete"), ("/work/a",), "caller__edit"),
        (ReportedDiff(path="/work/c", before="", after="", kind="update"), ("/work/a",), "caller__edit"),
        (ReportedDiff(path="/work/c", before="a", after="b"), ("/work/c", "/work/a"), "caller__edit"),
    ],
)
def test_a_file_that_is_deleted_or_moved_is_no_edit_of_one_file(
    diff: ReportedDiff, paths: tuple[str, ...], tool: str
) -> None:
    call = read(kind="edit", title="Editing files", diffs=(diff,), paths=paths)

    assert (call.tool, call.is_known) == (tool, tool != "caller__edit")
    assert not read(kind="delete", diffs=(diff,)).is_known


@pytest.mark.parametrize("tool", ["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"])
def test_a_question_to_the_person_is_no_note_where_a_permission_answers_it(tool: str) -> None:
    assert not read(tool=tool, kind="switch_mode", arguments={"plan": "p"}).is_known
    assert read(tool="Task", kind="think", arguments={"prompt": "p"}).effect is CallEffect.OTHER


def test_a_tool_that_only_one_agent_has_is_not_known_by_its_name_alone() -> None:
    call = read(tool="list_agents", kind="other", arguments={"scope": "all"})

    assert (call.effect, call.is_known) == (CallEffect.OTHER, False)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"title": "ls"}, id="a title alone"),
        pytest.param({"arguments": {"command": "ls", "stdin": "touch b"}}, id="more than a command"),
        pytest.param({"arguments": {"command": "ls", "commands": ["touch b"]}}, id="another command"),
        pytest.param({"arguments": {"command": ""}}, id="no command"),
        pytest.param({"arguments": {"command": ["ls", 1]}}, id="no words"),
        pytest.param({"diffs": (ReportedDiff(path="/work/a", before="a", after="b"),)}, id="a diff"),
    ],
)
def test_what_may_be_more_than_the_command_shown_is_not_known(fields: dict[str, Any]) -> None:
    call = read(kind="execute", **fields)

    assert (call.effect, call.is_known) == (CallEffect.OTHER, False)


def test_the_title_is_the_command_of_an_agent_that_shows_it_nowhere_else() -> None:
    shown: dict[str, Any] = {"kind": "execute", "title": "touch a"}
    here = read(**shown, output="[current working directory /work] (make)", tells_no_arguments=True)
    elsewhere = read(**shown, output="[current working directory /] (make)", tells_no_arguments=True)

    assert (here.tool, here.arguments) == ("run_command", {"command": "touch a"})
    assert not elsewhere.is_known
    assert elsewhere.shell_text == "touch a"


@pytest.mark.parametrize(
    ("fields", "effect"),
    [
        pytest.param({"call_id": "write_todos__1", "kind": "other"}, CallEffect.NOTE, id="its list"),
        pytest.param({"call_id": "write_todos__1", "kind": "edit"}, CallEffect.OTHER, id="a change"),
        pytest.param(
            {"call_id": "save_memory__write_todos__1", "kind": "other"}, CallEffect.OTHER, id="a part"
        ),
        pytest.param({"call_id": "write_todos", "kind": "other"}, CallEffect.OTHER, id="an id of a model"),
        pytest.param(
            {"call_id": "list_directory__1", "kind": "search"}, CallEffect.OTHER, id="more than a list"
        ),
    ],
)
def test_the_list_of_an_agent_is_told_by_the_beginning_of_the_id_where_arguments_are_not(
    fields: dict[str, Any], effect: CallEffect
) -> None:
    assert read(**fields, title="Set 2 todo(s)", tells_no_arguments=True).effect is effect
    assert read(**fields, title="Set 2 todo(s)").effect is CallEffect.OTHER


def test_an_edit_is_read_by_its_diff() -> None:
    new = read(kind="edit", diffs=(ReportedDiff(path="/work/a", before=None, after="new"),))
    part = read(kind="edit", diffs=(ReportedDiff(path="/work/a", before="old", after="new"),))

    assert (new.tool, new.arguments) == ("write_file", {"path": "/work/a", "content": "new"})
    assert part.tool == "edit_file"
    assert part.arguments["edits"] == [{"old_text": "old", "new_text": "new", "replace_all": False}]


@pytest.mark.parametrize("path", ["~/a", " a", "a\0b", ""])
def test_a_path_that_may_be_read_otherwise_is_not_known(path: str) -> None:
    assert not read(kind="edit", diffs=(ReportedDiff(path=path, before=None, after="new"),)).is_known


def test_several_files_at_once_are_not_known_and_are_all_shown() -> None:
    diffs = tuple(ReportedDiff(path=path, before="old", after="new") for path in ("/work/a", "/work/b"))

    call = read(kind="edit", diffs=diffs)

    assert not call.is_known
    assert "/work/b" in str(call.arguments)


def test_a_diff_beside_what_is_shown_in_an_unknown_form_is_not_known_and_all_is_shown() -> None:
    diff = ReportedDiff(path="/work/a", before="old", after="new")

    call = read(kind="edit", diffs=(diff,), unread=({"type": "patch", "path": "/work/b"},))

    assert not call.is_known
    assert "/work/b" in str(call.arguments)


@pytest.mark.parametrize("kind", ["edit", "execute", "delete", "move"])
def test_a_tool_that_looks_is_believed_only_where_the_call_says_that_it_looks(kind: str) -> None:
    looking = read(tool="Read", kind="read", arguments={"file_path": "/work/a"})
    changing = read(tool="Read", kind=kind, arguments={"file_path": "/work/a"})

    assert looking.effect is CallEffect.READ
    assert not changing.is_known


def test_a_title_names_no_tool() -> None:
    assert not read(title="Read", kind="other", arguments={"file_path": "/work/a"}).is_known


def test_tools_of_servers_keep_their_names() -> None:
    call = read(tool="mcp__server__delete", kind="other", arguments={"id": 1})

    assert (call.tool, call.effect) == ("mcp__server__delete", CallEffect.OTHER)
