"""Custom slash commands without a screen: trusted beforehand, refused otherwise."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.headless_run import configure_for, environment, run, run_quorum_now
from tests.support.sse_server import Say, SseServer


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / ".claude/commands").mkdir(parents=True)
    (folder / ".claude/commands/inspect.md").write_text("---\ndescription: Inspect\n---\nInspect change $1.\n")
    return folder


def config(action: str, cwd: Path, env: Mapping[str, str]) -> str:
    """What `quorum config ACTION` prints."""
    ended = run_quorum_now("config", action, cwd=cwd, env=env)
    assert ended.code == 0, ended.err
    return ended.out


@pytest.mark.long
async def test_a_command_is_refused_until_it_is_trusted_and_then_its_text_is_sent(
    home: Path, project: Path
) -> None:
    env = environment(home)
    async with SseServer("anthropic") as server:
        configure_for(home, server)
        server.script = [Say(pieces=("done",))]

        refused = await run("/inspect 12", cwd=project, env=env)
        trusted = await asyncio.to_thread(config, "trust", project, env)
        ended = await run("/inspect 12", cwd=project, env=env)
        sent = json.dumps(server.bodies[-1])

    assert refused.code == 2
    assert "inspect.md is not trusted; to look at it and trust it: quorum -C " in refused.err
    assert "Inspect change $1." in trusted
    assert ended.code == 0, ended.err
    assert "Inspect change 12." in sent
    assert "/inspect 12" not in sent


@pytest.mark.long
async def test_trust_ends_with_untrust(home: Path, project: Path) -> None:
    env = environment(home)
    for action in ("trust", "untrust"):
        await asyncio.to_thread(config, action, project, env)
    async with SseServer("anthropic") as server:
        configure_for(home, server)
        refused = await run("/inspect 12", cwd=project, env=env)

    assert refused.code == 2
