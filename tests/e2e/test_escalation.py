"""Escalation over real sockets: who is asked, what is spared, and what a killed process leaves behind."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from quorum.headless.stream_schema import build_stream_schema
from tests.support.headless_run import Ended, environment, start
from tests.support.quorum_rig import DONE, call, calling, quorum_rig, vote
from tests.support.sse_server import Hang, Refuse

SCHEMA = Draft202012Validator(build_stream_schema())
EDIT = calling(call("c1", "edit_file", path="a.txt", old_text="alpha", new_text="omega"))
ESCALATE = '[quorum]\nescalate = true\nlenses = { "r0/scripted" = "scope" }\n'
PRICES = '[prices."r1/scripted"]\ninput = 1\noutput = 2\ncache_read = 0\ncache_write = 0\n'
SURE, DOUBT, NO = vote("approve", confidence=0.9), vote("approve", confidence=0.5), vote("reject", "no")
OUTSIDE = vote("approve", in_scope="no")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n", encoding="utf-8")
    return folder


def result_of(ended: Ended) -> dict[str, Any]:
    for line in ended.events:
        SCHEMA.validate(line)
    (result,) = [line for line in ended.events if line["type"] == "quorum_result"]
    return result


@pytest.mark.long
async def test_one_sure_approval_lets_a_call_run_and_the_others_get_no_request(
    tmp_path: Path, project: Path
) -> None:
    async with quorum_rig(tmp_path / "home", [EDIT, DONE], [[SURE], [], []], more=ESCALATE + PRICES) as rig:
        ended = await rig.run(project)
        asked = [len(server.bodies) for server in rig.reviewers]
        assert asked == [1, 0, 0], ended.err
        system = rig.reviewers[0].bodies[0]["messages"][0]["content"]

    result = result_of(ended)
    assert (ended.code, (project / "a.txt").read_text()) == (0, "omega\n")
    assert (result["verdict"], result["decided_by"]) == ("approved", "first_vote")
    (cast,) = result["votes"]
    assert (cast["model"], cast["lens"], cast["in_scope"]) == ("r0/scripted", "scope", "yes")
    assert [spared["model"] for spared in result["spared"]] == ["r1/scripted", "r2/scripted"]
    assert result["spared"][0]["cost_usd"] > 0
    assert result["spared"][1]["cost_usd"] is None
    assert ended.events[-1]["calls"][0]["quorum_results"] == [result]
    assert "Your lens, given by the person. Look first at scope: whether all of this was asked for" in system


@pytest.mark.long
@pytest.mark.parametrize("first", [DOUBT, OUTSIDE, NO, Refuse(status=500, message="down")])
async def test_doubt_or_an_outage_of_the_first_reviewer_asks_the_others(
    first: Any, tmp_path: Path, project: Path
) -> None:
    async with quorum_rig(tmp_path / "home", [EDIT, DONE], [[first], [NO], [NO]], more=ESCALATE) as rig:
        ended = await rig.run(project)
        asked = [len(server.bodies) for server in rig.reviewers]

    result = result_of(ended)
    assert asked == [1, 1, 1]
    assert (ended.code, (project / "a.txt").read_text()) == (3, "alpha\n")
    assert (result["verdict"], result["decided_by"], result["spared"]) == ("rejected", "rule", [])


@pytest.mark.long
async def test_killed_between_the_first_vote_and_the_others_nothing_ran_and_all_are_asked_anew(
    tmp_path: Path, project: Path
) -> None:
    async with quorum_rig(tmp_path / "home", [EDIT], [[DOUBT], [Hang("silent")]], more=ESCALATE) as rig:
        arguments = ("go", "--mode", "quorum", "--output", "stream-json")
        process = await start(*arguments, cwd=project, env=environment(rig.home))
        assert process.stdout is not None
        seen: list[dict[str, Any]] = []
        async with asyncio.timeout(120):
            while not seen or seen[-1]["type"] != "vote_cast":
                seen.append(json.loads(await process.stdout.readline()))
            while not rig.reviewers[1].bodies:  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        await process.communicate()
        assert (project / "a.txt").read_text() == "alpha\n"

        session = next(line["session_id"] for line in seen if line["type"] == "session_started")
        rig.model.script = [EDIT, DONE]
        for server, reply in zip(rig.reviewers, (DOUBT, NO), strict=True):
            server.script = [reply]
        resumed = await rig.run(project, "--resume", session)
        asked = [len(server.bodies) for server in rig.reviewers]

    result = result_of(resumed)
    assert asked == [2, 2]
    assert [cast["counts_as"] for cast in result["votes"]] == ["approve", "reject"]
    assert (resumed.code, (project / "a.txt").read_text()) == (3, "alpha\n")
