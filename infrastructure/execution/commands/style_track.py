"""Where the style of a long text changes, as far as the text's two ends are kept."""

from __future__ import annotations

from collections import deque

from domain.text.styles import StyleChange, Styles, in_force, moved

_MOST = 2000  # at each end: what changes more often is hardly read, and must fit into the record
_MOST_IN_FORCE = 16


class StyleTrack:
    """Follows a text of which the first and the last `reach` characters matter in the end, and no others."""

    def __init__(self, reach: int) -> None:
        self._reach = reach
        self._head: list[StyleChange] = []
        self._tail: deque[StyleChange] = deque()
        self._before_tail: list[StyleChange] = []
        self._length = 0

    def append(self, text: str, styles: Styles) -> None:
        """More text, styled so."""
        for change in moved(styles, self._length):
            if change.at <= self._reach and len(self._head) <= _MOST:
                # after the last that is kept nothing is styled, rather than all like that one
                self._head.append(change if len(self._head) < _MOST else StyleChange(change.at, ""))
            self._tail.append(change)
            if len(self._tail) > _MOST:
                self._let_go()
        self._length += len(text)
        while self._tail and self._tail[0].at < self._length - self._reach:
            self._let_go()

    def first(self, length: int) -> Styles:
        """Of the first so many characters."""
        return tuple(each for each in self._head if each.at < length)

    def last(self, length: int) -> Styles:
        """Of the last so many characters, as places in these."""
        start = self._length - length
        carried = [*self._before_tail, *(each for each in self._tail if each.at < start)]
        return (
            *(StyleChange(0, each.sgr) for each in in_force(carried)[-_MOST_IN_FORCE:]),
            *moved(tuple(each for each in self._tail if each.at >= start), -start),
        )

    def _let_go(self) -> None:
        self._before_tail.append(self._tail.popleft())
        if len(self._before_tail) > _MOST_IN_FORCE:
            self._before_tail = list(in_force(self._before_tail)[-_MOST_IN_FORCE:])
