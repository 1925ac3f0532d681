"""What a real terminal has to do with the prompt: keys of one read, and the editor it is lent to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.terminal import Terminal

CTRL_G, CTRL_U = "\x07", "\x15"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "engine.py").write_text("first = 1\n", encoding="utf-8")
    return folder


def app(project: Path, **environ: str) -> Terminal:
    return Terminal(project, project.parent / "home", rows=24, columns=80, arguments=[], variables=environ)


def test_letters_after_a_deletion_in_the_same_read_stay(project: Path) -> None:
    with app(project) as terminal:
        terminal.wait_for("offline")
        with terminal.fresh():
            terminal.type(f"read gone.py{CTRL_U}read src/engine.py\r")
            terminal.wait_for("first = 1")


@pytest.mark.long
def test_enter_pressed_before_the_app_was_there_sends_what_was_typed(project: Path) -> None:
    with app(project) as terminal:
        terminal.type("read src/engine.py\r")
        terminal.wait_for("first = 1")


@pytest.mark.long
def test_a_paste_with_colours_and_line_ends_sends_nothing(project: Path) -> None:
    with app(project) as terminal:
        terminal.wait_for("offline")
        terminal.type("\x1b[200~\x1b[31mread src/engine.py\x1b[0m\rand src/engine.py\r\x1b[201~")
        terminal.wait_for("␛[31mread")
        terminal.type("it is a paste")
        terminal.wait_for("it is a paste")

        assert "first = 1" not in terminal.painted


@pytest.mark.long
def test_a_file_found_by_some_letters_is_read(project: Path) -> None:
    with app(project) as terminal:
        terminal.wait_for("offline")
        terminal.type("read @eng")
        terminal.wait_for("› src/engine.py")
        terminal.type("\t\r")
        terminal.wait_for("first = 1")


@pytest.mark.long
def test_the_editor_has_the_terminal_alone_and_what_it_wrote_comes_back(project: Path) -> None:
    editor = project.parent / "editor"
    editor.write_text('#!/bin/sh\necho AT WORK; read line; echo "read src/engine.py" > "$1"\n')
    editor.chmod(0o755)
    with app(project, EDITOR=str(editor)) as terminal:
        terminal.wait_for("offline")
        terminal.type("draft" + CTRL_G)
        terminal.wait_for("AT WORK")
        alone = terminal.raw.rpartition("AT WORK")[2]
        with terminal.fresh():
            terminal.type("done\n")
            terminal.wait_for("read src/engine.py")
            terminal.type("\r")
            terminal.wait_for("first = 1")

    assert "\x1b" not in alone
