"""What a command in the sandbox writes into its home is gone with it, and its result says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quorum.infrastructure.execution.sandbox.session_tmp import CommandHome, SessionTmp
from tests.infrastructure.commands.command_bench import run_out_of_time
from tests.infrastructure.sandbox.sandbox_bench import Household, needs_bubblewrap

GONE = "in the sandbox's own home and"


@pytest.fixture
def keeping(household: Household, tmp_path: Path) -> Household:
    """One whose session has a folder of its own."""
    state = tmp_path.resolve() / "state"
    household.tmp = SessionTmp(state / "sandbox")
    household.own.append(state)
    return household


def list_kept(keeping: Household) -> list[str]:
    """What is left of the homes of commands."""
    return [path.name for path in keeping.own[0].glob("sandbox/*/home-*")]


@needs_bubblewrap
async def test_what_was_written_there_is_named_and_is_gone(keeping: Household) -> None:
    output = await keeping.run("mkdir ~/notes && echo x > ~/notes/a && ls ~")

    assert "notes" in output.splitlines()
    assert f"~/notes was written {GONE} is gone; write in the workspace" in output
    assert not (keeping.home / "notes").exists()
    assert list_kept(keeping) == []
    assert "notes" not in await keeping.run("ls ~")


@needs_bubblewrap
async def test_a_command_that_writes_nothing_there_or_only_caches_has_nothing_said(keeping: Household) -> None:
    (keeping.home / ".cargo/bin").mkdir(parents=True)
    keeping.write(".gitconfig", "[user]\n")

    output = await keeping.run("ls -a ~; mkdir -p ~/.cache/x ~/.npm/_logs; echo a > file; cat ~/.gitconfig")

    assert ".cargo" in output
    assert "[user]" in output
    assert GONE not in output
    assert (keeping.root / "file").exists()


@needs_bubblewrap
async def test_several_are_counted_and_their_names_harmless(keeping: Household) -> None:
    (keeping.home / ".cargo/bin").mkdir(parents=True)

    output = await keeping.run(
        r"cd; touch b $(printf 'a\033[2J') .profile; ln -s / c; mkdir d; chmod 0 d; echo x > src/e; false"
    )

    assert f" and 3 more were written {GONE} are gone" in output
    assert "\x1b" not in output
    assert list_kept(keeping) == []


@needs_bubblewrap
async def test_what_a_link_leads_to_is_neither_looked_at_nor_removed(keeping: Household) -> None:
    kept = keeping.write("src/project/kept/file")

    output = await keeping.run(f"ln -s {kept.parent} ~/link; ln -s / ~/root")

    assert f"~/link, ~/root were written {GONE} are gone" in output
    assert kept.exists()


@needs_bubblewrap
async def test_it_is_said_too_of_a_command_that_ran_out_of_time(keeping: Household) -> None:
    running = keeping.run("touch ~/notes; touch begun; sleep 60")

    assert "~/notes was written" in await run_out_of_time(running, once=(keeping.root / "begun").exists)

    assert list_kept(keeping) == []


@needs_bubblewrap
async def test_secrets_of_the_home_stay_hidden(keeping: Household) -> None:
    keeping.write(".ssh/id", "hunter2")
    keeping.write("notes", "hunter2")

    output = await keeping.run("cat ~/.ssh/id ~/notes; ls ~ ~/..")

    assert "hunter2" not in output
    assert "state" not in output.split()


def test_a_folder_that_became_a_link_is_not_entered(tmp_path: Path) -> None:
    source, outside = tmp_path / "source", tmp_path / "outside"
    (outside / "inner").mkdir(parents=True)
    source.mkdir()
    (source / "src").symlink_to(outside)
    home = CommandHome({"/home/me": str(source)}, ["/home/me/src/project"], "/home/me")

    assert home.close() == []
    assert os.listdir(outside) == ["inner"]
    assert not source.exists()
    assert home.close() == []
