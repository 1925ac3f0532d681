"""The published schema of stream-json: made from the types, and what a real run prints fits it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from quorum.domain.events.event import Event, SessionFinished
from quorum.headless.stream_schema import build_stream_schema
from tests.support.any_event import of_type
from tests.support.examples import examples
from tests.support.headless_run import Ended, configure_for, environment, run
from tests.support.sse_server import Refuse, Say, ScriptedCall, SseServer

DOCS = Path(__file__).parents[2] / "docs"
PUBLISHED = DOCS / "stream-json.schema.json"
RENDER = "python -m quorum.headless.stream_schema > docs/stream-json.schema.json"

HOOK = """
[[hooks]]
name = "watcher"
event = ["before_tool_call", "after_tool_call", "on_message_send", "on_turn_end"]
command = ["true"]
"""


def closed(schema: Any) -> Any:
    """The schema with no room for what it does not name, so that an undescribed field is found."""
    match schema:
        case {"properties": _}:
            return {"additionalProperties": False, **{key: closed(part) for key, part in schema.items()}}
        case dict():
            return {key: closed(part) for key, part in schema.items()}
        case list():
            return [closed(part) for part in schema]
        case _:
            return schema


SCHEMA = closed(build_stream_schema())
NAMES = {
    definition["properties"]["type"]["const"]: name
    for name, definition in SCHEMA["$defs"].items()
    if "v" in definition.get("properties", {})
}
VALIDATORS = {
    type_: Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]})
    for type_, name in NAMES.items()
}
WHOLE = Draft202012Validator(SCHEMA)


def problems(line: Mapping[str, Any]) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATORS[line["type"]].iter_errors(line)]


# ------------------------------------------------------------------ any event at all


@pytest.mark.long(after=7)
@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
@given(data=st.data())
@examples(15)
def test_any_event_fits_the_schema_and_holds_nothing_it_does_not_name(
    kind: type[Event], data: st.DataObject
) -> None:
    event = data.draw(of_type(kind))

    line = event.to_json()
    if isinstance(event, SessionFinished):
        line = {"type": line["type"], "v": line["v"], **event.report.to_json()}

    assert problems(json.loads(json.dumps(line))) == []


# ------------------------------------------------------------------ what is published


def test_the_published_schema_is_the_one_of_the_types() -> None:
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))

    assert published == build_stream_schema(), f"render it anew: {RENDER}"


@pytest.mark.long
def test_the_published_schema_is_a_schema_and_describes_every_event_once() -> None:
    Draft202012Validator.check_schema(build_stream_schema())

    assert len(NAMES) == len(get_args(Event)) == len(SCHEMA["oneOf"])


def test_the_page_about_the_stream_names_every_event() -> None:
    page = (DOCS / "stream-json.md").read_text(encoding="utf-8")

    assert [type_ for type_ in NAMES if f"`{type_}`" not in page] == []


# ------------------------------------------------------------------ a real run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n", encoding="utf-8")
    return folder


def call(id_: str, tool: str, **arguments: object) -> ScriptedCall:
    return ScriptedCall(id_, tool, json.dumps(arguments))


def fitting_lines(ended: Ended) -> list[dict[str, Any]]:
    lines = ended.events
    assert lines, ended.err
    assert [problem for line in lines for problem in problems(line)] == []
    assert all(WHOLE.is_valid(line) for line in lines)
    return lines


@pytest.mark.long
async def test_every_line_of_a_run_with_hooks_progress_and_stored_output_fits(
    home: Path, project: Path
) -> None:
    printing = "seq 1 20000"
    async with SseServer("anthropic") as server:
        configure_for(home, server, retries=1)
        with (home / "config/quorum/quorum.toml").open("a", encoding="utf-8") as file:
            file.write(HOOK)
        server.script = [
            Refuse(status=529),
            Say(
                pieces=["I look. "],
                reasoning="thinking",
                calls=[
                    call("c0", "read_file", path="a.txt"),
                    call("c1", "run_command", command=printing),
                    call("c2", "update_plan", items=[{"text": "read", "status": "done"}]),
                    call("c3", "edit_file", path="a.txt", old_text="alpha", new_text="omega"),
                    call("c4", "no_such_tool"),
                ],
                stop="tool_use",
            ),
            Say(pieces=["done"]),
        ]

        ended = await run("go", "--mode", "auto", "--output", "stream-json", cwd=project, env=environment(home))

    lines = fitting_lines(ended)
    kinds = {line["type"] for line in lines}
    assert kinds >= {
        "session_started",
        "retry_scheduled",
        "batch_planned",
        "call_progressed",
        "hook_ran",
        "output_stored",
        "state_merged",
        "session_finished",
    }
    (planned,) = (line for line in lines if line["type"] == "batch_planned")
    contexts = [lane["context"] for lane in planned["lanes"]]
    assert [context["call_index"] for context in contexts] == [0, 1, 2, 3, 4]
    assert {context["batch_id"] for context in contexts} == {planned["batch_id"]}
    assert all(line["context"] in contexts for line in lines if line.get("context"))
    assert ended.code == 0


@pytest.mark.long
async def test_every_line_of_a_withheld_call_and_of_a_failed_provider_fits(home: Path, project: Path) -> None:
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [
            Say(
                calls=[call("c0", "edit_file", path="a.txt", old_text="alpha", new_text="omega")],
                stop="tool_use",
            ),
            Refuse(status=400, message="no such model"),
        ]

        ended = await run("go", "--output", "stream-json", cwd=project, env=environment(home))

    lines = fitting_lines(ended)
    assert {"review_requested", "review_decided", "error_occurred"} <= {line["type"] for line in lines}
    (requested,) = (line for line in lines if line["type"] == "review_requested")
    assert requested["packet"]["files"][0]["path"].endswith("a.txt")
    assert lines[-1]["status"] == "failed"
    assert "error" in lines[-1]
