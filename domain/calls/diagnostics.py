"""What language servers and diagnostics commands say of edits, line by line, and what of it is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from quorum.domain.text.pattern import compile_once
from quorum.domain.text.printable import make_printable

MAX_LINES = 50
MAX_BYTES = 8_000

# An edit moves what stands below it: the same error has another line number then, and a summary another count.
_NUMBERS = r"\d+"
_COUNTED = r"\b(error|warning|problem|issue|note|file)s\b"


def read_lines(output: bytes) -> tuple[str, ...]:
    """The lines of a program's output that hold more than blanks, safe to draw."""
    text = make_printable(output.decode("utf-8", "replace"), strip_ansi=True)
    return tuple(line.rstrip() for line in text.split("\n") if line.strip())


def count_lines(lines: Iterable[str]) -> Counter[str]:
    """How often each line occurs, whatever numbers stand in it."""
    return Counter(map(_normalise, lines))


def find_new_lines(before: Counter[str], lines: Sequence[str]) -> tuple[str, ...]:
    """The lines, in their order, that are more than those counted before. Numbers do not tell lines apart; of
    lines that are otherwise equal, the last are the new ones."""
    new: list[str] = []
    left = Counter(before)
    for line in lines:
        key = _normalise(line)
        if left[key] > 0:
            left[key] -= 1
        else:
            new.append(line)
    return tuple(new)


def limit_lines(
    lines: Sequence[str], *, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES
) -> tuple[str, ...]:
    """Return as many of the first lines as fit. A first line that is too long alone is cut."""
    kept: list[str] = []
    room = max_bytes
    for line in lines[:max_lines]:
        size = len(line.encode()) + 1
        if size > room:
            if not kept:
                kept.append(line.encode()[: max_bytes - 4].decode("utf-8", "ignore") + "…")
            break
        kept.append(line)
        room -= size
    return tuple(kept)


def _normalise(line: str) -> str:
    return compile_once(_COUNTED).sub(r"\1", compile_once(_NUMBERS).sub("#", line))


class LanguageServerState(StrEnum):
    """Whether a server does its work."""

    NOT_STARTED = "not started"
    STARTING = "starting"
    RUNNING = "running"
    FAILED = "failed"


class LanguageServerStatus(Struct, frozen=True, kw_only=True):
    """One server. `problem` is why it failed last, empty where it did not; `errors` and `warnings` count what
    it says of the files that it was asked about."""

    name: str
    command: str
    languages: tuple[str, ...]
    state: LanguageServerState
    version: str = ""
    problem: str = ""
    errors: int = 0
    warnings: int = 0
