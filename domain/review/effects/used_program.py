"""A program as it is used: its words by their roles, and the data that come to it."""

from __future__ import annotations

import re

from msgspec import Struct

from quorum.domain.review.effects.program_effects import ParsedWords, ProgramEffects
from quorum.domain.review.effects.side_effect import NO_DATA, Data, DataKind
from quorum.domain.review.effects.surroundings import Scope
from quorum.domain.review.hazards.invocation import Invocation

SUBSTITUTION = re.compile(r"\$\(|`|[<>]\(")
WHOLE_SUBSTITUTION = re.compile(r"\$\(.*\)|`[^`]*`", re.DOTALL)
VARIABLE = re.compile(r"\$(?:\{[!#]?([A-Za-z_]\w*|[1-9@*])[^}]*\}|([A-Za-z_]\w*|[1-9@*]))")
SHELL = re.compile(r"(ba|da|z|k|a|fi|c|tc|mk|pdk|rba)?sh[0-9.]*")
PYTHON = re.compile(r"(python|pypy|ipython)[0-9.]*")
REMOTE = re.compile(
    r"(?!/|\.|[A-Za-z]:\\)([\w.+$-]+@)?[\w.${}-]+::?(?!//)[^:]*"
    r"|(rsync|scp|sftp|ftp|s3|gs|azure|b2|oss|https?|cos|r2)://.*"
)
"""A place on another machine, as programs that copy files name it."""


class UsedProgram(Struct, frozen=True):
    """`piped` comes in by the input, `substituted` by what stands in the words for the output of programs."""

    run: Invocation
    row: ProgramEffects
    words: ParsedWords
    piped: Data
    substituted: Data
    scope: Scope

    @property
    def name(self) -> str:
        """The name of the program."""
        return self.run.program

    @property
    def operands(self) -> tuple[str, ...]:
        """The operands without those that are texts."""
        is_text_elsewhere = bool(self.row.first and self.words.find("-e -f --expression --file --regexp"))
        return self.words.operands if is_text_elsewhere else self.words.operands[self.row.first :]

    def has_option(self, pattern: str) -> bool:
        """Whether one of its words is such an option."""
        return any(re.fullmatch(pattern, word) for word in self.run.arguments)

    def find_data(self, *words: str) -> Data:
        """What words hold beside their own letters."""
        return NO_DATA.union(*(self.scope.find_data(word, self.substituted) for word in words))

    def read(self, *paths: str) -> Data:
        """The data of words that name files."""
        return NO_DATA.union(*(self.scope.read(path, self.substituted) for path in paths))


def drop_kind(data: Data, kind: DataKind) -> Data:
    """The data that are not of this kind."""
    return frozenset(each for each in data if each.kind is not kind)
