"""Which of several that changed a file one after the other its lines are from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from quorum.domain.text.unified_diff import ChangedLines


class LineAuthors:
    """Follows a file of so many lines from change to change. An author is an id; one of None was there first.

    `replaced` counts, by who wrote them and who removed them, the lines that one author removed of another.
    """

    def __init__(self, lines: int) -> None:
        self._lines: list[str | None] = [None] * lines
        self._gaps: list[frozenset[str]] = [frozenset()] * (lines + 1)  # before each line, and behind the last
        self.replaced: Counter[tuple[str, str]] = Counter()

    def apply(self, author: str, changes: Iterable[ChangedLines]) -> None:
        """The author changed these lines, listed from the first to the last."""
        lines: list[str | None] = []
        gaps, place = [self._gaps[0]], 0
        for change in changes:
            old = change.old
            lines += self._lines[place : old.start]
            gaps += self._gaps[place + 1 : old.start + 1]
            for removed in self._lines[old.start : old.stop]:
                if removed is not None and removed != author:
                    self.replaced[removed, author] += 1
            if old:
                gaps[-1] = gaps[-1].union({author}, *self._gaps[old.start + 1 : old.stop + 1])
            lines += [author] * len(change.new)
            gaps += [frozenset()] * len(change.new)
            place = old.stop
        self._lines = lines + self._lines[place:]
        self._gaps = gaps + self._gaps[place + 1 :]

    def find_authors(self, hunk: Sequence[ChangedLines]) -> frozenset[str]:
        """Who wrote or removed lines of a hunk of what is different in the end; empty: that is not known."""
        found: set[str] = set()
        for change in hunk:
            new = change.new
            for author in self._lines[new.start : new.stop]:
                if author is None:  # somebody whom nobody saw
                    return frozenset()
                found.add(author)
            found.update(*self._gaps[new.start : new.stop + 1])
        return frozenset(found)
