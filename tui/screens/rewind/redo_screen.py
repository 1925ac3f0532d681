"""The screen that shows what redoing the last undo would change, and redoes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from quorum.domain.sessions.restoration import RestorePlan
from quorum.domain.sessions.state import PastUndo
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.agent.turns import QueuedTask
from quorum.tui.keys.hints import fill_in_keys
from quorum.tui.screens.rewind.file_plan_screen import FilePlanScreen, TakeBack

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession

_ONLY_CONVERSATION = "no file would change; {redo_carry_out=r} brings back the conversation"
_NOTHING_LEFT = "no file would change; {redo_carry_out=r} continues with the undo before"


class RedoScreen(FilePlanScreen):
    """Shows what the last undo took away, and brings all of it back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "redo", "Redo the undo that is shown", id="redo_carry_out"),
        Binding("space", "overwrite", "Overwrite a file edited since, or leave it alone", id="redo_overwrite"),
        Binding("up,k", "move('up')", "Another file", id="redo_up"),
        Binding("down,j", "move('down')", "Another file", id="redo_down"),
        Binding("pageup", "scroll(-1)", "Scroll the changes", id="redo_page_up"),
        Binding("pagedown", "scroll(1)", "Scroll the changes", id="redo_page_down"),
        Binding("escape,q", "leave", "Back, nothing changed", id="redo_leave"),
    ]
    TITLE_TEXT = "Redo"
    KEYS = "{redo_carry_out=r} redo · esc back · {redo_overwrite=space} overwrites"
    KEYS_WITHOUT_FILES = "{redo_carry_out=r} redo · esc back"
    MODIFIED = "changes again"
    DONE = "redone"

    def __init__(self, agent: AgentSession, undo: PastUndo, take_back: TakeBack, *, cwd: str) -> None:
        super().__init__(agent, take_back, cwd=cwd)
        self._undo = undo

    def _describe_plan(self) -> Content:
        undo = self._undo
        said = "files that were restored one by one"
        if undo.turn is not None:
            prompt = next((t.prompt for t in self._agent.rewind.turns if t.number == undo.turn), "")
            said = make_printable(prompt, newlines=False) or "(continues the previous turn)"
        if undo.turns:
            also = f"the conversation of {format_amount(len(undo.turns), 'turn')}"
            also += " and the files come back" if undo.changes else " comes back"
        elif undo.continued:
            also = "only files: the conversation has continued since the undo"
        else:
            also = "only files: the conversation stayed"
        return Content.assemble(("› ", "$text-accent"), (said, "bold"), f"\n{also}")

    async def _fetch_plan(self) -> RestorePlan:
        last = self._agent.rewind.last_undo
        if last is not None and last.number == self._undo.number:  # some of it may have been redone meanwhile
            self._undo = last
        return await self._agent.rewind.plan_redo(self._undo)

    def _explain_no_files(self) -> str:
        return fill_in_keys(_ONLY_CONVERSATION if self._undo.turns else _NOTHING_LEFT, self.app)

    def action_redo(self) -> None:
        """Bring back all that is shown."""
        if self._is_working or self._is_done:
            return
        if problem := self._explain_problem():
            self._tell(problem)
            return
        self._is_working = True
        self._tell("redoing…")
        self.run_worker(self._carry_out(), group="work")

    def _explain_problem(self) -> str:
        """Why it cannot be redone yet."""
        if self._is_looking:
            return "still checking the files"
        if self._steps is None:
            return "this cannot be redone while the files cannot be checked"
        if not self._undo.turns and not self._steps.given_back and self._steps.plan.edited:
            return "no file would be brought back; space marks one to be overwritten"
        return ""

    async def _carry_out(self) -> None:
        if self._steps is None:
            return
        undo, plan, overwrite = self._undo, self._steps.plan, self._steps.overwritten

        async def redo(agent: AgentSession) -> None:
            await agent.rewind.redo(undo, plan, overwrite)

        await self._conclude(await self._take_back(QueuedTask("redoing", redo), ""))
