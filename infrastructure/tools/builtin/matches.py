"""The matches of a search as text, bounded in number and size."""

from __future__ import annotations

from collections.abc import Sequence

from quorum.infrastructure.files.encoding import is_binary, read_byte_order_mark
from quorum.infrastructure.files.patterns import LinePattern

_MOST_MATCHES = 1000
_LONGEST_LINE = 500
_MOST_CHARACTERS = 256_000


class Matches:
    """Collects matching lines, file after file, with `around` lines of context on either side."""

    def __init__(self, pattern: LinePattern, around: int) -> None:
        self._pattern = pattern
        self._around = around
        self._lines: list[str] = []
        self._room = _MOST_CHARACTERS
        self._matched_files = 0
        self.files = 0
        self.count = 0
        self.full = False

    def add(self, name: str, content: bytes) -> bool:
        """Search one file; False if it is binary."""
        readable = _convert_to_utf_8(content)
        if readable is None:
            return False
        self.files += 1
        numbers = self._find_lines(readable)
        if numbers:
            self._matched_files += 1
            self._show(name, readable.split(b"\n"), numbers)
        return True

    def render(self, notes: Sequence[str]) -> str:
        """All matches, a summary, and the notes."""
        if not self.count:
            summary = f"no match in {_format_count(self.files, 'file')}"
        elif self.full:
            summary = (
                f"the first {self.count} matches; there are more: narrow the pattern, path or file_pattern"
            )
        else:
            matches = "1 match" if self.count == 1 else f"{self.count} matches"
            summary = f"{matches} in {self._matched_files} of {_format_count(self.files, 'file')}"
        return "\n".join([*self._lines, *(f"[{note}]" for note in (summary, *notes))])

    def _find_lines(self, content: bytes) -> list[int]:
        """Numbers of the matching lines, counted from 0; `full` is set if there are more than may be shown."""
        numbers: list[int] = []
        number, reached = 0, 0
        for start, _ in self._pattern.find_lines(content):
            if self.count + len(numbers) == _MOST_MATCHES:
                self.full = True
                break
            number += content.count(b"\n", reached, start)
            reached = start
            numbers.append(number)
        return numbers

    def _show(self, name: str, lines: Sequence[bytes], numbers: Sequence[int]) -> None:
        end = len(lines) if lines[-1] else len(lines) - 1
        matching = frozenset(numbers)
        wanted = {at for n in numbers for at in range(max(n - self._around, 0), min(n + self._around + 1, end))}
        for at in sorted(wanted):
            if self._room < 0:
                self.full = True
                return
            if self._around and self._lines and (at - 1 not in wanted):
                self._put("--")
            mark = ":" if at in matching else "-"
            self.count += at in matching
            self._put(f"{name}{mark}{at + 1}{mark}{_render_text(lines[at])}")

    def _put(self, line: str) -> None:
        self._lines.append(line)
        self._room -= len(line) + 1


def _convert_to_utf_8(content: bytes) -> bytes | None:
    """The content as the pattern reads it: UTF-8 where it is marked as something else, lines ended by LF."""
    encoding = read_byte_order_mark(content)
    if encoding is not None:
        content = content[len(encoding.mark) :].decode(encoding.codec, "replace").encode()
    elif is_binary(content):
        return None
    return content.replace(b"\r\n", b"\n")


def _render_text(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    if len(text) > _LONGEST_LINE:
        return f"{text[:_LONGEST_LINE]} … [line cut: it has {len(text)} characters]"
    return text


def _format_count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
