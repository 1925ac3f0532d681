"""A custom command whose process is killed once it was sent: what it stands for is said again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.infrastructure.commands.command_bench import eventually
from tests.support.headless_run import configure_for, environment, run, start
from tests.support.request_rules import read_messages
from tests.support.sse_server import Hang, Say, SseServer


@pytest.mark.long
async def test_the_text_that_it_stood_for_is_said_again_although_its_file_is_gone(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    own = tmp_path / ".claude/commands"
    own.mkdir(parents=True)
    (own / "fix.md").write_text("Fix issue $1.")
    async with SseServer("anthropic") as server:
        configure_for(tmp_path, server)
        server.script = [Hang("silent"), Say(pieces=("ok",))]
        env = environment(tmp_path)
        process = await start("/fix 12", cwd=project, env=env)
        await eventually(lambda: len(server.bodies) == 1)
        process.kill()
        await process.communicate()
        (own / "fix.md").unlink()

        again = await run("go on", "--continue", cwd=project, env=env)

        assert again.code == 0, again.err
        texts = [each[1] for each in read_messages(server.bodies[-1]) if each[0] == "user"]

    assert texts == ["Fix issue 12.", "go on"]
