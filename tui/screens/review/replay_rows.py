"""Two lines that tell what rules would have decided about past calls, filled in once that is known."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from textual import work

from quorum.domain.errors import QuorumError
from quorum.domain.review.rule_replay import RuleReplay
from quorum.domain.text.amounts import format_amount
from quorum.tui.screens.review.text.rows import LineKind, Row, StyledPart, clean_line
from quorum.tui.screens.review.widgets import Rows
from quorum.tui.transcript.cells.lines import fit_text

ReplayTexts: TypeAlias = Callable[[Sequence[str]], Awaitable["RuleReplay | None"]]
"""Replays rules, as text; None where they are none."""

_LINES = 2
_PAUSE_SECS = 0.2  # a rule that is being typed is another one at each key


class ReplayRows(Rows):
    """Holds its two lines from the beginning, so that nothing moves once they are filled in."""

    def __init__(self) -> None:
        super().__init__(id="replay")
        self._replay: ReplayTexts | None = None

    def hold(self, replay: ReplayTexts | None) -> None:
        """Ask this from now on; None: nobody knows of past calls, and there are no lines."""
        self._replay = replay

    @property
    def lines(self) -> int:
        """How many lines of the screen it takes."""
        return _LINES if self._replay is not None else 0

    def ask(self, rules: Sequence[str], width: int) -> None:
        """Tell about these rules, in place of those asked about before."""
        if self._replay is None:
            self.show([], height=0)
            return
        self.show([(StyledPart("  past calls: …", LineKind.QUIET),)], height=_LINES)
        self._tell(self._replay, tuple(rules), width)

    @work(group="replay", exclusive=True)
    async def _tell(self, replay: ReplayTexts, rules: tuple[str, ...], width: int) -> None:
        await asyncio.sleep(_PAUSE_SECS)
        try:
            found = await replay(rules)
        except QuorumError as error:
            problem = f"  past calls cannot be read: {clean_line(str(error))}"
            self.show([(StyledPart(fit_text(problem, width), LineKind.BAD),)], height=_LINES)
        else:
            self.show([] if found is None else render_replay(found, width), height=_LINES)


def render_replay(replay: RuleReplay, width: int) -> list[Row]:
    """What would run although somebody said no, with an example; then the rest in numbers."""
    loosened = [group for group in replay.groups if group.loosens]
    others = [group for group in replay.groups if not group.loosens]
    newest = "the newest " if replay.newest is not None else ""
    among = f"of {newest}{format_amount(replay.calls, 'past call')} here"
    if not replay.groups:
        return [(StyledPart(fit_text(f"  {among}, none is like it", width), LineKind.QUIET),)]
    head = StyledPart("  none that you rejected would run", LineKind.GOOD)
    if loosened:
        told = " · ".join(f"{group.sentence}: {clean_line(group.examples[0])}" for group in loosened)
        head = StyledPart(fit_text(f"  ✗ {told}", width), LineKind.BAD)
    rest = " · ".join((*(group.sentence for group in others), among))
    return [(head,), (StyledPart(fit_text(f"  {rest}", width), LineKind.QUIET),)]
