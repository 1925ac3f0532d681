"""`quorum run` with several models that answer: what comes out of it, and what survives an interruption."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from quorum.headless.stream_schema import build_stream_schema
from tests.support.discussion_rig import discussion_rig, list_additions, review
from tests.support.quorum_rig import call, calling
from tests.support.sse_server import Hang, Refuse, Reply, Say

SCHEMA = Draft202012Validator(build_stream_schema())
DOWN = Refuse(status=500, message="down")
ENSEMBLE = ("run", "--consensus", "ensemble")


def scripts() -> dict[str, list[Reply]]:
    return {
        "a": [Say(pieces=["cr", "on"]), review(B=5)],
        "b": [Say(pieces=["queue"]), review(A=7)],
        "mod": [list_additions(retries="B")],
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha", encoding="utf-8")
    return folder


@pytest.mark.long
async def test_the_best_answer_is_printed_with_what_the_others_add(tmp_path: Path, project: Path) -> None:
    async with discussion_rig(tmp_path / "home", scripts()) as rig:
        ended = await rig.run(project, *ENSEMBLE, "queue or cron?")
    assert ended.code == 0, ended.err
    assert ended.out == (
        "cron\n\n**What the others add**\n\n- retries (B)\n\n"
        "*This is answer A: the others score it best, 7.0 of 10.*\n"
    )
    assert "5 to 8 requests" in ended.err.splitlines()[0]
    assert "A is a/scripted, B is b/scripted" in ended.err
    assert rig.requests == {"a": 2, "b": 2, "mod": 1}


@pytest.mark.long
@pytest.mark.parametrize("output", ["stream-json", "json"])
async def test_json_has_every_answer_the_chosen_one_and_who_adds_what(
    tmp_path: Path, project: Path, output: str
) -> None:
    async with discussion_rig(tmp_path / "home", scripts()) as rig:
        ended = await rig.run(project, *ENSEMBLE, "--output", output, "queue or cron?")
    lines = [json.loads(line) for line in ended.out.splitlines()]
    if output == "stream-json":
        for line in lines:
            SCHEMA.validate(line)
    report = lines[-1]
    assert (report["form"], report["chosen"], report["status"]) == ("ensemble", "A", "completed")
    assert report["additions"] == [{"text": "retries", "models": ["b/scripted"]}]
    assert [(each["label"], each["text"]) for each in report["participants"]] == [("A", "cron"), ("B", "queue")]
    assert "reason" not in report


@pytest.mark.long
async def test_where_nobody_answers_the_model_answers_alone_with_its_tools(
    tmp_path: Path, project: Path
) -> None:
    reading = calling(call("c1", "read_file", path="a.txt"))
    given: dict[str, list[Reply]] = {"a": [DOWN], "b": [DOWN], "mod": [reading, Say(pieces=["alpha"])]}
    async with discussion_rig(tmp_path / "home", given) as rig:
        ended = await rig.run(project, *ENSEMBLE, "--output", "json", "what is in a.txt?")
    assert ended.code == 0, ended.err
    assert ended.report["text"] == "alpha"
    assert ended.report["chosen"] is None
    assert ended.report["reason"].endswith("; mod/scripted answers alone")
    assert "mod/scripted answers alone" in ended.err


@pytest.mark.long
@pytest.mark.parametrize("step", ["answers", "reviews", "additions"])
async def test_after_kill_9_nothing_that_was_answered_is_asked_again_and_the_choice_is_kept(
    tmp_path: Path, project: Path, step: str
) -> None:
    silent = Hang("silent")
    first: dict[str, dict[str, list[Reply]]] = {
        "answers": {"a": [Say(pieces=["cron"])], "b": [silent], "mod": []},
        "reviews": {"a": [Say(pieces=["cron"]), review(B=5)], "b": [Say(pieces=["queue"]), silent], "mod": []},
        "additions": scripts() | {"mod": [silent]},
    }
    awaited, count = {
        "answers": ("panel_answered", 1),
        "reviews": ("panel_reviewed", 1),
        "additions": ("panel_reviewed", 2),
    }[step]
    async with discussion_rig(tmp_path / "home", first[step]) as rig:
        await rig.kill_after(awaited, project, *ENSEMBLE, count=count)
        asked = {"answers": {"a": 1}, "reviews": {"a": 2, "b": 1}, "additions": {"a": 2, "b": 2}}[step]
        for name, replies in scripts().items():
            rig.servers[name].script = replies[asked.get(name, 0) :]
        before = dict(rig.requests)
        ended = await rig.run(project, "run", "--continue", "--output", "json", "queue or cron?")
    assert ended.code == 0, ended.err
    assert ended.report["chosen"] == "A", "the session keeps its choice without the option"
    now = {name: rig.requests[name] - before[name] for name in before}
    assert (
        now
        == {
            "answers": {"a": 1, "b": 2, "mod": 1},
            "reviews": {"a": 0, "b": 1, "mod": 1},
            "additions": {"a": 0, "b": 0, "mod": 1},
        }[step]
    )


@pytest.mark.long
async def test_an_option_changes_the_choice_of_a_session_that_is_resumed(tmp_path: Path, project: Path) -> None:
    given = scripts() | {"mod": [list_additions(), Say(pieces=["alone"])]}
    async with discussion_rig(tmp_path / "home", given) as rig:
        await rig.run(project, *ENSEMBLE, "queue or cron?")
        ended = await rig.run(project, "run", "--continue", "--consensus", "solo", "and now?")
    assert ended.out == "alone\n"
