"""Diagnostics in a session with a real compiler: what an edit broke reaches the model before the turn ends."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from quorum.domain.calls.execution import Outcome
from quorum.domain.conversation.history import UserMessage
from quorum.domain.events.event import DiagnosticsReported
from quorum.domain.events.report import RunStatus
from quorum.domain.shell.sandbox import SandboxOn
from tests.infrastructure.commands.command_bench import eventually
from tests.support.fake_ports import RecordingObserver
from tests.support.real_session import RealSession, SessionStage, call, says, shell, write

BROKEN = "def f(:\n"


def a_stage(
    folder: Path, *argv: str, timeout_secs: float = 30.0, more: str = "", sandbox: str = "off"
) -> SessionStage:
    command = argv or (sys.executable, "-m", "py_compile", "{files}")
    settings = (
        f'[review]\nmode = "auto"\n[agent]\n{more}\n'
        f'[[diagnostics]]\nname = "compile"\npattern = "*.py"\ncommand = {json.dumps(command)}\n'
        f"timeout_secs = {timeout_secs}\n"
    )
    return SessionStage(folder, more_settings=settings, sandbox=sandbox)


def notes(session: RealSession) -> list[str]:
    messages = session.container.parts().core.conversation.messages
    texts = [message.text for message in messages if isinstance(message, UserMessage)]
    return [text for text in texts if "The diagnostics command" in text]


async def play(session: RealSession, *steps: object, prompt: str = "go") -> RunStatus:
    """One turn: calls are answers with that call, texts answers without."""
    session.script[:] = [
        says(step) if isinstance(step, str) else session.answers([step])[0]  # type: ignore[list-item]
        for step in steps
    ]
    report = await session.agent.run.execute(prompt)
    assert not session.script, "the model did not send its whole script"
    return report.status


@pytest.mark.long
async def test_the_model_reads_what_its_edit_broke_and_may_mend_it(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path), RecordingObserver()
    async with stage.opened(observer=observer) as session:
        status = await play(session, write("a.py", BROKEN), "done", write("a.py", "x = 1\n"), "mended")

        assert status is RunStatus.COMPLETED
        (note,) = notes(session)
        assert 'File "a.py", line 1' in note
        assert "SyntaxError" in note
        reports = [event for event in observer.events if isinstance(event, DiagnosticsReported)]
        assert [report.new > 0 for report in reports] == [True, False]
        await session.check()


@pytest.mark.long
async def test_errors_that_were_there_before_the_turn_are_not_said(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path), RecordingObserver()
    (stage.root / "a.py").write_text(BROKEN)
    async with stage.opened(observer=observer) as session:
        await play(session, call("edit_file", path="a.py", old_text="def", new_text="\n\ndef"), "done")

        assert notes(session) == []
        (report,) = [event for event in observer.events if isinstance(event, DiagnosticsReported)]
        assert report.new == 0
        assert report.old > 0


async def test_turns_without_edits_of_such_files_run_nothing(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path), RecordingObserver()
    async with stage.opened(observer=observer) as session:
        await play(session, write("a.txt", BROKEN), shell("true"), "done")

        assert not any(isinstance(event, DiagnosticsReported) for event in observer.events)


@pytest.mark.long
async def test_the_model_is_sent_back_no_more_often_than_the_limit_and_the_turn_is_complete(
    tmp_path: Path,
) -> None:
    async with a_stage(tmp_path, more="max_turn_end_retries = 1").opened() as session:
        status = await play(
            session, write("a.py", BROKEN), "done", write("a.py", BROKEN * 2), "still broken", prompt="one"
        )
        assert status is RunStatus.COMPLETED
        assert len(notes(session)) == 1

        await play(session, "I see", prompt="two")
        texts = [
            m.text for m in session.container.parts().core.conversation.messages if isinstance(m, UserMessage)
        ]
        assert len(notes(session)) == 2
        assert texts[-1] == "two"
        await session.check()


async def test_a_command_that_fails_is_said_once_and_holds_nothing_up(tmp_path: Path) -> None:
    stage, observer = a_stage(tmp_path, "no-such-checker", "{files}"), RecordingObserver()
    (stage.root / "a.py").write_text("x = 1\n")
    async with stage.opened(observer=observer) as session:
        for number in range(2):
            await play(session, write("a.py", f"x = {number}\n"), "done", prompt=f"prompt {number}")
        await play(session, "so", prompt="and now")

        (note,) = notes(session)
        assert "there is no program no-such-checker" in note
        reports = [event for event in observer.events if isinstance(event, DiagnosticsReported)]
        assert [report.failure is not None for report in reports] == [True, True]


@pytest.mark.long
async def test_reports_outlive_the_process(tmp_path: Path) -> None:
    stage = a_stage(tmp_path)
    async with stage.opened() as session:
        await play(session, write("a.py", BROKEN), "done", "it is to stay")
        before = session.state

    async with stage.opened() as session:
        assert session.state.messages == before.messages
        await session.check()
        await session.turn(shell("true"))


@pytest.mark.long
async def test_in_the_sandbox_a_command_has_no_network_and_the_workspace(tmp_path: Path) -> None:
    look = (
        "import sys; print(open(sys.argv[1]).read(), len(open('/proc/net/dev').readlines()) - 2); sys.exit(1)"
    )
    stage = a_stage(tmp_path, sys.executable, "-c", look, "{files}", sandbox="auto")
    async with stage.opened() as session:
        if not isinstance(session.container.sandbox().detect_state(), SandboxOn):
            pytest.skip("no sandbox works here")
        await play(session, write("a.py", "seen"), "done", "I see")

        (note,) = notes(session)
        assert "  seen 1\n" in note  # of all interfaces there is but the loopback


@pytest.mark.parametrize("runs", [1, 2])
async def test_a_turn_that_is_stopped_ends_the_command_and_gives_every_call_its_result(
    tmp_path: Path, runs: int
) -> None:
    """The first run is that before the edit, the second that after it."""
    count = tmp_path / "count"
    script = f"echo x >>{count}; [ $(wc -l <{count}) -lt {runs} ] || {{ touch {tmp_path}/ready; sleep 60; }}"
    stage = a_stage(tmp_path, "sh", "-c", script)
    (stage.root / "a.py").write_text("x = 1\n")
    async with stage.opened() as session:
        session.script[:] = session.answers([write("a.py", "x = 2\n")])
        turn = asyncio.create_task(session.agent.run.execute("go"))
        await eventually((tmp_path / "ready").exists)

        turn.cancel()
        report = await turn

        assert report.status is RunStatus.INTERRUPTED
        assert [call.outcome for call in report.calls] == [Outcome.NOT_RUN if runs == 1 else Outcome.OK]
        assert (stage.root / "a.py").read_text() == f"x = {runs}\n"
        assert session.container.parts().core.conversation.open_calls == ()
        session.script.clear()
        await session.check()
