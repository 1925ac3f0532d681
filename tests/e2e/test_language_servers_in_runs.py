"""Language servers in a session: what an edit broke stands in its result, and the model looks names up."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import ToolResults
from quorum.domain.events.event import DiagnosticsReported
from quorum.domain.shell.sandbox import SandboxOn
from tests.infrastructure.commands.command_bench import eventually
from tests.infrastructure.language_servers.lsp_bench import ODD
from tests.support.fake_ports import RecordingObserver
from tests.support.real_session import RealSession, SessionStage, call, shell, write

RUFF = str(Path(sys.executable).parent / "ruff")


def a_stage(folder: Path, command: tuple[str, ...] = (RUFF, "server"), *, sandbox: str = "off") -> SessionStage:
    settings = (
        f'[review]\nmode = "auto"\n[lsp.checker]\ncommand = {json.dumps(command)}\nlanguages = ["python"]\n'
        "wait_secs = 30.0\n"
    )
    return SessionStage(folder, more_settings=settings, sandbox=sandbox)


def results(session: RealSession) -> list[ToolResultMessage]:
    messages = session.container.parts().core.conversation.messages
    return [result for message in messages if isinstance(message, ToolResults) for result in message.results]


@pytest.mark.parametrize("sandbox", ["off", pytest.param("auto", marks=pytest.mark.long)])
async def test_the_result_of_an_edit_says_what_it_broke_and_so_it_is_kept(tmp_path: Path, sandbox: str) -> None:
    observer = RecordingObserver()
    async with a_stage(tmp_path, sandbox=sandbox).opened(observer=observer) as session:
        if sandbox == "auto" and not isinstance(session.container.sandbox().detect_state(), SandboxOn):
            pytest.skip("there is no sandbox here")
        await session.turn(
            [write("b.py", "x = 1\n"), write("a.py", "print(nope)\n"), shell("true")], prompt="go"
        )

        first, second, third = (result.output for result in results(session))
        assert "language server" not in first + third
        assert "The language server checker finds 1 line since the edits of a.py, b.py:" in second
        assert "a.py:1: error: Undefined name `nope` (Ruff F821)" in second
        assert [each.new for each in observer.events if isinstance(each, DiagnosticsReported)] == [1]

        await session.turn(call("edit_file", path="a.py", old_text="nope", new_text="1"))

        assert "language server" not in results(session)[-1].output
        await session.check()


async def test_the_model_asks_where_names_are(tmp_path: Path) -> None:
    stage = a_stage(tmp_path, (sys.executable, str(ODD), str(tmp_path / "manners"), str(tmp_path / "log")))
    (tmp_path / "manners").write_text("{}")
    (stage.root / "a.py").write_text("total = 1\n")
    async with stage.opened() as session:
        await session.turn(call("code_lookup", operation="definition", path="a.py", symbol="total"))

        assert results(session)[-1].output == "a.py:1:total = 1\n[1 place in 1 file]"
        process = json.loads((tmp_path / "log").read_text().splitlines()[0])["started"]
        os.kill(process, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


async def test_without_language_servers_there_is_no_such_tool(tmp_path: Path) -> None:
    async with SessionStage(tmp_path).opened() as session:
        assert "code_lookup" not in session.container.tools()


@pytest.mark.long
async def test_an_interruption_while_an_edit_is_checked_ends_the_turn_at_once(tmp_path: Path) -> None:
    stage = a_stage(tmp_path, (sys.executable, str(ODD), str(tmp_path / "manners"), str(tmp_path / "log")))
    (tmp_path / "manners").write_text(json.dumps({"hold_back": str(tmp_path / "go-on")}))
    async with stage.opened() as session:
        session.script[:] = session.answers([write("a.py", "BROKEN\n")])
        turn = asyncio.create_task(session.agent.run.execute("go"))
        await eventually(lambda: (tmp_path / "log").exists() and "didOpen" in (tmp_path / "log").read_text())
        turn.cancel()
        report = await turn
        (tmp_path / "go-on").touch()

        assert report.status == "interrupted"
        assert (stage.root / "a.py").read_text() == "BROKEN\n"
        session.script.clear()
        await session.continue_turn()
