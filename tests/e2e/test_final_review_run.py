"""The review of what a plan led to, without a screen and in a terminal, with processes that are killed."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from quorum.application.review.ballot_paper import BALLOT_TOOL
from quorum.headless.stream_schema import build_stream_schema
from tests.support.headless_run import environment, run, start
from tests.support.quorum_rig import DONE, QuorumRig, call, calling, quorum_rig
from tests.support.real_session import git_environment
from tests.support.sse_server import Hang, Say
from tests.support.terminal import Terminal, run_until_killed

SETTINGS = "[agent]\nfinal_review = true\n[code_review]\nmax_tool_rounds = 0\n"
TASKS = [{"id": "lexer", "description": "cut it up", "writes": ["src/*"]}]
PLAN = calling(call("p1", "create_plan", objective="a lexer", reasoning="asked for", tasks=TASKS))
WORK = (
    calling(call("w1", "update_task", id="lexer", status="started")),
    calling(call("w2", "write_file", path="src/lexer.py", content="cut = True\n", create_dirs=True)),
    calling(call("w3", "update_task", id="lexer", status="done")),
    Say(pieces=["it is cut up"]),
)
FOR_THE_PLAN = calling(
    call("b1", BALLOT_TOOL, verdict="approve", in_scope="yes", confidence=0.9, reason="so", objections=[])
)
FINDING = {
    **{"file": "src/lexer.py", "line": 1, "severity": "high", "kind": "correctness"},
    **{"claim": "it cuts nothing up", "evidence": "line 1"},
}
TRIED = calling(
    call("t1", "try_findings", rulings=[{"finding": "F1", "ruling": "confirmed", "reason": "seen"}])
)
MERGED = calling(
    call("s1", "synthesise", conclusion="cut something up", key_points=[], agreement=[], disagreement=[])
)


def report(verdict: str, *findings: object) -> Say:
    given = {"findings": list(findings), "verdict": verdict, "confidence": 0.9, "reason": f"I {verdict}"}
    return calling(call("r1", "report_findings", **given))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "notes.txt").write_text("committed\n")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=folder, env=git_environment(), check=True)
    return folder


def requests(rig: QuorumRig) -> tuple[int, ...]:
    return tuple(len(server.bodies) for server in (rig.model, *rig.reviewers))


@pytest.mark.long
async def test_a_run_whose_plan_came_to_what_reviewers_reject_fails_also_after_a_kill(
    tmp_path: Path, project: Path
) -> None:
    script = [PLAN, Hang("silent")]
    async with quorum_rig(tmp_path / "home", script, [[FOR_THE_PLAN]] * 2, more=SETTINGS) as rig:
        await asyncio.to_thread(approve, rig, project)
        env = environment(rig.home)
        resume = ("--leave-open", "--resume", "latest", "--output", "stream-json")
        rig.model.script = list(WORK)
        rig.reviewers[0].script = [report("reject", FINDING)]
        rig.reviewers[1].script = [Hang("silent")]
        process = await start(*resume, cwd=project, env=env)
        assert process.stdout is not None
        async with asyncio.timeout(120):
            async for line in process.stdout:
                if json.loads(line)["type"] == "part_reviewed":
                    break
            while requests(rig)[2] < 2:  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        await process.communicate()
        before = requests(rig)

        rig.model.script = [MERGED]  # it is the moderator as well
        rig.reviewers[0].script = []
        rig.reviewers[1].script = [report("approve"), TRIED]
        ended = await run(*resume, cwd=project, env=env)
        after = requests(rig)

    assert before == (6, 2, 2)
    assert after == (7, 2, 4), "the model and the first reviewer are not asked again"
    assert ended.code == 1, ended.err
    assert "the reviewers do not approve what the plan led to: 1 against it, 1 for it; 1 finding" in ended.err
    schema = Draft202012Validator(build_stream_schema())
    for event in ended.events:
        schema.validate(event)
    review = ended.events[-1]["final_review"]
    assert (review["approved"], review["votes"][0]["verdict"]) == (False, "reject")
    assert review["findings"][0]["claim"] == "it cuts nothing up"
    assert review["findings"][0]["trials"][0]["model"] == "r1/scripted"
    assert "participants" not in ended.events[-1]


@pytest.mark.long
async def test_in_the_app_objections_are_shown_and_the_work_is_left_to_the_person(
    tmp_path: Path, project: Path
) -> None:
    script = [PLAN, *WORK, MERGED, DONE]
    reviewer = [FOR_THE_PLAN, report("reject", FINDING)]
    async with quorum_rig(tmp_path / "home", script, [reviewer, reviewer], more=SETTINGS) as rig:
        await asyncio.to_thread(carry_out, rig, project)
        told = str(rig.model.bodies[-1])

    assert requests(rig) == (7, 2, 2)
    assert "it cuts nothing up" in told, "the model reads it with the next prompt, not before"


def approve(rig: QuorumRig, project: Path) -> None:
    with run_until_killed(project, rig.home, rows=24, columns=80) as terminal:
        terminal.wait_for("local/scripted")
        terminal.submit("/plan make a lexer")
        terminal.wait_for("Approve this plan")
        terminal.press_when_awake("y", "is approved")
        wait_until_asked(rig, 2)


def carry_out(rig: QuorumRig, project: Path) -> None:
    with run_until_killed(project, rig.home, rows=40, columns=120) as terminal:
        terminal.wait_for("local/scripted")
        terminal.submit("/plan make a lexer")
        terminal.wait_for("Approve this plan")
        terminal.press_when_awake("y", "it is cut up")
        terminal.wait_for("the reviewers do not approve what the plan led to")
        wait_until_asked(rig, 6)
        list_findings(terminal)
        terminal.submit("what now")
        terminal.wait_for("done")
        wait_until_asked(rig, 7)


def list_findings(terminal: Terminal) -> None:
    with terminal.fresh():
        terminal.submit("/findings")
        terminal.wait_for("it cuts nothing up")
    with terminal.fresh():
        terminal.type("\x1b")
        terminal.wait_for("Ask for something")  # the list of findings covers it


def wait_until_asked(rig: QuorumRig, count: int) -> None:
    deadline = time.monotonic() + 120
    while len(rig.model.bodies) < count:
        assert time.monotonic() < deadline, requests(rig)
        time.sleep(0.01)
