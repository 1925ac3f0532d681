"""What an import found, as a table: there, here, why."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from quorum.domain.importing.takeover_item import AgentSetup, TakeoverItem, TakeoverKind
from quorum.domain.text.printable import make_printable

_NARROWEST = 60
_ORDER = list(TakeoverKind)


def render_setup(setup: AgentSetup, width: int) -> Iterator[str]:
    """The lines of one agent, denials first."""
    yield f"{setup.agent} (read as versions {setup.checked_with} write it)"
    columns = _choose_widths(max(width, _NARROWEST))
    yield from _render_row(("there", "here", "why"), columns)
    for finding in sorted(setup.findings, key=_rank):
        here = finding.here or "-"
        there = f"{finding.kind}: {finding.there} [{finding.place}]"
        yield from _render_row((there, here, finding.why or "the same"), columns)


def _rank(finding: TakeoverItem) -> tuple[int, int]:
    answers = ("deny", "ask", "allow")
    answer = answers.index(finding.rule.answer) if finding.rule is not None else len(answers)
    return _ORDER.index(finding.kind), answer


def _choose_widths(width: int) -> tuple[int, int, int]:
    there = (width - 8) * 2 // 5
    here = (width - 8 - there) // 2
    return there, here, width - 8 - there - here


def _render_row(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    wrapped = [
        textwrap.wrap(make_printable(cell), width, break_on_hyphens=False) or [""]
        for cell, width in zip(cells, widths, strict=True)
    ]
    for number in range(max(map(len, wrapped))):
        parts = [lines[number] if number < len(lines) else "" for lines in wrapped]
        padded = (part.ljust(width) for part, width in zip(parts, widths, strict=True))
        yield ("  " + "  ".join(padded)).rstrip()
