"""The dialog that shows what adding a line changes, in the file that the person chooses."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import ClassVar

from textual.binding import Binding, BindingType

from quorum.domain.instructions.instruction import InstructionScope, MemoryDraft, MemoryProposal
from quorum.domain.text.amounts import shorten_home
from quorum.tui.keys.keyed_app import choose_sign, fill_in_keys
from quorum.tui.screens.question_card import QuestionCard
from quorum.tui.screens.review.widgets import ScrollableText
from quorum.tui.transcript.kinds.diff import build_diff_lines
from quorum.tui.transcript.kinds.rows import Line, LineKind, clean_line, shorten_digest

_SCOPES = {
    InstructionScope.PROJECT: ("{memory_project=p}", "this project"),
    InstructionScope.USER: ("{memory_user=u}", "all your projects"),
}


class MemoryDialog(QuestionCard):
    """Asks whether to make one of the proposed changes. `chosen` is the one that was shown last."""

    HEADING = "Add this line to the instructions?"
    REFUSE = ("{memory_refuse=n}", "do not add it")
    ACCEPT = ("{memory_accept=y}", "add it as shown")
    ROWS = ScrollableText
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "accept", "Make the change that is shown", id="memory_accept"),
        Binding("n,escape", "refuse", "Change nothing", id="memory_refuse"),
        Binding("p", "choose('project')", "Show the project's file", id="memory_project"),
        Binding("u", "choose('user')", "Show your own file", id="memory_user"),
        Binding("up", "scroll(-1)", "Scroll up", show=False, id="memory_up"),
        Binding("down", "scroll(1)", "Scroll down", show=False, id="memory_down"),
        Binding("left,right,tab,shift+tab", "mark", "The other choice", show=False, id="memory_mark"),
    ]

    def __init__(self, proposal: MemoryProposal, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock=clock)
        self._proposal = proposal
        self.chosen: MemoryDraft = proposal.drafts[0]
        """The change that the answer is about."""

    def format_subtitle(self) -> str:
        """What the answer is bound to."""
        return f"version {shorten_digest(self.chosen.sha256, spoken=self.is_spoken)}"

    def build_lines(self) -> Iterator[Line]:
        """The file, the other one that can be chosen, and the whole change."""
        yield Line("file  ", clean_line(shorten_home(self.chosen.target)), LineKind.STRONG)
        if self.chosen.before is None:
            yield Line("      ", "a new file", LineKind.QUIET)
        for draft in self._proposal.drafts:
            keys, whose = _SCOPES[draft.scope]
            is_chosen = draft is self.chosen
            mark = choose_sign(self.app, *(("● ", "chosen: ") if is_chosen else ("○ ",)))
            text = f"{mark}{fill_in_keys(keys, self.app)}  for {whose}: {clean_line(draft.label)}"
            yield Line("      ", text, LineKind.PLAIN if is_chosen else LineKind.QUIET)
        for refusal in self._proposal.refusals:
            yield Line("      ", clean_line(refusal), LineKind.WARNING)
        yield Line("", "")
        yield from build_diff_lines(self.chosen.diff, spoken=self.is_spoken)

    def action_choose(self, scope: str) -> None:
        """Show the change of the other file; it has to be read before it can be approved."""
        found = next((draft for draft in self._proposal.drafts if draft.scope.value == scope), None)
        if found is not None and found is not self.chosen:
            self.chosen = found
            self.show_anew()

    def on_screen_resume(self) -> None:
        """Another question was on top: no key that was meant for it answers this one."""
        if self.is_awake:
            self.arm()
