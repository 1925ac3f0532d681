"""Which rows of what is approved have been on the screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quorum.tui.screens.review.text.rows import LineKind, Row

_NOT_APPROVED = frozenset({LineKind.CONTEXT, LineKind.QUIET, LineKind.HUNK})
"""Lines around a change, names of files and headings: seeing them is not what approving is about."""


def find_first_approved(rows: Sequence[Row]) -> int:
    """The first row that is part of what would run or change; 0 where there is none."""
    return next((place for place, row in enumerate(rows) if _is_approved(row)), 0)


def find_last_approved(rows: Sequence[Row]) -> int:
    """The last row that is part of what would run or change; 0 where there is none."""
    return next((place for place in reversed(range(len(rows))) if _is_approved(rows[place])), 0)


def _is_approved(row: Row) -> bool:
    return any(part.kind not in _NOT_APPROVED and part.text.strip() for part in row)


class SeenRows:
    """Remembers them for one text at one width; another text, or the same folded anew, is unseen."""

    def __init__(self) -> None:
        self._texts: tuple[str, ...] = ()
        self._unseen: set[int] = set()

    def show(self, rows: Sequence[Row]) -> bool:
        """These rows are what is approved now; whether they are others than before."""
        texts = tuple("".join(part.text for part in row) for row in rows)
        if texts == self._texts:
            return False
        self._texts = texts
        self._unseen = {place for place, row in enumerate(rows) if _is_approved(row)}
        return True

    def note(self, places: Iterable[int]) -> None:
        """These rows are on the screen."""
        self._unseen.difference_update(places)

    @property
    def unseen(self) -> int:
        """How many rows of what is approved have not been on the screen yet."""
        return len(self._unseen)
