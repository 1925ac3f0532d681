"""What killed apps leave in the state folder is gone after a later start, and nothing of one that runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.test_killed_before_sending import again, kill
from tests.support.terminal import Terminal

_KEPT = {"ledger.sqlite", "ledger.sqlite-lock", "history"}
_OF_ANY_APP = {"ledger.sqlite-wal", "ledger.sqlite-shm"}


def list_files(folder: Path) -> set[str]:
    state = folder / "home" / "state" / "quorum"
    walked = os.walk(state)  # which passes over a folder that is removed meanwhile
    files = (Path(folder, name).relative_to(state) for folder, _, names in walked for name in names)
    return {str(path) for path in files if path.parts[0] not in _KEPT}


def ask_for_a_command(terminal: Terminal, command: str) -> None:
    terminal.wait_until_ready()
    terminal.submit(f"run {command}")
    terminal.wait_for("answer needed")


@pytest.mark.long
def test_a_later_start_clears_what_kills_left(tmp_path: Path) -> None:
    with again(tmp_path) as terminal:
        ask_for_a_command(terminal, "touch not-run")
        kill(terminal)
    with again(tmp_path) as terminal:
        ask_for_a_command(terminal, "touch begun; sleep 600")
        terminal.press_when_awake("y", "running ·")
        terminal.wait_until((tmp_path / "project" / "begun").exists, "the command")
        kill(terminal)
    left = list_files(tmp_path) - _OF_ANY_APP
    assert left

    with again(tmp_path) as terminal:
        terminal.wait_until_ready()
        terminal.wait_until(lambda: not left & list_files(tmp_path), "the end of what was left")
        terminal.quit()

    assert list_files(tmp_path) == set()
