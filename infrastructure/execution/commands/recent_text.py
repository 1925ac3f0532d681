"""The end of a text that grows, to be read from any place in it that is still kept."""

from __future__ import annotations

from collections import deque

_PIECE_CHARS = 4096


class RecentText:
    """Keeps about the last `limit` characters; places are counted in characters from the text's beginning.

    `start` is the first place that is kept, and `end` the end of the text.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pieces: deque[str] = deque()
        self.start = 0
        self.end = 0

    def append(self, text: str) -> None:
        """Add text to the end."""
        if not text:
            return
        if self._pieces and len(self._pieces[-1]) + len(text) <= _PIECE_CHARS:
            self._pieces[-1] += text  # few pieces, however often a little is printed
        else:
            self._pieces.append(text)
        self.end += len(text)
        while self.end - self.start - len(self._pieces[0]) >= self._limit:
            self.start += len(self._pieces.popleft())
        if self.end - self.start > 2 * self._limit:  # one piece alone is longer
            self._pieces[0] = self._pieces[0][-self._limit :]
            self.start = self.end - sum(map(len, self._pieces))

    def read_between(self, begin: int, end: int) -> str:
        """The text from one place to another, as far as it is kept."""
        found: list[str] = []
        place = self.start
        for piece in self._pieces:
            if place >= end:
                break
            if place + len(piece) > begin:
                found.append(piece[max(0, begin - place) : end - place])
            place += len(piece)
        return "".join(found)
