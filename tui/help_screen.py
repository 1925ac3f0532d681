"""The help screen: commands and keys, as they really are bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.chat_screen import ChatScreen
from tui.closing import ClosesItself
from tui.commands import COMMANDS
from tui.pager.screen import PagerScreen
from tui.prompt_box.prompt import Prompt
from tui.review.dialog import ReviewDialog

_KEY_CELLS = 24
_SHORT = {
    "escape": "esc",
    "question_mark": "?",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "underscore": "_",
    "slash": "/",
    "colon": ":",
    "less_than_sign": "<",
}


class HelpScreen(ClosesItself, ModalScreen[None]):
    """Shows what can be typed and pressed; Esc, q or F1 close it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,f1,question_mark", "dismiss", "Close")]
    DEFAULT_CSS = """
    HelpScreen {
        align: center middle;
        VerticalScroll {
            width: 76;
            max-width: 96%;
            height: auto;
            max-height: 90%;
            padding: 0 2;
            border: round $primary;
            border-title-style: bold;
            background: $surface;
            scrollbar-size-vertical: 1;
            scrollbar-background: $surface;
        }
        Static { width: 100%; }
    }
    """

    def compose(self) -> ComposeResult:
        """One column of commands and keys, under headings."""
        with VerticalScroll() as scroll:
            scroll.border_title = Content("Help")
            scroll.border_subtitle = Content("esc closes · ↑↓ scroll")
            yield Static(Content("\n").join(self._lines()))

    def _lines(self) -> Iterator[Content]:
        yield from _section("Commands", ((command.usage, command.does) for command in COMMANDS))
        yield Content("")
        yield from _section("Everywhere", _keys([*self.app.BINDINGS, *ChatScreen.BINDINGS]))
        yield Content("")
        yield from _section("In the prompt", _keys(Prompt.BINDINGS))
        yield Content("")
        yield from _section("In a review", _keys(ReviewDialog.BINDINGS))
        yield Content("")
        yield from _section("In the pager", _keys(PagerScreen.BINDINGS))


def _section(title: str, rows: Iterable[tuple[str, str]]) -> Iterator[Content]:
    yield Content.assemble((title, "bold $text-accent"))
    for left, right in rows:
        yield Content.assemble((f"  {left:<{_KEY_CELLS}}", "bold"), right)


def _keys(bindings: Iterable[BindingType]) -> Iterator[tuple[str, str]]:
    """Keys and what they do; several keys of one meaning on one line."""
    keys: dict[str, list[str]] = {}
    for binding in Binding.make_bindings(bindings):
        if binding.description:
            name = "+".join(_SHORT.get(part, part) for part in binding.key.split("+"))
            keys.setdefault(binding.description, []).append(name)
    for description, names in keys.items():
        rows = _joined(names)
        yield rows[0], description
        yield from ((row, "") for row in rows[1:])


def _joined(names: list[str]) -> list[str]:
    """The names separated by commas, as many to a row as its column holds."""
    rows = [names[0]]
    for name in names[1:]:
        if len(rows[-1]) + len(name) + 4 > _KEY_CELLS:
            rows.append(name)
        else:
            rows[-1] += f", {name}"
    return rows
