"""A session that is told of another one: on record, read by the model once, and still there after a crash."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.conversation.exchanges import DEEPEST, ContextExtent
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.events.event import ContextReceived, ResultReceived
from quorum.domain.sessions.session_summary import NamedSession, NewSession
from tests.support.real_session import RealSession, SessionStage, says, shell


def count_told(session: RealSession, text: str) -> int:
    """How many messages of the conversation have this text."""
    messages = session.container.parts().core.conversation.messages
    return sum(isinstance(each, UserMessage) and text in each.text for each in messages)


@pytest.mark.long
async def test_a_session_knows_of_the_one_it_was_opened_from_and_gives_its_answer_back(
    tmp_path: Path,
) -> None:
    stage = SessionStage(tmp_path)
    async with stage.opened(NewSession()) as opener:
        await opener.turn(shell("true"), prompt="why is the import slow?")
        async with stage.opened(NewSession(SessionKind.ASK)) as asked:
            await asked.agent.exchanges.receive_context(opener.agent.exchanges.share(ContextExtent.FULL))
            asked.script[:] = [says("because of the index")]
            await asked.agent.run.execute("what do you think?")
            assert count_told(asked, "why is the import slow?") == 1
            assert asked.agent.exchanges.opener == opener.agent.session_id
            result = asked.agent.exchanges.result
        assert result is not None
        assert not opener.agent.exchanges.has(result)

        await opener.agent.exchanges.receive_result(result)
        assert opener.agent.exchanges.has(result)
        await opener.turn(prompt="do that")

        assert count_told(opener, "because of the index") == 1
        await opener.turn(prompt="and more")
        assert count_told(opener, "because of the index") == 1
        await opener.check()


async def test_what_was_told_outlives_the_process_and_is_read_once(tmp_path: Path) -> None:
    stage = SessionStage(tmp_path)
    async with stage.opened(NewSession()) as opener:
        await opener.turn(prompt="why is the import slow?")
        shared = opener.agent.exchanges.share(ContextExtent.PROJECTED)
    async with stage.opened(NewSession(SessionKind.ASK)) as asked:
        await asked.agent.exchanges.receive_context(shared)
        name = asked.agent.session_id

    async with stage.opened(NamedSession(name)) as again:
        assert again.agent.exchanges.opener == shared.session_id
        assert again.agent.exchanges.depth == 1
        await again.turn(prompt="what do you think?")
        assert count_told(again, "why is the import slow?") == 1
    async with stage.opened(NamedSession(name)) as later:
        await later.turn(prompt="and now?")
        assert count_told(later, "why is the import slow?") == 1
        await later.check()


async def test_a_secret_of_one_session_is_in_no_text_for_another(tmp_path: Path) -> None:
    stage = SessionStage(tmp_path)
    async with stage.opened(NewSession()) as opener:
        opener.container.inputs().mask.learn("TOKEN", "hunter2-hunter2")
        await opener.turn(prompt="the token is hunter2-hunter2")
        shared = opener.agent.exchanges.share(ContextExtent.FULL)
        result = opener.agent.exchanges.result
    assert shared.note is not None
    assert result is not None
    assert "hunter2" not in shared.note + shared.title + result.note + result.title
    assert "[secret:TOKEN]" in shared.note


@pytest.mark.long
async def test_the_depth_grows_with_each_session_that_is_opened_from_another(tmp_path: Path) -> None:
    stage = SessionStage(tmp_path)
    async with stage.opened(NewSession()) as first:
        shared = first.agent.exchanges.share(ContextExtent.FRESH)
    for depth in range(1, DEEPEST + 1):
        async with stage.opened(NewSession(SessionKind.ASK)) as session:
            await session.agent.exchanges.receive_context(shared)
            assert session.agent.exchanges.depth == depth
            shared = session.agent.exchanges.share(ContextExtent.FULL)


async def test_both_are_on_record_with_the_session_that_they_come_from(tmp_path: Path) -> None:
    stage = SessionStage(tmp_path)
    async with stage.opened(NewSession()) as opener:
        await opener.turn(prompt="why?")
        result = opener.agent.exchanges.result
        assert result is not None
        async with stage.opened(NewSession(SessionKind.ASK)) as asked:
            await asked.agent.exchanges.receive_context(opener.agent.exchanges.share(ContextExtent.FULL))
            await asked.agent.exchanges.receive_result(result)
            records = await asked.agent.record.archive.read(asked.agent.session_id)
    told = [each.event for each in records if isinstance(each.event, ContextReceived | ResultReceived)]
    assert [(type(each), each.session_id) for each in told] == [
        (ContextReceived, opener.agent.session_id),
        (ResultReceived, opener.agent.session_id),
    ]
