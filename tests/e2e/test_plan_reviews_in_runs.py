"""Plans judged by reviewers over real sockets: the rounds, their record, and what a killed process leaves."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from quorum.application.review.ballot_paper import BALLOT_TOOL
from quorum.headless.stream_schema import build_stream_schema
from tests.support.headless_run import environment, start
from tests.support.quorum_rig import call, calling, quorum_rig
from tests.support.sse_server import Hang, Say, ScriptedCall

SCHEMA = Draft202012Validator(build_stream_schema())
CLAIM = {"claim": "no test", "severity": "high", "task": "parser"}
SKETCH = ("--scope", "plan-only", "--output", "stream-json")


def plan(objective: str) -> Say:
    tasks = [{"id": "parser", "description": "write the parser", "writes": ["src/**"]}]
    return calling(call("p1", "create_plan", objective=objective, reasoning="it is asked for", tasks=tasks))


def plan_vote(verdict: str, *objections: object) -> Say:
    given = {"verdict": verdict, "in_scope": "yes", "confidence": 0.9, "reason": "so", "objections": objections}
    return calling(ScriptedCall("b1", BALLOT_TOOL, json.dumps(given)))


NO, YES = plan_vote("reject", CLAIM), plan_vote("approve")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.mark.long
async def test_a_run_prints_the_plan_that_reviewers_approve_after_their_objections(
    tmp_path: Path, project: Path
) -> None:
    async with quorum_rig(tmp_path / "home", [plan("one"), plan("two")], [[NO, YES], [NO, YES]]) as rig:
        ended = await rig.run(project, "--scope", "plan-only")
        read_by_model = str(rig.model.bodies[1])

    assert ended.code == 0, ended.err
    assert "high, task parser: no test" in read_by_model
    for line in ended.events:
        SCHEMA.validate(line)
    results = [line for line in ended.events if line["type"] == "quorum_result"]
    assert [(each["topic"], each["verdict"]) for each in results] == [
        ("plan_review", "rejected"),
        ("plan_review", "approved"),
    ]
    assert results[0]["votes"][0]["objections"] == [CLAIM]
    assert ended.events[-1]["plan"]["objective"] == "two"
    assert [each["quorum_results"] for each in ended.events[-1]["calls"]] == [[each] for each in results]


@pytest.mark.long
async def test_a_vote_of_a_killed_process_is_not_asked_for_again(tmp_path: Path, project: Path) -> None:
    async with quorum_rig(tmp_path / "home", [plan("one")], [[NO], [Hang("silent")]]) as rig:
        process = await start("go", *SKETCH, cwd=project, env=environment(rig.home))
        assert process.stdout is not None
        async with asyncio.timeout(120):
            async for line in process.stdout:
                if json.loads(line)["type"] == "vote_cast":
                    break
            while not rig.reviewers[1].bodies:  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(0)
        process.send_signal(signal.SIGKILL)
        await process.wait()
        asked = [len(server.bodies) for server in rig.reviewers]
        rig.model.script = [plan("one"), plan("two")]
        rig.reviewers[0].script, rig.reviewers[1].script = [YES], [NO, YES]
        ended = await rig.run(project, "--continue", "--scope", "plan-only")
        asked_again = [len(server.bodies) for server in rig.reviewers]

    assert ended.code == 0, ended.err
    assert asked == [1, 1]
    assert asked_again == [2, 3]
    assert ended.events[-1]["plan"]["objective"] == "two"
