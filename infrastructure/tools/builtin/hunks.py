"""Applying the hunks of a patch to the text of a file: each at the one place that its lines name."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from quorum.domain.errors import ToolError
from quorum.domain.text.patch import PatchHunk
from quorum.infrastructure.tools.builtin.matching import describe_near_miss

_MOST_PLACES = 100
_MOST_NUMBERS = 20


def apply_hunks(content: str, hunks: Sequence[PatchHunk], name: str) -> str:
    """The content with every hunk applied, in order, each below the one before.

    Lines keep their ends, and new ones get those that most lines of the file have. Where a hunk's lines are not
    there exactly, those that differ only in white space at their ends count. Raises ToolError that names the
    hunk by its line in the patch, with the lines that resemble it.
    """
    file = _FileLines(content)
    pieces: list[str] = []
    done = 0
    for hunk in hunks:
        where = f"the hunk of {name} at line {hunk.number} of the patch"
        place = _place(file, hunk, done, where, name)
        pieces += file.raw[done:place]
        done = place
        for sign, text in hunk.lines:
            if sign == "+":
                pieces.append(text + file.end)
            else:
                pieces += [file.raw[done]] if sign == " " else []
                done += 1
    if done == len(file.raw) and file.lacks_last_end and _adds_last_line(hunks):
        pieces[-1] = pieces[-1].removesuffix(file.end)  # a file whose last line has no end keeps it so
    pieces += file.raw[done:]
    return "".join(line if line.endswith("\n") else line + file.end for line in pieces[:-1]) + "".join(
        pieces[-1:]
    )


def _adds_last_line(hunks: Sequence[PatchHunk]) -> bool:
    kept = [sign for sign, _ in hunks[-1].lines if sign != "-"] if hunks else []
    return kept[-1:] == ["+"]


def _place(file: _FileLines, hunk: PatchHunk, start: int, where: str, name: str) -> int:
    """The number of the line, from 0, at which the hunk is to be applied; not above `start`."""
    old = [text for sign, text in hunk.lines if sign != "+"]
    if not old:
        return (
            len(file.raw) if hunk.at_end or not hunk.headers else _find_line_below(file, hunk, start, where) + 1
        )
    places = [place for place in file.find(old, start) if not hunk.at_end or place + len(old) == len(file.raw)]
    if not places:
        raise ToolError(_explain_not_found(file, old, hunk, start, where, name))
    if len(places) == 1:
        return places[0]
    if hunk.headers:
        anchor = _find_line_below(file, hunk, start, where)
        if below := [place for place in places if place >= anchor]:
            return below[0]
    numbers = ", ".join(str(place + 1) for place in places[:_MOST_NUMBERS])
    raise ToolError(
        f"{where} fits {len(places)} places (lines {numbers}{', …' if len(places) > _MOST_NUMBERS else ''}): "
        "add context lines until it fits one, or put a line above it as @@ header"
    )


def _find_line_below(file: _FileLines, hunk: PatchHunk, start: int, where: str) -> int:
    """The number of the line that the headers lead to."""
    place = start
    for header in hunk.headers:
        found = file.find_headers(header, place)
        if not found:
            raise ToolError(f"{where}: no line below the hunk before it is like its header {header[:80]!r}")
        if len(found) > 1:
            numbers = ", ".join(str(each + 1) for each in found[:_MOST_NUMBERS])
            raise ToolError(
                f"{where}: its header {header[:80]!r} fits lines {numbers}: add context lines, or put the "
                "header of what surrounds it above"
            )
        place = found[0]
    return place


def _explain_not_found(
    file: _FileLines, old: Sequence[str], hunk: PatchHunk, start: int, where: str, name: str
) -> str:
    if start and any(True for _ in file.find(old, 0)):
        return f"{where} is found only above the hunk before it: put the hunks into the order of the file"
    if hunk.at_end and any(True for _ in file.find(old, start)):
        return f"{where} is not at the end of the file: leave out *** End of File"
    resembling = describe_near_miss(file.text, "\n".join(old))
    return f"{where} does not fit: its lines were not found in {name}.{resembling}"


class _FileLines:
    """The lines of a file: `raw` with their ends. `end` is that of most lines; a last line may lack it."""

    def __init__(self, content: str) -> None:
        self.text = content
        self.raw = content.split("\n")
        last = self.raw.pop()
        self.lacks_last_end = bool(last)
        windows = content.count("\r\n")
        self.end = "\r\n" if windows * 2 > len(self.raw) else "\n"
        self.raw = [f"{line}\n" for line in self.raw] + ([last] if last else [])
        self._bare = [line.removesuffix("\n").removesuffix("\r") for line in self.raw]
        self._exact = _Finder(self._bare)
        self._loose: _Finder | None = None

    def find(self, wanted: Sequence[str], start: int) -> list[int]:
        """Where these lines stand, from the line `start` on."""
        if found := list(self._exact.find([line.removesuffix("\r") for line in wanted], start)):
            return found
        if self._loose is None:
            self._loose = _Finder([line.rstrip() for line in self._bare])
        return list(self._loose.find([line.rstrip() for line in wanted], start))

    def find_headers(self, header: str, start: int) -> list[int]:
        """The lines that are the header, or else begin with it, white space aside; from the line `start` on."""
        stripped = [line.strip() for line in self._bare[start:]]
        whole = [place for place, line in enumerate(stripped, start) if line == header]
        return whole or [place for place, line in enumerate(stripped, start) if line.startswith(header)]


class _Finder:
    """Finds runs of lines in time linear in the text."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._text = "\n" + "".join(f"{line}\n" for line in lines)
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)]

    def find(self, wanted: Sequence[str], start: int) -> Iterator[int]:
        """Where these lines begin, at most a hundred places."""
        needle = "\n" + "".join(f"{line}\n" for line in wanted)
        at = self._text.find(needle, self._starts[start])
        for _ in range(_MOST_PLACES):
            if at < 0:
                return
            yield bisect_left(self._starts, at)
            at = self._text.find(needle, at + 1)
