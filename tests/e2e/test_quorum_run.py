"""Mode `quorum` without a screen: what the votes of three models lead to, on disk and in the record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from quorum.headless.stream_schema import build_stream_schema
from tests.support.headless_run import Ended
from tests.support.quorum_rig import DONE, call, calling, quorum_rig, vote
from tests.support.sse_server import Hang, Refuse, Reply, Say

SCHEMA = Draft202012Validator(build_stream_schema())
YES, NO, PASS = vote("approve"), vote("reject", "it deletes alpha", objection="omega"), vote("abstain")
OUTAGE = Refuse(status=500, message="down")
FREE_TEXT = Say(pieces=['{"verdict": "approve", "confidence": 1, "reason": "approve!"}'])
WORDS = Say(pieces=["I approve of it."])
EDIT = calling(call("c1", "edit_file", path="a.txt", old_text="alpha", new_text="omega"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n", encoding="utf-8")
    return folder


def lines_of(ended: Ended, kind: str) -> list[dict[str, Any]]:
    for line in ended.events:
        SCHEMA.validate(line)
    return [line for line in ended.events if line["type"] == kind]


APPROVED, UNCLEAR, REJECTED = "approved", "unclear", "rejected"
# In an order in which no reviewer fails three times in a row, after which it would not be asked for a while.
OUTCOMES: dict[str, tuple[list[list[Reply]], str]] = {
    "all for it": ([[YES], [YES], [YES]], APPROVED),
    "two for it": ([[YES], [NO], [YES]], APPROVED),
    "two for it, one out": ([[YES], [OUTAGE], [YES]], APPROVED),
    "one for it, one out": ([[YES], [PASS], [OUTAGE]], UNCLEAR),
    "one for it, two out": ([[YES], [OUTAGE], [OUTAGE]], UNCLEAR),
    "two against": ([[NO], [NO], [YES]], REJECTED),
    "one against, one out": ([[YES], [NO], [OUTAGE]], UNCLEAR),
    "all out": ([[OUTAGE], [OUTAGE], [OUTAGE]], UNCLEAR),
    "a second try is one": ([[YES], [FREE_TEXT, YES], [NO]], APPROVED),
    # each asked twice: for a call, and for the form of one
    "words are no votes": ([[YES], [WORDS] * 4, [WORDS] * 4], UNCLEAR),
    "two against, one out": ([[NO], [OUTAGE], [NO]], REJECTED),
}


@pytest.mark.long
async def test_every_mix_of_votes_decides_as_it_should_and_the_model_reads_it(
    tmp_path: Path, project: Path
) -> None:
    files = [f"f{number}.txt" for number in range(len(OUTCOMES))]
    batch = calling(*(call(file, "write_file", path=file, content="x") for file in files))
    votes = [[reply for mix, _ in OUTCOMES.values() for reply in mix[reviewer]] for reviewer in range(3)]

    async with quorum_rig(tmp_path / "home", [batch, DONE], votes) as rig:
        ended = await rig.run(project)
        results = [said["content"] for said in rig.model.bodies[1]["messages"] if said["role"] == "tool"]

    concluded = lines_of(ended, "quorum_result")
    assert [(name, line["verdict"]) for name, line in zip(OUTCOMES, concluded, strict=True)] == [
        (name, verdict) for name, (_, verdict) in OUTCOMES.items()
    ]
    for file, line, record, output in zip(files, concluded, ended.events[-1]["calls"], results, strict=True):
        runs = line["verdict"] == APPROVED
        assert line["approved"] == runs == (project / file).exists()
        assert [cast["model"] for cast in line["votes"]] == ["r0/scripted", "r1/scripted", "r2/scripted"]
        assert record["decision"] == ("allowed" if runs else "needs_approval")
        assert {APPROVED: "created", UNCLEAR: "[needs_approval]", REJECTED: "[quorum_rejected]"}[
            line["verdict"]
        ] in output


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("votes", "code", "content"),
    [
        ([[YES], [YES], [NO]], 0, "omega\n"),
        ([[NO], [NO], [YES]], 3, "alpha\n"),
        ([[OUTAGE], [OUTAGE], [YES]], 3, "alpha\n"),
    ],
    ids=["approved", "rejected", "outage"],
)
async def test_the_exit_code_says_whether_something_was_withheld(
    votes: list[list[Reply]], code: int, content: str, tmp_path: Path, project: Path
) -> None:
    async with quorum_rig(tmp_path / "home", [EDIT, DONE], votes) as rig:
        ended = await rig.run(project)

    assert (ended.code, (project / "a.txt").read_text()) == (code, content)
    assert ended.events[-1]["status"] == ("completed" if code == 0 else "needs_approval")


@pytest.mark.long
async def test_the_record_of_a_quorum_says_who_said_what_about_which_bytes(
    tmp_path: Path, project: Path
) -> None:
    async with quorum_rig(tmp_path / "home", [EDIT, DONE], [[NO], [OUTAGE], [NO]]) as rig:
        ended = await rig.run(project)

    (result,) = lines_of(ended, "quorum_result")
    (requested,) = lines_of(ended, "review_requested")
    assert (result["api_version"], result["topic"], result["rule"]) == (2, "action_review", "majority")
    assert result["target"] == {"tool": "edit_file", "call_id": "c1"}
    assert result["digest"] == requested["digest"]
    assert [cast["verdict"] for cast in result["votes"]] == ["reject", "model_error", "reject"]
    assert result["votes"][0] == {
        **{"model": "r0/scripted", "verdict": "reject", "confidence": 0.9},
        **{"reasoning": "it deletes alpha", "objection": "omega"},
        **{"in_scope": "yes", "counts_as": "reject", "lens": None, "objections": []},
    }
    assert result["feedback"].splitlines() == ["r0/scripted: it deletes alpha", "r2/scripted: it deletes alpha"]
    assert {cast["digest"] for cast in lines_of(ended, "vote_cast")} == {result["digest"]}


@pytest.mark.long
async def test_the_report_holds_the_votes_on_each_call(tmp_path: Path, project: Path) -> None:
    read = call("c2", "read_file", path="a.txt")
    both = calling(call("c1", "edit_file", path="a.txt", old_text="alpha", new_text="omega"), read)
    async with quorum_rig(tmp_path / "home", [both, DONE], [[YES], [YES], [NO]]) as rig:
        ended = await rig.run(project)

    (result,) = lines_of(ended, "quorum_result")
    voted, unasked = ended.events[-1]["calls"]
    assert voted["quorum_results"] == [result]
    assert unasked["quorum_results"] == []


@pytest.mark.long
async def test_a_reviewer_that_never_answers_is_not_waited_for_longer_than_it_may_take(
    tmp_path: Path, project: Path
) -> None:
    silent: list[list[Reply]] = [[YES], [Hang("silent")], [Hang("silent")]]
    limit = "[quorum]\nvote_timeout_secs = 20\n"
    async with quorum_rig(tmp_path / "home", [EDIT, DONE], silent, more=limit) as rig:
        ended = await rig.run(project)

    (result,) = lines_of(ended, "quorum_result")
    assert [cast["verdict"] for cast in result["votes"]] == ["approve", "model_error", "model_error"]
    assert "no vote within 20 s" in result["votes"][1]["reasoning"]
    assert ended.code == 3


@pytest.mark.long
async def test_the_tokens_of_the_reviewers_are_counted(tmp_path: Path, project: Path) -> None:
    async with quorum_rig(tmp_path / "home", [EDIT, DONE], [[YES], [YES], [FREE_TEXT, YES]]) as rig:
        ended = await rig.run(project)

    counted = lines_of(ended, "usage_counted")
    per_model = sorted(line["model"] for line in counted)
    assert per_model == ["local/scripted", "local/scripted", "r0/scripted", "r1/scripted", "r2/scripted"]
    once, twice = (
        next(line["usage"] for line in counted if line["model"] == f"{name}/scripted") for name in ("r0", "r2")
    )
    assert twice["output"] == 2 * once["output"]
    assert ended.events[-1]["usage"]["output"] == sum(line["usage"]["output"] for line in counted)


@pytest.mark.long
async def test_what_the_quorum_may_not_decide_is_not_even_put_to_it(tmp_path: Path, project: Path) -> None:
    rules = '[permissions]\ndeny = ["run_command(curl *)"]\nask = ["write_file(drafts/**)"]\n'
    script = calling(
        call("c0", "read_file", path="a.txt"),
        call("c1", "run_command", command="curl https://example.org"),
        call("c2", "run_command", command="rm -rf a.txt"),
        call("c3", "write_file", path="drafts/x", content="x", create_dirs=True),
        call("c4", "write_file", path="AGENTS.md", content="x"),
        call("c5", "run_command", command="wc -l a.txt"),
    )
    async with quorum_rig(tmp_path / "home", [script, DONE], [[], [], []], more=rules) as rig:
        ended = await rig.run(project)
        asked = [server.bodies for server in rig.reviewers]

    decisions = [record["decision"] for record in ended.events[-1]["calls"]]
    assert decisions == ["allowed", "denied", *["needs_approval"] * 3, "allowed"]
    assert asked == [[], [], []]
    assert lines_of(ended, "quorum_result") == []


@pytest.mark.long
async def test_votes_are_no_advice_where_nobody_is_there_to_read_it(tmp_path: Path, project: Path) -> None:
    async with quorum_rig(tmp_path / "home", [EDIT, DONE], [[], [], []]) as rig:
        ended = await rig.run(project, mode="ask")
        asked = [server.bodies for server in rig.reviewers]

    assert (ended.code, asked) == (3, [[], [], []])


@pytest.mark.long
async def test_three_rejections_of_the_same_call_end_the_turn(tmp_path: Path, project: Path) -> None:
    async with quorum_rig(tmp_path / "home", [EDIT, EDIT, EDIT, DONE], [[NO] * 3, [NO] * 3, [YES] * 3]) as rig:
        ended = await rig.run(project)

    assert "three times" in ended.events[-1]["error"]
    assert len(lines_of(ended, "quorum_result")) == 3
    assert ended.code == 3
