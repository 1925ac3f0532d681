"""Commands of the person's own: in their shell, with their environment, without a terminal, and to the end."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from quorum.domain.calls.command_end import CommandRun
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.summary import extract_text
from quorum.domain.text.output import Printed, Spilled
from quorum.infrastructure.execution.commands.user_shell import UserShell
from quorum.infrastructure.store.blobs.file_store import FileBlobStore
from tests.infrastructure.commands.command_bench import eventually


def a_shell(root: Path, *, limit: int = 32_768, store: Path | None = None, **environ: str) -> UserShell:
    given = {"PATH": os.environ["PATH"], "HOME": str(root), **environ}
    open_spill = FileBlobStore(store).open_spill if store is not None else None
    return UserShell(root=root, environ=given, max_output_bytes=limit, open_spill=open_spill)


async def run(shell: UserShell, command: str) -> CommandRun:
    return await shell.run(command, owner="command-1", report=lambda _printed: None)


async def test_it_runs_in_the_workspace_and_tells_what_was_printed_and_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    ran = await run(a_shell(tmp_path), "ls -d made; echo no >&2; exit 3")

    assert extract_text(ran.output) == "made\nno"
    assert (ran.exit_code, ran.outcome) == (3, Outcome.ERROR)


async def test_it_sees_the_whole_environment_as_the_person_does(tmp_path: Path) -> None:
    shell = a_shell(tmp_path, MY_API_KEY="k-1", GIT_DIR="elsewhere", PAGER="less")

    assert extract_text((await run(shell, 'echo "$MY_API_KEY $GIT_DIR $PAGER"')).output) == "k-1 elsewhere less"


async def test_its_processes_can_be_found_by_their_owner(tmp_path: Path) -> None:
    assert "=command-1" in str((await run(a_shell(tmp_path), "env | grep ^QUORUM_COMMAND_")).output)


@pytest.mark.parametrize("named", ["relative/sh", "/nowhere/sh", ""])
async def test_a_shell_that_is_not_there_gives_way_to_the_usual_one(tmp_path: Path, named: str) -> None:
    assert extract_text((await run(a_shell(tmp_path, SHELL=named), "echo $0")).output) == "/bin/sh"


async def test_the_shell_is_the_one_the_environment_names(tmp_path: Path) -> None:
    own = tmp_path / "mine"
    own.write_text('#!/bin/sh\necho "mine: $2"\n')
    own.chmod(0o755)

    assert (
        extract_text((await run(a_shell(tmp_path, SHELL=str(own)), "git status")).output) == "mine: git status"
    )


async def test_nothing_can_be_typed_and_there_is_no_terminal(tmp_path: Path) -> None:
    ran = await run(a_shell(tmp_path), "cat; test -t 0 || echo none; (: </dev/tty) 2>/dev/null || echo no tty")

    assert extract_text(ran.output) == "none\nno tty"


async def test_a_program_that_needs_a_terminal_is_said_to(tmp_path: Path) -> None:
    (tmp_path / "vim").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "vim").chmod(0o755)
    ran = await run(a_shell(tmp_path, PATH=f"{tmp_path}:/bin:/usr/bin"), "vim notes.txt")

    reported = "vim needs a terminal, and commands have none here: ctrl+z takes you to your own shell"
    assert ran.remarks == (reported,)
    seen: list[Printed] = []
    (tmp_path / "vim").write_text("#!/bin/sh\necho waiting for keys\nexec sleep 300\n")
    shell = a_shell(tmp_path, PATH=f"{tmp_path}:/bin:/usr/bin")
    running = asyncio.create_task(shell.run("vim", owner="command-1", report=seen.append))
    await eventually(lambda: [each.text for each in seen] == [reported, f"waiting for keys\n{reported}"])
    running.cancel()
    assert (await running).remarks == (reported,)


async def test_cancelled_it_is_ended_with_all_it_started_and_what_it_printed_is_reported(
    tmp_path: Path,
) -> None:
    seen: list[Printed] = []
    command = "sleep 300 & echo $! > child; echo begun; wait"
    running = asyncio.create_task(a_shell(tmp_path).run(command, owner="command-1", report=seen.append))
    await eventually(lambda: [each.text for each in seen] == ["begun"])
    running.cancel()
    ran = await running

    assert (ran.cancelled, extract_text(ran.output), ran.outcome) == (True, "begun", Outcome.CANCELLED)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "child").read_text()), 0)


async def test_what_it_leaves_in_the_background_is_ended_too(tmp_path: Path) -> None:
    ran = await run(a_shell(tmp_path), "sleep 300 & echo $! > child")

    assert ran.remarks == ("1 background process was ended",)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "child").read_text()), 0)


async def test_a_long_output_goes_whole_into_the_store(tmp_path: Path) -> None:
    ran = await run(a_shell(tmp_path, limit=1_000, store=tmp_path / "blobs"), "seq 5000")

    assert isinstance(ran.output, Spilled)
    assert ran.output.lines == 5000
    assert "bytes left out" in ran.output.text


@pytest.mark.parametrize("command", ["a\0b", "\ud800", "x" * (1 << 17)])
async def test_what_no_shell_can_be_given_is_not_started(tmp_path: Path, command: str) -> None:
    ran = await run(a_shell(tmp_path), command)

    assert ran.outcome is Outcome.NOT_RUN


async def test_in_a_folder_that_is_gone_it_says_so(tmp_path: Path) -> None:
    (gone := tmp_path / "gone").mkdir()
    shell = a_shell(gone)
    gone.rmdir()

    assert (await run(shell, "ls")).failure == "No such file or directory"
