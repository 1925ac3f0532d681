"""Where the value of one setting is edited."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import VerticalGroup
from textual.content import Content
from textual.widgets import Input, Static

from quorum.domain.text.printable import make_printable
from quorum.tui.agent.settings_service import Setting
from quorum.tui.widgets.dialog_parts import LineInput


class ValueEntry(VerticalGroup):
    """Takes a value. `choices` are the words that Up and Down go through, if it is one of a few."""

    DEFAULT_CSS: ClassVar[str] = """
    ValueEntry {
        margin-top: 1;
        & > #label { height: auto; max-height: 2; text-style: bold; }
        & > #value { background: $panel; border: none; height: 1; padding: 0; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._choices: tuple[str, ...] = ()

    def compose(self) -> ComposeResult:
        """What is edited and where it goes to, and its value."""
        yield Static(id="label", markup=False)
        yield LineInput(select_on_focus=False, id="value")

    @property
    def _input(self) -> Input:
        return self.query_one("#value", Input)

    def open(self, setting: Setting, choices: tuple[str, ...], path: str) -> None:
        """Begin with the present value, which is to go to this file, and take the focus."""
        self._choices = choices
        self.name_file(setting, path)
        self._put(_strip_quotes(setting.value))
        self._input.focus()

    def name_file(self, setting: Setting, path: str) -> None:
        """Say what is edited, and which file it goes to."""
        hint = f"  ↑ ↓ choose among {len(self._choices)}" if self._choices else ""
        origin = f"{hint}  → {make_printable(path, newlines=False)}"
        key = make_printable(setting.key, newlines=False)
        self.query_one("#label", Static).update(
            Content.assemble(f"{key} =", (origin, "not bold $foreground 60%"))
        )

    def turn(self, step: int) -> None:
        """Take the next of the choices, or the one before."""
        if self._choices:
            text = self._input.value
            place = self._choices.index(text) + step if text in self._choices else 0
            self._put(self._choices[place % len(self._choices)])

    def _put(self, text: str) -> None:
        self._input.value = text
        self._input.cursor_position = len(text)


def _strip_quotes(value: str) -> str:
    """A value as it is typed: a text without the quotes that TOML needs, where it holds nothing special."""
    inner = value[1:-1]
    return inner if value.startswith('"') and '"' not in inner and "\\" not in inner else value
