"""PDFs in runs of the installed program: they reach the model, and are there again after SIGKILL."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.infrastructure.commands.command_bench import eventually
from tests.support.headless_run import configure_for, environment, run, start
from tests.support.papers import pdf
from tests.support.request_rules import read_chat, read_messages
from tests.support.sse_server import Hang, Say, ScriptedCall, SseServer

PAPER = pdf(3)
OK = Say(pieces=("ok",))
READ = ScriptedCall("call_a", "read_file", '{"path": "report.pdf"}')


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "report.pdf").write_bytes(PAPER)
    return folder


@pytest.mark.long
async def test_a_mentioned_pdf_reaches_the_model_and_is_exported_by_its_label(
    tmp_path: Path, project: Path
) -> None:
    async with SseServer("openai-chat") as server:
        configure_for(tmp_path, server)
        server.script = [OK]
        env = environment(tmp_path)
        ended = await run("sum up @report.pdf", "--output", "stream-json", cwd=project, env=env)

        assert ended.code == 0, ended.err
        said = read_chat(server.bodies[-1])

    label = "[PDF report.pdf 3 pages]"
    assert said == [("pdf", "report.pdf", PAPER), ("user", f"sum up @report.pdf\n{label}")]
    (message,) = [e["message"] for e in ended.events if e["type"] == "message_added"]
    assert [paper["pages"] for paper in message["documents"]] == [3]
    assert "JVBERi0" not in ended.out


@pytest.mark.long
async def test_a_pdf_that_a_call_read_is_there_again_after_the_process_was_killed(
    tmp_path: Path, project: Path
) -> None:
    async with SseServer("anthropic") as server:
        configure_for(tmp_path, server)
        server.script = [Say(calls=(READ,), stop="tool_use"), Hang("silent"), OK]
        env = environment(tmp_path)
        process = await start("look at it", cwd=project, env=env)
        await eventually(lambda: len(server.bodies) == 2)
        process.kill()
        await process.communicate()
        (project / "report.pdf").unlink()

        again = await run("go on", "--continue", cwd=project, env=env)

        assert again.code == 0, again.err
        said = read_messages(server.bodies[-1])

    assert ("pdf", "report.pdf", PAPER) in said
    assert [each[0] for each in said].count("pdf") == 1


async def test_offline_says_that_it_cannot_see_it(tmp_path: Path, project: Path) -> None:
    offline = ("-m", "offline/offline")
    ended = await run("help", *offline, "--image", "report.pdf", cwd=project, env=environment(tmp_path))

    assert ended.code == 0, ended.err
    assert "I cannot see `report.pdf`" in ended.out
