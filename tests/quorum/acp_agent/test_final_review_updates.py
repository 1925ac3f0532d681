"""What reviewers say of the result of a plan, in an editor."""

from __future__ import annotations

from acp.schema import AgentMessageChunk, TextContentBlock

from quorum.acp_agent.standard_io import SessionUpdate
from quorum.acp_agent.update_feed import UpdateFeed
from quorum.domain.code_review.review_result import ReviewResult
from quorum.domain.events.event import ChangeReviewed, PanelStarted
from quorum.domain.panel.panel_answer import PanelForm, label_participants
from quorum.domain.review.ballot import Ballot, Verdict, Vote

RESULT = ReviewResult(
    description="what came of the plan",
    digest="0" * 64,
    base="",
    commit="",
    verdict=Verdict.REJECTED,
    rule="majority",
    ballots=(Ballot(reviewer="p/a", vote=Vote.REJECT, reason="it cuts nothing up"),),
    is_independent=True,
    findings=(),
    files=1,
    parts=1,
)
STARTED = PanelStarted(
    panel_id="p", question="", participants=label_participants(("p/a",)), moderator="p/m", form=PanelForm.REVIEW
)


def test_the_editor_shows_the_verdict_and_the_votes_as_words_of_the_program() -> None:
    updates: list[SessionUpdate] = []
    feed = UpdateFeed("/ws", updates.append)
    feed.notify(STARTED)
    feed.notify(ChangeReviewed(panel_id="p", result=RESULT))
    (update,) = updates
    assert isinstance(update, AgentMessageChunk)
    assert isinstance(update.content, TextContentBlock)
    assert "> quorum: **Not approved** · what came of the plan" in update.content.text
    assert "> - p/a rejects: it cuts nothing up" in update.content.text
