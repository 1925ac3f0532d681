"""The screen that shows what taking back a turn would change, and takes it back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar, Literal, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from domain.errors import QuorumError
from domain.sessions.state import PastTurn
from domain.text.amounts import format_amount
from domain.text.printable import printable
from tui.agent.port import Agent
from tui.agent.turns import QueuedTask
from tui.keys.hints import fill_in_keys
from tui.screens.rewind.diff_sheet import DiffSheet
from tui.screens.rewind.steps import Steps
from tui.widgets.closing import ClosesItself
from tui.widgets.dialog_parts import DialogFrame
from tui.widgets.line_list import LineList, Move

TakeBack: TypeAlias = Callable[[QueuedTask, str], Awaitable[QuorumError | None]]
"""Carries out a task and gives a prompt back; returns why that failed, empty if it did not."""

_MOST_FILES = 8
_KEYS = (
    "{restore_conversation=c} conversation · {restore_files=f} files · {restore_both=b} both · esc back"
    " · {restore_overwrite=space} overwrites"
)
_NO_FILES = "no file would change; {restore_conversation=c} takes back the conversation"
_KEYS_WITHOUT_FILES = "{restore_conversation=c} conversation · esc back"


class RestoreScreen(ClosesItself, ModalScreen[bool]):
    """Shows the files that would change, each with its diff, and what nobody saw. Answers whether it was done.

    Files that the person edited since are left alone unless they are marked one by one.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "c",
            "take_back('conversation')",
            "Undo the conversation, keep the files",
            id="restore_conversation",
        ),
        Binding("f", "take_back('files')", "Restore the files, keep the conversation", id="restore_files"),
        Binding("b", "take_back('both')", "Undo both", id="restore_both"),
        Binding(
            "space", "overwrite", "Overwrite a file edited since, or leave it alone", id="restore_overwrite"
        ),
        Binding("up,k", "move('up')", "Another file", id="restore_up"),
        Binding("down,j", "move('down')", "Another file", id="restore_down"),
        Binding("pageup", "scroll(-1)", "Scroll the changes", id="restore_page_up"),
        Binding("pagedown", "scroll(1)", "Scroll the changes", id="restore_page_down"),
        Binding("escape,q", "leave", "Back, nothing changed", id="restore_leave"),
    ]
    DEFAULT_CSS = """
    RestoreScreen {
        align: center middle;
        #restoring { height: 95%; }
        #what {
            height: auto;
            max-height: 2;
            text-wrap: nowrap;
            text-overflow: ellipsis;
        }
        #files { margin: 1 0; }
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

    def __init__(self, agent: Agent, turn: PastTurn, take_back: TakeBack, *, cwd: str) -> None:
        super().__init__()
        self._agent, self._turn, self._take_back = agent, turn, take_back
        self._cwd = cwd
        self._steps: Steps | None = None
        self._diffs: dict[str, str] = {}
        self._is_looking = self._is_working = self._is_done = False

    def compose(self) -> ComposeResult:
        """What is taken back, the files, the change of the marked one, and what there is to say."""
        with DialogFrame(id="restoring") as box:
            box.border_title = Content("Take back")
            box.border_subtitle = Content(fill_in_keys(_KEYS, self.app))
            yield Static(self._what(), id="what", markup=False)
            yield LineList(id="files")
            yield DiffSheet()
            yield Static(id="unseen", markup=False)
            yield Static(id="notice", markup=False)

    def _what(self) -> Content:
        said = printable(self._turn.prompt, newlines=False) or "(continues the previous turn)"
        later = sum(turn.number > self._turn.number and not turn.undone for turn in self._agent.rewind.turns)
        also = f"\nand the {format_amount(later, 'turn')} after it" if later else ""
        return Content.assemble(("› ", "$text-accent"), (said, "bold"), also)

    def on_mount(self) -> None:
        """Look at the files; the conversation can be taken back meanwhile."""
        self._look()

    # -- what would change --------------------------------------------------------------------------------

    def _look(self) -> None:
        self._is_looking = True
        self._tell("checking the files…")
        self.run_worker(self._plan(), group="plan", exclusive=True)

    async def _plan(self) -> None:
        files = self.query_one("#files", LineList)
        try:
            plan = await self._agent.rewind.plan(self._turn.number)
        except QuorumError as error:
            self._steps = None
            self._make_room(0)
            self._tell(str(error))
            return
        finally:
            self._is_looking = False
        self._steps = steps = Steps(plan, self._cwd)
        self._diffs.clear()
        self._make_room(len(steps))
        self.query_one("#unseen", Static).update(Content(printable("\n".join(plan.unseen))))
        self._tell("" if len(steps) else fill_in_keys(_NO_FILES, self.app))
        files.show(len(steps), steps.render_step)

    def _make_room(self, files: int) -> None:
        """Show files with their changes and keys; without files, what is left is the conversation."""
        self.query_one("#files", LineList).styles.height = min(files, _MOST_FILES)
        self.query_one("#files", LineList).display = files > 0
        self.query_one(DiffSheet).display = files > 0
        box = self.query_one("#restoring", Vertical)
        box.styles.height = "95%" if files else "auto"
        box.border_subtitle = Content(fill_in_keys(_KEYS if files else _KEYS_WITHOUT_FILES, self.app))

    @on(LineList.Marked)
    def _show_change(self) -> None:
        self.run_worker(self._read_change(), group="change", exclusive=True)

    async def _read_change(self) -> None:
        place = self.query_one("#files", LineList).marked
        if self._steps is None or place is None:
            return
        step = self._steps[place]
        if step.path not in self._diffs:
            try:
                self._diffs[step.path] = await self._agent.rewind.diff(step)
            except QuorumError as error:
                self._diffs[step.path] = str(error)
        self.query_one(DiffSheet).show(self._diffs[step.path])

    # -- keys ---------------------------------------------------------------------------------------------

    def action_move(self, how: Move) -> None:
        """Mark another file."""
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

    def action_take_back(self, what: Literal["conversation", "files", "both"]) -> None:
        """Take back the conversation, the files or both."""
        if self._is_working or self._is_done:
            return
        if what != "conversation" and (problem := self._problem(what)):
            self._tell(problem)
            return
        self._is_working = True
        self._tell("taking back…")
        files = what != "conversation" and self._steps is not None and self._steps.given_back > 0
        self.run_worker(self._do(conversation=what != "files", files=files), group="work")

    def _problem(self, what: Literal["files", "both"]) -> str:
        """Why the files cannot be given back."""
        if self._is_looking:
            return "still checking the files"
        if self._steps is None:
            return "the files cannot be restored; c undoes only the conversation"
        if what == "files" and not self._steps.given_back:
            marks = bool(self._steps.plan.edited)
            return "no file would be restored" + ("; space marks one to be overwritten" if marks else "")
        return ""

    async def _do(self, *, conversation: bool, files: bool) -> None:
        plan = self._steps.plan if files and self._steps is not None else None
        overwrite = self._steps.overwritten if files and self._steps is not None else frozenset[str]()

        async def rewind(agent: Agent) -> None:
            await agent.rewind.rewind_to(
                self._turn.number, conversation=conversation, plan=plan, overwrite=overwrite
            )

        failure = await self._take_back(
            QueuedTask("taking back", rewind), self._turn.prompt if conversation else ""
        )
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
        self.query_one("#notice", Static).update(Content(printable(text)))
