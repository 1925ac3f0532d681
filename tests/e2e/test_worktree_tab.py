"""A tab with a worktree in the installed app: an edit there, kill -9, and going on."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.headless_run import configure
from tests.support.real_session import SessionStage
from tests.support.terminal import Terminal


@pytest.mark.long
def test_a_worktree_is_edited_survives_kill_9_is_taken_up_merged_and_dropped(tmp_path: Path) -> None:
    stage = SessionStage(tmp_path)
    stage.git("init", "-q", "-b", "main")
    stage.git("config", "user.name", "n")
    stage.git("config", "user.email", "n@localhost")
    (stage.root / "a.py").write_text("first = 1\n", encoding="utf-8")
    stage.git("add", "-A")
    stage.git("commit", "-qm", "one")

    def app() -> Terminal:
        return Terminal(stage.root, stage.home, rows=40, columns=120, arguments=[])

    with app() as terminal:
        terminal.wait_until_ready()
        with terminal.fresh():
            terminal.submit("/worktree fix")
            terminal.wait_for("quorum/fix")
            terminal.wait_until_ready()
        terminal.submit("replace first with second in a.py")
        terminal.wait_for("y yes")
        terminal.press_when_awake("y", "1 replacement")
        terminal.wait_for("ask · enter sends")
        terminal.process.kill(signal.SIGKILL)
        terminal.has_ended(30)
    (folder,) = (stage.home / ".local/share/quorum/worktrees").glob("*/fix")
    assert (folder / "a.py").read_text(encoding="utf-8") == "second = 1\n"
    assert (stage.root / "a.py").read_text(encoding="utf-8") == "first = 1\n"

    with app() as terminal:
        terminal.wait_for("left behind: worktree fix")
        terminal.submit("/worktree fix")
        terminal.wait_for("resumed with offline/offline")
        terminal.wait_for("1 replacement")
        with terminal.fresh():
            terminal.submit("/worktree merge")
            terminal.wait_for("+ second = 1")
            terminal.press_when_awake("y", "merged into main")
        assert (stage.root / "a.py").read_text(encoding="utf-8") == "second = 1\n"
        with terminal.fresh():
            terminal.submit("/worktree drop")
            terminal.wait_for("nothing is lost")
            terminal.press_when_awake("y", "dropped fix")
        terminal.type("\x11")
        assert terminal.ended() == 0
    assert not folder.exists()
    assert stage.git("status", "--porcelain") == ""


@pytest.mark.long
def test_a_new_worktree_is_set_up_by_a_command_that_is_reviewed(tmp_path: Path) -> None:
    stage = SessionStage(tmp_path)
    stage.git("init", "-q", "-b", "main")
    (stage.root / ".gitignore").write_text("libs/\n", encoding="utf-8")
    stage.git("add", "-A")
    stage.git("-c", "user.name=n", "-c", "user.email=n@localhost", "commit", "-qm", "one")
    (stage.root / "libs").mkdir()
    (stage.root / "libs/one").write_text("from the main one\n", encoding="utf-8")
    table = '[worktrees]\nlinks = ["libs"]\nsetup = "cat libs/one > made.txt"\n'
    configure(stage.home, f"review.offer_sandboxed = false\n{table}")

    with Terminal(stage.root, stage.home, rows=40, columns=120, arguments=[]) as terminal:
        terminal.wait_until_ready()
        terminal.submit("/worktree fix")
        terminal.wait_for("y yes")
        terminal.press_when_awake("y", "The worktree is set up.")

    (folder,) = (stage.home / ".local/share/quorum/worktrees").glob("*/fix")
    assert (folder / "made.txt").read_text(encoding="utf-8") == "from the main one\n"
    assert stage.git("status", "--porcelain", cwd=folder) == "?? made.txt\n"
