"""`quorum run` with tools and hooks that break their word: one JSON object, an honest status, no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.headless_run import configure_for, environment, run
from tests.support.quorum_rig import DONE, call, calling
from tests.support.sse_server import Say, SseServer

PLUGIN = """
from quorum.domain.calls.access import Access
from quorum.domain.calls.tool import RiskLevel, ToolDefinition


class Faulty:
    def __init__(self, name, modifier=None, output="done"):
        self.definition = ToolDefinition(
            name=name, description=name, parameters=(), risk=RiskLevel.LOW, access=lambda _: Access()
        )
        self._modifier, self._output = modifier, output

    async def execute(self, arguments, context):
        if self._modifier:
            context.controls.modify(self._modifier)
        return self._output


def tools():
    return [
        Faulty("raises", lambda state: state.get("x") + 1),
        Faulty("forgets", lambda state: None),
        Faulty("nothing", output=None),
    ]
"""


VALIDATOR = """
[agent]
max_turn_end_retries = 1
[[hooks]]
event = "on_turn_end"
python = "quorum.hooks.json_validator:JsonValidator"
"""
FAILING = """
[[hooks]]
event = "after_tool_call"
name = "broken"
command = ["false"]
"""


def declare(home: Path, more: str) -> None:
    """Add to the person's settings."""
    file = home / "config" / "quorum" / "quorum.toml"
    file.write_text(file.read_text(encoding="utf-8") + more, encoding="utf-8")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    folder = tmp_path / "plugins"
    info = folder / "acme-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "acme_faulty.py").write_text(PLUGIN, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[quorum.tools]\nfaulty = acme_faulty:tools\n", encoding="utf-8")
    return folder


@pytest.mark.long
async def test_faulty_tools_are_errors_of_their_calls(home: Path, project: Path, plugins: Path) -> None:
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [calling(call("c1", "raises"), call("c2", "forgets"), call("c3", "nothing")), DONE]

        ended = await run("go", "--output", "json", cwd=project, env=environment(home, PYTHONPATH=str(plugins)))
        message = [said["content"] for said in server.bodies[1]["messages"] if said["role"] == "tool"]

    assert (ended.code, ended.report["status"], ended.report["text"]) == (0, "completed", "done")
    assert [record["outcome"] for record in ended.report["calls"]] == ["error"] * 3
    assert "Traceback" not in ended.err
    assert [text.partition("\n")[0] for text in message] == [
        "raises ran, but its change of the shared state failed: it raised TypeError: "
        "unsupported operand type(s) for +: 'NoneType' and 'int'",
        "forgets ran, but its change of the shared state failed: it returned NoneType in place of a RunState",
        "nothing.execute returned None; it has to return text or a ToolOutput",
    ]


@pytest.mark.long
async def test_a_validator_that_is_never_satisfied_fails_the_run(home: Path, project: Path) -> None:
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        declare(home, VALIDATOR)
        server.script = [Say(pieces=["prose"]), Say(pieces=["prose again"])]

        ended = await run("go", "--output", "json", cwd=project, env=environment(home))

    assert (ended.code, ended.report["status"], ended.report["text"]) == (1, "failed", "prose again")
    assert "Your answer must be one JSON object" in ended.report["error"]


@pytest.mark.long
async def test_calls_at_the_turn_limit_have_events(home: Path, project: Path) -> None:
    read = calling(call("c1", "list_directory"))
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [read, calling(call("c2", "list_directory"), call("c3", "list_directory")), DONE]

        given = ("go", "--output", "stream-json", "--max-tool-turns", "1")
        ended = await run(*given, cwd=project, env=environment(home))

    finished = [line for line in ended.events if line["type"] == "call_finished"]
    planned = [line for line in ended.events if line["type"] == "batch_planned"]
    assert [(line["context"]["call_id"], line["outcome"]) for line in finished] == [
        ("c1", "ok"),
        ("c2", "not_run"),
        ("c3", "not_run"),
    ]
    assert [len(line["lanes"]) for line in planned] == [1, 2]
    assert (ended.code, ended.events[-1]["status"]) == (5, "limit")
    assert [record["outcome"] for record in ended.events[-1]["calls"]] == ["ok", "not_run", "not_run"]


@pytest.mark.long
async def test_a_hook_that_fails_after_a_call_is_reported_on_stderr(home: Path, project: Path) -> None:
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        declare(home, FAILING)
        server.script = [calling(call("c1", "list_directory")), DONE]

        ended = await run("go", cwd=project, env=environment(home))

    assert (ended.code, ended.out) == (0, "done\n")
    assert "quorum: the hook broken failed at after_tool_call: " in ended.err
