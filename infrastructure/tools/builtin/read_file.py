"""read_file: a page of a text file with line numbers."""

from __future__ import annotations

import codecs
import hashlib
import os
from typing import BinaryIO

from domain.calls.execution import ToolExecutionContext
from domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from domain.errors import ToolError
from domain.text.json_value import JsonObject
from infrastructure.blocking import Stop, in_thread
from infrastructure.files.encoding import SAMPLE_BYTES, UTF_8, Encoding, detect, kind_of
from infrastructure.files.workspace import Location, Workspace
from infrastructure.tools.builtin.arguments import FILE_PARAMETER, text, whole
from infrastructure.tools.builtin.reading import reading_access
from infrastructure.tools.builtin.seen import SeenFiles

_DEFAULT_LINES = 2000
_LONGEST_LINE = 2000
_MOST_BYTES = 60_000


class ReadFile:
    """Shows a file, page by page, and remembers what was seen."""

    def __init__(self, workspace: Workspace, seen: SeenFiles) -> None:
        self._workspace = workspace
        self._seen = seen
        self._definition = ToolDefinition(
            name="read_file",
            description=(
                "Read a text file. Each line comes with its number and a tab, which are not part of the file. "
                f"Long files come in pages of at most {_DEFAULT_LINES} lines and 60 kB; the end of a page says "
                f"how to get the next one. Lines are cut at {_LONGEST_LINE} characters. Encodings are "
                "detected; of a binary file only size and kind are told."
            ),
            parameters=(
                FILE_PARAMETER,
                ToolParameter(
                    name="offset",
                    type="integer",
                    description="Number of the first line to show, counted from 1. Default 1.",
                    minimum=1,
                ),
                ToolParameter(
                    name="limit",
                    type="integer",
                    description=f"How many lines to show at most. Default {_DEFAULT_LINES}.",
                    minimum=1,
                ),
            ),
            risk=RiskLevel.LOW,
            inline_bytes=70_000,
            access=lambda arguments: reading_access(workspace.locate(text(arguments, "path"))),
        )

    @property
    def definition(self) -> ToolDefinition:
        """What the tool is."""
        return self._definition

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """The page as text. Raises ToolError."""
        path = text(arguments, "path")
        page = _Page(
            whole(arguments, "offset", 1, minimum=1), whole(arguments, "limit", _DEFAULT_LINES, minimum=1)
        )
        return await in_thread(lambda stop: self._read(path, page, stop), context.controls)

    def _read(self, path: str, page: _Page, stop: Stop) -> str:
        location = self._workspace.locate(path)
        name = self._workspace.relative(location.path)
        with self._workspace.reading(location) as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(SAMPLE_BYTES)
            encoding = detect(head, complete=len(head) < SAMPLE_BYTES)
            if encoding is None:
                kind = kind_of(head)
                return f"{name}: binary file, {size} bytes" + (f", looks like {kind}" if kind else "")
            self._fill(page, location, file, head, encoding, stop)
        if not page.lines:
            return _empty(name, page, encoding)
        return page.render(encoding)

    def _fill(
        self, page: _Page, location: Location, file: BinaryIO, head: bytes, encoding: Encoding, stop: Stop
    ) -> None:
        """Feed the whole file to the page, chunk by chunk, so that memory does not grow with the file."""
        digest = hashlib.sha256()
        decoder = codecs.getincrementaldecoder(encoding.codec)(errors="replace")
        chunk, skip = head, len(encoding.mark)
        while chunk:
            stop.check()
            digest.update(chunk)
            page.feed(decoder.decode(chunk[skip:]))
            chunk, skip = file.read(SAMPLE_BYTES), 0
        page.feed(decoder.decode(b"", final=True))
        page.finish()
        self._seen.note(location.path, digest.hexdigest())


def _empty(name: str, page: _Page, encoding: Encoding) -> str:
    if page.total:
        raise ToolError(f"{name} has {page.total} lines: offset {page.first} is past its end")
    return f"{name} is empty" + (" but for a byte order mark" if encoding.mark else "")


class _Page:
    """Collects numbered lines from `first` on, at most `limit` of them and what fits into the size bound."""

    def __init__(self, first: int, limit: int) -> None:
        self.first = first
        self.lines: list[str] = []
        self.total = 0
        self._limit = limit
        self._room = _MOST_BYTES
        self._full = False
        self._begun = ""
        self._begun_length = 0

    def feed(self, piece: str) -> None:
        """Take the next piece of the file's text."""
        ends = piece.count("\n")
        if self._full or self.total + ends < self.first - 1:
            self._skip(piece, ends)
            return
        *ended, rest = piece.split("\n")
        for part in ended:
            self._extend(part)
            self._end_line()
        self._extend(rest)

    def finish(self) -> None:
        """The text is over: a last line without an end counts as well."""
        if self._begun_length:
            self._end_line()

    def render(self, encoding: Encoding) -> str:
        """The lines, and below them what the reader must know about the page."""
        last = self.first + len(self.lines) - 1
        notes = []
        if last < self.total:
            notes.append(f"lines {self.first}-{last} of {self.total}; continue with offset={last + 1}")
        elif self.first > 1:
            notes.append(f"lines {self.first}-{last} of {self.total}")
        if encoding != UTF_8:
            notes.append(f"decoded as {encoding.label}" + (", a guess" if encoding.guessed else ""))
        return "\n".join([*self.lines, *(f"[{note}]" for note in notes)])

    def _skip(self, piece: str, ends: int) -> None:
        self.total += ends
        self._begun = ""
        rest = len(piece) - (piece.rfind("\n") + 1)
        self._begun_length = rest if ends else self._begun_length + rest

    def _extend(self, part: str) -> None:
        if len(self._begun) <= _LONGEST_LINE:
            self._begun += part[: _LONGEST_LINE + 1]
        self._begun_length += len(part)

    def _end_line(self) -> None:
        line, length = self._begun.removesuffix("\r"), self._begun_length
        self._begun, self._begun_length = "", 0
        self.total += 1
        if self._full or self.total < self.first:
            return
        if length > _LONGEST_LINE + 1 or len(line) > _LONGEST_LINE:
            line = f"{line[:_LONGEST_LINE]} … [line cut: it has {length} characters]"
        numbered = f"{self.total:6}\t{line}"
        self._room -= len(numbered.encode()) + 1
        if self._room < 0:
            self._full = True
            return
        self.lines.append(numbered)
        self._full = len(self.lines) == self._limit
