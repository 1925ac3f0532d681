"""Where nobody can be asked, nobody is waited for: every mode ends by itself, whatever standard input is."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from quorum.domain.review.mode import Mode
from tests.support.headless_run import QUORUM, Ended, configure, environment
from tests.support.quorum_rig import DONE, call, calling, settings
from tests.support.sse_server import ScriptedCall, SseServer

# What each is: an edit, one of a protected file, a command, one that a guard objects to, a sensitive file.
CALLS = [
    call("c0", "edit_file", path="a.txt", old_text="alpha", new_text="omega"),
    call("c1", "write_file", path="AGENTS.md", content="x"),
    call("c2", "run_command", command="touch made.txt"),
    call("c3", "run_command", command="rm -rf a.txt"),
    call("c4", "read_file", path=".env"),
    call("c5", "read_file", path="a.txt"),
]
YES, NO, HELD = "allowed", "denied", "needs_approval"
DECISIONS: dict[Mode, list[str]] = {
    Mode.READ_ONLY: [NO, NO, NO, NO, HELD, YES],
    Mode.ASK: [HELD, HELD, HELD, HELD, HELD, YES],
    Mode.ACCEPT_EDITS: [YES, HELD, HELD, HELD, HELD, YES],
    Mode.QUORUM: [HELD, HELD, HELD, HELD, HELD, YES],
    Mode.AUTO: [YES, HELD, YES, HELD, HELD, YES],
}


def a_project(folder: Path) -> Path:
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n", encoding="utf-8")
    (folder / ".env").write_text("TOKEN=alpha\n", encoding="utf-8")
    return folder


@contextlib.contextmanager
def standard_input(kind: str) -> Iterator[int]:
    """A descriptor to give to a process, which has nothing to read and does not end."""
    if kind == "terminal":
        ours, theirs = os.openpty()
    else:
        theirs, ours = os.pipe()
    try:
        yield theirs
    finally:
        os.close(ours)
        os.close(theirs)


async def ended(
    kind: str, project: Path, home: Path, *arguments: str, command: Sequence[str] = ("run", "go")
) -> Ended:
    """Run it with a standard input of that kind: one that is closed, or one at which nobody ever types."""
    words = [str(QUORUM), *command, *arguments]
    if kind == "closed":
        words = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *words]
    with standard_input(kind) as stdin:
        process = await asyncio.create_subprocess_exec(
            *words,
            cwd=project,
            env=environment(home),
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), timeout=120)
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


async def run_with(calls: Sequence[ScriptedCall], kind: str, mode: Mode, tmp_path: Path) -> tuple[Ended, Path]:
    project = a_project(tmp_path / "project")
    async with SseServer("openai-chat") as server:
        configure(tmp_path / "home", settings(server, ()))
        server.script = [calling(*calls), DONE]
        done = await ended(kind, project, tmp_path / "home", "--mode", mode, "--output", "json")
    return done, project


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        *(("pipe", mode) for mode in Mode if not mode.traits.needs_sandbox),
        ("closed", Mode.ASK),
        ("terminal", Mode.ASK),
    ],
)
async def test_a_run_ends_and_says_in_its_code_that_something_was_withheld(
    kind: str, mode: Mode, tmp_path: Path
) -> None:
    done, project = await run_with(CALLS, kind, mode, tmp_path)

    assert [record["decision"] for record in done.report["calls"]] == DECISIONS[mode]
    assert (done.code, done.report["status"]) == (3, "needs_approval")
    assert (project / "a.txt").exists()
    assert not (project / "AGENTS.md").exists()


@pytest.mark.long
@pytest.mark.parametrize(("mode", "decisions"), [(Mode.READ_ONLY, [NO, NO, YES]), (Mode.AUTO, [YES, YES, YES])])
async def test_a_run_in_which_nothing_was_left_to_ask_about_ends_with_code_0(
    mode: Mode, decisions: list[str], tmp_path: Path
) -> None:
    done, _ = await run_with([CALLS[0], CALLS[2], CALLS[5]], "pipe", mode, tmp_path)

    assert [record["decision"] for record in done.report["calls"]] == decisions
    assert (done.code, done.report["status"]) == (0, "completed")


@pytest.mark.long(after=1)
@pytest.mark.parametrize("kind", ["closed", "pipe"])
async def test_the_app_itself_does_not_wait_for_a_terminal_that_is_not_there(kind: str, tmp_path: Path) -> None:
    done = await ended(kind, a_project(tmp_path / "project"), tmp_path / "home", command=())

    assert (done.code, done.out) == (2, "")
    assert "needs a terminal" in done.err


@pytest.mark.long
async def test_a_prompt_that_should_come_from_a_closed_standard_input_is_said_to_be_empty(
    tmp_path: Path,
) -> None:
    done = await ended("closed", a_project(tmp_path / "project"), tmp_path / "home", command=("run", "-"))

    assert (done.code, done.out) == (2, "")
    assert "the prompt is empty" in done.err
