"""The screen of `/goal`: the goal of the session, its checks, and what came of the last attempt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.content import Content

from quorum.tui.screens.accounts.sheet import AccountSheet, wrap_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from quorum.domain.goal import Goal

_LONGEST = 4_000
_NONE = (
    "No goal is set. /goal TEXT sets one, and the model proposes checks. /goal TEXT ! COMMAND names one: it "
    "passes with exit code 0. On further lines, each that begins with ! is another."
)
_HOW_TO_END = "/goal off takes the goal away."


class GoalScreen(AccountSheet):
    """Shows a goal; None where there is none. `hide` takes secrets out of a text."""

    HEADING = "Goal"

    def __init__(self, goal: Goal | None, hide: Callable[[str], str]) -> None:
        super().__init__()
        self._goal, self._hide = goal, hide

    def build_lines(self, width: int) -> Iterator[Content]:
        """A paragraph for each thing to say."""
        if self._goal is None:
            yield from wrap_text(_NONE, width)
            return
        for place, paragraph in enumerate((*self._goal.paragraphs, (_HOW_TO_END,))):
            if place:
                yield Content("")
            for line in paragraph:
                yield from wrap_text(self._hide(line), width, longest=_LONGEST)
