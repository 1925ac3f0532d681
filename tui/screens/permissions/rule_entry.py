"""The form of a new rule: what it answers, its text, how far it holds, and what it would change."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalGroup
from textual.widgets import Input

from quorum.domain.review.permission_rules import Answer
from quorum.domain.review.questions import RulePreview, RuleScope
from quorum.domain.review.rule_replay import RuleReplay
from quorum.tui.keys.keyed_app import choose_sign
from quorum.tui.screens.review.forms import SCOPES, ReplayRows, list_covered
from quorum.tui.screens.review.widgets import Rows, TypedLine
from quorum.tui.transcript.kinds.rows import Line, LineKind, Row, StyledPart, clean_line, fold

_ANSWERS = (Answer.ALLOW, Answer.ASK, Answer.DENY)
_PREVIEW_LINES = 6
_HEADS = {
    Answer.ALLOW: ("  would let run  ", "  no call of this session would run by it"),
    Answer.ASK: ("  would ask about  ", "  it would hold up no call of this session"),
    Answer.DENY: ("  would deny  ", "  it would deny no call of this session"),
}


class RuleEntry(VerticalGroup):
    """Takes a rule; `outlook` says what it would change, `replay` what it would have decided in the past."""

    DEFAULT_CSS: ClassVar[str] = """
    RuleEntry {
        margin-top: 1;
        & > #rule { background: $panel; padding: 0 1; border: none; height: 1; }
    }
    """

    def __init__(
        self,
        outlook: Callable[[str, Answer], RulePreview],
        replay: Callable[[str, Answer], Awaitable[RuleReplay | None]],
    ) -> None:
        super().__init__()
        self._replay = ReplayRows()
        self._replay.hold(lambda rules: replay(rules[0], self.answer))
        self._outlook = outlook
        self.answer, self.scope = _ANSWERS[0], RuleScope.SESSION

    def compose(self) -> ComposeResult:
        """Answer, rule, scope, preview and replay."""
        yield Rows(id="answers")
        yield TypedLine(id="rule", select_on_focus=False, placeholder="TOOL or TOOL(PATTERN)")
        yield Rows(id="scopes")
        yield Rows(id="preview")
        yield self._replay

    def open(self) -> None:
        """Begin with an empty rule, and take the focus."""
        typed = self.query_one("#rule", Input)
        typed.value = ""
        self._tell()
        typed.focus()

    @property
    def text(self) -> str:
        return self.query_one("#rule", Input).value.strip()

    def turn_answer(self, step: int) -> None:
        self.answer = _ANSWERS[(_ANSWERS.index(self.answer) + step) % len(_ANSWERS)]
        self._tell()

    def turn_scope(self, step: int) -> None:
        scopes = list(SCOPES)
        self.scope = scopes[(scopes.index(self.scope) + step) % len(scopes)]
        self._tell()

    @on(Input.Changed)
    def _on_typed(self, message: Input.Changed) -> None:
        message.stop()
        self._tell()

    def _tell(self) -> None:
        answers = "  ".join(f"({'•' if each is self.answer else ' '}) {each}" for each in _ANSWERS)
        scopes = "  ".join(f"({'•' if each is self.scope else ' '}) {word}" for each, word in SCOPES.items())
        for name, text, keys in (("#answers", answers, "↑ ↓"), ("#scopes", scopes, "tab")):
            row = (StyledPart(text, LineKind.PLAIN), StyledPart(f"  {keys}", LineKind.QUIET))
            self.query_one(name, Rows).show([row], height=1)
        self.query_one("#preview", Rows).show(self._preview(), height=_PREVIEW_LINES)
        if self.text:
            self._replay.ask([self.text], self._width)
        else:
            self._replay.show([], height=0)

    @property
    def _width(self) -> int:
        return max(20, self.size.width or self.app.size.width - 4)

    def _preview(self) -> list[Row]:
        width = self._width
        if not self.text:
            examples = "such as write_file(src/**), run_command(npm test *) or web_fetch"
            return fold([Line("  ", examples, LineKind.QUIET)], width)
        preview = self._outlook(self.text, self.answer)
        if preview.problem:
            return fold(
                [
                    Line(
                        choose_sign(self.app, "✗ ", "problem: "),
                        clean_line(preview.problem),
                        LineKind.BAD,
                        LineKind.BAD,
                    )
                ],
                width,
            )[:_PREVIEW_LINES]
        head, nothing = _HEADS[self.answer]
        return list_covered(preview.covers, width, _PREVIEW_LINES, head=head, nothing=nothing)
