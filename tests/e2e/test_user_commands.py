"""Commands of the person's own, with everything real: the shell, the record, the mask, the terminal."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from quorum.domain.calls.execution import Outcome
from quorum.domain.conversation.history import UserMessage
from quorum.domain.events.event import MessageAdded, UserCommandFinished
from tests.infrastructure.commands.command_bench import a_sleep, alive_with
from tests.support.liveness import wait_until
from tests.support.real_session import SessionStage, call
from tests.support.terminal import ESCAPE, Terminal

SECRET = "hunter2-is-a-long-password"


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    stage = SessionStage(tmp_path)
    (stage.root / ".env").write_text(f"DATABASE_PASSWORD={SECRET}\n")
    return stage


async def test_what_it_printed_is_masked_on_record_and_for_the_model_and_outlives_the_process(
    stage: SessionStage,
) -> None:
    async with stage.opened() as session:
        await session.agent.user_commands.run("cat .env; echo done > made.txt", visible_to_model=True)
        assert (stage.root / "made.txt").read_text() == "done\n"
        await session.turn()
        note = session.container.parts().core.conversation.messages[0]
        assert isinstance(note, UserMessage)
        assert "DATABASE_PASSWORD=[secret:" in note.text
        await session.check()
        records = await session.agent.record.archive.read(session.agent.session_id)
        assert SECRET not in "".join(repr(record.event) for record in records)
    async with stage.opened() as again:
        assert again.container.parts().core.conversation.messages[0] == note
        await again.continue_turn()


@pytest.mark.long
async def test_taking_a_turn_back_leaves_alone_what_the_person_changed_with_a_command(
    stage: SessionStage,
) -> None:
    async with stage.opened() as session:
        await session.turn(call("write_file", path="a.txt", content="model\n"))
        await session.agent.user_commands.run("echo mine > a.txt", visible_to_model=True)
        await session.undo()

        assert (stage.root / "a.txt").read_text() == "mine\n"
        await session.continue_turn()


@pytest.mark.long
async def test_a_long_output_is_stored_and_the_model_can_open_it_also_after_a_resumption(
    stage: SessionStage,
) -> None:
    async with stage.opened() as session:
        await session.turn(prompt="hello")
        await session.agent.user_commands.run("seq 20000", visible_to_model=True)
        (end,) = [
            record.event
            for record in await session.agent.record.archive.read(session.agent.session_id)
            if isinstance(record.event, UserCommandFinished)
        ]
        assert end.blob_id is not None
        lines = await session.agent.outputs.open_lines(end.blob_id)
        assert lines.read_lines(19_999, 1) == ["20000"]
    async with stage.opened() as again:
        report = await again.turn(call("inspect", blob_id=end.blob_id, selector="lines:1-3"))
        assert [record.outcome for record in report.calls] == [Outcome.OK]
        events = [r.event for r in await again.agent.record.archive.read(again.agent.session_id)]
        assert [e.command_id for e in events if isinstance(e, MessageAdded) and e.command_id] == [
            end.command_id
        ]


def app(project: Path, *arguments: str) -> Terminal:
    return Terminal(project, project.parent / "home", rows=30, columns=120, arguments=list(arguments))


@pytest.mark.long
def test_in_a_terminal_it_runs_is_ended_by_escape_and_is_unknown_after_a_crash(tmp_path: Path) -> None:
    project, one, other = tmp_path / "project", a_sleep(), a_sleep()
    project.mkdir()
    with app(project) as terminal:
        terminal.wait_for("offline")
        terminal.submit("hello")  # a session in which nothing was asked is not gone on with
        terminal.wait_for("so nothing was run")
        terminal.submit("!echo forty-$((40+2)); test -t 0 || echo no-$((1))-terminal")
        terminal.wait_for("forty-42")
        terminal.wait_for("no-1-terminal")
        terminal.submit(f"!sleep {one}")
        terminal.wait_for("esc ends your command")
        terminal.wait_until(lambda: alive_with(one), "it never ran")
        terminal.type(ESCAPE)
        terminal.wait_for("cancelled")
        terminal.wait_until(lambda: not alive_with(one), "it outlived its end")
        terminal.submit(f"!sleep {other}")
        terminal.wait_until(lambda: alive_with(other), "it never ran")
        terminal.process.kill(signal.SIGKILL)
        wait_until(lambda: not alive_with(other), "it outlived quorum")
    with app(project, "--continue") as terminal:
        terminal.wait_for(f"not run again: `sleep {other}`")
        terminal.wait_for("unknown")
        assert not alive_with(other)
