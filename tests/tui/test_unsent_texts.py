"""What is typed and not sent is in a file for as long as its process may be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from quorum.tui.prompt_box.history import Recall
from quorum.tui.prompt_box.unsent import name_project, recover_unsent

KEEPS = """
import sys
from quorum.tui.prompt_box.unsent import UnsentTexts
kept = UnsentTexts(sys.argv[1])
kept.keep(["half"])
kept.keep(["half a thought", "and another"])
print("kept", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "quorum" / "unsent"


def recover(cwd: Path) -> list[Sequence[str]]:
    found: list[Sequence[str]] = []
    assert recover_unsent(cwd, found.append) == bool(found)
    return found


def test_a_later_process_gets_what_a_killed_one_had_and_no_living_one_has(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", KEEPS, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"kept\n"
        assert recover(tmp_path) == []
        process.send_signal(signal.SIGKILL)

    assert recover(tmp_path / "elsewhere") == []
    assert recover(tmp_path) == [["half a thought", "and another"]]
    assert list(folder.iterdir()) == []


def test_a_file_that_is_not_whole_is_removed_and_one_that_nobody_could_take_stays(
    folder: Path, tmp_path: Path
) -> None:
    folder.mkdir(parents=True)
    (folder / "whole.json").write_text(json.dumps({"project": name_project(tmp_path), "texts": ["a"]}))
    (folder / "torn.json").write_text('{"project": "x", "te')

    def refuse(_texts: Sequence[str]) -> None:
        raise OSError("the disk is full")

    assert not recover_unsent(tmp_path, refuse)
    assert os.listdir(folder) == ["whole.json"]


def test_nothing_is_left_where_nothing_is_unsent(folder: Path, tmp_path: Path) -> None:
    recall = Recall(tmp_path, lambda: None, lambda: ["/plan it"])
    recall.keep_unsent(f"use ghp_{'a1B2' * 9}")
    assert "a1B2" not in next(folder.iterdir()).read_text()

    recall.keep("half a thought")

    assert os.listdir(folder) == []
    assert recall.history.entries == ["/plan it", "half a thought"]


def test_a_file_that_vanishes_meanwhile_does_not_keep_the_others_from_being_recovered(
    folder: Path, tmp_path: Path
) -> None:
    folder.mkdir(parents=True)
    (folder / "whole.json").write_text(json.dumps({"project": name_project(tmp_path), "texts": ["a"]}))
    (folder / "gone.json").symlink_to(folder / "nowhere")

    assert recover(tmp_path) == [["a"]]


def test_what_the_history_cannot_take_at_the_end_stays_for_the_next_process(
    folder: Path, tmp_path: Path
) -> None:
    folder.parent.mkdir(parents=True)
    (folder.parent / "history").write_text("no folder")
    recall = Recall(tmp_path, lambda: None, lambda: ["/plan it"])
    assert recall.keep_unsent("half")

    recall.keep("half a thought")

    assert json.loads(next(folder.iterdir()).read_text())["texts"] == ["/plan it", "half a thought"]


def test_what_the_history_could_not_take_is_written_at_the_next_try(folder: Path, tmp_path: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "left.json").write_text(json.dumps({"project": name_project(tmp_path), "texts": ["a", "b"]}))
    history = folder.parent / "history"
    history.write_text("no folder")
    recall = Recall(tmp_path, lambda: None)
    assert not recall.recover_unsent()
    assert os.listdir(folder) == ["left.json"]

    history.unlink()
    assert recall.recover_unsent()

    assert Recall(tmp_path, lambda: None).history.entries == recall.history.entries == ["a", "b"]
    assert os.listdir(folder) == []


def test_what_cannot_be_kept_leaves_what_was_kept_before(folder: Path, tmp_path: Path) -> None:
    recall = Recall(tmp_path, lambda: None)
    assert recall.keep_unsent("half")
    (kept,) = folder.iterdir()
    folder.rename(folder.with_name("moved"))
    folder.write_text("no folder")

    assert not recall.keep_unsent("half a thought")
    assert json.loads((folder.with_name("moved") / kept.name).read_text())["texts"] == ["half"]
