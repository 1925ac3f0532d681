"""Where the needle is in a transcript, found piece by piece so that nothing waits for it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple, assert_never

from quorum.application.view.entries import AnswerEntry, Batch, Call, Entry, Notice, PromptEntry, Restoration
from quorum.application.view.panel_entry import PanelEntry
from quorum.domain.calls.server_tools import format_tool_name, is_of_server
from quorum.tui.transcript.cells.lines import clean_program_text
from quorum.tui.transcript.draw.panels import render_panel

_GAP = r"[^\S\n]+"
_GAP_IN_MARKDOWN = r"(?:[^\S\n]+\n?[^\S\n]*|\n[^\S\n]*)"
_MARKUP = "*_`~\\"
_MAYBE_MARKUP = r"[*_`~\\]*"

_AT_ONCE = 100_000
_LONGEST_HIT = 2_000
_NOT_YET = -1


class Needle:
    """Text to look for, literally. Capitals count only where there are some in it; a space is any blank.

    `shown` finds it in what is drawn or was drawn as it is, `written` in Markdown: there emphasis may stand
    within it, and a line may end where a space is.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        flags = re.NOFLAG if any(map(str.isupper, text)) else re.IGNORECASE
        words = re.split(r"\s+", text)
        self.shown = re.compile(_GAP.join(map(re.escape, words)), flags)
        # Optional markup between its own characters would be matched in endless ways.
        between = "" if set(text) & set(_MARKUP) else _MAYBE_MARKUP
        loose = [between.join(map(re.escape, word)) for word in words]
        self.written = re.compile(f"{between}{_GAP_IN_MARKDOWN}{between}".join(loose), flags)

    def __bool__(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self.text)


class Hit(NamedTuple):
    """The how manieth time the needle is in the how manieth passage of which entry, each from 0 on."""

    entry: int
    passage: int
    nth: int


class Search:
    """Counts of a needle in entries, which may grow and change meanwhile: `work` takes that in.

    It begins with the entry `start` and goes to the last one, then from there back to the first.
    """

    def __init__(self, entries: Sequence[Entry], needle: Needle, start: int) -> None:
        self._entries = entries
        self._needle = needle
        self._start = start
        self._counts: list[list[int]] = []
        self._sums: list[int] = []
        self._versions: list[int] = []
        self._drawn: dict[tuple[int, int], tuple[int, int]] = {}
        self._way = self._walk()
        self.total = 0

    def search_further(self, secs: float) -> bool:
        """Continue for about so many seconds; whether all has been looked at as it is now."""
        until = time.perf_counter() + secs
        for _ in self._way:
            if time.perf_counter() >= until:
                return False
        self._way = self._walk()
        return True

    def _walk(self) -> Iterator[None]:
        for entry in self._list_stale():
            yield from self._look_at(entry)

    def _list_stale(self) -> Iterator[int]:
        """Entries not yet looked at as they are."""
        missing = len(self._entries) - len(self._counts)
        self._counts += [[] for _ in range(missing)]
        self._sums += [0] * missing
        self._versions += [_NOT_YET] * missing
        behind = min(self._start, len(self._counts))
        places = chain(range(self._start, len(self._counts)), range(behind - 1, -1, -1))
        return (place for place in places if self._versions[place] != self._entries[place].version)

    def _look_at(self, entry: int) -> Iterator[None]:
        """Stops for others to have their turn; what changes meanwhile is looked at again another time."""
        self._versions[entry] = self._entries[entry].version
        counts: list[int] = []
        for place, passage in enumerate(list_passages(self._entries[entry])):
            pattern = self._needle.written if passage.is_written else self._needle.shown
            count = 0
            for found in _count_matches(pattern, passage.text):
                count += found
                yield
            before, drawn = self._drawn.get((entry, place), (_NOT_YET, 0))
            counts.append(drawn if before == count else count)
        self._add_hits(entry, counts)

    def _add_hits(self, entry: int, counts: list[int]) -> None:
        self._counts[entry] = counts
        self.total += sum(counts) - self._sums[entry]
        self._sums[entry] = sum(counts)

    def has_hits(self, entry: int) -> bool:
        """Whether anything was found in an entry."""
        return entry < len(self._sums) and self._sums[entry] > 0

    def count(self, hit: Hit) -> int:
        """How often the needle is in the hit's passage."""
        return self._counts[hit.entry][hit.passage]

    def correct(self, hit: Hit, drawn: int) -> None:
        """So often it is seen in the hit's passage, which markup and cuts may have hidden."""
        counts = list(self._counts[hit.entry])
        if counts[hit.passage] != drawn:
            self._drawn[hit.entry, hit.passage] = (counts[hit.passage], drawn)
            counts[hit.passage] = drawn
            self._add_hits(hit.entry, counts)

    def get_ordinal(self, hit: Hit) -> int:
        """The how manieth of all it is, from 1 on."""
        before = sum(self._sums[: hit.entry]) + sum(self._counts[hit.entry][: hit.passage])
        return before + hit.nth + 1

    def find_nearest(self) -> Hit | None:
        """The first hit from where the search began; the last one before it where there is none."""
        return self._find_first(range(self._start, len(self._sums))) or self._find_last(
            range(min(self._start, len(self._sums)) - 1, -1, -1)
        )

    def after(self, hit: Hit) -> Hit | None:
        """The next hit; after the last one the first."""
        if hit.nth + 1 < self.count(hit):
            return hit._replace(nth=hit.nth + 1)
        for passage in range(hit.passage + 1, len(self._counts[hit.entry])):
            if self._counts[hit.entry][passage]:
                return Hit(hit.entry, passage, 0)
        return self._find_first(chain(range(hit.entry + 1, len(self._sums)), range(hit.entry + 1)))

    def before(self, hit: Hit) -> Hit | None:
        """The hit before; before the first one the last."""
        if hit.nth > 0:
            return hit._replace(nth=min(hit.nth, self.count(hit)) - 1)
        for passage in range(hit.passage - 1, -1, -1):
            if count := self._counts[hit.entry][passage]:
                return Hit(hit.entry, passage, count - 1)
        return self._find_last(
            chain(range(hit.entry - 1, -1, -1), range(len(self._sums) - 1, hit.entry - 1, -1))
        )

    def _find_first(self, entries: Iterator[int] | range) -> Hit | None:
        entry = next((place for place in entries if self._sums[place]), None)
        if entry is None:
            return None
        return Hit(entry, next(p for p, count in enumerate(self._counts[entry]) if count), 0)

    def _find_last(self, entries: Iterator[int] | range) -> Hit | None:
        entry = next((place for place in entries if self._sums[place]), None)
        if entry is None:
            return None
        counts = self._counts[entry]
        passage = next(p for p in range(len(counts) - 1, -1, -1) if counts[p])
        return Hit(entry, passage, counts[passage] - 1)


def _count_matches(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    """How often the pattern is in the text, one piece of it after the other."""
    at = 0
    while at < len(text):
        end, count = min(at + _AT_ONCE, len(text)), 0
        for match in pattern.finditer(text, at, end + _LONGEST_HIT):
            if match.start() >= end:
                break
            count, at = count + 1, match.end()
        at = max(at, end)
        yield count


class Passage(NamedTuple):
    """One text. `part` is what lines of it are targets for in the entry's drawing, None where they are none;
    `is_written`: it is Markdown.
    """

    part: int | None
    text: str
    is_written: bool = False


def list_passages(entry: Entry) -> list[Passage]:
    """What can be found in an entry, folded parts included."""
    match entry:
        case PromptEntry() | Notice():
            return [Passage(None, entry.text)]
        case AnswerEntry():
            return [Passage(0, "".join(entry.reasoning)), Passage(None, entry.text, is_written=True)]
        case Batch():
            return [Passage(place, _render_text(call)) for place, call in enumerate(entry.calls)]
        case PanelEntry():
            return [Passage(0, render_panel(entry))]
        case Restoration():
            return [Passage(0, "\n".join(change.path for change in entry.changes))]
        case _:
            assert_never(entry)


def _render_text(call: Call) -> str:
    arguments = (value if isinstance(value, str) else json.dumps(value) for value in call.arguments.values())
    remarks = (remark.text for remark in call.remarks)
    output = (call.output.head, call.output.tail) if call.output is not None else call.progress.list_lines()
    texts = [
        call.tool,
        format_tool_name(call.tool) if is_of_server(call.tool) else "",
        *arguments,
        call.reason or "",
        *remarks,
        call.diff or "",
        *map(_strip_sequences, output),
    ]
    return "\n".join(text for text in texts if text)


def _strip_sequences(text: str) -> str:
    """Output without terminal sequences, which most has none of."""
    return clean_program_text(text) if "\x1b" in text else text
