"""Paths to be found by a few letters: 100,000 of them are searched in some milliseconds.

All paths lie in one text, and their last parts in another, so that each step of a search is one scan at the
speed of the machine: first for what is typed as it stands, then, where that finds too little, for its letters
in order. The paths are sorted by what is likely to be meant. So the first that a scan finds are the best of
their kind, and only those few are rated one by one.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

import re2

from quorum.domain.calls.found_file import FoundFile
from quorum.domain.text.fuzzy import fit

_BYTES = re2.Options()
_BYTES.encoding = re2.Options.Encoding.LATIN1
# How many of a kind are rated: of "as it stands at a beginning", "as it stands", "its letters".
_MOST_OF_A_KIND = 60
_LONGEST_QUERY = 100
# That a file was changed lately is worth less than a better place of a letter, and more than a shorter path.
_FRESH = 6
_MOST_LOOKED_AT = 2_000
_END = b"\0"
_BETWEEN_WORDS = b"\0/_-. "


class FileIndex:
    """Files and folders, searched by name. Never changed; any thread may search it.

    `paths` come in the order of what is likely to be meant; those of folders end with a slash. `fresh` are the
    paths whose files were changed lately.
    """

    def __init__(self, paths: Sequence[str], fresh: Iterable[str] = ()) -> None:
        self._paths = paths
        self._fresh = frozenset(fresh)
        lowered = [_encode_path(path) for path in paths]
        self._whole = _Column(lowered)
        self._names = _Column([_encode_name(path) for path in lowered])

    def __len__(self) -> int:
        return len(self._paths)

    def find(self, query: str, limit: int, bonus: Mapping[str, int]) -> tuple[FoundFile, ...]:
        """The paths that fit the query, best first, at most so many. `bonus` tells of paths that are likelier
        than others to be meant, with points for it."""
        query = query[:_LONGEST_QUERY].removeprefix("./")
        if not query:
            likely = sorted(bonus, key=lambda path: -bonus[path])
            return tuple(FoundFile(path) for path in dict.fromkeys([*likely, *self._paths[:limit]]))[:limit]
        rated = []
        for path in dict.fromkeys([*bonus, *(self._paths[place] for place in self._list_candidates(query))]):
            if (found := fit(query, path)) is not None:
                points = found.score + bonus.get(path, 0) + (_FRESH if path in self._fresh else 0)
                rated.append((-points, len(path), path, found.hits))
        return tuple(FoundFile(path, hits) for _, _, path, hits in sorted(rated)[:limit])

    def _list_candidates(self, query: str) -> Iterator[int]:
        """The places of paths that may fit, the better kinds first; letters alone only where those are few."""
        wanted = _encode_path(query)
        found = dict.fromkeys([*self._names.find_text(wanted), *self._whole.find_text(wanted)])
        yield from found
        if len(found) < _MOST_OF_A_KIND:
            letters = _compile_in_order(query)
            yield from self._names.find_matches(letters)
            yield from self._whole.find_matches(letters)


class _Column:
    """Texts in one, each between two NUL characters, which no path holds."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        self._text = _END + _END.join(texts) + _END
        self._starts = list(accumulate((len(text) + 1 for text in texts), initial=1))

    def find_text(self, wanted: bytes) -> list[int]:
        """The places of the first texts that hold these bytes: at the beginning of a word, and anywhere."""
        at_words: list[int] = []
        inside: list[int] = []
        at = self._text.find(wanted)
        for _ in range(_MOST_LOOKED_AT):
            if at < 0:
                break
            place = self._find_place(at)
            (at_words if self._text[at - 1] in _BETWEEN_WORDS else inside).append(place)
            if len(at_words) == _MOST_OF_A_KIND:
                break
            at = self._text.find(wanted, self._starts[place + 1] - 1)
        else:  # so frequent that its best places may lie further on
            at_words += self._find_beginning(wanted)
        return [*at_words, *inside[:_MOST_OF_A_KIND]]

    def _find_beginning(self, wanted: bytes) -> Iterator[int]:
        at = self._text.find(_END + wanted)
        for _ in range(_MOST_OF_A_KIND):
            if at < 0:
                return
            yield self._find_place(at + 1)
            at = self._text.find(_END + wanted, at + 1)

    def find_matches(self, pattern: re2._Regexp[bytes]) -> Iterator[int]:
        """The places of the first texts that hold a match."""
        last = -1
        left = _MOST_OF_A_KIND
        for found in pattern.finditer(self._text):
            if (place := self._find_place(found.start())) != last:
                last = place
                yield place
                left -= 1
                if not left:
                    return

    def _find_place(self, at: int) -> int:
        return bisect_right(self._starts, at) - 1


def _encode_path(path: str) -> bytes:
    return os.fsencode(path.lower()) if path.isascii() else path.lower().encode("utf-8", "surrogateescape")


def _encode_name(path: bytes) -> bytes:
    return path.rstrip(b"/").rpartition(b"/")[2]


def _compile_in_order(query: str) -> re2._Regexp[bytes]:
    """What holds these letters one after the other, within one text."""
    first, *rest = [_encode_path(letter) for letter in query]
    pieces = [re.escape(first), *(_match_up_to(letter) for letter in rest)]
    return re2.compile(b"".join(pieces), _BYTES)


def _match_up_to(letter: bytes) -> bytes:
    """What is passed over until this letter, and the letter. One way to match makes for a quick scan."""
    if len(letter) == 1:
        return b"[^\\x00\\x%02x]*%s" % (letter[0], re.escape(letter))
    return b"[^\\x00]*?" + re.escape(letter)
