"""The screen that shows what taking back a turn would change, and takes it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.content import Content

from quorum.domain.sessions.restoration import RestorePlan
from quorum.domain.sessions.state import PastTurn
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.agent.turns import QueuedTask
from quorum.tui.keys.hints import fill_in_keys
from quorum.tui.screens.rewind.file_plan_screen import FilePlanScreen, TakeBack

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession

_NO_FILES = "no file would change; {restore_conversation=c} takes back the conversation"


class RestoreScreen(FilePlanScreen):
    """Shows what an undo would change. That of the conversation alone does not wait for the files."""

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
    KEYS = (
        "{restore_conversation=c} conversation · {restore_files=f} files · {restore_both=b} both"
        " · {restore_overwrite=space} overwrites · esc back"
    )
    KEYS_WITHOUT_FILES = "{restore_conversation=c} conversation · esc back"

    def __init__(self, agent: AgentSession, turn: PastTurn, take_back: TakeBack, *, cwd: str) -> None:
        super().__init__(agent, take_back, cwd=cwd)
        self._turn = turn

    def _describe_plan(self) -> Content:
        said = make_printable(self._turn.prompt, newlines=False) or "(continues the previous turn)"
        later = sum(turn.number > self._turn.number and not turn.undone for turn in self._agent.rewind.turns)
        also = f"\nand the {format_amount(later, 'turn')} after it" if later else ""
        return Content.assemble(("› ", "$text-accent"), (said, "bold"), also)

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
