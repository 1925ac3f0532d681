"""The lines of the permissions screen: rules below what they answer, in the order in which they count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from textual.content import Content

from domain.review.permissions import Answer
from domain.review.questions import RuleScope
from domain.review.saved_rule import HeldRule
from domain.text.ages import with_tilde
from domain.text.printable import printable

Row: TypeAlias = "HeldRule | Answer | str"
"""A rule, the heading of those that give an answer, or a sentence."""

_HEADINGS = {
    Answer.DENY: ("deny", "never runs; has precedence over all others", "$text-error"),
    Answer.ASK: ("ask", "you are asked, in every mode", "$text-warning"),
    Answer.ALLOW: ("allow", "runs without asking, unless something above objects", "$text-success"),
}
_HOLDS = {
    None: "settings",
    RuleScope.SESSION: "this session",
    RuleScope.PROJECT: "this project",
    RuleScope.USER: "everywhere",
}
_QUIET = "$foreground 60%"
_HOLDS_CELLS = 14


def rows_of(held: Sequence[HeldRule], last_word: str) -> list[Row]:
    """The rules below their headings, and at the end what decides where none of them speaks."""
    rows: list[Row] = []
    for answer in _HEADINGS:
        rows.append(answer)
        rows += _or_none([one for one in held if one.rule.answer is answer])
    return [*rows, f"else  {last_word}"]


def _or_none(held: list[HeldRule]) -> Sequence[Row]:
    return held or ["none"]


def drawn(row: Row, width: int) -> Content:
    """One line: what the rule says, how far it holds, and where it stands."""
    if isinstance(row, Answer):
        name, meaning, style = _HEADINGS[row]
        return Content.assemble((name, f"bold {style}"), (f"  {meaning}", _QUIET))
    if isinstance(row, str):
        return Content(row if row.startswith("else") else f"    {row}").stylize(_QUIET)
    text = Content(printable(row.rule.text, newlines=False))
    room = max(20, width // 2)
    text = text.truncate(room - 1, ellipsis=True)
    place = f"not used: {row.unused}" if row.unused else with_tilde(row.place)
    holds = f"{_HOLDS[row.scope]:<{_HOLDS_CELLS}}"
    line = Content("    ") + text + Content(" " * (room - text.cell_length)) + Content(holds)
    return line + Content(printable(place, newlines=False)).stylize(_QUIET)
