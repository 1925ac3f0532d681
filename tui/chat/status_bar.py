"""The status bar: what happens now and what can be done about it, in one line.

A program of the person's may fill a line below it. Where lines are few, header and status bar share one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace  # noqa: TID251 - loaded before the first paint
from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from quorum.domain.text.amounts import format_elapsed, format_tokens
from quorum.domain.text.printable import make_printable
from quorum.tui.chat.header import SessionLabel, draw_badge
from quorum.tui.keys.choices import find_warning
from quorum.tui.keys.keyed_app import READER, fill_in_keys
from quorum.tui.themes.looks import Looks, PrintStatusLine
from quorum.tui.transcript.cells.lines import fit_text, fit_text_end, wrap_words
from quorum.tui.transcript.cells.palette import TERMINAL
from quorum.tui.widgets.layout import JOINED, STARTING

if TYPE_CHECKING:
    from quorum.domain.text.json_value import JsonObject
    from quorum.tui.session.session import Session


PAUSE_SECS = 0.3
"""The least time between two runs of the program."""


class StatusLine(Widget):
    """Shows what the program prints; it is not there until there is something.

    `report` is called once with why the program fails, and again only after it worked.
    """

    DEFAULT_CSS = """
    StatusLine { height: 1; padding: 0 1; display: none; }
    """

    def __init__(self, report: Callable[[str], None], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._report = report
        self._wanted: JsonObject | None = None
        self._shown: JsonObject | None = None
        self._line = ""
        self._problem = ""

    def request(self, session: Callable[[], JsonObject]) -> None:
        """Run the program soon where anything has changed since; a run that is under way is let end first."""
        app = self.app
        if not self.is_mounted or not isinstance(app, Looks) or app.print_status_line is None:
            return
        wanted = session()
        if wanted in (self._wanted, self._shown):
            return
        is_running, self._wanted = self._wanted is not None, wanted
        if not is_running:
            self.run_worker(self._follow(app.print_status_line), group="status line")

    async def _follow(self, print_line: PrintStatusLine) -> None:
        from quorum.domain.errors import QuorumError

        while (session := self._wanted) is not None:
            try:
                line, problem = await print_line(session), ""
            except QuorumError as error:
                line, problem = "", f"tui.statusline: {error}"
            self._shown = session
            self._show(line, problem)
            await asyncio.sleep(PAUSE_SECS)
            if self._wanted is session:
                self._wanted = None

    def _show(self, line: str, problem: str) -> None:
        if problem and problem != self._problem:
            self._report(problem)
        self._problem = problem
        if line != self._line:
            self._line = line
            self.display = bool(line.strip())
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The line in the colours that the program asks for; all else it prints is made harmless."""
        from quorum.tui.transcript.kinds.terminal import draw_live

        palette = replace(TERMINAL, dark=self.app.current_theme.dark)
        strips = draw_live([self._line], self.size.width, palette) if self._line else []
        return (strips[0] if strips else Strip.blank(self.size.width)).apply_style(self.rich_style)


def encode_session(session: Session, folder: str, mode: str) -> JsonObject:
    """What the program is given, with the field names that status lines of Claude Code read.

    `folder` is the working directory, `mode` that of Vim, empty without. What is not known is null.
    """
    facts = session.facts
    tokens, window = session.context
    provider, _, model = facts.model.partition("/")
    total = facts.book.total
    used = round(100 * tokens / window) if window else None
    return {
        "hook_event_name": "Status",
        "session_id": session.agent.session_id,
        "session_name": facts.title or "new",
        "cwd": folder,
        "model": {"id": model, "display_name": model, "provider": provider, "effort": facts.effort or None},
        "workspace": {"current_dir": folder, "project_dir": folder},
        "cost": {"total_cost_usd": None if total.cost_usd is None else float(total.cost_usd)},
        "context_window": {
            "total_input_tokens": total.usage.input + total.usage.cache_read + total.usage.cache_write,
            "total_output_tokens": total.usage.output,
            "context_window_size": window or None,
            "used_percentage": used,
            "remaining_percentage": None if used is None else max(0, 100 - used),
        },
        "review_mode": facts.mode,
        "sandbox": {"sandbox on": True, "sandbox off": False}.get(facts.sandbox),
        "vim": {"mode": mode.upper()} if mode else None,
    }


_MODEL_CELLS, _PLACE_CELLS, _BRANCH_CELLS = 28, 32, 20
_ROOM_FOR_WORDS = 80
_BETWEEN = " · "
_NOTHING = Content("")


def join_line(
    label: SessionLabel,
    happening: Content,
    urgent: Sequence[str],
    hints: Sequence[str],
    *,
    elsewhere: Content = _NOTHING,
    context: Content,
    cost: str,
    width: int,
) -> Content:
    """The line in at most `width` cells. `happening` is empty at rest; `urgent` are hints that belong to it and
    come before all that only describes the session, `hints` those that can be done without.

    What happens, a loud mode and that there is no sandbox are never left out. `elsewhere`, how full the context
    is and a mode that asks are left out only where what happens needs all of the line.
    """
    unsafe = label.sandbox.endswith("off")
    is_loud = label.read_only or bool(find_warning(label.mode))
    left = {
        "error": Content("" if is_loud and not label.asked else label.error),  # else the badge says it
        "sandbox": Content(label.sandbox).stylize("$text-warning" if unsafe else ""),
        "model": Content(fit_text(label.model, _MODEL_CELLS)),
        "place": Content(fit_text_end(label.place, _PLACE_CELLS)),
        "branch": Content(fit_text(label.branch, _BRANCH_CELLS)),
        "happening": happening,
        **{hint: Content(hint) for hint in (*urgent, *hints)},
    }
    right = {"elsewhere": elsewhere, "cost": Content(cost), "context": context}
    badge = draw_badge(label, in_words=width >= _ROOM_FOR_WORDS)

    def draw(chosen: set[str]) -> tuple[Content, Content]:
        said = [part for name, part in left.items() if name in chosen and part]
        used = [part for name, part in right.items() if name in chosen and part]
        rest = Content(_BETWEEN).join(said)
        if badge and said:
            rest = Content(" " if is_loud else "· ") + rest
        return (badge or Content(" ")) + rest, Content(_BETWEEN).join(used) + " "

    chosen = {"happening", "elsewhere", "context"} | ({"sandbox"} if unsafe else set())
    for name in (*urgent, "error", "model", "sandbox", "cost", "place", "branch", *hints):
        longer = draw(chosen | {name})
        if sum(part.cell_length for part in longer) + 2 <= width:
            chosen.add(name)
        elif name in hints:
            break
    begin, end = draw(chosen)
    if begin.cell_length > width and not (is_loud or unsafe):
        begin = Content(" ") + happening
    gap = width - begin.cell_length - end.cell_length
    if gap <= 0:
        end = Content("")
        gap = width - begin.cell_length
    return begin + Content(" " * gap) + end if gap >= 0 else begin.truncate(width, ellipsis=True)


_BAR_CELLS, _ROOM_FOR_BAR = 8, 100
_NOTICE_LINES, _LINES_PER_NOTICE_LINE = 3, 5
_BOARD = "/board"
_FILLED, _FREE = "▆", "░"

_LEVELS = ((0.85, "bold $text-error"), (0.6, "$text-warning"), (0.0, ""))
"""From which share of the window on and in which style it is shown."""


class Status(NamedTuple):
    """What the bar tells. `elapsed` is in seconds; `notice` is a remark that stands until the next key, and
    `refuses` where it says why something is not done. `retry` says what is waited for before a request is sent
    again; `can_retry`: the last turn stopped before its end; `does` is what runs, in a word; `context` holds
    the tokens used of the model's window and those there are, 0 where that is not known. `steering` counts what
    goes into the running turn next, `enter_steers` says that Enter adds to it. `own` counts the commands of the
    person's that run, the last one begun `own_secs` ago. `waits_elsewhere` counts what waits for the person in
    other sessions, `runs_elsewhere` what runs in the background and in other tabs. `cost` is that of the
    session, or its tokens where no price is known; `label` is what a header says.
    """

    ready: bool = False
    running: bool = False
    does: str = "working"
    interrupting: bool = False
    answer_needed: bool = False
    closing: bool = False
    elapsed: float = 0.0
    waiting: int = 0
    steering: int = 0
    enter_steers: bool = False
    retry: str = ""
    can_retry: bool = False
    enter_continues: bool = False
    used: str = ""
    context: tuple[int, int] = (0, 0)
    mode: str = ""
    below: str = ""
    notice: str = ""
    refuses: bool = False
    own: int = 0
    own_secs: float = 0.0
    waits_elsewhere: int = 0
    runs_elsewhere: int = 0
    cost: str = ""
    label: SessionLabel = SessionLabel()

    @property
    def notice_style(self) -> str:
        """Only what is not done is in the colour of a warning."""
        return "bold $text-warning" if self.refuses else "bold"


class StatusBar(Widget):
    """Draws a status, and once a second again while a turn runs; otherwise it rests."""

    def __init__(self, status: Callable[[], Status], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._status = status
        self._ticking: Timer | None = None
        self._counts_down = False

    def update(self) -> None:
        """Draw the status of this moment."""
        status = self._status()
        plain = self.app.has_class(READER)  # a screen reader would read out each second
        running = bool(status.running or status.own) and not plain
        begins = bool(status.retry) and not self._counts_down
        self._counts_down = bool(status.retry)
        if self._ticking is not None and (begins or not running):
            self._ticking.stop()
            self._ticking = None
        if running and self._ticking is None:  # a countdown goes by seconds of its own
            self._ticking = self.set_interval(1.0, self.refresh)
        self.styles.height = 1 + len(self._wrap_notice(status))
        self.refresh()

    def on_resize(self) -> None:
        """A notice may need more lines, or fewer."""
        self.update()

    def _wrap_notice(self, status: Status) -> list[str]:
        """The lines of a notice that does not fit into one; none of one that does. They stand above the bar's
        own line, which says at any time how risky calls are decided.
        """
        room = max(1, self.size.width - 2)
        lines = wrap_words(make_printable(status.notice, newlines=False), room)
        most = max(1, min(_NOTICE_LINES, self.app.size.height // _LINES_PER_NOTICE_LINE))
        if len(lines) > most:
            lines = [*lines[: most - 1], fit_text(" ".join(lines[most - 1 :]), room)]
        return lines if len(lines) > 1 else []

    def render(self) -> Content:
        """Left what happens, right what has been used; hints that do not fit between are left out.

        How full the context is goes last.
        """
        status = self._status()
        plain = self.app.has_class(READER)
        if lines := self._wrap_notice(status):
            notice = Content("\n".join(f" {line}" for line in lines)).stylize(status.notice_style)
            return Content("\n").join([notice, self._render_line(status._replace(notice=""), plain=plain)])
        return self._render_line(status, plain=plain)

    def _render_line(self, status: Status, *, plain: bool) -> Content:
        context = render_context_level(*status.context)
        if self.screen.has_class(JOINED):
            return self._join(status, context, plain=plain)
        left = Content.assemble(" ", self._render_activity(status, plain=plain) or status.mode)
        if self.size.width >= _ROOM_FOR_BAR and not plain:
            context += render_context_bar(*status.context)
        badge = render_badge(status.waits_elsewhere, status.runs_elsewhere, spoken=plain)
        used = _join_parts(badge, Content(status.used), context)
        if left.cell_length + used.cell_length + 1 > self.size.width:
            used = _join_parts(badge, context)
        now, always = _list_hints(status)
        for hint in (*now, *always):
            longer = left + Content(f" · {fill_in_keys(hint, self.app)}")
            if longer.cell_length + used.cell_length + 2 > self.size.width:
                break
            left = longer
        gap = self.size.width - left.cell_length - used.cell_length
        return left + Content(" " * gap) + used if gap > 1 else left.truncate(self.size.width, ellipsis=True)

    def _join(self, status: Status, context: Content, *, plain: bool) -> Content:
        now, always = ([fill_in_keys(hint, self.app) for hint in hints] for hints in _list_hints(status))
        return join_line(
            status.label,
            self._render_activity(status, plain=plain),
            now,
            always,
            elsewhere=render_badge(status.waits_elsewhere, status.runs_elsewhere, spoken=plain),
            context=context,
            cost=status.cost,
            width=self.size.width,
        )

    def _render_activity(self, status: Status, *, plain: bool) -> Content:
        """What happens; nothing at rest."""
        loud = "bold $text-accent"
        if status.notice:
            text = Content(make_printable(status.notice, newlines=False))
            return text.stylize(status.notice_style)
        if status.closing:
            return Content("closing…").stylize(loud)
        if not status.ready:
            return Content(STARTING)
        if status.answer_needed:
            return Content("answer needed").stylize(loud)
        if status.interrupting:
            return Content("interrupting…").stylize(loud)
        if status.retry:
            return Content(status.retry).stylize("bold $text-warning")
        if status.running:
            return Content(status.does if plain else f"{status.does} {format_elapsed(status.elapsed)}").stylize(
                loud
            )
        if status.own:
            since = "" if plain else f" {format_elapsed(status.own_secs)}"
            return Content(f"your command{since}").stylize(loud)
        return Content("")


def _join_parts(*parts: Content) -> Content:
    return Content(" · ").join([part for part in parts if part]) + " "


def render_badge(waiting: int, running: int, *, spoken: bool = False) -> Content:
    """How much waits for the person elsewhere and runs in the background, and where to see it; nothing of 0."""
    waiting_sign, running_sign = ("", "") if spoken else ("! ", "● ")
    waits = Content(f"{waiting_sign}{waiting} waiting").stylize("bold $text-warning")
    runs = Content(f"{running_sign}{running} running").stylize("$text-accent")
    parts = [*([waits] if waiting else []), *([runs] if running else [])]
    return Content(" · ").join([*parts, Content(_BOARD)]) if parts else Content("")


def render_context_level(tokens: int, window: int) -> Content:
    """How full the model's window is, the louder the fuller; where its size is not known, how many tokens."""
    if not tokens:
        return Content("")
    if not window:
        return Content(f"context {format_tokens(tokens)}")
    share = tokens / window
    style = next(style for least, style in _LEVELS if share >= least)
    return Content(f"context {max(1, round(100 * share))} %").stylize(style)


def render_context_bar(tokens: int, window: int) -> Content:
    """The same as a bar; nothing where the window's size is not known."""
    if not tokens or not window:
        return Content("")
    filled = max(1, min(round(_BAR_CELLS * tokens / window), _BAR_CELLS))
    return Content.assemble(
        " ", (_FILLED * filled, "$text-primary"), (_FREE * (_BAR_CELLS - filled), "$text-muted")
    )


def _list_hints(status: Status) -> tuple[list[str], list[str]]:
    """What can be done now, the most useful first: what belongs to what happens, and the rest."""
    if status.notice or status.closing:
        return [], []
    waiting = [f"{status.waiting} waiting (↑ takes back)"] if status.waiting else []
    below = [status.below] if status.below else []
    if status.answer_needed:
        return waiting, ["{scroll_up=pgup} and {scroll_down=pgdn} scroll the transcript"]
    if status.interrupting:
        return waiting, []
    if status.retry:
        return ["esc stops", "/model switches", *waiting, *below], []
    if status.own:
        return ["esc ends your command", *waiting, *below], []
    if status.running:
        if status.enter_steers and (status.steering or not status.waiting):
            enter = "enter again: queues it" if status.steering else "enter steers"
        else:
            enter = "enter again: into this turn" if status.waiting else "enter queues"
        details = "{toggle_fold=ctrl+o} details"
        if not status.waiting:
            return ["esc interrupts", *below], [enter, details]
        back = "↑ takes it back" if status.waiting == 1 else f"↑ takes back 1 of {status.waiting}"
        return ["esc interrupts", enter, back, *below], [details]
    again = ["/retry continues"] if status.can_retry else []
    again = ["enter continues"] if status.enter_continues else again
    keys = [
        *([] if status.enter_continues else ["enter sends"]),
        "{prompt_new_line=ctrl+j} new line",
        "{cycle_mode=shift+tab} mode",
        "{palette=ctrl+p} commands",
        "? help",
    ]
    return [*waiting, *again, *below], keys
