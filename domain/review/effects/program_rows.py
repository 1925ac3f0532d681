"""The row of the table of programs that a use of a program falls under."""

from __future__ import annotations

from functools import cache

from quorum.domain.review.effects.program_effects import PYTHON, Operand, ProgramEffects
from quorum.domain.review.effects.programs import PROGRAMS
from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.review.hazards.starters import note_programs

UNKNOWN_PROGRAM = ProgramEffects(
    names="",
    source="",
    values=(
        "--key --private-key --cert --identity --identity-file --authfile --auth-file --password-file "
        "--env-file --kubeconfig --credentials-file --token-file --ssl-key --ssl-keyfile --tls-key --client-key"
    ),
    writes="-o --output --out --output-file --outfile --log-file --logfile",
    operands=Operand.SHOW,
)
"""What a program does of which nothing is known: what it reads may come out, but for what it logs in with."""


note_programs(name for row in PROGRAMS for name in row.names.split())


_ENDS_VERSION = "0123456789."


@cache
def _index_programs() -> dict[str, tuple[ProgramEffects, ...]]:
    rows: dict[str, tuple[ProgramEffects, ...]] = {}
    for row in sorted(PROGRAMS, key=lambda row: not row.words):
        for name in row.names.split():
            rows[name] = (*rows.get(name, ()), row)
    return rows


def find_row(run: Invocation) -> ProgramEffects | None:
    """The row; None where the program is not known."""
    name = run.program
    if name[-1:] in _ENDS_VERSION and PYTHON.fullmatch(name):
        name = name.rstrip(_ENDS_VERSION)
    plain = ""
    for row in _index_programs().get(name, ()):
        if not row.words:
            return row
        plain = plain or " ".join(word for word in run.arguments if not word.startswith("-"))
        for words in row.words.split("|"):
            if (words in run.arguments) if words.startswith("-") else f"{plain} ".startswith(f"{words} "):
                return row
    return None
