"""The pager: a whole screen over a source of lines, of which it reads those in sight."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Static
from textual.worker import Worker

from quorum.domain.errors import QuorumError
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.hints import fill_in_keys, fill_in_usual_keys
from quorum.tui.screens.pager.reader import Reader
from quorum.tui.screens.pager.sheet import Sheet
from quorum.tui.widgets.closing import ClosesItself
from quorum.tui.widgets.dialog_parts import LineInput

if TYPE_CHECKING:
    from quorum.application.ports.storage import LineSource

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


class PagerScreen(ClosesItself, Screen[None]):
    """Reads `source`, whose `name` and `size` it tells. Nothing is read but what is looked at.

    It opens with `line`, counted from 1, marked and in sight; 0 is none.

    All reading is done in threads. What takes long, such as a search or the way to the end, is said and can be
    given up with Esc.
    """

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
        Binding("slash", "ask('search')", "Search", id="pager_search"),
        Binding("n", "again(False)", "Next match", id="pager_next"),
        Binding("N", "again(True)", "Previous match", id="pager_previous"),
        Binding("g,colon", "ask('line')", "Go to a line", id="pager_line"),
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
        self, source: LineSource, name: str, size: str, *, is_diff: bool = False, line: int = 0
    ) -> None:
        super().__init__()
        self._wanted_line = line
        self._reader = Reader(source)
        self._what, self._extent = name, size
        self._sheet = Sheet(is_diff=is_diff)
        self._asked: Literal["search", "line"] = "search"
        self._target = 0
        self._needle = self._remark = self._doing = ""
        self._hit: int | None = None
        self._reading = False
        self._job: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        """Name and place above, keys below."""
        yield Static(id="heading", markup=False)
        yield self._sheet
        yield Static(id="footing", markup=False)
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

    def action_ask(self, what: Literal["search", "line"]) -> None:
        """Let the person type what to search for, or a line's number."""
        self._asked = what
        self.add_class("-asking")
        asked = self.query_one(Input)
        asked.placeholder = "search, case-sensitive" if what == "search" else "line number"
        asked.value = ""
        asked.focus()

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
        if not self._needle:
            self.action_ask("search")
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
        self.query_one("#heading", Static).update(render_heading(self._what, self._extent, place, width))
        line = render_footing(
            self._doing, self._remark, self._needle, width, lambda hint: fill_in_keys(hint, self.app)
        )
        self.query_one("#footing", Static).update(line)


_KEYS = frozenset({"scroll", "page", "to_start", "to_end", "sideways", "ask", "again", "back", "close"})


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
