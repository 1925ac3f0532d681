"""Tests run `quorum` in forks of one process: what that is worth depends on a fork being as a program is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.forked_quorum import can_fork, fork_quorum
from tests.support.headless_run import QUORUM, Ended, configure_for, environment, run
from tests.support.quorum_rig import DONE, call, calling
from tests.support.sse_server import Hang, SseServer

pytestmark = pytest.mark.long

LOOK = calling(call("c1", "list_directory", path="."))


async def run_both_ways(*words: str, folder: Path) -> list[Ended]:
    """What the same words come to in a fork and in a program, each with a new home and model."""
    ended = []
    for is_program in (False, True):
        home = folder / f"home-{is_program}"
        home.mkdir()
        async with SseServer("anthropic") as model:
            configure_for(home, model)
            model.script = [LOOK, DONE]
            assert can_fork(environment(home))
            ended.append(await run(*words, cwd=folder, env=environment(home), is_program=is_program))
    return ended


async def test_a_prompt_is_answered_the_same_in_a_fork(tmp_path: Path) -> None:
    (tmp_path / "ä.txt").touch()
    fork, program = await run_both_ways("what is here?", "--output", "json", folder=tmp_path)
    assert fork.code == program.code == 0
    assert fork.report.keys() == program.report.keys()
    assert fork.report["text"] == program.report["text"] == "done"


async def test_a_wrong_command_line_is_refused_the_same_in_a_fork(tmp_path: Path) -> None:
    fork, program = await run_both_ways("--no-such-option", folder=tmp_path)
    assert fork == program
    assert fork.code == 2


async def test_a_fork_that_is_ended_by_a_signal_says_by_which(tmp_path: Path) -> None:
    async with SseServer("anthropic") as model:
        configure_for(tmp_path, model)
        model.script = [Hang("silent")]
        process = await fork_quorum(QUORUM, "run", "hi", cwd=tmp_path, env=environment(tmp_path))
        async with asyncio.timeout(120):
            while not model.bodies:  # noqa: ASYNC110 - it is in another process
                await asyncio.sleep(0.02)
            process.kill()
            assert await process.wait() == -9
