from __future__ import annotations

import pytest

from quorum.domain.review.path_policy import OwnCode
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
