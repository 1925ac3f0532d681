"""A process that ends between the conclusion of a discussion and the answer that comes of it."""

from __future__ import annotations

import pytest

from quorum.application.panel.discussion import Discussion
from quorum.domain.conversation.history import Conversation, UserMessage
from quorum.domain.events.event import PanelStarted
from tests.support.builders import a_call, calls_response
from tests.support.fake_gateway import Answers
from tests.support.panel_room import DOWN, PanelRoom, answered, reviews, text

QUESTION = "queue or cron?"
POINT = {"text": "nightly is enough", "answers": ["A", "B"]}
SYNTHESIS = calls_response(
    a_call(
        "synthesise",
        {"conclusion": "take cron", "key_points": [POINT], "agreement": [POINT], "disagreement": []},
    )
)


def scripts(**more: Answers) -> dict[str, Answers]:
    return {
        "a": [text("cron"), reviews(B=6)],
        "b": [text("queue"), reviews(A=8)],
        "c": [DOWN],
        "mod": [SYNTHESIS],
        **more,
    }


@pytest.mark.parametrize("moderator", [[SYNTHESIS], [DOWN]], ids=["a synthesis", "an answer alone"])
async def test_what_is_concluded_and_not_answered_is_told_and_nobody_is_asked(moderator: Answers) -> None:
    first = PanelRoom(Discussion, scripts(mod=moderator))
    said = await first.discuss(QUESTION)
    nobody: dict[str, Answers] = {"a": [], "b": [], "c": [], "mod": []}
    second = PanelRoom(
        Discussion, nobody, past=first.records(), conversation=Conversation([UserMessage(QUESTION)])
    )
    assert await second.discuss(None) == said
    assert [second.requests(name) for name in nobody] == [0, 0, 0, 0]
    assert not second.seen.of(PanelStarted)


async def test_the_same_question_after_its_answer_is_put_anew() -> None:
    first = PanelRoom(Discussion, scripts())
    said = await first.discuss(QUESTION)
    second = PanelRoom(Discussion, scripts(), past=answered(first.records(), said))
    assert await second.discuss(QUESTION) == said
    assert [second.requests(name) for name in ("a", "b", "c", "mod")] == [2, 2, 1, 1]
