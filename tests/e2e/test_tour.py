"""`quorum --demo`: the tour from its first step to its last, and nothing of it left behind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from quorum.tui.widgets.layout import PLACEHOLDER
from tests.support.terminal import CTRL_C, ENTER, ESCAPE, Terminal

F2 = "\x1bOQ"


def the_tour(folder: Path, *arguments: str) -> Terminal:
    cwd, home = folder / "elsewhere", folder / "home"
    cwd.mkdir()
    home.mkdir()
    return Terminal(
        cwd, home, rows=40, columns=110, arguments=["--demo", *arguments], variables={"TMPDIR": str(folder)}
    )


@pytest.mark.long
def test_the_tour_goes_from_step_to_step_with_real_calls_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with the_tour(tmp_path) as terminal:
        terminal.wait_for("1/8")
        terminal.wait_until_ready()
        terminal.type(ENTER)
        terminal.wait_for("2/8")
        terminal.wait_for("2 matches in 2 of 3 files")
        terminal.type(ENTER)
        terminal.wait_for("3/8")
        terminal.wait_for("y yes")
        terminal.press_when_awake("y", "4/8")
        terminal.wait_for("edit   shop.py")
        terminal.wait_for("python3 -m unittest")
        terminal.press_when_awake(
            ENTER, "Run a command"
        )  # one that comes with the last answer is not for the prompt
        terminal.press_when_awake("y", "5/8")
        terminal.wait_for("Ran 1 test")
        terminal.press_when_awake(ENTER, "6/8")
        terminal.press_when_awake(ENTER, "Go back to before")
        terminal.wait_for("1 file")  # the edit, for which there is something to undo
        terminal.type(ESCAPE)
        terminal.press_when_awake(F2, "7/8")
        terminal.type(F2)
        terminal.wait_for("8/8")
        edited = [path.read_text() for path in tmp_path.glob("quorum-tour-*/shop/shop.py")]
        assert len(edited) == 1
        assert "price * quantity" in edited[0]
        terminal.quit()

    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"elsewhere", "home"}
    assert not list((tmp_path / "elsewhere").iterdir())
    assert not [path for path in (tmp_path / "home").rglob("*") if re.search("quorum", path.name)]


@pytest.mark.long
def test_a_cleared_prompt_of_the_tour_comes_back(tmp_path: Path) -> None:
    with the_tour(tmp_path) as terminal:
        terminal.wait_for("after the tour: quorum")
        terminal.wait_until_ready()
        terminal.type(ENTER)
        terminal.wait_for("2/8")
        terminal.wait_for("2 matches in 2 of 3 files")
        with terminal.fresh():
            terminal.type(CTRL_C)
            terminal.wait_for("again quits")
        with terminal.fresh():
            terminal.type("\x15")
            terminal.wait_for(PLACEHOLDER[1:12])
            terminal.type(ENTER)
            terminal.wait_for("price + quantity")
        terminal.type(ENTER)
        terminal.wait_for("3/8")
