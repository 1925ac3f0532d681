"""The pager: a whole screen over a source of lines, of which it reads those in sight.

The source is read in threads, so that the screen never waits for a disk.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static
from textual.worker import Worker

from quorum.application.view.entries import Call, Kept
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.errors import QuorumError
from quorum.domain.text.amounts import format_amount, format_size
from quorum.domain.text.printable import make_printable
from quorum.domain.text.unified_diff import parse_diff
from quorum.tui.keys.keyboard_guard import HoldsLetters
from quorum.tui.keys.keyed_app import choose_sign, fill_in_keys, fill_in_usual_keys
from quorum.tui.transcript.draw.rows import shorten_arguments
from quorum.tui.transcript.kinds.plain import Run
from quorum.tui.transcript.kinds.terminal import colour_line
from quorum.tui.widgets.dialog_parts import ClosesItself, LineInput

if TYPE_CHECKING:
    from quorum.application.ports.storage import LineSource
    from quorum.application.session.agent_session import AgentSession


class Reader:
    """What is known of a source: `known` lines, and whether they are all (`complete`).

    Every method raises what the source raises. Cancelled, it answers nothing; a search that is under way in
    its thread then ends unheard.
    """

    def __init__(self, source: LineSource) -> None:
        self._source = source
        self.known = 0
        self.complete = False

    async def read_window(self, top: int, height: int) -> tuple[int, list[str]]:
        """`height` lines from `top` on, or the last ones if these are fewer, and the first one's number."""
        lines = await asyncio.to_thread(self._source.read_lines, top, height)
        if not self.complete and self.known < top + height:
            await self._count_on()
        if len(lines) < height and top > 0:
            await self.count(lambda: None)
            top = max(0, min(top, self.known - height))
            lines = await asyncio.to_thread(self._source.read_lines, top, height)
        return top, lines

    async def count(self, tell: Callable[[], None], enough: int | None = None) -> None:
        """Count until `enough` lines are known, or all are; `tell` is called after each piece of the way."""
        while not self.complete and (enough is None or self.known < enough):
            await self._count_on()
            tell()

    async def find(self, needle: str, start: int, *, backwards: bool) -> int | None:
        """The nearest line from `start` on that holds this very text."""
        return await asyncio.to_thread(self._source.find, needle, start, backwards=backwards)

    async def _count_on(self) -> None:
        self.known, self.complete = await asyncio.to_thread(self._source.count_so_far)


_LEAST_DIGITS = 4
_ROLES = {"+": "added", "-": "removed", "@": "hunk"}


class Sheet(Widget, can_focus=False):
    """Shows lines it is given, from the one numbered `first` (counted from 0) on. Posts `Resized`.

    Each line has the colours that it asks for itself: those of a line above do not continue in it. Lines of a
    diff, whose `signs` are those of all its lines, have those of added and removed lines.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "sheet--number",
        "sheet--hit",
        "sheet--found",
        "sheet--added",
        "sheet--removed",
        "sheet--hunk",
    }
    DEFAULT_CSS = """
    Sheet {
        height: 1fr;
        background: $background;
        color: $text;
        & > .sheet--number { text-style: dim; }
        & > .sheet--hit { color: $text-accent; text-style: bold; }
        & > .sheet--added { color: $text-success; }
        & > .sheet--removed { color: $text-error; }
        & > .sheet--hunk { color: $text-accent; }
        & > .sheet--found { background: $accent; color: $background; text-style: bold; }
    }
    """

    class Resized(Message):
        """Another number of lines fits now."""

    def __init__(self, signs: Sequence[str] = ()) -> None:
        super().__init__()
        self._signs = signs
        self.first = 0
        self.lines: list[str] = []
        self.needle = ""
        self.hit: int | None = None
        self._left = 0
        self._shown: list[Strip] | None = None

    def show(self, first: int, lines: list[str], *, needle: str, hit: int | None) -> None:
        """Show these lines. Where `needle` stands is marked, and so is the line numbered `hit`."""
        self.first, self.lines, self.needle, self.hit = first, lines, needle, hit
        self._left = min(self._left, self._measure_furthest())
        self._redraw()

    def shift(self, cells: int) -> None:
        """Move the lines in sight sideways, but not past their longest."""
        self._left = max(0, min(self._left + cells, self._measure_furthest()))
        self._redraw()

    @property
    def left(self) -> int:
        """How many cells of the lines are out of sight on the left."""
        return self._left

    def _measure_furthest(self) -> int:
        longest = max((cell_len(_clean_text(line)) for line in self.lines), default=0)
        return max(0, longest - self.size.width // 2)

    def _redraw(self) -> None:
        self._shown = None
        self.refresh()

    def on_resize(self) -> None:
        """More or fewer lines fit."""
        self._shown = None
        self.post_message(self.Resized())

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._shown = None

    def render_line(self, y: int) -> Strip:
        """One line with its number, cut at both edges where it is longer."""
        if self._shown is None:
            self._shown = self._draw_lines()
        strip = self._shown[y] if y < len(self._shown) else Strip([])
        return strip.adjust_cell_length(self.size.width).apply_style(self.rich_style)

    def _draw_lines(self) -> list[Strip]:
        digits = max(len(f"{self.first + len(self.lines):,}"), _LEAST_DIGITS)
        number_style = self.get_component_rich_style("sheet--number", partial=True)
        hit_style = self.get_component_rich_style("sheet--hit", partial=True)
        found = self.get_component_rich_style("sheet--found", partial=True)
        room = max(self.size.width - digits - 5, 1)
        strips: list[Strip] = []
        for place, line in enumerate(self.lines, self.first):
            is_hit = place == self.hit
            style = hit_style if is_hit else number_style
            sign = choose_sign(self.app, "› ", "found ") if is_hit else "  "
            number = Segment(f"{sign}{place + 1:>{digits},}  ", style)
            text = Strip(list(_mark_found(self._colour(line, place), _clean_text(self.needle), found)))
            cut = text.crop(self._left, self._left + room)
            more = (
                [Segment(choose_sign(self.app, "›"), number_style)]
                if text.cell_length > self._left + room
                else []
            )
            strips.append(Strip([number, *cut, *more]))
        return strips

    def _colour(self, line: str, place: int) -> list[Run]:
        text = _clean_text(line)
        if self._signs:
            role = _ROLES.get(self._signs[place])
            style = self.get_component_rich_style(f"sheet--{role}", partial=True) if role else Style()
            return [(text, style)]
        runs = colour_line(line, dark=self.app.current_theme.dark)
        # Where something is overwritten, moved or wide by its place, the pieces do not say what the line does.
        return runs if "".join(piece for piece, _ in runs) == text else [(text, Style())]


def _clean_text(text: str) -> str:
    return make_printable(text, newlines=False, strip_ansi=True)


def _mark_found(runs: Sequence[Run], needle: str, found: Style) -> Iterator[Segment]:
    """The runs, with every place of the needle in the style of what was found."""
    text = "".join(piece for piece, _ in runs)
    starts = {match.start() for match in re.finditer(re.escape(needle), text)} if needle else set()
    places = {place for start in starts for place in range(start, start + len(needle))}
    begin = 0
    for piece, style in runs:
        for is_found, same in groupby(range(begin, begin + len(piece)), places.__contains__):
            span = list(same)
            yield Segment(text[span[0] : span[-1] + 1], found if is_found else style)
        begin += len(piece)


_HINTS = (
    "{pager_search=/} search",
    "{pager_line=g} line",
    "{pager_close=q} closes",
    "{pager_start=home} {pager_end=end}",
    "{pager_left=←} {pager_right=→} sideways",
)
_HINTS_FOUND = ("{pager_next=n} next", "{pager_previous=N} before", *_HINTS)

_SIDEWAYS = 8
_WHEEL_LINES = 3
_WHILE_TYPING = frozenset({"back"})
_MOST_DIGITS = 18


class PagerScreen(HoldsLetters, ClosesItself, Screen[None]):
    """Reads `source`, whose `name` and `size` it tells. Nothing is read but what is looked at.

    It opens with `line`, counted from 1, marked and in sight; 0 is none.

    All reading is done in threads. What takes long, such as a search or the way to the end, is said and can be
    given up with Esc.
    """

    ALONE = frozenset({"ask_line"})
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll(-1)", "A line up", id="pager_up"),
        Binding("down,j,enter", "scroll(1)", "A line down", id="pager_down"),
        Binding("pageup,b", "page(-1)", "A page up", id="pager_page_up"),
        Binding("pagedown,space", "page(1)", "A page down", id="pager_page_down"),
        Binding("home,ctrl+home,less_than_sign", "to_start", "To the beginning", id="pager_start"),
        Binding("end,ctrl+end,G", "to_end", "To the end", id="pager_end"),
        Binding("left", f"sideways(-{_SIDEWAYS})", "Scroll sideways", id="pager_left"),
        Binding("right", f"sideways({_SIDEWAYS})", "Scroll sideways", id="pager_right"),
        Binding("slash", "ask_text", "Search", id="pager_search"),
        Binding("n", "again(False)", "Next match", id="pager_next"),
        Binding("N", "again(True)", "Previous match", id="pager_previous"),
        Binding("g,colon", "ask_line", "Go to a line", id="pager_line"),
        Binding("escape", "back", "Cancel the search or jump, or close", id="pager_back"),
        Binding("q", "close", "Close", id="pager_close"),
    ]
    DEFAULT_CSS = """
    PagerScreen {
        background: $background;
        #heading, #footing {
            height: 1;
            background: $surface;
            color: $text;
        }
        #footing { color: $text-muted; }
        #asked {
            height: 1;
            border: none;
            padding: 0 1;
            background: $surface;
            display: none;
        }
        &.-asking #asked { display: block; }
        &.-asking #footing { display: none; }
    }
    """

    def __init__(
        self, source: LineSource, name: str, size: str, *, signs: Sequence[str] = (), line: int = 0
    ) -> None:
        super().__init__()
        self._wanted_line = line
        self._reader = Reader(source)
        self._what, self._extent = name, size
        self._sheet = Sheet(signs)
        self._asked: Literal["search", "line"] = "search"
        self._target = 0
        self._needle = self._remark = self._doing = ""
        self._hit: int | None = None
        self._reading = False
        self._job: Worker[None] | None = None
        # Held here: what still runs as the screen goes tells them, when no query finds them any more.
        self._heading, self._footing = Static(id="heading", markup=False), Static(id="footing", markup=False)

    def compose(self) -> ComposeResult:
        """Name and place above, keys below."""
        yield self._heading
        yield self._sheet
        yield self._footing
        yield LineInput(id="asked")

    @on(Sheet.Resized)
    def _fill(self) -> None:
        if wanted := self._wanted_line:
            self._wanted_line = 0
            self._begin("counting…", self._go_to_line(wanted, above=self._sheet.size.height // 3))
        else:
            self._show_from(self._target)

    # -- reading ------------------------------------------------------------------------------------------

    def _show_from(self, top: int) -> None:
        """Show the lines from `top` on; the last ones, if there are not so many."""
        self._target = max(0, top)
        if not self._reading:
            self._reading = True
            self.run_worker(self._read(), group="reading")

    async def _read(self) -> None:
        """Read what is wanted, until what was read is still what is wanted."""
        try:
            while True:
                wanted, height = self._target, self._sheet.size.height
                top, lines = await self._reader.read_window(wanted, height)
                self._sheet.show(top, lines, needle=self._needle, hit=self._hit)
                if (wanted, height) == (self._target, self._sheet.size.height):
                    self._target = top
                    break
        except QuorumError as error:
            self._remark = str(error)
        finally:
            self._reading = False
            self._tell()

    # -- what takes long ----------------------------------------------------------------------------------

    def _begin(self, doing: str, job: Coroutine[None, None, None]) -> None:
        """Do a job instead of the one under way, if there is one."""
        self._doing, self._remark = doing, ""
        self._job = self.run_worker(self._run_to_end(job), group="job", exclusive=True)
        self._tell()

    async def _run_to_end(self, job: Coroutine[None, None, None]) -> None:
        try:
            await job
        except QuorumError as error:
            self._remark = str(error)
        self._doing = ""
        self._tell()

    async def _go_to_end(self) -> None:
        await self._reader.count(self._tell)
        self._show_from(self._reader.known - self._sheet.size.height)

    async def _go_to_line(self, number: int, *, above: int = 0) -> None:
        """Mark a line and show it, with so many lines `above` it."""
        await self._reader.count(self._tell, number)
        known = self._reader.known
        if number > known:
            self._remark = f"there are only {format_amount(known, 'line')}"
        self._hit = min(number, known) - 1
        self._show_from(self._hit - above)

    async def _go_to_place(self, start: int, *, backwards: bool) -> None:
        found = await self._reader.find(self._needle, start, backwards=backwards)
        if found is not None:
            self._hit = found
            in_sight = self._sheet.first <= found < self._sheet.first + len(self._sheet.lines)
            self._show_from(self._sheet.first if in_sight else found - self._sheet.size.height // 3)
        elif backwards:
            self._remark = f"no “{self._needle}” above line {start + 2:,} · n searches below"
        else:
            self._remark = f"no “{self._needle}” from line {start + 1:,} on · N searches above"
            self._show_from(self._target)

    # -- keys ---------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While something is typed, keys are letters."""
        own = hasattr(self, f"action_{action}") and action in _KEYS
        return not own or action in _WHILE_TYPING or not self.has_class("-asking")

    def action_scroll(self, lines: int) -> None:
        self._move_to(self._target + lines)

    def action_page(self, pages: int) -> None:
        """Move by so many pages, keeping two lines in sight."""
        self._move_to(self._target + pages * max(1, self._sheet.size.height - 2))

    def action_to_start(self) -> None:
        """Show the first line."""
        self._move_to(0)

    def _move_to(self, top: int) -> None:
        self._remark = ""
        self._show_from(top)

    def on_mouse_scroll_up(self) -> None:
        """The wheel moves by some lines."""
        self.action_scroll(-_WHEEL_LINES)

    def on_mouse_scroll_down(self) -> None:
        """The wheel moves by some lines."""
        self.action_scroll(_WHEEL_LINES)

    def action_to_end(self) -> None:
        """Show the last line, once all have been counted."""
        self._begin("counting…", self._go_to_end())

    def action_sideways(self, cells: int) -> None:
        self._sheet.shift(cells)
        self._tell()

    def continues(self, letter: events.Key, key: events.Key) -> bool:
        """A number follows the letter that asks for one."""
        return key.is_printable and (key.character or "").isdecimal()

    def action_ask_text(self) -> None:
        """Let the person type what to search for."""
        self._ask("search")

    def action_ask_line(self) -> None:
        """Let the person type a line's number."""
        self._ask("line")

    def _ask(self, what: Literal["search", "line"]) -> None:
        self._asked = what
        self.add_class("-asking")
        asked = self.query_one(Input)
        asked.placeholder = "search, case-sensitive" if what == "search" else "line number"
        asked.value = ""
        self.set_focus(asked)

    @on(Input.Submitted)
    def _on_answered(self, message: Input.Submitted) -> None:
        message.stop()
        self._stop_asking()
        if self._asked == "search":
            self._needle = message.value or self._needle
            if self._needle:
                self._begin(f"searching “{self._needle}”…", self._go_to_place(self._target, backwards=False))
        elif (digits := message.value.replace(",", "").strip()[:_MOST_DIGITS]).isdecimal() and int(digits) > 0:
            self._begin("counting…", self._go_to_line(int(digits)))
        elif message.value:
            self._remark = f"“{message.value}” is no line number"
            self._tell()

    def action_again(self, backwards: bool) -> None:
        """Go to the next place of what was searched for, or to the one before."""
        if not self._needle:  # a field that opens here would take a word that begins with this letter
            self._remark = "nothing was searched for"
            self._tell()
            return
        step = -1 if backwards else 1
        start = self._target if self._hit is None else self._hit + step
        self._begin(f"searching “{self._needle}”…", self._go_to_place(start, backwards=backwards))

    def action_back(self) -> None:
        """Give up what is being typed or done; else close."""
        if self.has_class("-asking"):
            self._stop_asking()
        elif self._doing and self._job is not None:
            self._job.cancel()
            self._doing, self._remark = "", "stopped"
            self._tell()
        else:
            self.dismiss()

    def action_close(self) -> None:
        self.dismiss()

    def _stop_asking(self) -> None:
        self.remove_class("-asking")
        self.set_focus(None)

    def _tell(self) -> None:
        """Say where we are, and what can be done or is being done."""
        if not self.is_mounted:
            return
        first, last = self._sheet.first, self._sheet.first + len(self._sheet.lines)
        place = (first, last, self._reader.known, self._reader.complete)
        width = self.size.width
        self._heading.update(render_heading(self._what, self._extent, place, width))
        line = render_footing(
            self._doing, self._remark, self._needle, width, lambda hint: fill_in_keys(hint, self.app)
        )
        self._footing.update(line)


_KEYS = frozenset(
    {"scroll", "page", "to_start", "to_end", "sideways", "ask_text", "ask_line", "again", "back", "close"}
)


def render_heading(name: str, size: str, place: tuple[int, int, int, bool], width: int) -> Content:
    """Name on the left, which lines of how many on the right.

    `place` is the first line in sight (from 0), the one after the last, how many are known, and whether those
    are all.
    """
    right = Content(f"{_render_lines(*place)} · {size} ")
    left = Content.assemble(" ", (make_printable(name, newlines=False), "bold"))
    room = width - right.cell_length - 2
    left = left.truncate(max(room, 0), ellipsis=True)
    gap = width - left.cell_length - right.cell_length
    return left + Content(" " * max(gap, 0)) + right.stylize("dim")


def _render_lines(first: int, after: int, known: int, complete: bool) -> str:
    if after == first:
        return "empty" if complete else "reading…"
    of = f"of {known:,}" if complete else f"of more than {max(known, after):,}"
    share = f" · {after * 100 // known} %" if complete else ""
    return f"lines {first + 1:,}–{after:,} {of}{share}"


def render_footing(
    doing: str, remark: str, needle: str, width: int, named: Callable[[str], str] = fill_in_usual_keys
) -> Content:
    """What is being done, or what there is to say, or the keys as they are `named`, as many as fit."""
    if doing:
        return Content.assemble(
            " ", (make_printable(doing, newlines=False), "bold $text-accent"), " · esc stops"
        )
    line = Content(" ")
    hints = [Content(named(hint)) for hint in (_HINTS_FOUND if needle else _HINTS)]
    if remark:
        hints = [Content(make_printable(remark, newlines=False)).stylize("bold $text-warning"), *hints]
    for number, hint in enumerate(hints):
        longer = line + (Content(" · ") if number else Content("")) + hint
        if longer.cell_length > width and number:
            break
        line = longer
    return line


_LONGEST_LINE = 16_384


async def open_pager(call: Call, agent: AgentSession) -> PagerScreen:
    """A pager over the stored output of a call, over its diff, or over what is kept of its output.

    Raises BlobError where the stored output is gone.
    """
    name = f"{format_tool_name(call.tool)} {shorten_arguments(call)[0]}".strip()
    if call.stored is not None:
        lines = await agent.outputs.open_lines(call.stored.blob_id)
        return PagerScreen(lines, name, format_size(call.stored.size_bytes))
    output = _render_text(call.output) if call.output is not None else ""
    text = call.diff if call.diff is not None else output
    return build_pager(text, name, is_diff=call.diff is not None)


def build_pager(text: str, name: str, *, is_diff: bool) -> PagerScreen:
    """A pager over a text that is kept; lines of a diff are as they are written, in their colours."""
    signs = [line.sign for line in parse_diff(text)] if is_diff else []
    return PagerScreen(KeptLines(text), name, format_size(len(text.encode("utf-8", "replace"))), signs=signs)


def _render_text(output: Kept) -> str:
    if not output.tail:
        return output.head
    return f"{output.head}\n… {format_amount(output.left_out_lines, 'line')} not kept here …\n{output.tail}"


class KeptLines:
    """A line source over text that was kept for the screen. Only a newline ends a line; one at the very end
    begins no other. Lines longer than 16,384 characters are cut, which a … shows."""

    def __init__(self, text: str) -> None:
        lines = text.removesuffix("\n").split("\n") if text else []
        self._lines: Sequence[str] = [line.removesuffix("\r") for line in lines]

    def read_lines(self, start: int, count: int) -> list[str]:
        """At most `count` lines from line `start` on."""
        return [_cut(line) for line in self._lines[start : start + count]]

    def find(self, needle: str, start: int, *, backwards: bool) -> int | None:
        if not needle or start < 0:
            return None
        last = len(self._lines) - 1
        places = range(min(start, last), -1, -1) if backwards else range(start, last + 1)
        return next((place for place in places if needle in self._lines[place]), None)

    def count_so_far(self) -> tuple[int, bool]:
        """How many lines there are; they are known from the start."""
        return len(self._lines), True


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + "…"
