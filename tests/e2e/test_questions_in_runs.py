"""Questions of the model where no screen is: in the report of a run, in the inbox, and across kills."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

import pytest

from tests.support.headless_run import QUORUM, Ended, configure_for, environment, run, start
from tests.support.quorum_rig import DONE, call, calling
from tests.support.sse_server import SseServer

OPTIONS = [{"label": "Blue", "description": "as the sky"}, {"label": "Green"}]
ASKS = calling(call("q1", "ask_person", question="Which colour?", options=OPTIONS))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


async def inbox(*arguments: str, cwd: Path, home: Path) -> Ended:
    process = await asyncio.create_subprocess_exec(
        QUORUM,
        "inbox",
        *arguments,
        cwd=cwd,
        env=environment(home),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), timeout=120)
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


async def test_a_reply_must_say_something(project: Path) -> None:
    ended = await inbox("answer", "0" * 16, " ", cwd=project, home=project.parent / "home")

    assert ended.code == 2
    assert "REPLY is empty" in ended.err


@pytest.mark.long
async def test_a_run_ends_with_the_question_and_goes_on_with_the_reply(project: Path) -> None:
    home = project.parent / "home"
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [ASKS]
        asked = await run("--output", "json", "--mode", "auto", "paint it", cwd=project, env=environment(home))
        server.script = [DONE]
        answered = await run("--continue", "Blue", cwd=project, env=environment(home))
        last = json.dumps(server.bodies[-1])

    assert asked.code == 3, asked.err
    (question,) = asked.report["questions"]
    assert question["question"] == "Which colour?"
    assert question["options"] == [
        {"label": "Blue", "description": "as the sky"},
        {"label": "Green", "description": ""},
    ]
    assert question["several"] is False
    assert answered.code == 0, answered.err
    assert "nobody is there to answer" in last
    assert '"Blue"' in last


@pytest.mark.long
async def test_a_run_in_plain_text_prints_the_question_and_how_to_reply(project: Path) -> None:
    home = project.parent / "home"
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [ASKS]
        asked = await run("paint it", cwd=project, env=environment(home))

    assert asked.code == 3
    assert "Which colour?\n\n1. Blue: as the sky\n2. Green" in asked.out
    assert "run --continue" in asked.err


@pytest.mark.long
async def test_a_question_that_is_left_open_is_answered_in_the_inbox_and_survives_kills(project: Path) -> None:
    home = project.parent / "home"
    resume = ("--leave-open", "--output", "json", "--resume", "latest")
    async with SseServer("openai-chat") as server:
        configure_for(home, server)
        server.script = [ASKS]
        process = await start(
            "--leave-open", "--output", "stream-json", "paint it", cwd=project, env=environment(home)
        )
        assert process.stdout is not None
        async for line in process.stdout:
            if json.loads(line)["type"] == "review_requested":
                process.send_signal(signal.SIGKILL)
                break
        await process.communicate()

        left = await run(*resume, cwd=project, env=environment(home))
        assert left.code == 3, left.err
        (digest,) = left.report["waiting"]
        assert [each["digest"] for each in left.report["questions"]] == [digest]
        assert f"inbox answer {digest[:16]} REPLY" in left.err

        shown = await inbox("show", digest[:16], cwd=project, home=home)
        assert "1. Blue: as the sky" in shown.out
        refused = await inbox("approve", digest, cwd=project, home=home)
        assert refused.code == 2
        assert "inbox answer" in refused.err
        given = await inbox("answer", digest[:16], "2", cwd=project, home=home)
        assert given.code == 0, given.err
        assert given.out.startswith("answered;")

        server.script = [DONE]
        ended = await run(*resume, cwd=project, env=environment(home))
        last = json.dumps(server.bodies[-1])

    assert ended.code == 0, ended.err
    assert "The person chose:\\n- Green" in last
