"""The help: commands and keys as they really are bound, to be searched by typing."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from quorum.tui.keys.keyed_app import KeyedApp
from quorum.tui.keys.keymap import KeyAction, group_by_context, label_key
from quorum.tui.keys.slash_commands import COMMANDS, Command, find_command, list_groups
from quorum.tui.widgets.dialog_parts import ClosesItself, DialogFrame, QueryInput

_KEY_CELLS = 24
_WIDEST, _AROUND = 84, 7  # of which border, padding and the scroll bar take some
_NUMBER = re.compile(r"\d+")
_HINT = "type to search commands and keys"


@dataclass(frozen=True, slots=True)
class HelpEntry:
    """One line of the help: what is typed or pressed, what it does, and words by which it is found besides."""

    left: str
    right: str
    found_by: str = ""

    def fits(self, words: Sequence[str]) -> bool:
        text = f"{self.left} {self.right} {self.found_by}".lower()
        return all(word in text for word in words)


_BEGINNINGS = (
    HelpEntry("!command", "Run a command in your shell; with !! the model does not read its output", "bash"),
    HelpEntry("# text", "Add a line to AGENTS.md, once you approve the change", "memory remember instructions"),
    HelpEntry("@path", "Attach a file or a folder, anywhere in a prompt", "mention"),
)


class HelpScreen(ClosesItself, ModalScreen[None]):
    """Shows what can be typed and pressed, at first what fits `query`. Esc closes it, and so does what
    opened it: its key, and `?` where nothing is typed. `custom` are commands of the project and the person,
    and the keys of the context with the title `place` come first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", id="help_close"),
        Binding("up", "scroll('up')", "A line up", id="help_up"),
        Binding("down", "scroll('down')", "A line down", id="help_down"),
        Binding("pageup", "scroll('page_up')", "A page up", id="help_page_up"),
        Binding("pagedown", "scroll('page_down')", "A page down", id="help_page_down"),
    ]
    DEFAULT_CSS = """
    HelpScreen {
        align: center middle;
        #help {
            width: 84;
            height: 94%;
        }
        QueryInput { padding: 0 1; }
        VerticalScroll {
            height: 1fr;
            scrollbar-size-vertical: 1;
            scrollbar-background: $surface;
        }
        Static { width: 100%; padding: 0 1; }
    }
    """

    def __init__(self, query: str = "", custom: Sequence[Command] = (), *, place: str = "") -> None:
        super().__init__()
        self._query, self._custom, self._place = query, tuple(custom), place
        self._contexts: list[tuple[str, list[HelpEntry]]] = []

    def compose(self) -> ComposeResult:
        """What is typed, and below it one column of commands and keys, under headings."""
        # Gathered here: the size may be told before the screen is mounted.
        sections = list(self._gather_sections())
        self._contexts = sorted(sections, key=lambda section: section[0] != self._place)
        with DialogFrame(id="help") as box:
            box.border_title = Content("Help")
            box.name_keys("esc closes · ↑↓ scroll")
            yield QueryInput(self._query, placeholder=_HINT, select_on_focus=False)
            with VerticalScroll(can_focus=False):
                yield Static(id="lines")

    def on_mount(self) -> None:
        """All of it, or what fits."""
        self._show(self._query)
        self.query_one(Input).focus()

    def _gather_sections(self) -> Iterator[tuple[str, list[HelpEntry]]]:
        keymap = self.app.keymap if isinstance(self.app, KeyedApp) else {}
        by_action = _list_keys_by_action(keymap)
        for title, commands in list_groups():
            yield (
                f"Commands: {title}",
                [_build_entry(each, by_action.get(each.action, "")) for each in commands],
            )
        yield "At the beginning of a prompt", list(_BEGINNINGS)
        if self._custom:
            yield "Custom commands", [_build_entry(each, "") for each in self._custom]
        for title, rows in group_by_context(keymap):
            yield title, list(_join_runs(_list_key_entries(rows)))

    @property
    def _width(self) -> int:
        return min(_WIDEST, self.app.size.width) - _AROUND

    def on_resize(self) -> None:
        """Fold everything to the new width."""
        if self.children:  # none while it is closed
            self._show(self.query_one(Input).value)

    def _show(self, query: str) -> None:
        words = query.lower().split()
        lines: list[Content] = []
        name = query.strip().removeprefix("/") if query.strip().startswith("/") else ""
        if (named := find_command(name, (*COMMANDS, *self._custom))) is not None:
            lines += [line for entry in _list_entries(named) for line in _render_lines(entry, self._width)]
            lines.append(Content(""))
        for title, entries in self._contexts:
            if fitting := [entry for entry in entries if entry.fits(words)]:
                lines.append(Content.assemble((title, "bold $text-accent")))
                lines += [line for entry in fitting for line in _render_lines(entry, self._width)]
                lines.append(Content(""))
        shown = lines[:-1] or [Content(f"nothing is called {query.strip()!r}")]
        self.query_one("#lines", Static).update(Content("\n").join(shown))
        self.query_one(VerticalScroll).scroll_home(animate=False)

    @on(Input.Changed)
    def _on_typed(self, message: Input.Changed) -> None:
        message.stop()
        if message.value == "?":  # as it opened the help, so it closes it
            self.dismiss()
        else:
            self._show(message.value)

    def action_scroll(self, how: str) -> None:
        """Scroll; the keys are for what is typed otherwise."""
        scroll = self.query_one(VerticalScroll)
        match how:
            case "up":
                scroll.scroll_up(animate=False)
            case "down":
                scroll.scroll_down(animate=False)
            case "page_up":
                scroll.scroll_page_up(animate=False)
            case _:
                scroll.scroll_page_down(animate=False)


def _list_entries(command: Command) -> Iterator[HelpEntry]:
    """One command with all there is to say."""
    yield HelpEntry(command.usage, command.does)
    if command.takes:
        name, words = command.takes
        yield HelpEntry("", f"{name} is one of {', '.join(words)}")
    yield HelpEntry("for example", command.example)


def _render_lines(entry: HelpEntry, width: int) -> Iterator[Content]:
    """What does not fit beside the first column continues below its end."""
    left, room = entry.left, max(12, width - _KEY_CELLS - 2)
    if len(left) >= _KEY_CELLS and entry.right:
        yield Content(f"  {left}").stylize("bold")
        left = ""
    for row in textwrap.wrap(entry.right, room, break_on_hyphens=False) or [""]:
        yield Content.assemble((f"  {left:<{_KEY_CELLS}}", "bold"), row)
        left = ""


def _build_entry(command: Command, keys: str) -> HelpEntry:
    return HelpEntry(command.usage, f"{command.does} ({keys})" if keys else command.does)


def _list_keys_by_action(keymap: Mapping[str, str]) -> dict[str, str]:
    """The keys of what commands do as well."""
    found: dict[str, str] = {}
    for title, rows in group_by_context(keymap):
        for key_action, keys in rows if title in ("Everywhere", "In the chat") else ():
            prefix = "app." if title == "Everywhere" else ""
            found.setdefault(f"{prefix}{key_action.action}", ", ".join(map(label_key, keys)))
    return found


def _list_key_entries(rows: Iterable[tuple[KeyAction, tuple[str, ...]]]) -> Iterator[HelpEntry]:
    """Keys and what they do; several keys of one meaning together, on as many lines as they need."""
    merged: dict[str, list[str]] = {}
    names: dict[str, list[str]] = {}
    for key_action, keys in rows:
        merged.setdefault(key_action.does, []).extend(map(label_key, keys))
        names.setdefault(key_action.does, []).append(key_action.name)
    for does, shown in merged.items():
        first, *more = _join_names(list(dict.fromkeys(shown)))
        found_by = " ".join((*names[does], *more))
        yield HelpEntry(first, does, found_by)
        yield from (HelpEntry(row, "", f"{first} {does} {found_by}") for row in more)


def _join_runs(entries: Iterable[HelpEntry]) -> Iterator[HelpEntry]:
    """Three or more lines that differ in a number alone become one."""
    run: list[HelpEntry] = []
    for entry in entries:
        if run and _describe_shape(entry) != _describe_shape(run[-1]):
            yield from _shorten_run(run)
            run = []
        run.append(entry)
    yield from _shorten_run(run)


def _describe_shape(entry: HelpEntry) -> tuple[str, str]:
    return _NUMBER.sub("#", entry.left), _NUMBER.sub("#", entry.right)


def _shorten_run(run: list[HelpEntry]) -> list[HelpEntry]:
    if len(run) < 3 or not _NUMBER.search(run[0].right):
        return run
    found_by = " ".join(entry.found_by for entry in run)
    return [
        HelpEntry(
            _join_numbers(run[0].left, run[-1].left), _join_numbers(run[0].right, run[-1].right), found_by
        )
    ]


def _join_numbers(first: str, last: str) -> str:
    """The first of several texts, with the number that differs going up to that of the last."""
    upper = iter(_NUMBER.findall(last))
    return _NUMBER.sub(lambda own: _render_range(own[0], next(upper, own[0])), first)


def _render_range(lower: str, upper: str) -> str:
    return lower if lower == upper else f"{lower}…{upper}"


def _join_names(names: Sequence[str]) -> list[str]:
    """The names separated by commas, as many to a row as its column holds."""
    rows = [names[0]]
    for name in names[1:]:
        if len(rows[-1]) + len(name) + 4 > _KEY_CELLS:
            rows.append(name)
        else:
            rows[-1] += f", {name}"
    return rows
