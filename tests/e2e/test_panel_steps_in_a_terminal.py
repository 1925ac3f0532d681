"""Each step of a discussion, an ensemble and a debate in a terminal, left with Escape and by a killed process.

Requests to every model are counted: what has been answered is not asked for again.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.discussion_rig import DiscussionRig, discussion_rig, list_additions, review, synthesise
from tests.support.quorum_rig import calling
from tests.support.sse_server import Reply, Say, ScriptedCall
from tests.support.terminal import ESCAPE, Terminal, run_until_killed

CTRL_O = "\x0f"
HALF = Say(pieces=["half an "], ending="stall")
QUESTION = "queue or cron?"
_ROWS = 100  # each interruption adds lines below the panel, which stays where it began
MODEL = "mod/scripted"


def fields(tool: str, **given: Any) -> Say:
    return calling(ScriptedCall("c1", tool, json.dumps(given)))


DISCUSSION: Mapping[str, Sequence[Reply]] = {
    "a": [Say(pieces=["cron"]), review(B=5)],
    "b": [Say(pieces=["queue"]), review(A=7)],
    "mod": [synthesise("take cron", agree=["A", "B"])],
}
ENSEMBLE: Mapping[str, Sequence[Reply]] = {**DISCUSSION, "mod": [list_additions(retries="B")]}
OBJECTION = {"claim": "it loses jobs", "evidence": "after a restart", "severity": "high"}
DEBATE: Mapping[str, Sequence[Reply]] = {
    "a": [
        Say(pieces=["cron"]),
        fields("respond", responses=[{"objection": "R1-B1", "stance": "concede", "text": "right"}]),
        fields("revise", answer="cron with a lock"),
    ],
    "b": [fields("raise_objections", objections=[OBJECTION]), fields("raise_objections", objections=[])],
    "mod": [fields("rule", rulings=[{"objection": "R1-B1", "ruling": "upheld", "reason": "shown"}])],
}


@dataclass(frozen=True)
class Step:
    """A moment of a panel: the `waiting` models are asked and do not come to an end.

    `answered` says how many requests of each model are behind it, `shows` what the screen says then.
    """

    waiting: str
    answered: Mapping[str, int]
    shows: str


SCORED = (
    Step("a b", {}, "2 models write"),
    Step("b", {"a": 1}, "1 of 2 answered, the others write"),
    Step("a b", {"a": 1, "b": 1}, "they review each other"),
    Step("b", {"a": 2, "b": 1}, "has reviewed"),
)
DISCUSSED = (*SCORED, Step("mod", {"a": 2, "b": 2}, "makes a synthesis"))
CHOSEN = (*SCORED, Step("mod", {"a": 2, "b": 2}, "lists what the others add"))
DEBATED = (
    Step("a", {}, "A answers"),
    Step("b", {"a": 1}, "the others look for objections"),
    Step("a", {"a": 1, "b": 1}, "round 1: "),
    Step("mod", {"a": 2, "b": 1}, "round 1: "),
    Step("a", {"a": 2, "b": 1, "mod": 1}, "round 1: "),
    Step("b", {"a": 3, "b": 1, "mod": 1}, "round 1: "),
)


class Panel:
    """The processes in which one panel comes to its end, one after the other."""

    def __init__(self, rig: DiscussionRig, project: Path, replies: Mapping[str, Sequence[Reply]]) -> None:
        self._rig, self._project, self._replies = rig, project, replies
        self._answered = dict.fromkeys(replies, 0)
        self._asked = dict.fromkeys(replies, 0)

    def go_through(self, steps: Sequence[Step], command: str, prompt: str, result: str) -> None:
        """Each step is interrupted, begun again, and then killed; the last process sees the `result`."""
        with self._process() as terminal:
            if command:
                terminal.submit(command)
                terminal.wait_for("ensemble: several models")
            terminal.submit(prompt)
            self._reach(steps[0], terminal)
        for step in steps[1:]:
            with self._process("--continue") as terminal:
                self._retry(terminal)
                self._reach(step, terminal)
        with self._process("--continue") as terminal:
            self._answer({name: len(replies) for name, replies in self._replies.items()}, waiting=())
            self._retry(terminal)
            terminal.wait_for(result)
            self._expect_requests()
            with terminal.fresh():  # it is opened, and the process is killed while it is
                terminal.type(CTRL_O)
                terminal.wait_for("▾ panel")
        with self._process("--continue") as terminal:
            terminal.wait_for(result)
            self._expect_requests()

    def _reach(self, step: Step, terminal: Terminal) -> None:
        waiting = step.waiting.split()
        self._answer({name: step.answered.get(name, 0) for name in self._replies}, waiting)
        terminal.wait_for(step.shows)
        self._expect_requests()
        with terminal.fresh():
            terminal.type(ESCAPE)
            terminal.wait_for("/retry continues")  # in the status bar, once the turn is over
        self._answer(self._answered, waiting)
        self._retry(terminal)
        terminal.wait_for(step.shows)
        self._expect_requests()

    def _answer(self, answered: Mapping[str, int], waiting: Sequence[str]) -> None:
        """What they answer up to there; the requests that this makes are expected."""
        for name, server in self._rig.servers.items():
            replies = [
                *self._replies[name][self._answered[name] : answered[name]],
                *([HALF] * (name in waiting)),
            ]
            server.script[:] = replies
            self._asked[name] += len(replies)
        self._answered = dict(answered)

    def _expect_requests(self) -> None:
        deadline = time.monotonic() + 120
        while self._rig.requests != self._asked and time.monotonic() < deadline:
            time.sleep(0.01)
        assert self._rig.requests == self._asked

    def _retry(self, terminal: Terminal) -> None:
        with terminal.fresh():
            terminal.submit("/retry")

    @contextmanager
    def _process(self, *arguments: str) -> Iterator[Terminal]:
        with run_until_killed(
            self._project, self._rig.home, rows=_ROWS, columns=120, arguments=arguments
        ) as terminal:
            terminal.wait_for(MODEL)
            yield terminal


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.mark.long
@pytest.mark.parametrize(
    ("replies", "steps", "command", "prompt", "result"),
    [
        (DISCUSSION, DISCUSSED, "", f"/discuss {QUESTION}", "take cron"),
        (ENSEMBLE, CHOSEN, "/ensemble", QUESTION, "This is answer A"),
        (DEBATE, DEBATED, "", f"/debate {QUESTION}", "cron with a lock"),
    ],
    ids=["discussion", "ensemble", "debate"],
)
async def test_nothing_that_was_answered_is_asked_again_wherever_a_panel_is_interrupted_or_killed(
    tmp_path: Path,
    project: Path,
    replies: Mapping[str, Sequence[Reply]],
    steps: Sequence[Step],
    command: str,
    prompt: str,
    result: str,
) -> None:
    async with discussion_rig(tmp_path / "home", replies) as rig:
        panel = Panel(rig, project, replies)
        await asyncio.to_thread(panel.go_through, steps, command, prompt, result)
