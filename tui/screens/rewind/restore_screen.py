"""The screens of undo and redo: what taking back a turn or redoing it would change, before it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.content import Content

from quorum.domain.sessions.restoration import RestorePlan
from quorum.domain.sessions.state import PastTurn, PastUndo
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.agent.turns import QueuedTask
from quorum.tui.keys.keyboard_guard import HoldsLetters
from quorum.tui.keys.keyed_app import choose_sign, fill_in_keys
from quorum.tui.screens.rewind.file_plan_screen import FilePlanScreen, TakeBack

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession


_ONLY_CONVERSATION = "no file would change; {redo_carry_out=r} brings back the conversation"
_NOTHING_LEFT = "no file would change; {redo_carry_out=r} continues with the undo before"


class RedoScreen(HoldsLetters, FilePlanScreen):
    """Shows what the last undo took away, and brings all of it back."""

    ALONE = frozenset({"redo"})
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
    KEYS = "{redo_carry_out=r} redo · esc back"
    KEYS_WITH_EDITED = "{redo_carry_out=r} redo · {redo_overwrite=space} overwrites · esc back"
    KEYS_WITHOUT_FILES = KEYS
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
        return Content.assemble(
            (choose_sign(self.app, "› ", "prompt: "), "$text-accent"), (said, "bold"), f"\n{also}"
        )

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


_NO_FILES = "no file would change; {restore_conversation=c} takes back the conversation"


class RestoreScreen(HoldsLetters, FilePlanScreen):
    """Shows what an undo would change. That of the conversation alone does not wait for the files."""

    ALONE = frozenset({"take_back"})
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
    TITLE_TEXT = "Take back"
    _WAYS = "{restore_conversation=c} conversation · {restore_files=f} files · {restore_both=b} both"
    KEYS = f"{_WAYS} · esc back"
    KEYS_WITH_EDITED = f"{_WAYS} · {{restore_overwrite=space}} overwrites · esc back"
    KEYS_WITHOUT_FILES = "{restore_conversation=c} conversation · esc back"

    def __init__(self, agent: AgentSession, turn: PastTurn, take_back: TakeBack, *, cwd: str) -> None:
        super().__init__(agent, take_back, cwd=cwd)
        self._turn = turn

    def _describe_plan(self) -> Content:
        said = make_printable(self._turn.prompt, newlines=False) or "(continues the previous turn)"
        later = sum(turn.number > self._turn.number and not turn.undone for turn in self._agent.rewind.turns)
        also = f"\nand the {format_amount(later, 'turn')} after it" if later else ""
        return Content.assemble((choose_sign(self.app, "› ", "prompt: "), "$text-accent"), (said, "bold"), also)

    async def _fetch_plan(self) -> RestorePlan:
        return await self._agent.rewind.plan(self._turn.number)

    def _explain_no_files(self) -> str:
        return fill_in_keys(_NO_FILES, self.app)

    def action_take_back(self, what: Literal["conversation", "files", "both"]) -> None:
        if self._is_working or self._is_done:
            return
        if what != "conversation" and (problem := self._explain_problem(what)):
            self._tell(problem)
            return
        self._is_working = True
        self._tell("taking back…")
        files = what != "conversation" and self._steps is not None and self._steps.given_back > 0
        self.run_worker(self._restore(conversation=what != "files", files=files), group="work")

    def _explain_problem(self, what: Literal["files", "both"]) -> str:
        """Why the files cannot be given back."""
        if self._is_looking:
            return "still checking the files"
        if self._steps is None:
            return "the files cannot be restored; c undoes only the conversation"
        if what == "files" and not self._steps.given_back:
            marks = bool(self._steps.plan.edited)
            return "no file would be restored" + ("; space marks one to be overwritten" if marks else "")
        return ""

    async def _restore(self, *, conversation: bool, files: bool) -> None:
        plan = self._steps.plan if files and self._steps is not None else None
        overwrite = self._steps.overwritten if files and self._steps is not None else frozenset[str]()

        async def rewind(agent: AgentSession) -> None:
            await agent.rewind.rewind_to(
                self._turn.number, conversation=conversation, plan=plan, overwrite=overwrite
            )

        failure = await self._take_back(
            QueuedTask("taking back", rewind), self._turn.prompt if conversation else ""
        )
        await self._conclude(failure)
