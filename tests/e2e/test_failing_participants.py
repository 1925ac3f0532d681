"""Participants that fail, each in its own way, beside ones that answer: in a run and in a terminal."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.support.discussion_rig import DiscussionRig, discussion_rig, review, synthesise
from tests.support.sse_server import Hang, Refuse, Reply, Say
from tests.support.terminal import run_until_killed

LIMIT = "[discussion]\nanswer_timeout_secs = 20\n"
MUMBLE = Say(pieces=["I disapprove. 8/10."])
ENDLESS = Say(pieces=["x" * 100_000] * 11, ending="stall")
DOWN = Refuse(status=500, message="down")
REASONS = {
    "D": "down",
    "E": "no answer within 20 s",
    "F": "it wrote more than 1,000,000 characters",
    "G": "the model refused",
    "H": "it said nothing",
}


def scripts() -> dict[str, list[Reply]]:
    """Two answer and review each other, the third answers and mumbles; the others do not answer."""
    return {
        "a": [Say(pieces=["cron"]), review(B=5, C=4)],
        "b": [Say(pieces=["queue"], pings=3, ping_secs=0.3), review(C=4, A=9)],
        "c": [Say(pieces=["a lock"]), MUMBLE, MUMBLE, MUMBLE, MUMBLE],
        "d": [DOWN],
        "e": [Hang("silent")],
        "f": [ENDLESS],
        "g": [Say(pieces=["no"], stop="refusal")],
        "h": [Say(pieces=[" "]), Say(pieces=[" "])],
        "mod": [synthesise("take cron", agree=["A", "B"])],
    }


REQUESTS = {"a": 2, "b": 2, "c": 5, **dict.fromkeys("defg", 1), "h": 2, "mod": 1}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.mark.long
async def test_a_run_names_each_with_its_reason_and_goes_on_with_the_others(
    tmp_path: Path, project: Path
) -> None:
    async with discussion_rig(tmp_path / "home", scripts(), more=LIMIT) as rig:
        ended = await rig.run(project, "discuss", "--output", "json", "queue or cron?")
    assert ended.code == 0, ended.err
    assert ended.report["synthesis"]["conclusion"] == "take cron"
    reasons = {each["label"]: each["reason"] for each in ended.report["participants"] if "reason" in each}
    assert set(reasons) == set(REASONS)
    assert [label for label, reason in REASONS.items() if reason not in reasons[label]] == []
    assert "C reviewed no other answer: it did not call review_answers" in ended.err
    assert rig.requests == REQUESTS


def wait_for_requests(rig: DiscussionRig, requests: dict[str, int]) -> None:
    deadline = time.monotonic() + 120
    while rig.requests != requests and time.monotonic() < deadline:
        time.sleep(0.01)
    assert rig.requests == requests


@pytest.mark.long
async def test_the_app_names_each_with_its_reason_and_goes_on_with_the_others(
    tmp_path: Path, project: Path
) -> None:
    async with discussion_rig(tmp_path / "home", scripts(), more=LIMIT) as rig:

        def discuss() -> None:
            with run_until_killed(project, rig.home, rows=60, columns=160) as terminal:
                terminal.wait_for("mod/scripted")
                terminal.submit("/discuss queue or cron?")
                terminal.wait_for("3 of 8 answered · scores A 9.0")
                for label, reason in REASONS.items():
                    terminal.wait_for(f"{label} {label.lower()}/scripted gave no answer: ")
                    terminal.wait_for(reason)
                terminal.wait_for("C c/scripted reviewed no other answer: it did not call review_answers")
                terminal.wait_for("take cron")
                wait_for_requests(rig, REQUESTS)

        await asyncio.to_thread(discuss)


@pytest.mark.long
async def test_once_all_were_down_a_retry_in_the_app_asks_all_of_them_again(
    tmp_path: Path, project: Path
) -> None:
    down: dict[str, list[Reply]] = {"a": [DOWN], "b": [DOWN], "mod": []}
    async with discussion_rig(tmp_path / "home", down) as rig:

        def discuss() -> None:
            with run_until_killed(project, rig.home, rows=60, columns=160) as terminal:
                terminal.wait_for("mod/scripted")
                terminal.submit("/discuss queue or cron?")
                terminal.wait_for("no participant answered: a/scripted: ")
                wait_for_requests(rig, {"a": 1, "b": 1, "mod": 0})
                rig.servers["a"].script[:] = [Say(pieces=["cron"]), review(B=5)]
                rig.servers["b"].script[:] = [Say(pieces=["queue"]), review(A=7)]
                rig.servers["mod"].script[:] = [synthesise("take cron")]
                terminal.submit("/retry")
                terminal.wait_for("2 of 2 answered · scores")
                terminal.wait_for("take cron")
                wait_for_requests(rig, {"a": 3, "b": 3, "mod": 1})

        await asyncio.to_thread(discuss)
