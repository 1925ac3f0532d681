"""The menu above the prompt: what it offers for what is typed, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from textual import events
from textual.content import Content
from textual.geometry import Offset
from textual.widget import Widget

from quorum.application.ports.workspace import FoundFile
from quorum.domain.text.fuzzy import fit
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyed_app import choose_sign
from quorum.tui.keys.slash_commands import Command

if TYPE_CHECKING:
    from quorum.domain.instructions.custom_command import CustomCommand


MOST_ROWS = 8
_SHARE_OF_SCREEN = 3
_WIDEST_LABEL = 60


class CompletionMenu(Widget):
    """Rows to choose from, or a line to read. It is there only while it has something to show.

    `on_pick` is called with the place of a row that was clicked on.
    """

    DEFAULT_CSS = """
    CompletionMenu { height: auto; display: none; padding: 0 1; background: $surface; color: $text-muted; }
    """

    def __init__(self, on_pick: Callable[[int], object]) -> None:
        super().__init__(id="completion")
        self._on_pick = on_pick
        self._rows: tuple[Offer, ...] = ()
        self._chosen = self._first = 0
        self._line = Content("")

    def offer(self, rows: tuple[Offer, ...], chosen: int) -> None:
        """Show rows, of which one is chosen."""
        self._rows, self._chosen = rows, chosen
        self._show(min(len(rows), self._room))

    def tell(self, line: Content) -> None:
        """Show a line instead of rows."""
        self._rows, self._line = (), line
        self._show(1)

    def close(self) -> None:
        self._rows, self._line, self._first = (), Content(""), 0
        self.display = False

    def _show(self, height: int) -> None:
        self._first = min(max(self._first, self._chosen - height + 1, 0), self._chosen)
        self.styles.height = height
        self.display = True
        self.refresh()

    @property
    def _room(self) -> int:
        return max(1, min(MOST_ROWS, self.screen.size.height // _SHARE_OF_SCREEN))

    def render(self) -> Content:
        """The rows in sight; the chosen one has a sign before it, so that no colour is needed to see it."""
        width = self.content_size.width
        if not self._rows:
            return self._line.truncate(width, ellipsis=True)
        shown = self._rows[self._first : self._first + self._room]
        groups = _render_groups(shown)
        width -= groups[0].cell_length
        column = min(max(Content(row.label).cell_length for row in shown), _WIDEST_LABEL, max(8, width - 4))
        lines = []
        for place, row in enumerate(shown, self._first):
            more = ""
            if len(self._rows) > len(shown) and place == self._first + len(shown) - 1:
                more = f"{self._chosen + 1}/{len(self._rows)}"
            line = self._render_row(row, column, width, is_chosen=place == self._chosen, more=more)
            lines.append(groups[place - self._first] + line)
        return Content("\n").join(lines)

    @property
    def marked_offset(self) -> Offset:
        """Where the chosen row begins."""
        return Offset(0, self._chosen - self._first)

    def _render_row(self, row: Offer, column: int, width: int, *, is_chosen: bool, more: str) -> Content:
        label = Content(row.label).stylize("bold" if is_chosen else "$text")
        for hit in row.hits:
            label = label.stylize("bold $text-accent underline", hit, hit + 1)
        if label.cell_length > column:  # of a long path the end says most
            label = Content("…") + label[len(label) - _count_fitting(label, column - 1) :]
        blanks = column - label.cell_length
        sign = Content(choose_sign(self.app, "› ", "  ") if is_chosen else "  ").stylize("bold $text-accent")
        line = sign + label + " " * blanks
        room = width - line.cell_length - (len(more) + 2 if more else 0)
        if row.does and room > 6:
            line += Content("  ") + Content(row.does).truncate(room - 2, ellipsis=True)
        if more and width - line.cell_length > len(more):
            line += " " * (width - line.cell_length - len(more)) + more
        return line

    def on_click(self, event: events.Click) -> None:
        place = self._first + event.y
        if place < len(self._rows):
            self._on_pick(place)


def _render_groups(rows: Sequence[Offer]) -> list[Content]:
    """The column before rows that are in groups: the title of each in its first row in sight; else empty."""
    widest = max(len(row.group) for row in rows)
    titles = [
        "" if place and row.group == rows[place - 1].group else row.group for place, row in enumerate(rows)
    ]
    return [Content(f"{title:<{widest + 2}}" if widest else "").stylize("$text-accent") for title in titles]


def _count_fitting(label: Content, cells: int) -> int:
    """How many characters of the label's end fit into so many cells."""
    count = min(len(label), cells)
    while count and label[len(label) - count :].cell_length > cells:
        count -= 1
    return count


TYPE_CHECKING = False
if TYPE_CHECKING:
    from quorum.domain.mcp.offers import ArgumentQuery, OfferedPrompt, OfferedResource, TypedArgument


@dataclass(frozen=True, slots=True)
class Offer:
    """One row. `insert` takes the place of what was typed; `label` is what is shown for it, and `hits` are the
    places in it that the typed letters hit.

    `ready`: with it the prompt is whole and can be sent. `path` is the file or folder that is meant, or empty.
    `group` is the title of those that it is one of, where they are listed by groups.
    """

    insert: str
    label: str
    hits: tuple[int, ...] = ()
    does: str = ""
    ready: bool = False
    path: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Offers:
    """The rows, best first. `typed` is what they would replace; `hint` is shown where there are none.

    `insists`: Enter takes the first row even if the person has not moved in the menu, because what is typed
    means nothing as it stands.
    """

    typed: str
    rows: tuple[Offer, ...] = ()
    hint: str = ""
    insists: bool = False


@dataclass(frozen=True, slots=True)
class FileWish:
    """Files are to be found. As a `mention` their sign and their quotes are put before and around them, and the
    `lines` typed behind them."""

    typed: str
    query: str
    mention: bool = True
    lines: str = ""


@dataclass(frozen=True, slots=True)
class WordWish:
    """The words are wanted that a command may take; `query` is what is typed of one."""

    typed: str
    query: str
    command: Command = field(compare=False)


@dataclass(frozen=True, slots=True)
class ValueWish:
    """The values are wanted that an MCP server offers for an argument. `hint` is shown until they are there."""

    typed: str
    argument: TypedArgument
    hint: str = ""


Wish: TypeAlias = FileWish | WordWish | ValueWish
"""What must be asked for before there is anything to offer."""


class Known(Protocol):
    """Where files and words come from."""

    async def find_files(self, query: str, limit: int) -> Sequence[FoundFile]:
        """The files of the project that fit, best first."""
        ...

    async def list_words(self, command: Command) -> Sequence[str]:
        """The words that a command may take, where they are known."""
        ...

    def list_custom_commands(self) -> Sequence[Command]:
        """The commands of the project and the person, as far as they are known by now."""
        ...

    def note_file_used(self, path: str) -> None:
        """The person took this file from the menu."""
        ...

    def list_resources(self) -> Sequence[OfferedResource]:
        """The resources that MCP servers list, as far as they are known by now."""
        ...

    def list_mcp_prompts(self) -> Sequence[OfferedPrompt]:
        """The prompts that MCP servers offer, as far as they are known by now."""
        ...

    async def complete_argument(self, query: ArgumentQuery) -> Sequence[str]:
        """The values that a server offers for an argument, best first."""
        ...

    def build_mentions(self, pasted: str) -> str:
        """The mentions of the files whose paths were pasted or dropped; empty where it is anything else."""
        ...


def list_word_offers(
    typed: str, words: Iterable[str], *, insists: bool, meanings: Mapping[str, str] | None = None
) -> tuple[Offer, ...]:
    """The words that fit what is typed of one, best first; in their own order where nothing is typed."""
    fits = [(found.score if typed else 0, word, found.hits) for word in words if (found := fit(typed, word))]
    ranked = sorted(fits, key=lambda each: -each[0])
    return tuple(
        Offer(word, word, hits, does=(meanings or {}).get(word, ""), ready=insists or word != typed)
        for _, word, hits in ranked
    )


_LONGEST_HINT = 60


def list_custom_rows(known: Iterable[tuple[str, CustomCommand]]) -> tuple[Command, ...]:
    """The commands, each under the name to type for it, with what it does and the file it comes from."""
    return tuple(_build_row(name, command) for name, command in known)


def _build_row(name: str, command: CustomCommand) -> Command:
    does = f"cannot be used: {command.problem}" if command.problem else command.description
    source = make_printable(command.label, newlines=False)
    return Command(
        name,
        f"{make_printable(does, newlines=False)} ({source})",
        "",
        hint=make_printable(command.argument_hint, newlines=False)[:_LONGEST_HINT],
    )
