"""`quorum debate`: what comes out of it, and what survives an interruption."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from quorum.headless.stream_schema import build_stream_schema
from tests.support.discussion_rig import discussion_rig
from tests.support.quorum_rig import calling
from tests.support.sse_server import Hang, Refuse, Reply, Say, ScriptedCall

SCHEMA = Draft202012Validator(build_stream_schema())
DOWN = Refuse(status=500, message="down")


def fields(tool: str, **given: Any) -> Say:
    return calling(ScriptedCall("c1", tool, json.dumps(given)))


OBJECTION = {"claim": "it loses jobs", "evidence": "after a restart", "severity": "high"}
RAISE = fields("raise_objections", objections=[OBJECTION])
NOTHING = fields("raise_objections", objections=[])
RESPOND = fields("respond", responses=[{"objection": "R1-B1", "stance": "concede", "text": "right"}])
RULE = fields("rule", rulings=[{"objection": "R1-B1", "ruling": "upheld", "reason": "shown"}])
REVISE = fields("revise", answer="cron with a lock")


def scripts() -> dict[str, list[Reply]]:
    return {"a": [Say(pieces=["cr", "on"]), RESPOND, REVISE], "b": [RAISE, NOTHING], "mod": [RULE]}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.mark.long
async def test_a_debate_prints_the_revised_answer_and_json_has_each_objection(
    tmp_path: Path, project: Path
) -> None:
    async with discussion_rig(tmp_path / "home", scripts()) as rig:
        ended = await rig.run(project, "debate", "--output", "stream-json", "queue or cron?")
    assert ended.code == 0, ended.err
    lines = [json.loads(line) for line in ended.out.splitlines()]
    for line in lines:
        SCHEMA.validate(line)
    report = lines[-1]
    assert report["text"].startswith("cron with a lock\n\n**Upheld")
    assert report["form"] == "debate"
    assert [each["status"] for each in report["participants"]] == ["answered", "objected"]
    assert report["debate"] == {
        "answer": "cron with a lock",
        "rounds": 2,
        "open": 0,
        "objections": [
            {
                "id": "R1-B1",
                "round": 1,
                "model": "b/scripted",
                **OBJECTION,
                "response": {"stance": "concede", "text": "right"},
                "ruling": "upheld",
                "reason": "shown",
            }
        ],
    }
    assert rig.requests == {"a": 3, "b": 2, "mod": 1}
    first = ended.err.splitlines()[0]
    assert "2 to 25 requests" in first
    assert "rulings of round 1: R1-B1 upheld" in ended.err


@pytest.mark.long
async def test_all_participants_down_is_exit_4(tmp_path: Path, project: Path) -> None:
    async with discussion_rig(tmp_path / "home", {"a": [DOWN], "b": [Hang("reset")], "mod": []}) as rig:
        ended = await rig.run(project, "debate", "--output", "json", "queue or cron?")
    assert ended.code == 4
    assert "no participant answered: a/scripted: " in ended.report["error"]


@pytest.mark.long
async def test_one_model_alone_is_a_mistake_of_the_settings_and_leaves_no_session(
    tmp_path: Path, project: Path
) -> None:
    async with discussion_rig(tmp_path / "home", {"a": [], "mod": []}) as rig:
        ended = await rig.run(project, "debate", "queue or cron?")
        listed = await rig.run(project, "sessions", "list", "--json")

    assert (ended.code, ended.out) == (2, "")
    assert "name them in debate.models or models.participants" in ended.err
    assert json.loads(listed.out) == []


@pytest.mark.long
async def test_an_ensemble_debates_by_the_strategy_and_solo_with_it_is_refused(
    tmp_path: Path, project: Path
) -> None:
    async with discussion_rig(tmp_path / "home", scripts()) as rig:
        refused = await rig.run(project, "run", "--strategy", "debate", "queue or cron?")
        assert refused.code == 2
        assert "solo and the strategy debate do not go together" in refused.err
        assert set(rig.requests.values()) == {0}
        ended = await rig.run(
            project,
            "run",
            "--consensus",
            "ensemble",
            "--strategy",
            "debate",
            "--output",
            "json",
            "queue or cron?",
        )
    assert ended.code == 0, ended.err
    assert ended.report["debate"]["answer"] == "cron with a lock"


_STEPS: Mapping[str, tuple[str, dict[str, int]]] = {
    "objections": ("panel_answered", {"a": 1}),
    "defence": ("objections_raised", {"a": 1, "b": 1}),
    "rulings": ("answer_defended", {"a": 2, "b": 1}),
    "revision": ("objections_ruled", {"a": 2, "b": 1, "mod": 1}),
}


@pytest.mark.long
@pytest.mark.parametrize("step", _STEPS)
async def test_after_kill_9_nothing_that_is_on_record_is_asked_again(
    tmp_path: Path, project: Path, step: str
) -> None:
    awaited, asked = _STEPS[step]
    first = {name: [*replies[: asked.get(name, 0)], Hang("silent")] for name, replies in scripts().items()}
    async with discussion_rig(tmp_path / "home", first) as rig:
        await rig.kill_after(awaited, project, "debate")
        before = dict(rig.requests)
        rest = {name: replies[asked.get(name, 0) :] for name, replies in scripts().items()}
        for name, replies in rest.items():
            rig.servers[name].script = list(replies)
        ended = await rig.run(project, "run", "--continue", "--output", "json", "queue or cron?")
    assert ended.code == 0, ended.err
    assert ended.report["debate"]["answer"] == "cron with a lock"
    assert {name: rig.requests[name] - before[name] for name in before} == {
        name: len(replies) for name, replies in rest.items()
    }
