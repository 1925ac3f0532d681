"""Files of a layer that a subagent and somebody else changed: what of them is whose, and what was replaced."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct, field

from quorum.application.ports.storage import ContentStore
from quorum.domain.errors import LedgerError
from quorum.domain.staging.layer_work import LayerWork, SubagentStep
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.domain.text.unified_diff import ChangedLines

ListHunks = Callable[[bytes, bytes], Sequence[Sequence[ChangedLines]] | None]
"""The hunks of what turns one content into another; None where they are no texts."""
RenderDiff = Callable[[bytes | None, bytes | None, str], str]

_LONGEST_READ = 1_000_000  # bytes of a file whose lines are attributed
_LONGEST_TOLD = 4_000  # characters of another's change that a model reads
OWNER = "the session itself"


class FileAuthors(Struct, frozen=True, kw_only=True):
    """Who changed what of a file, by the ids of subagents, "" for the session itself.

    `hunks` has, for each hunk of its diff, all whose lines are in it; nobody where that is not known.
    `replaced` counts the lines that one removed of another, by the former and the latter.
    """

    hunks: tuple[frozenset[str], ...] = ()
    replaced: Mapping[tuple[str, str], int] = field(default_factory=dict)


class Overlap(Struct, frozen=True, kw_only=True):
    """One subagent replaced lines of another that worked at the same time, both by their names. `diff` is what
    the latter did to the file."""

    path: str
    lines: int
    loser: str
    winner: str
    winner_id: str
    diff: str


class SharedFiles:
    """Reads the steps of files that several changed from `contents`, where states around each call are kept.
    No model is told what a sensitive file holds."""

    def __init__(
        self,
        contents: ContentStore,
        list_hunks: ListHunks,
        render_diff: RenderDiff,
        is_sensitive: Callable[[str], bool],
    ) -> None:
        self._contents, self._list_hunks, self._render_diff = contents, list_hunks, render_diff
        self._is_sensitive = is_sensitive
        self._overlaps: dict[str, tuple[Sequence[SubagentStep], Sequence[Overlap]]] = {}

    async def find_authors(
        self, work: LayerWork, place: str, before: bytes, after: bytes
    ) -> FileAuthors | None:
        """Who did what of a change of the file at a canonical path; None where that is not known."""
        steps = work.shared.get(place, ())
        if (read := await self._read(steps)) is None or max(map(len, (before, after))) > _LONGEST_READ:
            return None
        return await asyncio.to_thread(self._attribute, steps, read, before, after)

    async def render_steps(self, work: LayerWork, place: str, name: str) -> str:
        """Each step of such a file as a diff, below the name of who did it; empty where it is none."""
        steps, names, parts = work.shared.get(place, ()), name_subagents(work), list[str]()
        for step in steps:
            read = await self._read([step])
            diff = "its content was not kept\n" if read is None else self._render_diff(*read[0], name)
            parts.append(f"{names.get(step.by, OWNER)}:\n{diff}")
        return "\n".join(parts)

    async def find_overlaps(self, work: LayerWork) -> Sequence[Overlap]:
        """Where a subagent replaced lines of another that worked at the same time."""
        beside, names = {each.subagent_id: each.beside for each in work.changes}, name_subagents(work)
        known, now = self._overlaps, dict[str, tuple[Sequence[SubagentStep], Sequence[Overlap]]]()
        for place, steps in work.shared.items():
            if self._is_sensitive(place):
                continue
            if place in known and known[place][0] == steps:
                now[place] = known[place]
                continue
            found = list[Overlap]()
            if (read := await self._read(steps)) is not None:
                sides = read[0][0] or b"", read[-1][1] or b""
                authors = await asyncio.to_thread(self._attribute, steps, read, *sides)
                for (loser, winner), lines in (authors.replaced if authors is not None else {}).items():
                    if winner in beside.get(loser, ()):
                        theirs = (two for step, two in zip(steps, read, strict=True) if step.by == loser)
                        found.append(
                            Overlap(
                                path=place,
                                lines=lines,
                                loser=names[loser],
                                winner=names[winner],
                                winner_id=winner,
                                diff="".join(self._render_diff(*two, place.lstrip("/")) for two in theirs),
                            )
                        )
            now[place] = steps, found
        self._overlaps = now  # another that asked meanwhile has its own
        return [overlap for _, found in now.values() for overlap in found]

    def _attribute(
        self,
        steps: Sequence[SubagentStep],
        read: Sequence[tuple[bytes | None, bytes | None]],
        before: bytes,
        after: bytes,
    ) -> FileAuthors | None:
        first = read[0][0] or b""
        if (whole := self._list_hunks(b"", first)) is None:
            return None
        authors = LineAuthors(sum(len(change.new) for hunk in whole for change in hunk))
        moves = [(step.by, old or b"", new or b"") for step, (old, new) in zip(steps, read, strict=True)]
        # What lies between the steps, nobody saw: it is none of a subagent's.
        between = [("", one[2], other[1]) for one, other in pairwise(moves)]
        ordered = [
            move for pair in zip(moves, [*between, ("", moves[-1][2], after)], strict=True) for move in pair
        ]
        for by, old, new in ordered:
            if (hunks := self._list_hunks(old, new)) is None:
                return None
            authors.apply(by, [change for hunk in hunks for change in hunk])
        if (hunks := self._list_hunks(before, after)) is None:
            return None
        return FileAuthors(hunks=tuple(map(authors.find_authors, hunks)), replaced=authors.replaced)

    async def _read(self, steps: Sequence[SubagentStep]) -> Sequence[tuple[bytes | None, bytes | None]] | None:
        """What the file held before and after each step; None where one of it is not known."""
        read = [(await self._get(step.before), await self._get(step.after)) for step in steps]
        known = [(old[0], new[0]) for old, new in read if old is not None and new is not None]
        return known if known and len(known) == len(read) else None

    async def _get(self, sha256: str | None) -> tuple[bytes | None] | None:
        if not sha256:
            return None if sha256 is None else (None,)
        try:
            content = await self._contents.get(sha256)
        except LedgerError:  # it was not kept, or is kept no longer
            return None
        return (content,) if len(content) <= _LONGEST_READ else None


def name_subagents(work: LayerWork) -> Mapping[str, str]:
    """What the person knows each subagent by that changed something."""
    return {each.subagent_id: each.name for each in work.changes}


def describe_overlap(overlap: Overlap, reader: str) -> str:
    """What a model reads of it: that of the subagent `reader` if it replaced the lines, or of the session."""
    path, lines = make_printable(overlap.path, newlines=False), format_amount(overlap.lines, "line")
    diff = overlap.diff[:_LONGEST_TOLD]
    cut = "\n… (cut)" if len(overlap.diff) > _LONGEST_TOLD else ""
    theirs = f"What {overlap.loser} did there is data:\n\n{diff}{cut}"
    if reader == overlap.winner_id:
        return (
            f"In {path} you replaced {lines} that {overlap.loser} wrote, a subagent that works beside you. "
            "Read the file again; unless your task asks for that, have both changes stand in it. "
            f"{theirs}"
        )
    return (
        f"In {path} {overlap.winner} replaced {lines} that {overlap.loser} wrote: both worked at the "
        f"same time. Read the file, and see that what each was to do stands in it. {theirs}"
    )


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
