"""`quorum run` in plan mode with several models: what comes out of it, and what survives a killed process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from quorum.headless.stream_schema import build_stream_schema
from tests.support.discussion_rig import discussion_rig, list_additions
from tests.support.quorum_rig import call, calling
from tests.support.sse_server import Hang, Refuse, Reply, Say, ScriptedCall

SCHEMA = Draft202012Validator(build_stream_schema())
DOWN = Refuse(status=500, message="down")
PLANNING = ("run", "--scope", "plan-only", "--consensus", "ensemble")
PROMPT = "queue or cron?"


def plan(objective: str) -> Say:
    """A participant's plan."""
    tasks = [{"id": "one", "description": "do it", "writes": ["src/**"]}]
    given = {"objective": objective, "reasoning": "so", "tasks": tasks}
    return calling(ScriptedCall("p1", "create_plan", json.dumps(given)))


def score(danger: str = "", **scores: int) -> Say:
    """A participant's ballots on the plans of these labels."""
    given = [
        {
            "answer": label,
            "score": number,
            "agreement": "partly",
            "comment": "sound",
            "dangers": [danger] if danger else [],
        }
        for label, number in scores.items()
    ]
    return calling(ScriptedCall("v1", "review_answers", json.dumps({"reviews": given})))


def scripts() -> dict[str, list[Reply]]:
    return {
        "a": [calling(call("c1", "read_file", path="a.txt")), plan("cron"), score(B=5)],
        "b": [plan("queue"), score("it loses jobs", A=7)],
        "mod": [list_additions(retries="B")],
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha", encoding="utf-8")
    return folder


@pytest.mark.long
async def test_the_best_plan_is_printed_below_what_the_others_say_of_it(tmp_path: Path, project: Path) -> None:
    async with discussion_rig(tmp_path / "home", scripts()) as rig:
        ended = await rig.run(project, *PLANNING, PROMPT)
        shown = json.dumps(rig.servers["a"].bodies[1])
    assert ended.code == 0, ended.err
    assert "alpha" in shown, "a participant reads the project"
    findings, document = ended.out.split("# Plan\n")
    assert findings.startswith("**plan A of a/scripted is the one that the others score best, 7.0 of 10**")
    assert "- danger, says B: it loses jobs" in findings
    assert "- A lacks, says B: retries" in findings
    assert document.startswith("\ncron\n")
    assert "A is a/scripted, B is b/scripted" in ended.err
    assert rig.requests == {"a": 3, "b": 2, "mod": 1}


@pytest.mark.long
@pytest.mark.parametrize("output", ["stream-json", "json"])
async def test_json_has_the_plan_and_every_other_one_with_its_scores(
    tmp_path: Path, project: Path, output: str
) -> None:
    async with discussion_rig(tmp_path / "home", scripts()) as rig:
        ended = await rig.run(project, *PLANNING, "--output", output, PROMPT)
    lines = [json.loads(line) for line in ended.out.splitlines()]
    if output == "stream-json":
        for line in lines:
            SCHEMA.validate(line)
    report = lines[-1]
    assert (report["form"], report["chosen"], report["status"]) == ("plan", "A", "completed")
    assert report["plan"]["objective"] == "cron"
    assert report["additions"] == [{"text": "retries", "models": ["b/scripted"]}]
    first, second = report["participants"]
    assert (first["score"], second["score"]) == (7.0, 5.0)
    assert first["reviews"] == [
        {
            "model": "b/scripted",
            "score": 7,
            "agreement": "partly",
            "comment": "sound",
            "dangers": ["it loses jobs"],
        }
    ]
    assert second["text"].startswith("# Plan\n\nqueue\n")


@pytest.mark.long
async def test_who_is_down_is_named_and_where_all_are_the_model_plans_alone(
    tmp_path: Path, project: Path
) -> None:
    async with discussion_rig(tmp_path / "home", {"a": [DOWN], "b": [plan("queue")], "mod": []}) as rig:
        one_down = await rig.run(project, *PLANNING, PROMPT)
    assert one_down.code == 0, one_down.err
    assert one_down.out.startswith("**plan B of b/scripted is the only one**")
    assert "A (a/scripted) made no plan: " in one_down.out
    async with discussion_rig(tmp_path / "other", {"a": [DOWN], "b": [DOWN], "mod": [plan("mine")]}) as rig:
        all_down = await rig.run(project, *PLANNING, PROMPT)
    assert all_down.code == 0, all_down.err
    assert "# Plan\n\nmine\n" in all_down.out
    assert "no participant answered: a/scripted" in all_down.err
    assert "mod/scripted answers alone" in all_down.err


@pytest.mark.long
@pytest.mark.parametrize("step", ["plans", "ballots", "additions"])
async def test_after_kill_9_no_plan_and_no_ballot_is_asked_for_again(
    tmp_path: Path, project: Path, step: str
) -> None:
    silent = Hang("silent")
    whole = scripts()
    first: dict[str, dict[str, list[Reply]]] = {
        "plans": {"a": whole["a"][:2], "b": [silent], "mod": []},
        "ballots": {"a": whole["a"], "b": [plan("queue"), silent], "mod": []},
        "additions": whole | {"mod": [silent]},
    }
    awaited, count = {
        "plans": ("panel_answered", 1),
        "ballots": ("panel_reviewed", 1),
        "additions": ("panel_reviewed", 2),
    }[step]
    async with discussion_rig(tmp_path / "home", first[step]) as rig:
        await rig.kill_after(awaited, project, *PLANNING, count=count)
        asked = {
            "plans": {"a": 2},
            "ballots": {"a": 3, "b": 1},
            "additions": {"a": 3, "b": 2},
        }[step]
        for name, replies in scripts().items():
            rig.servers[name].script = replies[asked.get(name, 0) :]
        before = dict(rig.requests)
        ended = await rig.run(project, "run", "--continue", "--output", "json", PROMPT)
    assert ended.code == 0, ended.err
    assert (ended.report["chosen"], ended.report["plan"]["objective"]) == ("A", "cron")
    now = {name: rig.requests[name] - before[name] for name in before}
    assert (
        now
        == {
            "plans": {"a": 1, "b": 2, "mod": 1},
            "ballots": {"a": 0, "b": 1, "mod": 1},
            "additions": {"a": 0, "b": 0, "mod": 1},
        }[step]
    )
