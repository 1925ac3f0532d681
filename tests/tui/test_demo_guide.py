"""The guide of the tour: what it says follows what the person decided."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.events.event import CallFinished
from quorum.domain.events.report import RunStatus
from quorum.domain.review.questions import DecisionLabel
from quorum.tui.demo_app import Guide
from tests.tui.transcript_scenes import turn_finished

CONTEXT = ToolExecutionContext(call_id="c", batch_id="b", call_index=0, turn_index=0)


class GuidedApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Guide(lambda _prompt: None)


def ended(outcome: Outcome, decision: DecisionLabel) -> CallFinished:
    return CallFinished(
        context=CONTEXT, tool="edit_file", outcome=outcome, decision=decision, output="", duration_secs=0.1
    )


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (ended(Outcome.OK, DecisionLabel.APPROVED), "The card shows what really changed."),
        (ended(Outcome.OK, DecisionLabel.EDITED), "The card shows what really changed."),
        (ended(Outcome.REJECTED, DecisionLabel.REJECTED), "You rejected the change: nothing was changed"),
        (ended(Outcome.NOT_RUN, DecisionLabel.NONE), "No change was made: the file is as it was."),
        (None, "No change was made: the file is as it was."),
    ],
)
async def test_the_tour_says_what_became_of_the_change(event: CallFinished | None, says: str) -> None:
    async with GuidedApp().run_test() as pilot:
        guide = pilot.app.query_one(Guide)
        guide.advance()
        guide.advance()
        if event is not None:
            guide.apply(event)
        guide.advance()

        shown = str(guide.render())
        assert shown.startswith("4/8 ")
        assert says in shown


async def test_skipping_a_change_leaves_out_the_step_about_its_review():
    async with GuidedApp().run_test() as pilot:
        guide = pilot.app.query_one(Guide)
        guide.advance()
        guide.skip()

        assert str(guide.render()).startswith("4/8 No change was made")


async def test_where_the_mode_asks_about_no_change_the_step_about_its_review_is_left_out():
    finished = turn_finished(RunStatus.COMPLETED)
    async with GuidedApp().run_test() as pilot:
        guide = pilot.app.query_one(Guide)
        guide.advance()
        guide.apply(ended(Outcome.OK, DecisionLabel.ALLOWED))
        guide.apply(finished)

        shown = str(guide.render())
        assert shown.startswith("4/8 The card shows what really changed.")
        assert "In mode ask, commands are reviewed" in shown
