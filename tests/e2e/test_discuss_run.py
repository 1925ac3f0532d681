"""`quorum discuss` and `quorum ask`: what comes out of them, and what survives an interruption."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from quorum.headless.stream_schema import build_stream_schema
from tests.support.discussion_rig import discussion_rig, review, synthesise
from tests.support.quorum_rig import call, calling
from tests.support.sse_server import Hang, Refuse, Reply, Say

SCHEMA = Draft202012Validator(build_stream_schema())
DOWN = Refuse(status=500, message="down")


def scripts() -> dict[str, list[Reply]]:
    return {
        "a": [Say(pieces=["cr", "on"]), review(B=5)],
        "b": [Say(pieces=["queue"]), review(A=7)],
        "mod": [synthesise("take cron", agree=["A", "B"], differ={"A": "cron", "B": "queue"})],
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.mark.long
async def test_a_discussion_prints_the_synthesis_and_names_who_took_part(tmp_path: Path, project: Path) -> None:
    async with discussion_rig(tmp_path / "home", scripts()) as rig:
        ended = await rig.run(project, "discuss", "queue or cron?")
    assert ended.code == 0, ended.err
    assert ended.out.startswith("**They agree**\n\n- they do (A, B)\n")
    assert "**Conclusion**\n\ntake cron\n" in ended.out
    assert "A is a/scripted, B is b/scripted" in ended.err
    assert "· B b/scripted answered" in ended.err
    assert rig.requests == {"a": 2, "b": 2, "mod": 1}


@pytest.mark.long
async def test_what_it_costs_is_said_before_it_starts(tmp_path: Path, project: Path) -> None:
    price = "input = 2.0\noutput = 10.0\ncache_read = 0.2\ncache_write = 2.5\n"
    more = "".join(f'[prices."{name}/scripted"]\n{price}' for name in ("a", "mod"))
    async with discussion_rig(tmp_path / "home", scripts(), more=more) as rig:
        ended = await rig.run(project, "discuss", "--output", "json", "queue or cron?")
    assert ended.code == 0, ended.err
    first = ended.err.splitlines()[0]
    assert "5 to 8 requests, at least about $0.00" in first, ended.err
    assert "what it costs at most is not known" in first, "b has no price"
    assert "B b/scripted at a price that is not known" in first
    assert [
        (each["label"], each["least_requests"], each["most_requests"]) for each in ended.report["estimate"]
    ] == [
        ("A", 2, 3),
        ("B", 2, 3),
        (None, 1, 2),
    ]
    assert ended.report["estimate"][0]["least_usd"] > 0
    assert ended.report["estimate"][1]["least_usd"] is None


@pytest.mark.long
@pytest.mark.parametrize("output", ["stream-json", "json"])
async def test_json_names_the_model_of_each_answer_and_point(
    tmp_path: Path, project: Path, output: str
) -> None:
    async with discussion_rig(tmp_path / "home", scripts()) as rig:
        ended = await rig.run(project, "discuss", "--output", output, "queue or cron?")
    lines = [json.loads(line) for line in ended.out.splitlines()]
    if output == "stream-json":
        for line in lines:
            SCHEMA.validate(line)
    report = lines[-1]
    assert report["status"] == "completed"
    assert "take cron" in report["text"]
    assert [(p["label"], p["model"], p["status"], p["text"]) for p in report["participants"]] == [
        ("A", "a/scripted", "answered", "cron"),
        ("B", "b/scripted", "answered", "queue"),
    ]
    assert report["participants"][0]["usage"]["output"] > 0
    assert report["synthesis"] == {
        "conclusion": "take cron",
        "key_points": [],
        "agreement": [{"text": "they do", "models": ["a/scripted", "b/scripted"]}],
        "disagreement": [
            {
                "text": "which one",
                "positions": [
                    {"claim": "cron", "models": ["a/scripted"]},
                    {"claim": "queue", "models": ["b/scripted"]},
                ],
            }
        ],
    }
    used = sum(p["usage"]["output"] for p in report["participants"])
    assert report["usage"]["output"] > used, "reviews and the synthesis are counted too"


@pytest.mark.long
async def test_one_participant_down_is_left_out_and_named(tmp_path: Path, project: Path) -> None:
    given = scripts() | {"b": [DOWN], "a": [Say(pieces=["cron"])], "mod": [synthesise("cron alone")]}
    async with discussion_rig(tmp_path / "home", given) as rig:
        ended = await rig.run(project, "discuss", "--output", "json", "queue or cron?")
    assert ended.code == 0
    assert [p["status"] for p in ended.report["participants"]] == ["answered", "failed"]
    assert "down" in ended.report["participants"][1]["reason"]
    assert "B b/scripted gave no answer" in ended.err


@pytest.mark.long
async def test_all_participants_down_is_exit_4(tmp_path: Path, project: Path) -> None:
    async with discussion_rig(tmp_path / "home", {"a": [DOWN], "b": [Hang("reset")], "mod": []}) as rig:
        ended = await rig.run(project, "discuss", "--output", "json", "queue or cron?")
        assert rig.requests["mod"] == 0
    assert ended.code == 4
    assert ended.report["synthesis"] is None
    assert "no participant answered: a/scripted: " in ended.report["error"]


@pytest.mark.long
async def test_a_silent_participant_is_not_waited_for_longer_than_the_limit(
    tmp_path: Path, project: Path
) -> None:
    given = scripts() | {"b": [Hang("silent")], "a": [Say(pieces=["cron"])], "mod": [synthesise("cron")]}
    more = "[discussion]\nanswer_timeout_secs = 20\n"
    async with discussion_rig(tmp_path / "home", given, more=more) as rig:
        ended = await rig.run(project, "discuss", "--output", "json", "queue or cron?")
    assert [p["status"] for p in ended.report["participants"]] == ["answered", "timed_out"]


@pytest.mark.long
async def test_a_participant_without_a_key_is_named_at_the_start_and_the_others_go_on(
    tmp_path: Path, project: Path
) -> None:
    given = scripts() | {"a": [Say(pieces=["cron"])], "mod": [synthesise("cron")]}
    more = 'ask = "mod/scripted"\n'
    async with discussion_rig(tmp_path / "home", given, more=more) as rig:
        ended = await rig.run(
            project, "discuss", "-m", "participants=a/scripted", "-m", "participants=anthropic/x", "which?"
        )
    assert ended.code == 0, ended.err
    assert "anthropic/x in models.participants cannot take part: " in ended.err


@pytest.mark.long
@pytest.mark.parametrize("step", ["reviews", "answers", "synthesis"])
async def test_after_kill_9_nothing_that_was_answered_is_asked_again(
    tmp_path: Path, project: Path, step: str
) -> None:
    silent = Hang("silent")
    first: dict[str, dict[str, list[Reply]]] = {
        "answers": {"a": [Say(pieces=["cron"])], "b": [silent], "mod": []},
        "reviews": {"a": [Say(pieces=["cron"]), review(B=5)], "b": [Say(pieces=["queue"]), silent], "mod": []},
        "synthesis": scripts() | {"mod": [silent]},
    }
    ahead = {"answers": "panel_answered", "reviews": "panel_reviewed", "synthesis": "panel_reviewed"}[step]
    count = {"answers": 1, "reviews": 1, "synthesis": 2}[step]
    async with discussion_rig(tmp_path / "home", first[step]) as rig:
        await rig.kill_after(ahead, project, "discuss", count=count)
        for name, replies in scripts().items():
            asked = {"answers": {"a": 1}, "reviews": {"a": 2, "b": 1}, "synthesis": {"a": 2, "b": 2}}[step]
            rig.servers[name].script = replies[asked.get(name, 0) :]
        before = dict(rig.requests)
        sessions = await rig.run(project, "sessions", "list", "--json")
        (session,) = json.loads(sessions.out)
        ended = await rig.run(project, "run", "--resume", session["id"], "--output", "json", "queue or cron?")
    assert ended.code == 0, ended.err
    assert ended.report["synthesis"]["conclusion"] == "take cron"
    assert "the panel is continued: only what is missing is asked for" in ended.err
    now = {name: rig.requests[name] - before[name] for name in before}
    left = {
        "answers": {"a": 1, "b": 2, "mod": 1},
        "reviews": {"a": 0, "b": 1, "mod": 1},
        "synthesis": {"a": 0, "b": 0, "mod": 1},
    }
    assert now == left[step]


@pytest.mark.long
async def test_ask_has_tools_that_only_look(tmp_path: Path, project: Path) -> None:
    (project / "a.txt").write_text("alpha", encoding="utf-8")
    reading = calling(call("c1", "read_file", path="a.txt"))
    async with discussion_rig(tmp_path / "home", {"mod": [reading, Say(pieces=["alpha"])]}) as rig:
        ended = await rig.run(project, "ask", "what is in a.txt?")
    assert (ended.code, ended.out) == (0, "alpha\n")
    names = {tool["function"]["name"] for tool in rig.servers["mod"].bodies[0]["tools"]}
    assert "read_file" in names
    assert not names & {"write_file", "edit_file", "run_command", "apply_patch"}
