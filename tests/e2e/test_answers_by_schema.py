"""`quorum run --json-schema`: the answer is a value that fits, or is sent back once, or the run fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.headless_run import configure_for, environment, run
from tests.support.quorum_rig import call, calling
from tests.support.sse_server import Say, SseServer

SCHEMA = '{"type": "object", "required": ["version"], "properties": {"version": {"type": "integer"}}}'
GOOD, BAD = Say(pieces=['{"version":', " 3}"]), Say(pieces=['{"version": "three"}'])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("3")
    return folder


async def test_a_bad_schema_is_refused_with_code_2_and_the_place(project: Path) -> None:
    ended = await run(
        "--json-schema", '{"type": 3}', "go", cwd=project, env=environment(project.parent / "home")
    )

    assert ended.code == 2
    assert "$.type: 3 is not valid" in ended.err


@pytest.mark.long
async def test_with_tools_in_use_an_answer_that_does_not_fit_is_repaired_once(project: Path) -> None:
    home = project.parent / "home"
    (project / "release.json").write_text(SCHEMA)
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [calling(call("c1", "read_file", path="a.txt")), BAD, GOOD]
        ended = await run(
            "--json-schema", "release.json", "--output", "json", "which?", cwd=project, env=environment(home)
        )
        first, *_, last = (json.dumps(body) for body in server.bodies)

    assert ended.code == 0, ended.err
    assert ended.report["structured_output"] == {"version": 3}
    assert ended.report["calls"][0]["tool"] == "read_file"
    assert "fits this JSON Schema" in first
    assert "$.version: 'three' is not of type 'integer'" in last


@pytest.mark.long
@pytest.mark.parametrize("output", ["json", "text"])
async def test_an_answer_that_does_not_fit_twice_fails_with_the_place(project: Path, output: str) -> None:
    home = project.parent / "home"
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [BAD, BAD]
        ended = await run(
            "--json-schema", SCHEMA, "--output", output, "which?", cwd=project, env=environment(home)
        )

    problem = "the answer does not fit the schema: $.version: 'three' is not of type 'integer'"
    assert ended.code == 1
    assert problem in ended.err
    if output == "json":
        assert ended.report["error"] == problem
        assert "structured_output" not in ended.report


@pytest.mark.long
async def test_a_continued_session_answers_by_a_schema_and_stdout_has_the_value_alone(project: Path) -> None:
    home = project.parent / "home"
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [Say(pieces=["hello"])]
        await run("hello", cwd=project, env=environment(home))
        server.script = [Say(pieces=["```json\n", '{"version": 4}', "\n```"])]
        ended = await run("--continue", "--json-schema", SCHEMA, "which?", cwd=project, env=environment(home))

    assert ended.code == 0, ended.err
    assert json.loads(ended.out) == {"version": 4}
