"""read_file: a page of a text file with line numbers, an image, or a PDF.

A mention attaches the same pages.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

from quorum.application.ports.workspace import AttachmentViewer
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.run_state import SeenFile
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import CallEffect, CountedLook, OutputKind, ToolTraits
from quorum.domain.conversation.attachment import PDF_REMEDY
from quorum.domain.errors import AttachmentError, ToolError
from quorum.domain.text.amounts import format_amount, format_megabytes, format_size
from quorum.domain.text.json_text import count_utf8_bytes
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.attachment_files import LARGEST_BYTES, LARGEST_PDF_BYTES, build_attachment, is_pdf
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.files.encoding import (
    SAMPLE_BYTES,
    UTF_8,
    Encoding,
    detect,
    detect_binary_kind,
    is_image,
)
from quorum.infrastructure.files.workspace import Location, Workspace
from quorum.infrastructure.tools.builtin.drafting import LARGEST_EDITED
from quorum.infrastructure.tools.builtin.parts import (
    FILE_PARAMETER,
    declare_reading,
    require_flag,
    require_integer,
    require_text,
)
from quorum.infrastructure.tools.builtin.seen import SeenFiles

if TYPE_CHECKING:
    from quorum.infrastructure.tools.builtin.parts import ToolParts


LINES_PER_PAGE = 2000
LONGEST_LINE = 2000
PAGE_BYTES = 60_000
# Read in about a second. Of an endless line, or before a far offset, no more is.
_MOST_BYTES = 512 * 1024 * 1024
# quorum takes no PDF apart itself: a command that does is reviewed, and runs in the sandbox.
_REMEDIES = {"PDF": f"; {PDF_REMEDY}"}
_NOTEBOOK = (
    "a notebook as its cells, without outputs; the line numbers count here only. "
    "Edits change the JSON of the file: read that first, with raw=true"
)


class BinaryFile(Struct, frozen=True, kw_only=True):
    """A file that is not text. `kind` is what its first bytes look like, or None. `largest_bytes` is
    what one of its kind may have to be shown to a model, 0 for others; `shown` is then its whole content.
    `sha256` is empty for one that is too large for the tools that change files."""

    name: str
    size_bytes: int
    sha256: str
    kind: str | None
    largest_bytes: int = 0
    shown: bytes | None = None

    @property
    def description(self) -> str:
        """Its description for the model."""
        looks = f", looks like {self.kind}" if self.kind else ""
        return f"binary file, {self.size_bytes} bytes{looks}"

    @property
    def remedy(self) -> str:
        """How else a model gets at what it holds, after a semicolon; empty where nothing is known."""
        return _REMEDIES.get(self.kind or "", "")


class FilePage:
    """Collects numbered lines from `first` on, at most `limit` of them and what fits into `most_bytes`.

    `read_bytes` says how much of a file was read that is too large to be read to its end, else None.
    """

    def __init__(self, first: int, limit: int | None = None, *, most_bytes: int = PAGE_BYTES) -> None:
        self.first = first
        self.lines: list[str] = []
        self.total = 0
        self.size_bytes = 0
        self.sha256 = ""
        self.read_bytes: int | None = None
        self.encoding = UTF_8
        self.is_of_notebook = False
        self._limit = LINES_PER_PAGE if limit is None else limit
        self._room = most_bytes
        self.is_full = False
        self._begun = ""
        self._begun_length = 0

    @property
    def last(self) -> int:
        """The number of the last line; that before `first` where there is none."""
        return self.first + len(self.lines) - 1

    def build_seen(self, path: str) -> SeenFile | None:
        """What the page shows of the file at this canonical path, a line that is cut as if it were whole.

        None for the cells of a notebook, because what an edit would change is not in them, and for a page that
        shows nothing of a file that is not empty, or was not read to its end.
        """
        if self.is_of_notebook or self.read_bytes is not None or (self.total and not self.lines):
            return None
        return SeenFile(
            path=path, sha256=self.sha256, first_line=self.first, last_line=self.last, lines=self.total
        )

    @property
    def notes(self) -> list[str]:
        """How the lines came about, where they are not simply those of the file."""
        notes = [_NOTEBOOK] if self.is_of_notebook else []
        if self.encoding != UTF_8:
            notes.append(f"decoded as {self.encoding.label}" + (", a guess" if self.encoding.guessed else ""))
        if self.encoding.is_broken:
            notes.append("invalid bytes are shown as \\xff; an edit beside them keeps them")
        return notes

    def feed(self, piece: str) -> None:
        """Take the next piece of the file's text."""
        ends = piece.count("\n")
        if self.is_full or self.total + ends < self.first - 1:
            self._skip(piece, ends)
            return
        *ended, rest = piece.split("\n")
        if ended and self._begun_length:
            self._extend(ended.pop(0))
            self._end_line()
        skipped = min(max(self.first - 1 - self.total, 0), len(ended))
        self.total += skipped
        wanted = ended[skipped : skipped + self._limit - len(self.lines)]
        if not self._add_at_once(wanted):
            for line in wanted:
                self._add_line(line, len(line))
        self.total += len(ended) - skipped - len(wanted)
        self._extend(rest)

    def finish(self) -> None:
        """The text is over: a last line without an end counts as well."""
        if self._begun_length:
            self._end_line()

    def stop_at(self, read_bytes: int) -> None:
        """No more of the file is read: of the line that has begun only what would be cut is shown."""
        self.read_bytes = read_bytes
        if self._begun_length > LONGEST_LINE:
            self._end_line()

    def _skip(self, piece: str, ends: int) -> None:
        self.total += ends
        self._begun = ""
        rest = len(piece) - (piece.rfind("\n") + 1)
        self._begun_length = rest if ends else self._begun_length + rest

    def _extend(self, part: str) -> None:
        if len(self._begun) <= LONGEST_LINE:
            self._begun += part[: LONGEST_LINE + 1]
        self._begun_length += len(part)

    def _end_line(self) -> None:
        line, length = self._begun, self._begun_length
        self._begun, self._begun_length = "", 0
        self._add_line(line, length)

    def _add_line(self, line: str, length: int) -> None:
        self.total += 1
        if self.is_full or self.total < self.first:
            return
        line = line.removesuffix("\r")
        if length > LONGEST_LINE + 1 or len(line) > LONGEST_LINE:
            line = f"{line[:LONGEST_LINE]} … [line cut: it has {length} characters]"
        numbered = f"{self.total}\t{line}"
        self._room -= count_utf8_bytes(numbered) + 1
        if self._room < 0:
            self.is_full = True
            return
        self.lines.append(numbered)
        self.is_full = len(self.lines) == self._limit

    def _add_at_once(self, lines: Sequence[str]) -> bool:
        """Add the next lines if all fit as they are, as most do. Returns whether they were added."""
        if self.is_full or not lines or max(map(len, lines)) > LONGEST_LINE:
            return False
        numbered = [f"{number}\t{line}" for number, line in enumerate(lines, self.total + 1)]
        text = "\n".join(numbered)
        if "\r" in text or (size := count_utf8_bytes(text) + 1) > self._room:
            return False
        self._room -= size
        self.total += len(lines)
        self.lines += numbered
        self.is_full = len(self.lines) == self._limit
        return True


class PageReader:
    """Reads pages of files."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def read(
        self,
        location: Location,
        page: FilePage,
        stop: Stop,
        *,
        largest_bytes: int | None = None,
        with_attachments: bool = False,
        raw: bool = False,
    ) -> FilePage | BinaryFile | None:
        """Fill the page, of a notebook with its cells unless it is to be `raw`; in its place what a binary file
        is, or None for a text of more than `largest_bytes`.

        Raises ToolError.
        """
        with self._workspace.open_file(location) as file:
            page.size_bytes = os.fstat(file.fileno()).st_size
            is_too_large = largest_bytes is not None and page.size_bytes > largest_bytes
            head = file.read(SAMPLE_BYTES)
            encoding = detect(head, complete=len(head) < SAMPLE_BYTES)
            if encoding is None:
                most = LARGEST_PDF_BYTES if is_pdf(head) else LARGEST_BYTES if is_image(head) else 0
                return BinaryFile(
                    name=self._workspace.format_path(location.path),
                    size_bytes=page.size_bytes,
                    sha256=""
                    if is_too_large or page.size_bytes > LARGEST_EDITED
                    else _compute_hash(file, head, stop),
                    kind=detect_binary_kind(head),
                    largest_bytes=most,
                    shown=_read_whole(file, head, most) if most and with_attachments else None,
                )
            if is_too_large:
                return None
            page.encoding = encoding
            if not raw and is_notebook(location.names[-1]) and _fill_with_cells(page, file, head, encoding):
                return page
            _fill(page, file, head, encoding, stop)
        return page


def _fill(page: FilePage, file: BinaryIO, head: bytes, encoding: Encoding, stop: Stop) -> None:
    """Feed the file to the page, chunk by chunk, so that memory does not grow with the file: all of it, or
    what fills the page of one that is too large for the tools that change files."""
    digest = hashlib.sha256()
    errors = "backslashreplace" if encoding.is_broken else "replace"
    decoder = codecs.getincrementaldecoder(encoding.codec)(errors=errors)
    chunk, skip, read = head, len(encoding.mark), 0
    while chunk:
        stop.check()
        digest.update(chunk)
        page.feed(decoder.decode(chunk[skip:]))
        read += len(chunk)
        if read >= _MOST_BYTES or (page.is_full and read > LARGEST_EDITED):
            page.stop_at(read)
            return
        chunk, skip = file.read(SAMPLE_BYTES), 0
    page.feed(decoder.decode(b"", final=True))
    page.finish()
    page.sha256 = digest.hexdigest()


def _compute_hash(file: BinaryIO, head: bytes, stop: Stop) -> str:
    """The SHA-256 of a file of which the head has been read."""
    digest, chunk = hashlib.sha256(), head
    while chunk:
        stop.check()
        digest.update(chunk)
        chunk = file.read(SAMPLE_BYTES)
    return digest.hexdigest()


def _fill_with_cells(page: FilePage, file: BinaryIO, head: bytes, encoding: Encoding) -> bool:
    """Feed the cells of a notebook to the page; whether it is one. If not, the file stands as it was."""
    if page.size_bytes <= LARGEST_NOTEBOOK_BYTES:
        content = head + file.read(LARGEST_NOTEBOOK_BYTES + 1 - len(head))
        text = content[len(encoding.mark) :].decode(encoding.codec, errors="replace")
        if len(content) <= LARGEST_NOTEBOOK_BYTES and (cells := render_cells(text)) is not None:
            page.is_of_notebook = True
            page.feed(cells)
            page.finish()
            return True
        file.seek(len(head))
    return False


def _read_whole(file: BinaryIO, head: bytes, most: int) -> bytes | None:
    """All of an open file of which this was read; None where that is more than so many bytes."""
    file.seek(len(head))
    content = head + file.read(most + 1 - len(head))
    return content if len(content) <= most else None


TRAITS = ToolTraits(
    verb="read",
    title="Read",
    output=OutputKind.SOURCE,
    look=CountedLook("read", "file", distinct="path"),
    wording={"offset": "from line {}", "limit": "{} lines", "raw": "as JSON"},
    kind="read",
    effect=CallEffect.READ,
    arguments=("path", "offset", "limit", "raw"),
    program="cat",
)


def build(parts: ToolParts) -> ReadFile:
    """The tool, which looks at pictures as well."""
    return ReadFile(parts.workspace, parts.seen, parts.attachments)


class ReadFile:
    """Shows a file, page by page, and remembers what was seen. Without `attachments` it only names images and
    PDFs."""

    def __init__(
        self, workspace: Workspace, seen: SeenFiles, attachments: AttachmentViewer | None = None
    ) -> None:
        self._attachments = attachments
        self._workspace = workspace
        self._pages = PageReader(workspace)
        self._seen = seen
        self.definition = ToolDefinition(
            name="read_file",
            description=(
                "Read a text file, or look at an image or a PDF. Each line comes with "
                "its number and a tab, which are not part of the file. Long files come in pages of at most "
                f"{LINES_PER_PAGE} lines and 60 kB; lines are cut at {LONGEST_LINE} characters."
            ),
            parameters=(
                FILE_PARAMETER,
                ToolParameter(
                    name="offset",
                    type="integer",
                    description="Number of the first line, from 1 (default).",
                    minimum=1,
                ),
                ToolParameter(
                    name="limit",
                    type="integer",
                    minimum=1,
                ),
                ToolParameter(
                    name="raw",
                    type="boolean",
                    description="Show a notebook (.ipynb) as its JSON instead of its cells.",
                ),
            ),
            risk=RiskLevel.LOW,
            inline_bytes=70_000,
            access=lambda arguments: declare_reading(workspace.resolve(require_text(arguments, "path"))),
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """The page as text, or the label of what is shown with the result. Raises ToolError."""
        path = require_text(arguments, "path")
        page = FilePage(
            require_integer(arguments, "offset", 1, minimum=1),
            require_integer(arguments, "limit", LINES_PER_PAGE, minimum=1),
        )
        raw = require_flag(arguments, "raw")
        read = await run_in_thread(
            lambda stop: self._read(path, page, context, stop, raw=raw), context.controls
        )
        return read if isinstance(read, str) else await self._show_binary(read, context.call_id)

    def _read(
        self, path: str, page: FilePage, context: ToolExecutionContext, stop: Stop, *, raw: bool
    ) -> str | BinaryFile:
        location = self._workspace.locate(path)
        read = self._pages.read(location, page, stop, with_attachments=self._attachments is not None, raw=raw)
        self._seen.note_folder(location.path)
        if isinstance(read, BinaryFile):
            if read.sha256:
                self._seen.note_page(context, SeenFile(path=location.path, sha256=read.sha256))
            return read
        if (seen := page.build_seen(location.path)) is not None:
            self._seen.note_page(context, seen)
        return (
            _render_page(page)
            if page.lines
            else _describe_empty(self._workspace.format_path(location.path), page)
        )

    async def _show_binary(self, file: BinaryFile, call_id: str) -> str:
        described = f"{file.name}: {file.description}"
        if self._attachments is None or not file.largest_bytes:
            return f"{described}{file.remedy}"
        if (content := file.shown) is None:
            most, kind = format_megabytes(file.largest_bytes), "a PDF" if file.kind == "PDF" else "an image"
            return f"{described}; not shown, as {kind} has at most {most}{file.remedy}"
        try:
            found = await run_in_thread(
                lambda _stop: build_attachment(file.name, os.path.basename(file.name), content)
            )
            shown = await self._attachments.show(found, content, call_id=call_id)
        except AttachmentError as error:
            return f"{described}; not shown: {error}{file.remedy}"
        return f"{shown.label} of {file.size_bytes} bytes is shown with this result"


def _render_page(page: FilePage) -> str:
    """The lines, and below them what the reader must know about the page."""
    notes = []
    if page.read_bytes is not None:
        notes.append(
            f"lines {page.first}-{page.last} of a file of {format_size(page.size_bytes)}; "
            + (f"continue with offset={page.last + 1}" if page.is_full else _explain_end(page.read_bytes))
        )
    elif page.last < page.total:
        notes.append(f"lines {page.first}-{page.last} of {page.total}; continue with offset={page.last + 1}")
    elif page.first > 1:
        notes.append(f"lines {page.first}-{page.last} of {page.total}")
    return "\n".join([*page.lines, *(f"[{note}]" for note in [*notes, *page.notes])])


def _explain_end(read_bytes: int) -> str:
    return (
        f"only the first {format_size(read_bytes)} were read: a command such as tail or sed shows what follows"
    )


def _describe_empty(name: str, page: FilePage) -> str:
    if page.read_bytes is not None:
        raise ToolError(
            f"{name} has {page.total} lines before offset {page.first}; {_explain_end(page.read_bytes)}"
        )
    if page.total:
        raise ToolError(f"{name} has {page.total} lines: offset {page.first} is past its end")
    return f"{name} is empty" + (" but for a byte order mark" if page.encoding.mark else "")


LARGEST_NOTEBOOK_BYTES = 20_000_000
"""A longer notebook is not taken apart: it is shown as the JSON that it is."""

_LONGEST_TYPE = 20


def is_notebook(name: str) -> bool:
    """Whether a file is named as notebooks are."""
    return name.lower().endswith(".ipynb")


def render_cells(content: str) -> str | None:
    """The cells one after the other, a line above each; None for what is no notebook of the format 4."""
    try:
        notebook: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        return None
    return "".join(part for index, cell in enumerate(cells) for part in _render_cell(index, cell))


def _render_cell(index: int, cell: dict[str, object]) -> Iterator[str]:
    kind = cell.get("cell_type")
    shown = make_printable(kind, newlines=False)[:_LONGEST_TYPE] if isinstance(kind, str) else "of no type"
    outputs = cell.get("outputs")
    count = len(outputs) if isinstance(outputs, list) else 0
    left_out = f", {format_amount(count, 'output')} not shown" if count else ""
    yield f"[cell {index}, {shown}{left_out}]\n"
    source = _read_source(cell.get("source"))
    yield source
    if source and not source.endswith("\n"):
        yield "\n"


def _read_source(source: object) -> str:
    if isinstance(source, str):
        return source
    if isinstance(source, list):
        return "".join(line for line in source if isinstance(line, str))
    return ""
