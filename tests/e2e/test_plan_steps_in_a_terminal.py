"""Each step of a plan in a terminal, left with Escape or by a killed process: what is there afterwards.

Requests to the model and to both reviewers are counted.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from quorum.application.review.ballot_paper import BALLOT_TOOL
from tests.support.quorum_rig import DONE, QuorumRig, call, calling, quorum_rig
from tests.support.sse_server import Hang, Reply, Say, ScriptedCall
from tests.support.terminal import ESCAPE, Terminal, run_until_killed

HANG = Hang("silent")
INTERRUPTED = "/retry continues"  # in the status bar, once the turn is over
TASKS = [
    {"id": "lexer", "description": "cut it up", "writes": ["src/lexer.py"]},
    {"id": "docs", "description": "tell of it", "writes": ["docs/**"]},
    {"id": "site", "description": "make it pretty", "writes": ["site/**"]},
]
PLAN = calling(call("p1", "create_plan", objective="a parser", reasoning="asked for", tasks=TASKS))
YES = calling(
    ScriptedCall(
        "b1",
        BALLOT_TOOL,
        json.dumps(
            {"verdict": "approve", "in_scope": "yes", "confidence": 0.9, "reason": "so", "objections": []}
        ),
    )
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


class Steps:
    """The processes of one session, one after the other."""

    def __init__(self, rig: QuorumRig, project: Path) -> None:
        self.rig, self.project = rig, project

    @property
    def asked(self) -> tuple[int, int, int]:
        """How often the model and the reviewers were asked."""
        first, second = self.rig.reviewers
        return len(self.rig.model.bodies), len(first.bodies), len(second.bodies)

    def answer(self, model: Sequence[Reply], first: Sequence[Reply] = (), second: Sequence[Reply] = ()) -> None:
        """What they answer from now on."""
        self.rig.model.script[:] = model
        self.rig.reviewers[0].script[:], self.rig.reviewers[1].script[:] = first, second

    def wait_until_asked(self, *counts: int) -> None:
        self.wait_until(lambda: self.asked == counts, f"{counts} requests")

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + 120
        while not condition():
            assert time.monotonic() < deadline, (what, self.asked)
            time.sleep(0.01)

    @contextmanager
    def process(self, *arguments: str) -> Iterator[Terminal]:
        with run_until_killed(
            self.project, self.rig.home, rows=40, columns=120, arguments=arguments
        ) as terminal:
            yield terminal


def interrupt(terminal: Terminal) -> None:
    with terminal.fresh():
        terminal.type(ESCAPE)
        terminal.wait_for(INTERRUPTED)


@pytest.mark.long
async def test_no_step_of_a_plan_is_lost_or_paid_twice_when_it_is_interrupted_or_killed(
    tmp_path: Path, project: Path
) -> None:
    async with quorum_rig(tmp_path / "home", [], [[], []]) as rig:
        steps = Steps(rig, project)
        for step in (make, judge, decide, edit, approve, carry_out, look, ask):
            await asyncio.to_thread(step, steps)


def make(steps: Steps) -> None:
    """Interrupted while the plan is made, then killed: plan mode is on, and nobody is asked by itself."""
    steps.answer([HANG, HANG])
    with steps.process() as terminal:
        terminal.wait_for("local/scripted")
        terminal.submit("/plan make a parser")
        steps.wait_until_asked(1, 0, 0)
        interrupt(terminal)
        terminal.submit("go on")
        steps.wait_until_asked(2, 0, 0)


def judge(steps: Steps) -> None:
    """Interrupted while reviewers judge it; begun anew, and killed there."""
    steps.answer([PLAN, PLAN], [YES, YES], [HANG, HANG])
    with steps.process("--continue") as terminal:
        terminal.wait_for("local/scripted")
        assert steps.asked == (2, 0, 0)
        terminal.submit("go on")
        steps.wait_until_asked(3, 1, 1)
        interrupt(terminal)
        with terminal.fresh():
            terminal.submit("again")
            steps.wait_until_asked(4, 2, 2)
            terminal.wait_for("1 of 2")


def decide(steps: Steps) -> None:
    """The vote that the killed process had is not asked for again; killed with the dialog open."""
    steps.answer([PLAN], [], [YES])
    with steps.process("--continue") as terminal:
        terminal.wait_for("local/scripted")
        terminal.submit("again")
        steps.wait_until_asked(5, 2, 3)
        terminal.wait_for("Approve this plan")


def edit(steps: Steps) -> None:
    """The dialog is there again without a request; one task is dropped, and killed at the next question."""
    steps.answer([])
    with steps.process("--continue") as terminal:
        terminal.wait_for("Approve this plan")
        assert steps.asked == (5, 2, 3)
        terminal.press_when_awake("t", "other task depends on lexer")
        terminal.press_when_awake("\x1b[A", "3 of 3")
        terminal.press_when_awake(" ", "[ ] site")
        terminal.press_when_awake("\x13", "esc rejects")
    assert steps.asked == (5, 2, 3), "what a person edited is for the person to decide"


def approve(steps: Steps) -> None:
    """The edited plan is asked about again without a request; approved, and killed before its first task."""
    before = steps.asked
    steps.answer([HANG])
    with steps.process("--continue") as terminal:
        terminal.wait_for("Approve this plan")
        assert steps.asked == before
        assert "site" not in terminal.painted
        terminal.press_when_awake("y", "is approved")
        steps.wait_until_asked(before[0] + 1, *before[1:])


def carry_out(steps: Steps) -> None:
    """The plan is in force; killed while one task has ended and the other runs."""
    before = steps.asked[0]
    both = calling(call("t1", "run_task", id="lexer"), call("t2", "run_task", id="docs"))
    steps.answer([both, Say(pieces=["it is written"]), HANG])
    with steps.process("--continue") as terminal:
        terminal.wait_for("local/scripted")
        terminal.submit("carry it out")
        steps.wait_until(lambda: steps.asked[0] == before + 3, "both tasks are given")
        terminal.wait_for("3 lines")  # of the report of the one that has ended


def look(steps: Steps) -> None:
    """What is done is not repeated, what is unknown can be; interrupted there."""
    before = steps.asked[0]
    again = calling(call("t3", "run_task", id="lexer"), call("t4", "run_task", id="docs"))
    steps.answer([again, HANG])
    with steps.process("--continue") as terminal:
        terminal.wait_for("effect unknown: run_task")
        assert steps.asked[0] == before
        terminal.submit("go on")
        steps.wait_until(lambda: steps.asked[0] == before + 2, "one task is given again")
        interrupt(terminal)


def ask(steps: Steps) -> None:
    """The model reads what became of each task."""
    before = steps.asked[0]
    steps.answer([DONE])
    with steps.process("--continue") as terminal:
        terminal.wait_for("local/scripted")
        terminal.submit("how does it stand")
        steps.wait_until(lambda: steps.asked[0] == before + 1, "the model is asked")
    messages = steps.rig.model.bodies[-1]["messages"]
    results = {each["tool_call_id"]: each["content"] for each in messages if each["role"] == "tool"}
    reported, cut = sorted((results["t1"], results["t2"]), key=lambda text: "interrupted" in text)
    assert "it is written" in reported
    assert "the task was interrupted when the process ended" in cut
    done = [text for text in (results["t3"], results["t4"]) if "is done, so it is not run again" in text]
    assert len(done) == 1


FORMS = (
    ("t", "other task depends on lexer", " ", "[ ] lexer"),
    ("e", "ask again with this", "# Another plan", "# Another plan"),
    ("r", "no, for this reason", "not like that", "not like that"),
    ("v", "esc back", "", ""),
    ("d", "esc back", "", ""),
)
"""Each form of the plan's dialog: its key, what it shows, what is typed into it, and what that shows."""
ASKED = "esc rejects and interrupts"


@pytest.mark.long
async def test_what_is_begun_in_the_plan_dialog_and_left_with_escape_or_killed_changes_nothing(
    tmp_path: Path, project: Path
) -> None:
    async with quorum_rig(tmp_path / "home", [PLAN], [[YES], [YES]]) as rig:
        await asyncio.to_thread(leave_each_form, Steps(rig, project))


def leave_each_form(steps: Steps) -> None:
    """Each form is left with Escape, then the process is killed in it; in the end Escape leaves the dialog."""
    with steps.process() as terminal:
        terminal.wait_for("local/scripted")
        terminal.submit("/plan make a parser")
        terminal.wait_for(ASKED)
    for key, shown, typed, result in FORMS:
        with steps.process("--continue") as terminal:
            terminal.wait_for(ASKED)
            fill_in(terminal, key, shown, typed, result)
            terminal.press_when_awake(ESCAPE, ASKED)
            fill_in(terminal, key, shown, typed, result)
    with steps.process("--continue") as terminal:
        terminal.wait_for(ASKED)
        assert steps.asked == (1, 1, 1), "nobody is asked about what is not submitted"
        assert all(task["id"] in terminal.painted for task in TASKS)
        terminal.press_when_awake(ESCAPE, INTERRUPTED)
    steps.answer([PLAN, HANG], [YES], [YES])
    with steps.process("--continue") as terminal:
        terminal.wait_for("local/scripted")
        assert steps.asked == (1, 1, 1)
        terminal.submit("again")
        steps.wait_until_asked(2, 2, 2)
        terminal.wait_for(ASKED)
        terminal.press_when_awake("y", "is approved")
        steps.wait_until_asked(3, 2, 2)


def fill_in(terminal: Terminal, key: str, shown: str, typed: str, result: str) -> None:
    terminal.press_when_awake(key, shown)
    if typed:
        with terminal.fresh():
            terminal.type(typed)
            terminal.wait_for(result)
