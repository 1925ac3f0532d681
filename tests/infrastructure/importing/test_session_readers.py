import json
import sqlite3
from pathlib import Path

import pytest

from quorum.domain.importing.foreign_session import (
    ForeignAnswer,
    ForeignItem,
    ForeignPrompt,
    ForeignResult,
    ForeignSummary,
)
from quorum.infrastructure.importing.claude import list_claude_sessions, read_claude_session
from quorum.infrastructure.importing.codex import list_codex_sessions, read_codex_session
from quorum.infrastructure.importing.other_agents import list_opencode_sessions, read_opencode_session
from quorum.infrastructure.importing.places import ReadSession

_TIME = "2026-11-29T09:55:52.877Z"


def _write_lines(file: Path, lines: list[object]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    file.write_text("\n".join(texts) + "\n", encoding="utf-8")


def _said(items: list[ForeignItem]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for item in items:
        match item:
            case ForeignPrompt():
                found.append(("prompt", item.text))
            case ForeignSummary():
                found.append(("summary", item.text))
            case ForeignAnswer():
                found.append(("answer", f"{item.text}{[call.tool for call in item.calls]}"))
            case ForeignResult():
                found.append(("result", f"{item.call_id}={item.output}{'!' if item.is_error else ''}"))
    return found


def _line(kind: str, uuid: str, parent: str | None, content: object, **more: object) -> dict[str, object]:
    message = {"role": kind, "content": content, "model": "m-1", "id": more.pop("id", uuid)}
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "isSidechain": False,
        "timestamp": _TIME,
        "cwd": "/w",
        "message": message,
        **more,
    }


def _read_claude(folder: Path, lines: list[object]) -> ReadSession | None:
    _write_lines(folder / "projects/-w/s1.jsonl", lines)
    (source,) = list_claude_sessions(folder)
    return read_claude_session(source)


def _use(name: str) -> dict[str, object]:
    return {"type": "tool_use", "id": name, "name": "Read", "input": {"file_path": name}}


def _result(name: str, content: object, **more: object) -> list[object]:
    return [{"type": "tool_result", "tool_use_id": name, "content": content, **more}]


def test_a_session_of_claude_code_is_read_with_parallel_calls(tmp_path: Path):
    read = _read_claude(
        tmp_path,
        [
            {"type": "queue-operation", "operation": "enqueue", "timestamp": _TIME},
            _line("user", "u1", None, "look"),
            {"type": "attachment", "uuid": "x1", "parentUuid": "u1", "isSidechain": False},
            _line("assistant", "a1", "x1", [{"type": "text", "text": "Reading."}], id="m1"),
            _line("assistant", "a2", "a1", [_use("t1")], id="m1"),
            _line("assistant", "a3", "a2", [_use("t2")], id="m1"),
            _line("user", "r1", "a2", _result("t1", "one")),
            _line("user", "r2", "a3", _result("t2", [{"type": "text", "text": "two"}], is_error=True)),
            _line("user", "n1", "r2", "<system-reminder>", isMeta=True),
            _line(
                "assistant",
                "a4",
                "n1",
                [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Done."}],
            ),
        ],
    )

    assert read is not None
    assert (read.session.cwd, read.session.model, read.session.source_id) == ("/w", "anthropic/m-1", "s1")
    assert _said(list(read.items)) == [
        ("prompt", "look"),
        ("answer", "Reading.['Read', 'Read']"),
        ("result", "t1=one"),
        ("result", "t2=two!"),
        ("answer", "Done.[]"),
    ]
    assert read.flaws == []


def test_only_the_branch_that_was_used_last_is_read(tmp_path: Path):
    read = _read_claude(
        tmp_path,
        [
            _line("user", "u1", None, "first"),
            _line("assistant", "a1", "u1", [{"type": "text", "text": "wrong"}]),
            _line("user", "u2", "a1", "forget that"),
            _line("user", "u3", "u1", "again"),
            _line("assistant", "a3", "u3", [{"type": "text", "text": "right"}]),
            _line("assistant", "s1", "a3", [{"type": "text", "text": "of a subagent"}], isSidechain=True),
        ],
    )

    assert read is not None
    assert _said(list(read.items)) == [("prompt", "first"), ("prompt", "again"), ("answer", "right[]")]


def test_a_compaction_of_claude_code_is_a_summary(tmp_path: Path):
    read = _read_claude(
        tmp_path,
        [
            _line("user", "u1", None, "first"),
            {
                "type": "system",
                "uuid": "c1",
                "parentUuid": None,
                "logicalParentUuid": "u1",
                "isSidechain": False,
            },
            _line("user", "u2", "c1", "what was said", isCompactSummary=True),
            _line("assistant", "a1", "u2", [{"type": "text", "text": "on"}]),
        ],
    )

    assert read is not None
    assert _said(list(read.items)) == [("prompt", "first"), ("summary", "what was said"), ("answer", "on[]")]


def test_damaged_lines_are_named_and_the_others_are_read(tmp_path: Path):
    read = _read_claude(tmp_path, [_line("user", "u1", None, "hello"), '{"type": "assist', "7", '{"uuid": 5}'])

    assert read is not None
    assert _said(list(read.items)) == [("prompt", "hello")]
    assert [flaw.partition(": ")[0] for flaw in read.flaws] == [
        f"{tmp_path}/projects/-w/s1.jsonl:{number}" for number in (2, 3, 4)
    ]


def test_half_a_character_in_a_text_loses_nothing(tmp_path: Path):
    read = _read_claude(
        tmp_path, [_line("user", "u1", None, "cut here: \ud83d"), _line("assistant", "a1", "u1", "ok")]
    )

    assert read is not None
    assert _said(list(read.items)) == [("prompt", "cut here: \ud83d"), ("answer", "ok[]")]
    assert read.flaws == []


def test_files_of_subagents_and_empty_files_are_no_sessions(tmp_path: Path):
    _write_lines(tmp_path / "projects/-w/agent-1.jsonl", [_line("user", "u1", None, "x")])
    (tmp_path / "projects/-w/empty.jsonl").touch()
    assert list(list_claude_sessions(tmp_path)) == []


def _item(payload: dict[str, object], kind: str = "response_item") -> dict[str, object]:
    return {"timestamp": _TIME, "type": kind, "payload": payload}


def _message(role: str, text: str, **more: object) -> dict[str, object]:
    return _item({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}], **more})


def test_a_session_of_codex_is_read_without_what_codex_says_in_the_persons_name(tmp_path: Path):
    told = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": ["user.text"]}}
    other = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": ["environment"]}}
    call = {"type": "function_call", "name": "exec_command", "call_id": "c1", "arguments": '{"cmd": "ls"}'}
    _write_lines(
        tmp_path / "sessions/2026/11/29/rollout-x.jsonl",
        [
            _item({"id": "s1", "cwd": "/w", "source": "exec"}, "session_meta"),
            _message("developer", "skills"),
            _message("user", "<environment_context>x"),
            _message("user", "more context", **other),
            _item({"model": "m-1"}, "turn_context"),
            _message("user", "list it", **told),
            _item({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}),
            _message("assistant", "Listing."),
            _item(call),
            _item({"type": "function_call_output", "call_id": "c1", "output": "a.py"}),
            _item({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c2", "input": "*** Begin"}),
            _item(
                {
                    "type": "custom_tool_call_output",
                    "call_id": "c2",
                    "output": {"content": "no", "success": False},
                }
            ),
            _item({"message": "we listed"}, "compacted"),
            "{damaged",
            _message("assistant", "Done."),
        ],
    )

    (source,) = list_codex_sessions(tmp_path)
    read = read_codex_session(source)

    assert read is not None
    assert (read.session.source_id, read.session.cwd, read.session.model) == ("s1", "/w", "openai/m-1")
    assert _said(list(read.items)) == [
        ("prompt", "list it"),
        ("answer", "Listing.['exec_command']"),
        ("result", "c1=a.py"),
        ("answer", "['apply_patch']"),
        ("result", "c2=no!"),
        ("summary", "we listed"),
        ("answer", "Done.[]"),
    ]
    assert len(read.flaws) == 1


def test_a_file_of_codex_with_another_beginning_is_refused(tmp_path: Path):
    _write_lines(tmp_path / "sessions/rollout-x.jsonl", [_message("user", "x")])
    (source,) = list_codex_sessions(tmp_path)

    with pytest.raises(ValueError, match="session_meta"):
        read_codex_session(source)


def _make_opencode(folder: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(folder / "opencode.db")
    connection.executescript(
        "CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, model TEXT, time_created INTEGER);"
        "CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);"
        "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);"
    )
    return connection


def test_a_session_of_opencode_is_read_and_its_database_is_left_as_it_was(tmp_path: Path):
    connection = _make_opencode(tmp_path)
    model = json.dumps({"id": "m-1", "providerID": "p"})
    rows = [("ses_1", None, "/w", model, 5), ("ses_2", "ses_1", "/w", model, 6)]
    connection.executemany("INSERT INTO session VALUES (?, ?, ?, ?, ?)", rows)
    messages = [("m1", 10, {"role": "user"}), ("m2", 20, {"role": "assistant", "modelID": "m-1"})]
    for name, at_ms, data in messages:
        connection.execute("INSERT INTO message VALUES (?, 'ses_1', ?, ?)", (name, at_ms, json.dumps(data)))
    state = {"status": "completed", "input": {"filePath": "a"}, "output": "one"}
    parts = [
        ("m1", {"type": "text", "text": "look"}),
        ("m1", {"type": "text", "text": "context", "synthetic": True}),
        ("m2", {"type": "step-start"}),
        ("m2", {"type": "text", "text": "Reading."}),
        ("m2", {"type": "tool", "tool": "read", "callID": "c1", "state": state}),
        ("m2", {"type": "tool", "tool": "bash", "callID": "c2", "state": {"status": "error", "error": "no"}}),
    ]
    for number, (name, data) in enumerate(parts):
        connection.execute("INSERT INTO part VALUES (?, ?, 'ses_1', ?)", (f"p{number}", name, json.dumps(data)))
    connection.commit()
    connection.close()
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    (source,) = list_opencode_sessions(tmp_path)
    read = read_opencode_session(source)

    assert read is not None
    assert (read.session.source_id, read.session.cwd, read.session.model) == ("ses_1", "/w", "p/m-1")
    assert _said(list(read.items)) == [
        ("prompt", "look"),
        ("answer", "Reading.['read', 'bash']"),
        ("result", "c1=one"),
        ("result", "c2=no!"),
    ]
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_database_of_another_form_is_refused(tmp_path: Path):
    with sqlite3.connect(tmp_path / "opencode.db") as connection:
        connection.execute("CREATE TABLE session (id TEXT)")

    with pytest.raises(ValueError, match="its table session has no"):
        list(list_opencode_sessions(tmp_path))
