"""Redo through all of a real session: tools, record, restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.real_session import RealSession, SessionStage, shell, write
from tests.support.rewind_rig import tree


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    return SessionStage(tmp_path)


async def redo(session: RealSession) -> None:
    undo = session.agent.rewind.last_undo
    assert undo is not None
    await session.agent.rewind.redo(undo, await session.agent.rewind.plan_redo(undo), frozenset())


async def test_what_one_process_undid_another_one_redoes_and_a_third_undoes_again(stage: SessionStage) -> None:
    (stage.root / "a").write_text("before")
    before = tree(stage.root)
    async with stage.opened() as session:
        await session.turn(prompt="hello")
        first = session.container.parts().core.conversation.messages
        await session.turn(write("a", "after"), shell("echo x > made"), prompt="do it")
        after, said = tree(stage.root), session.container.parts().core.conversation.messages
        await session.undo()
        assert session.agent.run.unsent == ("do it",)
    async with stage.opened() as session:
        assert tree(stage.root) == before
        await redo(session)
        assert tree(stage.root) == after
        assert session.container.parts().core.conversation.messages == said
        assert session.agent.run.unsent == ()
        await session.check()
    async with stage.opened() as session:
        assert session.agent.rewind.last_undo is None
        await session.undo()
        assert tree(stage.root) == before
        assert session.container.parts().core.conversation.messages == first
        await redo(session)
        await session.continue_turn()
        assert session.agent.rewind.last_undo is None
