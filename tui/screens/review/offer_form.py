"""The form of rules that are offered after several approvals: what they are, and how far they hold."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import VerticalGroup

from quorum.domain.review.questions import RuleOffer, RuleScope
from quorum.domain.text.amounts import format_amount
from quorum.tui.screens.review.replay_rows import ReplayRows, ReplayTexts
from quorum.tui.screens.review.rule_form import SCOPES, list_covered, render_scope_row
from quorum.tui.screens.review.text.rows import Line, LineKind, Row, StyledPart, clean_line, fold
from quorum.tui.screens.review.widgets import Rows
from quorum.tui.transcript.cells.lines import fit_text

_BESIDE_TEXT = 4


def select_readable_offer(offer: RuleOffer | None) -> RuleOffer | None:
    """The offer, if all that would be saved can be read: hidden characters cannot."""
    if offer is None or any(clean_line(rule) != rule for rule in offer.rules):
        return None
    return offer


def render_offer_row(offer: RuleOffer, key: str, width: int) -> Row:
    """What is offered and the key that shows it in full."""
    head = f"{'approved':<14}"
    what = "a rule" if len(offer.rules) == 1 else f"{len(offer.rules)} rules"
    text = f"{format_amount(offer.approvals, 'call')} like it; {key} offers {what}: {' · '.join(offer.rules)}"
    return (StyledPart(head, LineKind.QUIET), StyledPart(fit_text(text, width - len(head)), LineKind.GOOD))


class OfferForm(VerticalGroup):
    """Shows the rules in full, what else they would let run, and their scope, which can be chosen."""

    DEFAULT_CSS: ClassVar[str] = """
    OfferForm {
        margin-top: 1;
    }
    """

    def __init__(self, offer: RuleOffer) -> None:
        super().__init__(id="offer_form")
        self._most_covered = 2
        self._replay = ReplayRows()
        self.propose(offer)

    def propose(self, offer: RuleOffer, replay: ReplayTexts | None = None) -> None:
        """Hold this offer, with the narrowest scope, from the next drawing on."""
        self._replay.hold(replay)
        self._offer = offer
        self.scope = RuleScope.SESSION

    def compose(self) -> ComposeResult:
        """All of it is text."""
        yield Rows(id="offer")
        yield self._replay

    def on_mount(self) -> None:
        self._draw()

    @property
    def rules(self) -> tuple[str, ...]:
        """What would be saved."""
        return self._offer.rules

    def widen(self, step: int) -> None:
        """Choose the next scope, or the one before."""
        scopes = list(SCOPES)
        self.scope = scopes[(scopes.index(self.scope) + step) % len(scopes)]
        self._draw()

    def lay_out(self, *, roomy: bool, width: int) -> int:
        """Take the lines that belong to the room there is; how many these are, the margin included."""
        self._most_covered = 5 if roomy else 2
        if self.is_mounted:
            self._draw()
        return 1 + len(self._render_rows(width)) + self._replay.lines

    def _draw(self) -> None:
        width = self.app.size.width - _BESIDE_TEXT
        rows = self._render_rows(width)
        self.query_one("#offer", Rows).show(rows, height=len(rows))
        self._replay.ask(self.rules, width)

    def _render_rows(self, width: int) -> list[Row]:
        offer = self._offer
        like = f" · you approved {format_amount(offer.approvals, 'call')} like this one"
        return [
            (
                StyledPart("from now on let run", LineKind.STRONG),
                StyledPart(fit_text(like, width - 19), LineKind.QUIET),
            ),
            *fold([Line("  ", rule, is_code=True) for rule in offer.rules], width),
            *(
                (StyledPart(fit_text(f"  {clean_line(each)}", width), LineKind.QUIET),)
                for each in offer.families
            ),
            render_scope_row(self.scope),
            *list_covered(offer.covers, width, self._most_covered),
        ]
