"""What the screens of undo and redo share: the files that would change, each with its diff, and their keys.

What the person wants overwritten is marked here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

from quorum.domain.errors import QuorumError
from quorum.domain.sessions.restoration import RestorePlan, RestoreStep
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.agent.turns import QueuedTask
from quorum.tui.keys.keyed_app import READER
from quorum.tui.transcript.cells.lines import build_strip, wrap_words
from quorum.tui.transcript.cells.palette import Palette, name_component_class, read_palette, render_role_styles
from quorum.tui.transcript.kinds.diff import draw_diff
from quorum.tui.widgets.colours import QUIET
from quorum.tui.widgets.dialog_parts import ClosesItself, DialogFrame, NoteLines
from quorum.tui.widgets.line_list import LineList, Move

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession


class DiffSheet(ScrollView, can_focus=False):
    """Draws a unified diff, or words where there is none."""

    DEFAULT_CSS = """
    DiffSheet {
        height: 1fr;
        background: $background;
        scrollbar-size-vertical: 1;
        overflow-x: hidden;
    }
    """ + render_role_styles("DiffSheet")
    COMPONENT_CLASSES: ClassVar[set[str]] = {name_component_class(role) for role in Palette.list_roles()}

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text = ""
        self._strips: list[Strip] = []

    def show(self, text: str) -> None:
        """Show this from its beginning."""
        self._text = text
        self._draw()
        self.scroll_to(y=0, animate=False)

    def _draw(self) -> None:
        width, palette = max(self.size.width - 1, 20), read_palette(self)
        self._strips = draw_diff(self._text, width, palette)
        if not any(line.startswith("@@") for line in self._text.split("\n")):
            lines = wrap_words(make_printable(self._text), width) if self._text else []
            self._strips = [build_strip((line, palette.muted)) for line in lines]
        self.virtual_size = Size(self.size.width, len(self._strips))
        self.refresh()

    def on_resize(self) -> None:
        """Lines are broken for the new width."""
        self._draw()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_mounted:
            self._draw()

    def render_line(self, y: int) -> Strip:
        """One line of those in sight."""
        place = y + self.scroll_offset.y
        strip = self._strips[place] if place < len(self._strips) else Strip([])
        return strip.apply_style(self.rich_style).adjust_cell_length(self.size.width, self.rich_style)


_MOST_LISTED = 500


def split_steps(plan: RestorePlan) -> tuple[tuple[RestoreStep, ...], tuple[RestoreStep, ...]]:
    """The files with a line of their own, and those that share one."""
    sources = tuple(step for step in plan.steps if not step.ignored)
    return sources, tuple(step for step in plan.steps if step.ignored)


def render_ignored(ignored: Sequence[RestoreStep]) -> Content:
    """The line that ignored files share."""
    return Content.styled(f"· {format_amount(len(ignored), 'ignored file')}", QUIET)


def describe_place(place: int, sources: Sequence[RestoreStep], ignored: Sequence[RestoreStep]) -> str:
    """Which of how many files a line is, such as `file 2 of 3, 18 ignored`."""
    more = f"{len(ignored):,} ignored" if ignored else ""
    count = f"file {min(place + 1, len(sources)):,} of {len(sources):,}" if sources else ""
    return ", ".join(filter(None, [count, more]))


def list_paths(steps: Sequence[RestoreStep], root: str, describe: Callable[[RestoreStep], str]) -> str:
    """Paths from `root`, a line each, with what becomes of them; of very many the first ones."""
    lines = [
        f"{make_printable(step.path.removeprefix(root), newlines=False)}  {describe(step)}".rstrip()
        for step in steps[:_MOST_LISTED]
    ]
    more = len(steps) - len(lines)
    return "\n".join([*lines, f"… and {more:,} more"] if more else lines)


class Steps:
    """The steps of a plan, and what the person wants of those that somebody edited since. Paths from `cwd`.

    `modified` says what becomes of a file that is there before and after, `done` what is done to all of them;
    `spoken`: words alone say so.
    Each has a line; the ignored files share the last one.
    """

    def __init__(self, plan: RestorePlan, cwd: str, *, modified: str, done: str, spoken: bool) -> None:
        self.plan = plan
        self._modified, self._done, self._spoken = modified, done, spoken
        self._root = cwd.rstrip("/") + "/"
        self._overwritten: set[str] = set()

        self._sources, self._ignored = split_steps(plan)

    def __len__(self) -> int:
        return len(self._sources) + bool(self._ignored)

    def find_step(self, place: int) -> RestoreStep | None:
        """The file of a line; None for the line of the ignored ones."""
        return self._sources[place] if place < len(self._sources) else None

    def describe_place(self, place: int) -> str:
        """Which of how many files a line is."""
        return describe_place(place, self._sources, self._ignored)

    def list_ignored(self) -> str:
        """The ignored files, a line each, with what becomes of them."""
        return list_paths(self._ignored, self._root, lambda step: self._explain_step(step)[1])

    @property
    def overwritten(self) -> frozenset[str]:
        """The edited files that are to be overwritten all the same."""
        return frozenset(self._overwritten)

    @property
    def has_edited(self) -> bool:
        """Whether there are files that are overwritten only if the person says so."""
        return any(step.edited_since and not step.trouble for step in self._sources)

    @property
    def given_back(self) -> int:
        """How many files would be as they were."""
        return sum(not step.trouble and not self._is_left(step) for step in self.plan.steps)

    def toggle(self, place: int) -> str:
        """Overwrite an edited file, or leave it alone again; why that cannot be chosen, empty where it can."""
        step = self.find_step(place)
        if step is None:
            return "ignored files that were edited since are left alone"
        if step.trouble:
            return "this file cannot be restored"
        if not step.edited_since:
            return "only a file edited since is left alone unless you mark it"
        self._overwritten ^= {step.path}
        return ""

    def render_step(self, place: int, width: int) -> Content:
        """One file: what happens to it, and why it does not."""
        step = self.find_step(place)
        if step is None:
            return self._render_ignored()
        sign, does, style = self._explain_step(step)
        name = make_printable(step.path.removeprefix(self._root), newlines=False)
        room = max(width - len(does) - 4, width // 3)
        path = Content(name)
        while name and path.cell_length > room:
            name = name[1:]
            path = Content("…" + name)
        gap = " " * max(2, width - 2 - path.cell_length - Content(does).cell_length)
        return Content.assemble("" if self._spoken else f"{sign} ", path, gap, (does, style))

    def _render_ignored(self) -> Content:
        stay = sum(bool(step.trouble) or self._is_left(step) for step in self._ignored)
        does = f"{stay:,} of them cannot go back" if stay else ""
        return Content.assemble(render_ignored(self._ignored), (f"  {does}" if does else "", QUIET))

    def _explain_step(self, step: RestoreStep) -> tuple[str, str, str]:
        """The sign of a file, what happens to it, and the style in which that is shown."""
        sign, does = self._change(step)
        if step.trouble:
            return "✗", f"cannot be {self._done}: {make_printable(step.trouble, newlines=False)}", "$text-error"
        edited = "perhaps edited by you since" if step.is_final else "edited by you since"
        if self._is_left(step):
            return sign, f"{edited}: left alone", "$text-warning"
        style = QUIET
        if step.edited_since:
            does, style = f"{edited}: {does} all the same", "bold $text-error"
        if step.is_final:
            does, style = f"{does}; what is there now is not kept", "bold $text-error"
        return sign, does, style

    def _is_left(self, step: RestoreStep) -> bool:
        return step.edited_since and step.path not in self._overwritten

    def _change(self, step: RestoreStep) -> tuple[str, str]:
        if step.now is None:
            return "+", "comes back"
        return ("−", "is removed") if step.wanted is None else ("~", self._modified)


TakeBack: TypeAlias = Callable[[QueuedTask, str], Awaitable[QuorumError | None]]
"""Carries out a task and gives a prompt back; returns why that failed, empty if it did not."""


class FilePlanScreen(ClosesItself, ModalScreen[bool]):
    """Shows a plan for files before it is carried out. Answers whether it was done.

    Files that the person edited since are left alone unless they are marked one by one.
    """

    DEFAULT_CSS = """
    FilePlanScreen {
        align: center bottom;
        #restoring { height: 95%; }
        #what {
            height: auto;
            max-height: 2;
            text-wrap: nowrap;
            text-overflow: ellipsis;
        }
        #files {
            margin: 1 0;
            max-height: 60%;
        }
        #unseen {
            height: auto;
            max-height: 4;
            color: $text-warning;
        }
        #notice {
            height: auto;
            max-height: 3;
            text-style: bold;
            color: $text-warning;
        }
    }
    """
    TITLE_TEXT = ""
    KEYS = ""
    """The keys with files to change, `KEYS_WITH_EDITED` where one of them can be overwritten, and
    `KEYS_WITHOUT_FILES` without files."""
    KEYS_WITH_EDITED = ""
    KEYS_WITHOUT_FILES = ""
    MODIFIED = "goes back"
    """What becomes of a file that is there before and after, and `DONE` what is done to all of them."""
    DONE = "undone"

    def __init__(self, agent: AgentSession, take_back: TakeBack, *, cwd: str) -> None:
        super().__init__()
        self._agent, self._take_back = agent, take_back
        self._cwd = cwd
        self._steps: Steps | None = None
        self._diffs: dict[str, str] = {}
        self._is_looking = self._is_working = self._is_done = False

    def compose(self) -> ComposeResult:
        """What it is about, the files, the change of the marked one, and what there is to say."""
        with DialogFrame(id="restoring") as box:
            box.border_title = Content(self.TITLE_TEXT)
            box.name_keys(self.KEYS)
            yield Static(self._describe_plan(), id="what", markup=False)
            yield LineList(id="files")
            yield DiffSheet()
            yield NoteLines(id="unseen")
            yield NoteLines(id="notice")

    def _describe_plan(self) -> Content:
        raise NotImplementedError

    async def _fetch_plan(self) -> RestorePlan:
        """The plan. Raises QuorumError where there can be none."""
        raise NotImplementedError

    def _explain_no_files(self) -> str:
        """What is said where no file would change."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self._look()

    # -- what would change --------------------------------------------------------------------------------

    def _look(self) -> None:
        self._is_looking = True
        self._tell("checking the files…")
        self.run_worker(self._plan(), group="plan", exclusive=True)

    async def _plan(self) -> None:
        files = self.query_one("#files", LineList)
        try:
            plan = await self._fetch_plan()
        except QuorumError as error:
            self._steps = None
            self._make_room(None)
            self._tell(str(error))
            return
        finally:
            self._is_looking = False
        self._steps = steps = Steps(
            plan, self._cwd, modified=self.MODIFIED, done=self.DONE, spoken=self.app.has_class(READER)
        )
        self._diffs.clear()
        self._make_room(steps)
        self.query_one("#unseen", NoteLines).tell(
            "\n".join(plan.unseen).replace(f"{self._cwd.rstrip('/')}/", "")
        )
        self._tell("" if len(steps) else self._explain_no_files())
        files.show(len(steps), steps.render_step)

    def _make_room(self, steps: Steps | None) -> None:
        """Show files with their changes and keys; without files, the screen is small."""
        files = len(steps) if steps is not None else 0
        self.query_one("#files", LineList).styles.height = files
        self.query_one("#files", LineList).display = files > 0
        self.query_one(DiffSheet).display = files > 0
        box = self.query_one(DialogFrame)
        box.styles.height = "95%" if files else "auto"
        box.border_title = Content(self.TITLE_TEXT)
        keys = self.KEYS_WITH_EDITED if steps is not None and steps.has_edited else self.KEYS
        box.name_keys(keys if files else self.KEYS_WITHOUT_FILES)

    @on(LineList.Marked)
    def _show_change(self) -> None:
        self.run_worker(self._read_change(), group="change", exclusive=True)

    async def _read_change(self) -> None:
        place = self.query_one("#files", LineList).marked
        if self._steps is None or place is None:
            return
        self.query_one(DialogFrame).border_title = Content(
            f"{self.TITLE_TEXT} · {self._steps.describe_place(place)}"
        )
        step = self._steps.find_step(place)
        if step is None:
            self.query_one(DiffSheet).show(self._steps.list_ignored())
            return
        if step.path not in self._diffs:
            try:
                self._diffs[step.path] = await self._agent.rewind.diff(step)
            except QuorumError as error:
                self._diffs[step.path] = str(error)
        self.query_one(DiffSheet).show(self._diffs[step.path])

    # -- keys ---------------------------------------------------------------------------------------------

    def action_move(self, how: Move) -> None:
        self.query_one("#files", LineList).move(how)

    def action_scroll(self, pages: int) -> None:
        """Scroll the change of the marked file."""
        sheet = self.query_one(DiffSheet)
        sheet.scroll_relative(y=pages * max(1, sheet.size.height - 2), animate=False)

    def action_overwrite(self) -> None:
        """Have the marked file overwritten though it was edited since, or leave it alone again."""
        files = self.query_one("#files", LineList)
        if self._steps is not None and files.marked is not None and not self._is_working:
            self._tell(self._steps.toggle(files.marked))
            files.refresh()

    async def _conclude(self, failure: QuorumError | None) -> None:
        """Leave once all is done; show what is left to do where some of it failed."""
        self._is_working = False
        if failure is None:
            self._is_done = True
            self._close_when_done()
            return
        await self._plan()  # some of it may have been done
        self._tell(str(failure))

    def action_leave(self) -> None:
        """Leave all as it is, unless it is being changed at this moment."""
        if not self._is_working:
            self.dismiss(False)

    def on_screen_resume(self) -> None:
        """A screen is only left from the top."""
        self._close_when_done()

    def _close_when_done(self) -> None:
        if self._is_done:
            self.dismiss(True)

    def _tell(self, text: str) -> None:
        self.query_one("#notice", NoteLines).tell(text)
