"""Fuzzy matching of model names, with Textual's own matcher, bounded in time."""

from __future__ import annotations

from collections.abc import Sequence

from textual.fuzzy import FuzzySearch

_MOST_WAYS = 2_000


class NameMatcher:
    """Matches names against one query. Upper and lower case are alike, and blanks in the query do not count."""

    def __init__(self, query: str) -> None:
        self._query = "".join(query.split()).lower()
        self._search = FuzzySearch()

    def match(self, name: str) -> tuple[float, Sequence[int]]:
        """How well the name fits, 0 where it does not, and the places of its characters that the query hit."""
        if not self._query:
            return 1.0, ()
        if self._query in name.lower() or 0 < self._ways(name.lower()) <= _MOST_WAYS:
            return self._search.match(self._query, name)
        return 0.0, ()

    def _ways(self, name: str) -> int:
        """In how many ways the query can be found in the name: the matcher looks at each of them."""
        ways = [1] + [0] * len(self._query)
        for letter in name:
            for place in range(len(self._query), 0, -1):
                if self._query[place - 1] == letter:
                    ways[place] += ways[place - 1]
        return ways[-1]
