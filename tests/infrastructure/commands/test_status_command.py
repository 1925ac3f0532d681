from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from quorum.infrastructure.execution import status_command
from quorum.infrastructure.execution.status_command import StatusCommand, StatusCommandError


def command(tmp_path: Path, *argv: str) -> StatusCommand:
    return StatusCommand(argv, cwd=tmp_path, environment={"PATH": os.environ["PATH"]})


def script(tmp_path: Path, body: str) -> str:
    file = tmp_path / "line.sh"
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return str(file)


def is_alive(pid: str) -> bool:
    return Path("/proc", pid.strip()).exists()


async def test_the_program_gets_the_session_and_its_first_line_is_the_line(tmp_path: Path) -> None:
    code = "import json, sys; s = json.load(sys.stdin); print(s['model']['id'], s['cwd']); print('second')"
    printed = await command(tmp_path, sys.executable, "-c", code).print_line(
        {"model": {"id": "m"}, "cwd": "/é"}
    )

    assert printed == "m /é"


async def test_the_program_runs_in_the_folder_and_sees_no_more_than_its_environment(tmp_path: Path) -> None:
    code = "import json, os; print(json.dumps([os.getcwd(), 'ANTHROPIC_API_KEY' in os.environ]))"
    printed = await command(tmp_path, sys.executable, "-c", code).print_line({})

    assert json.loads(printed) == [str(tmp_path), False]


async def test_the_home_folder_is_found_by_its_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    script(tmp_path, "echo here")

    assert await command(tmp_path, "~/line.sh").print_line({}) == "here"


async def test_a_program_that_prints_nothing_has_an_empty_line(tmp_path: Path) -> None:
    assert await command(tmp_path, script(tmp_path, "exit 0")).print_line({}) == ""


async def test_a_program_that_ignores_its_input_is_as_good(tmp_path: Path) -> None:
    assert await command(tmp_path, "echo", "fixed").print_line({"much": "x" * 1_000_000}) == "fixed"


@pytest.mark.parametrize(
    ("body", "why"),
    [("echo gone >&2; exit 3", "exited with 3: gone"), ("kill -9 $$", "exited with -9")],
)
async def test_a_program_that_fails_is_named_with_the_reason(tmp_path: Path, body: str, why: str) -> None:
    with pytest.raises(StatusCommandError, match=why):
        await command(tmp_path, script(tmp_path, body)).print_line({})


async def test_a_program_that_is_not_there_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(StatusCommandError, match="there is no program nowhere on PATH; install it"):
        await command(tmp_path, "nowhere").print_line({})


async def test_a_program_that_floods_costs_a_bounded_part(tmp_path: Path) -> None:
    line = await command(tmp_path, script(tmp_path, "head -c 30000000 /dev/zero | tr '\\0' x")).print_line({})

    assert 0 < len(line) <= 2_000


async def test_a_program_that_hangs_is_ended_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = tmp_path / "pid"
    for secs in (0.2, 2.0, 20.0):  # until the machine comes to begin it in time
        monkeypatch.setattr(status_command, "TIMEOUT_SECS", secs)
        with pytest.raises(StatusCommandError, match="took longer than"):
            await command(tmp_path, script(tmp_path, f"sleep 600 & echo $! > {begun}; wait")).print_line({})
        if begun.exists() and begun.read_text().strip():
            break

    assert not is_alive(begun.read_text())


async def test_a_run_that_is_cancelled_is_ended(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    run = asyncio.create_task(
        command(tmp_path, script(tmp_path, f"echo $$ > {pipe}; sleep 600")).print_line({})
    )
    pid = (await asyncio.to_thread(pipe.read_text)).strip()

    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run

    assert not is_alive(pid)
