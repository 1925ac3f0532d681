"""The form of a rule: its text, how far it holds, and what it would do besides letting this call run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalGroup
from textual.message import Message
from textual.widgets import Input

from quorum.domain.review.questions import RulePreview, RuleScope
from quorum.tui.screens.review.replay_rows import ReplayRows, ReplayTexts
from quorum.tui.screens.review.text.rows import Line, LineKind, Row, StyledPart, clean_line, fold
from quorum.tui.screens.review.widgets import Rows, TypedLine
from quorum.tui.transcript.cells.lines import fit_text

SCOPES = {
    RuleScope.SESSION: "this session",
    RuleScope.PROJECT: "this project",
    RuleScope.USER: "everywhere",
}
_NOT_THIS = "it does not cover this call; change it, or esc goes back"
_ABOVE_PREVIEW = 3


def select_offered(proposals: Sequence[str]) -> tuple[str, ...]:
    """The proposals that can be edited: what holds hidden characters cannot be read, and so is not offered."""
    return tuple(proposal for proposal in proposals if clean_line(proposal) == proposal)


def render_scope_row(chosen: RuleScope) -> Row:
    """The scopes, the chosen one marked, and the key that chooses another."""
    scopes = "  ".join(f"({'•' if scope is chosen else ' '}) {word}" for scope, word in SCOPES.items())
    return (StyledPart(scopes, LineKind.PLAIN), StyledPart("  tab", LineKind.QUIET))


class RuleForm(VerticalGroup):
    """Offers proposals, the narrowest first. What is typed into one of them stays with it."""

    DEFAULT_CSS: ClassVar[str] = """
    RuleForm {
        margin-top: 1;
        & > #rule { background: $panel; padding: 0 1; }
    }
    """

    class Changed(Message):
        """Another rule or scope is in the form."""

    def __init__(self, proposals: Sequence[str], preview: Callable[[str], RulePreview]) -> None:
        super().__init__(id="rule_form")
        self._lines = 4
        self._replay = ReplayRows()
        self.propose(proposals, preview)

    def propose(
        self,
        proposals: Sequence[str],
        preview: Callable[[str], RulePreview],
        replay: ReplayTexts | None = None,
    ) -> None:
        """Hold these proposals when it is opened next, and nothing of what was typed or chosen before."""
        self._replay.hold(replay)
        self._texts = list(select_offered(proposals))
        self._preview_of = preview
        self._place = 0
        self.scope = RuleScope.SESSION

    def compose(self) -> ComposeResult:
        """Heading, rule, scope, preview and replay."""
        yield Rows(id="rule_head")
        yield TypedLine(id="rule", select_on_focus=False)
        yield Rows(id="scopes")
        yield Rows(id="preview")
        yield self._replay

    @property
    def _input(self) -> Input:
        return self.query_one("#rule", Input)

    @property
    def text(self) -> str:
        """The rule as it stands."""
        return self._input.value.strip()

    def find_problem(self) -> str:
        """Why the rule cannot be saved for this call; empty where it can."""
        preview = self._preview_of(self.text)
        return clean_line(preview.problem) if preview.problem else "" if preview.covers_this else _NOT_THIS

    def open(self) -> None:
        """Offer the present proposal, and take the focus."""
        self._offer()
        self._input.focus()

    def turn(self, step: int) -> None:
        """Offer the next proposal, or the one before."""
        self._texts[self._place] = self._input.value
        self._place = (self._place + step) % len(self._texts)
        self._offer()

    def widen(self, step: int) -> None:
        """Choose the next scope, or the one before."""
        scopes = list(SCOPES)
        self.scope = scopes[(scopes.index(self.scope) + step) % len(scopes)]
        self._tell()

    def _offer(self) -> None:
        self._input.value = self._texts[self._place]
        self._input.cursor_position = len(self._input.value)
        self._tell()

    @on(Input.Changed)
    def _on_typed(self, message: Input.Changed) -> None:
        message.stop()
        self._tell()

    @property
    def lines(self) -> int:
        """How many lines of the screen it takes, its margin included."""
        return 1 + _ABOVE_PREVIEW + self._lines + self._replay.lines

    def lay_out(self, *, roomy: bool) -> None:
        """Take the lines that belong to the room there is."""
        self._lines = 6 if roomy else 4
        if self.is_mounted and self.display:
            self._tell()

    def _tell(self) -> None:
        width = self.app.size.width - 4
        several = f" · {self._place + 1} of {len(self._texts)}, ↑ and ↓ choose" if len(self._texts) > 1 else ""
        head = (StyledPart("always let run", LineKind.STRONG), StyledPart(several, LineKind.QUIET))
        self.query_one("#rule_head", Rows).show([head], height=1)
        self.query_one("#scopes", Rows).show([render_scope_row(self.scope)], height=1)
        rows = _preview_rows(self._preview_of(self.text), width, self._lines)
        self.query_one("#preview", Rows).show(rows, height=self._lines)
        self._replay.ask([self.text], width)
        self.post_message(self.Changed())


def _preview_rows(preview: RulePreview, width: int, height: int) -> list[Row]:
    """What a rule would do, in exactly so many rows; what does not fit is counted."""
    if preview.problem:
        rows = fold([Line("✗ ", clean_line(preview.problem), LineKind.BAD, LineKind.BAD)], width)
    elif not preview.covers_this:
        rows = fold([Line("✗ ", _NOT_THIS, LineKind.BAD, LineKind.BAD)], width)
    else:
        rows = [(StyledPart("✓ covers this call", LineKind.GOOD),)]
        if preview.family:
            rows.append((StyledPart(fit_text(f"  {clean_line(preview.family)}", width), LineKind.QUIET),))
        rows += list_covered(preview.covers, width, height - len(rows))
    rows = rows[:height]
    return rows + [()] * (height - len(rows))


def list_covered(
    covers: Sequence[str],
    width: int,
    room: int,
    *,
    head: str = "  would also allow  ",
    nothing: str = "  it would allow no other known call",
) -> list[Row]:
    """What a rule covers, in at most so many rows, `head` before the first; what does not fit is counted."""
    if not covers:
        return [(StyledPart(nothing, LineKind.QUIET),)]
    fitting = len(covers) if len(covers) <= room else room - 1
    rows: list[Row] = []
    for call in covers[:fitting]:
        rows.append(
            (
                StyledPart(head, LineKind.QUIET),
                StyledPart(fit_text(clean_line(call), width - len(head)), LineKind.PLAIN),
            )
        )
        head = " " * len(head)
    if fitting < len(covers):
        rows.append((StyledPart(f"{' ' * len(head)}… and {len(covers) - fitting} more", LineKind.WARNING),))
    return rows
