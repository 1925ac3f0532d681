from __future__ import annotations

import asyncio
import os

import pytest

from quorum.application.program_lookup import hold_links
from quorum.domain.errors import ToolError
from quorum.domain.review.path_policy import OwnCode
from quorum.infrastructure.execution.commands.sealing import find_declared_program
from tests.infrastructure.sandbox.sandbox_bench import Household, needs_bubblewrap

pytestmark = needs_bubblewrap


@pytest.fixture
def program(household: Household) -> Household:
    """A workspace that holds what quorum loads: an environment, and a checkout on the import path."""
    household.write("src/project/tools/venv/bin/python", "interpreter\n")
    household.write("src/project/domain/calls.py", "VALUE = 1\n")
    root = str(household.root)
    household.code = OwnCode(places=(f"{root}/tools/venv", f"{root}/domain"), import_folders=(root,))
    return household


@pytest.mark.parametrize(
    "command",
    [
        "echo x > tools/venv/bin/python",
        "mv tools/venv away",
        "mv tools away; mkdir -p tools/venv/bin; echo x > tools/venv/bin/python",
        "echo x > domain/calls.py",
        "mkdir domain/__pycache__",
        "mv domain away",
    ],
)
async def test_a_command_changes_nothing_that_quorum_loads(program: Household, command: str) -> None:
    await program.run(command)

    assert (program.root / "tools/venv/bin/python").read_text() == "interpreter\n"
    assert (program.root / "domain/calls.py").read_text() == "VALUE = 1\n"
    assert not (program.root / "domain/__pycache__").exists()


async def test_what_lies_beside_such_code_can_be_written(program: Household) -> None:
    assert await program.run("echo x > tools/other; mkdir new; echo x > notes.py") == "exit code 0"

    assert (program.root / "tools/other").read_text() == (program.root / "notes.py").read_text() == "x\n"


@pytest.mark.parametrize(
    "command",
    [
        "echo x > ~/.agent/settings.json; mv ~/.agent/settings.json ~/.agent/old",
        "echo x > ~/.agent/real.md; mv ~/.agent/real.md ~/.agent/old",
        "echo x > dotfiles/agent/mcp.json; mv dotfiles/agent dotfiles/old; mv dotfiles old",
        "mv ~/.agent/tmp ~/.agent/old; echo x > ~/.agent/tmp/bin/rg",
    ],
)
async def test_what_is_closed_stays_as_it_is_behind_links_and_in_folders_as_well(
    household: Household, command: str
) -> None:
    places = [
        household.write(".agent/settings.json"),
        household.write(".agent/tmp/bin/rg"),
        household.home / ".agent/CLAUDE.md",
        household.home / ".agent/mcp.json",
    ]
    household.write(".agent/real.md")
    places[2].symlink_to("real.md")
    places[3].symlink_to(household.write("src/project/dotfiles/agent/mcp.json"))
    household.writable = [str(household.home / ".agent")]
    household.closed = [*map(str, places)]

    await household.run(f"{command}; echo y > ~/.agent/history")

    assert [place.read_text() for place in places] == ["secret\n"] * 4
    assert (household.home / ".agent/history").read_text() == "y\n"


async def test_a_new_module_that_the_interpreter_imports_at_its_start_is_set_aside(program: Household) -> None:
    output = await program.run("echo x > sitecustomize.py; mkdir json; echo x > json/__init__.py")

    assert "sitecustomize.py is now set-aside-sitecustomize.py~1" in output
    assert not (program.root / "sitecustomize.py").exists()
    assert not (program.root / "json/__init__.py").exists()


async def test_a_link_that_quorum_loads_through_is_set_aside_once_it_is_replaced(household: Household) -> None:
    (household.home / "venv").mkdir()
    link = household.root / "venv"
    link.symlink_to(household.home / "venv")
    household.code = OwnCode(places=(str(link), str(household.home / "venv")))

    output = await household.run("rm venv; mkdir venv")

    assert "set-aside-venv~1" in output
    assert not link.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("/bin/sh", "tools/hook.sh"),
        ("/bin/sh", "-c", "exec tools/hook.sh --all"),
        ("{root}/tools/hook.sh",),
        ("/bin/sh", "{root}/scripts/hook.sh"),
    ],
)
async def test_what_starts_outside_the_sandbox_meets_no_link_that_a_running_command_has_replaced(
    household: Household, words: tuple[str, ...]
) -> None:
    real, root = household.write("src/project/impl/hook.sh", "echo good\n"), household.root
    real.chmod(0o755)
    (root / "tools").mkdir()
    (root / "tools/hook.sh").symlink_to("../impl/hook.sh")
    (root / "scripts").symlink_to("impl")
    links = (root / "tools/hook.sh", root / "scripts")
    household.code = OwnCode(places=tuple(map(str, (*links, real))))
    os.mkfifo(root / "changed")
    os.mkfifo(root / "end")
    program, *rest = (word.format(root=root) for word in words)

    def find() -> tuple[str, ...]:
        return find_declared_program(program, rest, os.environ, cwd=root, is_confined=False)[0]

    assert find() == (program, *rest)
    command = "mkdir o; rm tools/hook.sh scripts; ln -s ../o/x tools/hook.sh; ln -s o scripts"
    running = asyncio.create_task(household.run(f"{command}; echo > changed; cat end"))
    await asyncio.to_thread((root / "changed").read_text)
    with pytest.raises(ToolError, match="has changed while a command runs"):
        find()
    await asyncio.to_thread((root / "end").write_text, "")

    assert "set-aside" in await running


async def test_while_a_command_runs_a_word_that_is_a_link_is_what_it_led_to(household: Household) -> None:
    real, root = household.write("src/project/impl/hook.sh", "echo good\n"), household.root
    (root / "hook.sh").symlink_to("impl/hook.sh")

    release = hold_links([str(root / "hook.sh")])
    held = find_declared_program("/bin/sh", ("hook.sh", "x"), os.environ, cwd=root, is_confined=False)[0]
    release()

    assert held == ("/bin/sh", str(real), "x")
    assert find_declared_program("/bin/sh", ("hook.sh",), os.environ, cwd=root, is_confined=False)[0] == (
        "/bin/sh",
        "hook.sh",
    )


async def test_a_workspace_that_lies_in_such_code_is_read_only(household: Household) -> None:
    household.code = OwnCode(places=(str(household.root.parent),))

    assert "Read-only file system" in await household.run("touch new")


async def test_code_in_a_folder_that_is_opened_stays_closed_unless_it_is_opened_by_its_name(
    household: Household,
) -> None:
    file = household.write("cache/tool/code.py", "VALUE = 1\n")
    household.code = OwnCode(places=(str(file.parent),))
    household.writable = [str(household.home / "cache")]

    await household.run("echo x > ~/cache/free; echo x > ~/cache/tool/code.py; mv ~/cache/tool ~/cache/away")
    assert (household.home / "cache/free").exists()
    assert file.read_text() == "VALUE = 1\n"

    household.writable = [str(file.parent)]
    await household.run("echo x > ~/cache/tool/code.py")
    assert file.read_text() == "x\n"
