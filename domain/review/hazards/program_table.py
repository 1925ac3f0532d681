"""What uses of programs do harm by their words alone, looked up in tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from domain.review.hazards.data_uses import DATA_USES
from domain.review.hazards.invocation import Invocation
from domain.review.hazards.machine_uses import MACHINE_USES
from domain.review.objection import Objection


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a table without its programs."""

    words: tuple[frozenset[str], ...]
    needed: re.Pattern[str]
    unless: re.Pattern[str]
    does: str
    guard: str


def _index_by_program() -> dict[str, tuple[_Row, ...]]:
    rows: dict[str, tuple[_Row, ...]] = {}
    for use in (*DATA_USES, *MACHINE_USES):
        names, *words = (frozenset(word.split("|")) for word in use.program.split())
        row = _Row(tuple(words), re.compile(use.needed), re.compile(use.unless), use.does, use.guard)
        for name in names:
            rows[name] = (*rows.get(name, ()), row)
    return rows


_ROWS = _index_by_program()
_VERSIONED = re.compile(r"(mkfs|python|pip)[.0-9][a-z0-9.]*")
_GIT_VALUES = frozenset({"-c", "-C", "--git-dir", "--work-tree", "--namespace"})


def list_harmful_uses(run: Invocation) -> Iterator[Objection]:
    """What the table has against a use of a program."""
    found = _VERSIONED.fullmatch(run.program)
    arguments = skip_git_options(run)
    for row in _ROWS.get(found[1] if found else run.program, ()):
        first, rest = arguments[: len(row.words)], arguments[len(row.words) :]
        if len(first) < len(row.words) or any(
            word not in allowed for word, allowed in zip(first, row.words, strict=True)
        ):
            continue
        if row.unless.pattern and any(map(row.unless.fullmatch, rest)):
            continue
        if not row.needed.pattern or any(map(row.needed.fullmatch, rest)):
            yield Objection(row.guard, f"{' '.join((run.program, *first))}: it {row.does}")


def skip_git_options(run: Invocation) -> tuple[str, ...]:
    """The arguments of a program; those of git without the options in front of its command."""
    if run.program not in ("git", "docker", "kubectl"):
        return run.arguments
    start = 0
    while start < len(run.arguments) and run.arguments[start].startswith("-"):
        start += 2 if run.arguments[start] in _GIT_VALUES else 1
    return run.arguments[start:]
