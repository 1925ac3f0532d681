"""What the terminal shows, and keeps, while the full-screen app is loaded."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from quorum.tui.widgets.layout import PLACEHOLDER, STARTING
from tests.support.terminal import CTRL_C, ENTER, Terminal

ENTERED, LEFT = "\x1b[?1049h", "\x1b[?1049l"
PASTED, PASTED_END = "\x1b[200~", "\x1b[201~"
# An interpreter runs `sitecustomize` first: there the installed program can be made to wait for the app.
PLANT = """
import os, sys, time

class Planted:
    def find_spec(self, name, path=None, target=None):
        if name == "textual" and path is None:
            while not os.path.exists({go!r}):
                time.sleep(0.01)
            {then}

sys.meta_path.insert(0, Planted())
"""


class Loading:
    """An app that loads once `go` is called."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        then: str = "pass",
        size: tuple[int, int] = (120, 40),
        **variables: str,
    ) -> None:
        self._go = folder / "go"
        planted, project = folder / "planted", folder / "project"
        planted.mkdir()
        project.mkdir()
        (planted / "sitecustomize.py").write_text(PLANT.format(go=str(self._go), then=then))
        self.terminal = Terminal(
            project,
            folder / "home",
            rows=size[1],
            columns=size[0],
            arguments=list(arguments),
            variables={"PYTHONPATH": str(planted), **variables},
        )

    def go(self) -> None:
        self._go.touch()

    def __enter__(self) -> Loading:
        self.terminal.wait_for(STARTING)
        return self

    def __exit__(self, *_: object) -> None:
        self.terminal.__exit__(None, None, None)


def lines_of(text: str, raw: str) -> set[str]:
    """The lines of the screen at which this text was painted right at the beginning."""
    return set(re.findall(rf"\x1b\[(\d+);1H(?:\x1b\[[\d;]*m)*{re.escape(text)}", raw))


def test_what_is_typed_while_the_app_is_loaded_is_shown_at_once_and_is_in_the_prompt_afterwards(
    tmp_path: Path,
) -> None:
    with Loading(tmp_path) as loading:
        loading.terminal.type("helloo")
        loading.terminal.wait_for("› helloo")
        loading.terminal.type("\x7f there")
        loading.terminal.wait_for("› hello there")

        with loading.terminal.fresh():
            loading.go()
            loading.terminal.wait_for("hello there")
            loading.terminal.wait_until_ready()
            loading.terminal.type(ENTER)
            loading.terminal.wait_for("enter sends")
            assert ENTERED not in loading.terminal.raw


@pytest.mark.long(after=1)
def test_a_prompt_that_is_sent_while_the_app_is_loaded_is_answered(tmp_path: Path) -> None:
    with Loading(tmp_path) as loading:
        for key in f"list {'./' * 40}.":  # more than the app takes for keys where they come at once
            loading.terminal.type(key)
        loading.terminal.wait_for("./.")
        loading.terminal.type(ENTER)
        loading.go()
        loading.terminal.wait_for("is an empty folder")


@pytest.mark.long
def test_a_paste_of_several_lines_while_the_app_is_loaded_sends_nothing(tmp_path: Path) -> None:
    with Loading(tmp_path) as loading:
        loading.terminal.type(f"{PASTED}first\n{CTRL_C}second{PASTED_END}")
        loading.go()
        loading.terminal.wait_until_ready()
        loading.terminal.wait_for("second")
        assert "first" in loading.terminal.painted
        loading.terminal.type(CTRL_C)
        loading.terminal.wait_for("ctrl+c again quits")


@pytest.mark.long
@pytest.mark.parametrize("size", [(60, 12), (80, 24), (120, 40), (200, 50)])
def test_the_app_puts_the_prompt_where_it_was(tmp_path: Path, size: tuple[int, int]) -> None:
    with Loading(tmp_path, size=size) as loading:
        loading.terminal.wait_for(PLACEHOLDER)
        early = lines_of(" ›", loading.terminal.raw), lines_of("─" * size[0], loading.terminal.raw)
        with loading.terminal.fresh():
            loading.go()
            loading.terminal.wait_for("enter sends")
            app = lines_of(" ›", loading.terminal.raw), lines_of("─" * size[0], loading.terminal.raw)

    assert early == app
    assert len(early[0]) == 1


@pytest.mark.long
def test_in_a_window_that_changes_its_size_meanwhile_the_prompt_moves(tmp_path: Path) -> None:
    with Loading(tmp_path, size=(120, 40)) as loading:
        loading.terminal.type("go")
        loading.terminal.wait_for("› go")
        with loading.terminal.fresh():
            loading.terminal.process.setwinsize(24, 80)
            loading.terminal.wait_for("› go")
            assert lines_of(" ›", loading.terminal.raw) == {"23"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("end", "code"),
    [
        (CTRL_C, 130),
        *((number, -number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGALRM)),
    ],
)
def test_ended_before_the_app_is_loaded_it_gives_the_terminal_back(
    tmp_path: Path, end: str | signal.Signals, code: int
) -> None:
    with Loading(tmp_path) as loading:
        if isinstance(end, str):
            loading.terminal.type(end)
        else:
            loading.terminal.process.kill(end)
        assert loading.terminal.has_ended(within=120)
        process = loading.terminal.process
        assert LEFT in loading.terminal.raw + str(process.before)
        process.close()
        assert code == (process.exitstatus if process.signalstatus is None else -process.signalstatus)


@pytest.mark.long
def test_an_app_that_cannot_be_loaded_gives_the_terminal_back_before_it_says_why(tmp_path: Path) -> None:
    with Loading(tmp_path, then="raise ImportError('planted')") as loading:
        loading.go()
        loading.terminal.wait_for("a part of quorum cannot be loaded: ImportError: planted")
        assert LEFT in loading.terminal.raw.partition("cannot be loaded")[0]
        assert loading.terminal.ended() == 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "variables"), [((), {"QUORUM_TUI__SCREEN_READER": "true"}), (("--demo",), {})]
)
def test_a_screen_reader_and_the_tour_get_no_other_screen_first(
    tmp_path: Path, arguments: tuple[str, ...], variables: dict[str, str]
) -> None:
    loading = Loading(tmp_path, *arguments, **variables)
    loading.go()
    with loading.terminal as terminal:
        terminal.wait_for("enter sends")
        before, _, _ = terminal.raw.partition(PLACEHOLDER)
        assert before.count(ENTERED) == 1
        assert "\x1b[2J" not in before
