"""The screen of `/diff`: the files that the session changed, each with its diff, and the undo of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen

from quorum.domain.errors import QuorumError
from quorum.domain.replacing import replace
from quorum.domain.sessions.restoration import RestorePlan, RestoreStep, find_renamed
from quorum.domain.text.printable import make_printable
from quorum.tui.agent.turns import QueuedTask
from quorum.tui.keys.keyboard_guard import HoldsLetters
from quorum.tui.keys.keyed_app import READER, fill_in_keys
from quorum.tui.screens.pager_screen import build_pager
from quorum.tui.screens.rewind.file_plan_screen import (
    DiffSheet,
    TakeBack,
    describe_place,
    list_paths,
    render_ignored,
    split_steps,
)
from quorum.tui.transcript.kinds.diff import format_counts
from quorum.tui.widgets.colours import QUIET
from quorum.tui.widgets.dialog_parts import ClosesItself, DialogFrame, NoteLines
from quorum.tui.widgets.line_list import LineList, Move

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession

_TITLE = "Changes of this session"
_KEYS = "{changes_pager=enter} pager · {changes_undo=u} undo this file · esc back"
_KEYS_WITHOUT_FILES = "esc back"
_NOTHING = "The files are as they were before the session."


class ChangesScreen(HoldsLetters, ClosesItself, ModalScreen[None]):
    """Shows what the files hold now against what they held before the first turn, by the recorded contents.

    A file goes back to that where the person says so twice, with its diff in sight.
    """

    ALONE = frozenset({"undo_file"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move('up')", "Another file", id="changes_up"),
        Binding("down,j", "move('down')", "Another file", id="changes_down"),
        Binding("pageup", "scroll(-1)", "Scroll the changes", id="changes_page_up"),
        Binding("pagedown", "scroll(1)", "Scroll the changes", id="changes_page_down"),
        Binding("enter", "open_in_pager", "Open the changes in the pager", id="changes_pager"),
        Binding("u", "ask_to_undo", "Undo the changes of this file", id="changes_undo"),
        Binding("y", "undo_file", "Yes, undo them", id="changes_confirm"),
        Binding("escape,q", "leave", "Back", id="changes_leave"),
    ]
    DEFAULT_CSS = """
    ChangesScreen {
        align: center middle;
        #changes { height: 95%; }
        #files {
            margin-bottom: 1;
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

    def __init__(self, agent: AgentSession, take_back: TakeBack, *, cwd: str) -> None:
        super().__init__()
        self._agent, self._take_back = agent, take_back
        self._root = cwd.rstrip("/") + "/"
        self._steps: tuple[RestoreStep, ...] = ()
        self._ignored: tuple[RestoreStep, ...] = ()
        self._renamed: dict[str, RestoreStep] = {}
        self._diffs: dict[str, str] = {}
        self._asked = ""  # the path whose undoing waits for the second word
        self._is_working = False

    def compose(self) -> ComposeResult:
        """The files, the changes of the marked one, and what there is to say."""
        with DialogFrame(id="changes") as box:
            box.border_title = Content(_TITLE)
            box.name_keys(_KEYS)
            yield LineList(id="files")
            yield DiffSheet()
            yield NoteLines(id="unseen")
            yield NoteLines(id="notice")

    def on_mount(self) -> None:
        self._tell("checking the files…")
        self.run_worker(self._look(), group="look", exclusive=True)

    async def _look(self, said: str = "") -> None:
        turns = self._agent.rewind.turns
        try:
            plan = await self._agent.rewind.plan(turns[0].number) if turns else RestorePlan(turn=0)
        except QuorumError as error:
            self._tell(str(error))
            return
        steps, self._ignored = split_steps(plan)
        self._renamed = find_renamed(steps)
        old_names = {step.path for step in self._renamed.values()}
        self._steps = tuple(step for step in steps if step.path not in old_names)
        self._diffs.clear()
        files = self.query_one("#files", LineList)
        lines = len(self._steps) + bool(self._ignored)
        files.styles.height = lines
        marked = min(files.marked or 0, max(0, lines - 1))
        files.display = self.query_one(DiffSheet).display = lines > 0
        keys = _KEYS if lines else _KEYS_WITHOUT_FILES
        box = self.query_one(DialogFrame)
        box.styles.height = "95%" if lines else "auto"
        box.name_keys(keys)
        self.query_one("#unseen", NoteLines).tell("\n".join(plan.unseen).replace(self._root, ""))
        self._tell(said or ("" if lines else _NOTHING))
        files.show(lines, self._render_file, marked=marked)
        for step in self._steps:
            await self._read_diff(step)
            files.refresh()

    async def _read_diff(self, step: RestoreStep) -> str:
        """What the session did to a file: from what it held before to what it holds now."""
        if step.path in self._renamed:
            self._diffs[step.path] = "Only its name is another."
        elif step.path not in self._diffs:
            forward = replace(step, wanted=step.now, now=step.wanted)
            try:
                self._diffs[step.path] = await self._agent.rewind.diff(forward)
            except QuorumError as error:
                self._diffs[step.path] = str(error)
        return self._diffs[step.path]

    def _render_file(self, place: int, width: int) -> Content:
        if place >= len(self._steps):
            return render_ignored(self._ignored)
        step = self._steps[place]
        kind = "new" if step.wanted is None else "deleted" if step.now is None else ""
        if (old := self._renamed.get(step.path)) is not None:
            kind = f"renamed from {self._name_file(old)}"
        perhaps = "perhaps " if step.is_final else ""  # what it held was not kept, so nobody knows
        is_edited = step.edited_since and not step.trouble
        words = [kind, f"{perhaps}edited by you too" if is_edited else ""]
        diff = "" if step.path in self._renamed else self._diffs.get(step.path, "")
        counts = format_counts(diff, spoken=self.app.has_class(READER)) if diff else ""
        does = " · ".join(word for word in (*words, counts) if word)
        name = self._name_file(step)
        room = max(width - len(does) - 2, width // 3)
        path = Content(name)
        while name and path.cell_length > room:
            name = name[1:]
            path = Content("…" + name)
        gap = " " * max(2, width - path.cell_length - Content(does).cell_length)
        return Content.assemble(path, gap, (does, "$text-warning" if is_edited else QUIET))

    def _name_file(self, step: RestoreStep) -> str:
        return make_printable(step.path.removeprefix(self._root), newlines=False)

    @property
    def _marked(self) -> RestoreStep | None:
        place = self.query_one("#files", LineList).marked
        return self._steps[place] if place is not None and place < len(self._steps) else None

    @on(LineList.Marked)
    def _on_marked(self) -> None:
        self._asked = ""
        self.run_worker(self._show_change(), group="change", exclusive=True)

    async def _show_change(self) -> None:
        place = self.query_one("#files", LineList).marked
        title = describe_place(place or 0, self._steps, self._ignored)
        self.query_one(DialogFrame).border_title = Content(f"{_TITLE}{f' · {title}' if title else ''}")
        if (step := self._marked) is not None:
            self.query_one(DiffSheet).show(await self._read_diff(step))
        elif self._ignored:
            self.query_one(DiffSheet).show(list_paths(self._ignored, self._root, lambda _step: ""))

    # -- keys ---------------------------------------------------------------------------------------------

    def action_move(self, how: Move) -> None:
        self._forget_question()
        self.query_one("#files", LineList).move(how)

    def action_scroll(self, pages: int) -> None:
        """Scroll the changes of the marked file."""
        self._forget_question()
        sheet = self.query_one(DiffSheet)
        sheet.scroll_relative(y=pages * max(1, sheet.size.height - 2), animate=False)

    def action_open_in_pager(self) -> None:
        """Open the changes of the marked file in the pager, with its search."""
        self._forget_question()
        if (step := self._marked) is not None and (diff := self._diffs.get(step.path)):
            self.app.push_screen(build_pager(diff, step.path.removeprefix(self._root), is_diff=True))

    def action_ask_to_undo(self) -> None:
        """Have the person say once more that the marked file goes back."""
        if (step := self._marked) is None or self._is_working or step.path not in self._diffs:
            return
        if problem := self._agent.record.in_use or step.trouble:
            self._tell(f"this file cannot be undone: {problem}")
            return
        self._asked = step.path
        what = "is removed" if step.wanted is None else "is as it was before the session"
        if (old := self._renamed.get(step.path)) is not None:
            what = f"is {self._name_file(old)} again"
        lost = " What it holds now is not kept." if step.is_final else ""
        yours = " Your own edits of it go as well." if step.edited_since and not step.is_final else ""
        name = self._name_file(step)
        key = fill_in_keys("{changes_confirm=y}", self.app)
        self._tell(f"{name} then {what}.{yours}{lost} {key} undoes it; other keys do not")

    def action_undo_file(self) -> None:
        """Give the marked file back, once that was asked."""
        step, asked, self._asked = self._marked, self._asked, ""
        if step is None or step.path != asked or self._is_working:
            return
        self._is_working = True
        self._tell("undoing…")
        self.run_worker(self._undo(step), group="work")

    async def _undo(self, step: RestoreStep) -> None:
        old = self._renamed.get(step.path)

        async def restore(agent: AgentSession) -> None:
            # The old name comes first, so that the content stands somewhere at any time.
            await agent.rewind.restore_together(*filter(None, (old, step)))

        failure = await self._take_back(QueuedTask("undoing a file", restore), "")
        self._is_working = False
        name = self._name_file(old or step)
        await self._look(str(failure) if failure is not None else f"{name} is as it was before the session")

    def action_leave(self) -> None:
        """Leave, unless a file is being changed at this moment."""
        if not self._is_working:
            self.dismiss(None)

    def _forget_question(self) -> None:
        """Only the key that follows the question at once answers it."""
        self._asked = ""
        self._tell("")

    def _tell(self, text: str) -> None:
        self.query_one("#notice", NoteLines).tell(text)
