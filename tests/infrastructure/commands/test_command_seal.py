from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from quorum.application.ports.tools import SealingTool
from quorum.domain.calls.summary import extract_text
from quorum.domain.errors import StaleSeal, ToolError
from quorum.infrastructure.tools.builtin.run_command import RunCommand
from tests.infrastructure.commands.command_bench import RecordingControls, context_with, tool_in


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def tool(root: Path) -> RunCommand:
    return tool_in(root)


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def sealed_files(tool: RunCommand, command: str) -> list[str]:
    return [Path(file.path).name for file in (await tool.seal({"command": command}, {})).files]


async def sealed_programs(tool: RunCommand, command: str) -> tuple[str, ...]:
    return (await tool.seal({"command": command}, {})).executables


def resolved(*names: str) -> tuple[str, ...]:
    return tuple(os.path.realpath(shutil.which(name) or "") for name in names)


def test_it_can_be_reviewed(tool: RunCommand) -> None:
    assert isinstance(tool, SealingTool)


async def test_a_seal_says_where_what_with_and_what_it_cannot_hold(tool: RunCommand, root: Path) -> None:
    (root / "a.txt").write_bytes(b"one")

    seal = await tool.seal({"command": "cat a.txt"}, {})

    assert seal.cwd == str(root)
    assert [(file.path, file.sha256) for file in seal.files] == [(str(root / "a.txt"), sha(b"one"))]
    assert seal.executables == resolved("cat")
    assert seal.environment["TERM"] == "dumb"
    assert not any(name.startswith("QUORUM_COMMAND_") for name in seal.environment)
    assert seal.unsealed == "further effects of the command are not known beforehand"


@pytest.mark.parametrize(
    "command",
    [
        "cat a.txt | sort && A=1 ls > a.txt; (head a.txt)",
        "cat a.txt\nsort a.txt\nls\nhead a.txt",
        "'cat' x;sort<a.txt||ls&head",
    ],
)
async def test_the_first_word_of_every_part_is_a_program(tool: RunCommand, command: str) -> None:
    assert await sealed_programs(tool, command) == resolved("cat", "sort", "ls", "head")


@pytest.mark.parametrize("command", ["cd x", "$EDITOR x", "nowhere-to-be-found", "echo 'unclosed", "`cat` x"])
async def test_what_is_no_plain_program_is_not_named(tool: RunCommand, command: str) -> None:
    assert await sealed_programs(tool, command) == ()


async def test_a_script_of_the_workspace_is_both_program_and_file(tool: RunCommand, root: Path) -> None:
    script = root / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)

    seal = await tool.seal({"command": "./run.sh --fast"}, {})

    assert seal.executables == (str(script),)
    assert [file.path for file in seal.files] == [str(script)]


async def test_files_outside_too_large_or_unnamed_are_not_sealed(tool: RunCommand, root: Path) -> None:
    (root.parent / "outside.txt").write_text("x")
    (root / "link").symlink_to(root.parent / "outside.txt")
    (root / "large").write_bytes(b"x" * (1 << 20) + b"x")
    (root / "full").write_bytes(b"x" * (1 << 20))
    (root / "a b").write_text("x")
    (root / "folder").mkdir()
    os.mkfifo(root / "pipe")

    command = "cat ../outside.txt link large full 'a b' folder pipe missing *.txt $HOME"

    assert await sealed_files(tool, command) == ["full", "a b"]


async def test_at_most_twenty_files_are_sealed(tool: RunCommand, root: Path) -> None:
    for number in range(25):
        (root / f"f{number}").touch()

    names = await sealed_files(tool, "cat " + " ".join(f"f{number}" for number in range(25)))

    assert names == [f"f{number}" for number in range(20)]


async def test_names_are_taken_from_the_working_dir(tool: RunCommand, root: Path) -> None:
    (root / "inner").mkdir()
    (root / "inner" / "a.txt").write_bytes(b"inner")

    seal = await tool.seal({"command": "cat a.txt", "working_dir": "inner"}, {})

    assert seal.cwd == str(root / "inner")
    assert [file.sha256 for file in seal.files] == [sha(b"inner")]


@pytest.mark.parametrize(
    "command",
    [
        "cd sub && sh check.sh",
        "cd sub/deep/.. ; ./check.sh",
        "cd sub && cd deep && sh ../check.sh",
        "bash -c 'cd sub && sh check.sh'",
        "bash -c 'sh sub/check.sh -v'",
        "make -C sub -f check.sh",
        "env --chdir sub sh check.sh",
    ],
)
async def test_a_file_is_found_in_a_folder_that_the_line_enters_and_in_a_text_for_a_shell(
    tool: RunCommand, root: Path, command: str
) -> None:
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "sub" / "check.sh").write_text("true\n")

    before = await tool.seal({"command": command}, {})
    (root / "sub" / "check.sh").write_text("false\n")

    assert [file.path for file in before.files] == [str(root / "sub" / "check.sh")]
    assert before != await tool.seal({"command": command}, {})


async def test_contents_that_earlier_calls_will_write_count(tool: RunCommand, root: Path) -> None:
    (root / "old.py").write_bytes(b"old")
    projected = {str(root / "old.py"): b"newer", str(root / "new.py"): b"new"}

    before = await tool.seal({"command": "python3 old.py new.py"}, projected)
    (root / "old.py").write_bytes(b"newer")
    (root / "new.py").write_bytes(b"new")

    assert [file.sha256 for file in before.files] == [sha(b"newer"), sha(b"new")]
    assert before == await tool.seal({"command": "python3 old.py new.py"}, {})


async def test_a_command_that_cannot_run_cannot_be_sealed(tool: RunCommand) -> None:
    with pytest.raises(ToolError, match="NUL"):
        await tool.seal({"command": "\0"}, {})
    with pytest.raises(ToolError, match="working_dir nowhere"):
        await tool.seal({"command": "true", "working_dir": "nowhere"}, {})


async def test_an_approved_command_runs_while_its_seal_holds(tool: RunCommand, root: Path) -> None:
    (root / "a.txt").write_text("approved\n")
    arguments = {"command": "cat a.txt"}
    seal = await tool.seal(arguments, {})

    result = extract_text(await tool.execute(arguments, context_with(RecordingControls(seal))))

    assert result == "approved\nexit code 0"


async def test_a_file_changed_since_the_approval_keeps_the_command_from_running(
    tool: RunCommand, root: Path
) -> None:
    script = root / "run.sh"
    script.write_text("true")
    arguments = {"command": "touch ran; sh run.sh"}
    seal = await tool.seal(arguments, {})
    script.write_text("rm -rf /")

    with pytest.raises(StaleSeal, match="files changed since the approval; nothing was run"):
        await tool.execute(arguments, context_with(RecordingControls(seal)))

    assert not (root / "ran").exists()


async def test_another_environment_than_the_approved_one_makes_the_seal_stale(root: Path) -> None:
    inherited = {"PATH": os.environ["PATH"]}
    tool = tool_in(root, inherited=inherited)
    seal = await tool.seal({"command": "true"}, {})
    inherited["GITHUB_TOKEN"] = "arrived meanwhile"

    with pytest.raises(StaleSeal, match="environment changed"):
        await tool.execute({"command": "true"}, context_with(RecordingControls(seal)))


async def test_a_command_about_the_repository_is_let_into_its_folder(tool: RunCommand, root: Path) -> None:
    for name in (".git/refs", ".git/objects"):
        (root / name).mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    git = (str(root / ".git"),)
    assert (await tool.seal({"command": "git add a && git commit -m b"}, {})).opened == git
    assert (await tool.seal({"command": "./release.sh", "opens_git": True}, {})).opened == git
    assert (await tool.seal({"command": "pytest"}, {})).opened == ()
