from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from quorum.domain.errors import ToolError
from quorum.domain.shell.sandbox import SandboxOff, SandboxOn
from quorum.infrastructure.execution.sandbox.preflight import look_for_sandbox
from tests.infrastructure.commands.command_bench import RecordingControls, context_with
from tests.infrastructure.sandbox.sandbox_bench import Household, needs_bubblewrap

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux only")


def a_program(folder: Path, script: str) -> str:
    """A PATH on which bwrap is this script and nothing else is."""
    folder.mkdir()
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(folder)


@needs_bubblewrap
def test_what_works_is_named_with_its_version() -> None:
    state = look_for_sandbox(os.environ["PATH"])

    assert isinstance(state, SandboxOn)
    assert state.program.endswith("/bwrap")
    assert state.version.startswith("bubblewrap ")
    assert state.program in state.description


@on_linux
def test_a_machine_without_it_is_reported_so_with_the_remedy(tmp_path: Path) -> None:
    state = look_for_sandbox(str(tmp_path))

    assert isinstance(state, SandboxOff)
    assert (
        state.description == "bubblewrap is not installed (bwrap is not on PATH); commands run with your rights"
    )
    assert "apt install bubblewrap" in state.remedy


@on_linux
def test_one_that_the_kernel_refuses_is_reported_with_its_own_words(tmp_path: Path) -> None:
    path = a_program(tmp_path / "bin", "echo 'bwrap: No permissions to create new namespace' >&2; exit 1")

    state = look_for_sandbox(path)

    assert isinstance(state, SandboxOff)
    assert state.why == "bubblewrap does not work here: No permissions to create new namespace"
    assert "docs/sandbox.md" in state.remedy


@on_linux
def test_one_that_answers_for_its_version_only_does_not_count(tmp_path: Path) -> None:
    path = a_program(tmp_path / "bin", '[ "$1" = --version ] && echo bubblewrap 9; exit 3')

    state = look_for_sandbox(path)

    assert isinstance(state, SandboxOff)
    assert "does not work here" in state.why


@on_linux
def test_another_program_of_that_name_does_not_count(tmp_path: Path) -> None:
    state = look_for_sandbox(a_program(tmp_path / "bin", "exit 0"))

    assert isinstance(state, SandboxOff)
    assert state.why.endswith("does not say that it is bubblewrap")


@on_linux
def test_one_that_hangs_is_given_up(tmp_path: Path) -> None:
    state = look_for_sandbox(a_program(tmp_path / "bin", "exec sleep 600"), limit_secs=0.1)

    assert isinstance(state, SandboxOff)
    assert state.why == "bubblewrap does not work here: it did not answer within 0.1 s"


@on_linux
def test_one_that_the_workspace_brings_is_never_run(household: Household) -> None:
    path = a_program(household.root / "bin", f"touch {household.root}/ran; echo bubblewrap 9")
    household.environ["PATH"] = f"{path}:bin"

    state = household.sandbox().detect_state()

    assert isinstance(state, SandboxOff)
    assert not (household.root / "ran").exists()


@on_linux
def test_it_is_tried_once(household: Household, tmp_path: Path) -> None:
    log = tmp_path / "log"
    household.environ["PATH"] = a_program(tmp_path / "bin", f"echo tried >> {log}; exit 1")
    sandbox = household.sandbox()
    assert sandbox.known is None

    first, second = sandbox.detect_state(), sandbox.detect_state()

    assert first is second is sandbox.known
    assert log.read_text() == "tried\n"


async def test_asked_from_the_event_loop_it_does_not_stop_it(household: Household, tmp_path: Path) -> None:
    household.environ["PATH"] = str(tmp_path)

    states = await asyncio.gather(*(household.sandbox().find_state() for _ in range(3)))

    assert all(isinstance(state, SandboxOff) for state in states)


def test_switched_off_it_is_not_looked_for(household: Household) -> None:
    state = household.sandbox("off").detect_state()

    assert isinstance(state, SandboxOff)
    assert state.why == 'tools.run_command.sandbox is "off"'


def test_the_whole_file_system_as_a_workspace_cannot_be_kept_apart(household: Household) -> None:
    household.root = Path("/")

    state = household.sandbox().detect_state()

    assert isinstance(state, SandboxOff)
    assert state.remedy == "work in a folder below it"


async def test_without_it_commands_run_all_the_same(household: Household, tmp_path: Path) -> None:
    household.environ["PATH"] = str(tmp_path)

    assert await household.run("echo hello") == "hello\nexit code 0"


async def test_where_it_is_required_and_missing_nothing_runs(household: Household, tmp_path: Path) -> None:
    household.environ["PATH"] = str(tmp_path)
    tool = household.tool("require")
    sentence = "^nothing was run: tools.run_command.sandbox requires a sandbox, and .*; the person can .*$"

    with pytest.raises(ToolError, match=sentence):
        await tool.seal({"command": "touch made"}, {})
    with pytest.raises(ToolError, match=sentence):
        await tool.execute({"command": "echo > made"}, context_with(RecordingControls()))

    assert not (household.root / "made").exists()


def test_a_wrapped_line_needs_a_sandbox(household: Household, tmp_path: Path) -> None:
    household.environ["PATH"] = str(tmp_path)

    with pytest.raises(ToolError, match="there is no sandbox"):
        household.sandbox().wrap(["/bin/true"], household.root, {}, network=True)
