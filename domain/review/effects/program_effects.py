"""A row of the table of programs: which words are files, texts and addresses, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from quorum.domain.review.effects.side_effect import DataKind


class Operand(StrEnum):
    """What the operands of a program are.

    SHOW: files whose contents come out. READ: files that are read, and nothing of them comes out. USE: files,
    or other words, that do not come out. WRITE: files that get what comes in. COPY: files, and last the place
    that they are copied to; TRANSFER: the same, and either may be on another machine. HOST: addresses. SEND:
    files that are sent. TEXT: what is printed. RUN: a file with code that is run.
    """

    SHOW = "show"
    READ = "read"
    USE = "use"
    WRITE = "write"
    COPY = "copy"
    TRANSFER = "transfer"
    HOST = "host"
    SEND = "send"
    TEXT = "text"
    RUN = "run"


class Input(StrEnum):
    """What a program does with what comes in to it: passes it on, sends it, runs it, or keeps it."""

    PASS = "pass"
    SEND = "send"
    RUN = "run"
    KEEP = "keep"


class ProgramEffects(Struct, frozen=True, kw_only=True):
    """What a program does with its words. Names and options are parted by blanks.

    `words`: what must follow the name for the row to hold, several parted by `|`. `values`: options that take a
    word which is neither file nor address. `shows`, `writes`, `sends` and `hosts`: options that take such a
    file or address; `posts`: options whose text is sent, with `@FILE` for a file. `first`: so many operands
    are text. `gives`: what comes out of it whatever goes in. `is_quiet`: nothing of what goes in comes out.
    `source`: the manual page.
    """

    names: str
    source: str
    words: str = ""
    values: str = ""
    shows: str = ""
    writes: str = ""
    sends: str = ""
    posts: str = ""
    hosts: str = ""
    operands: Operand = Operand.USE
    first: int = 0
    gives: DataKind | None = None
    input: Input = Input.PASS
    is_quiet: bool = False


class ParsedWords(Struct, frozen=True):
    """The words of a program apart: operands, and the values of options by option."""

    operands: tuple[str, ...]
    values: tuple[tuple[str, str], ...]

    def find(self, options: str) -> list[str]:
        """The values of any of these options."""
        wanted = options.split()
        return [value for option, value in self.values if option in wanted]


def parse_words(arguments: Sequence[str], row: ProgramEffects) -> ParsedWords:
    """Tell operands from options and their values, in one word, in the next, or behind other letters."""
    with_value = frozenset(
        " ".join((row.values, row.shows, row.writes, row.sends, row.posts, row.hosts)).split()
    )
    letters = frozenset(each[1] for each in with_value if len(each) == 2)
    operands: list[str] = []
    values: list[tuple[str, str]] = []
    place = 0
    while place < len(arguments):
        word = arguments[place]
        place += 1
        if word == "--":
            operands += arguments[place:]
            break
        if word in with_value:
            if place < len(arguments):
                values.append((word, arguments[place]))
                place += 1
            continue
        if not word.startswith("-") or word == "-":
            operands.append(word)
            continue
        option, has_value, value = word.partition("=")
        if has_value and option in with_value:
            values.append((option, value))
        elif not word.startswith("--"):
            end = next((end for end in range(1, len(word)) if word[end] in letters), None)
            if end is not None and end + 1 < len(word):
                values.append((f"-{word[end]}", word[end + 1 :]))
            elif end is not None and place < len(arguments):
                values.append((f"-{word[end]}", arguments[place]))
                place += 1
    return ParsedWords(tuple(operands), tuple(values))
