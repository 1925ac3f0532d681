"""read_file: a page of a text file with line numbers, an image, or a PDF."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from quorum.application.ports.workspace import AttachmentViewer
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.proposed_call import CallEffect
from quorum.domain.calls.seen_file import SeenFile
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import CountedLook, OutputKind, ToolTraits
from quorum.domain.errors import AttachmentError, ToolError
from quorum.domain.text.amounts import format_megabytes
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.attachments.files import build_attachment
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.tools.builtin.arguments import (
    FILE_PARAMETER,
    require_flag,
    require_integer,
    require_text,
)
from quorum.infrastructure.tools.builtin.file_page import (
    LINES_PER_PAGE,
    LONGEST_LINE,
    BinaryFile,
    FilePage,
    PageReader,
)
from quorum.infrastructure.tools.builtin.reading import declare_reading
from quorum.infrastructure.tools.builtin.seen import SeenFiles

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

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
                "Read a text file, or look at an image (PNG, JPEG, GIF, WebP) or a PDF. Each line comes with "
                "its number and a tab, which are not part of the file. Long files come in pages of at most "
                f"{LINES_PER_PAGE} lines and 60 kB; the end of a page says how to get the next one. Lines are "
                f"cut at {LONGEST_LINE} characters. Encodings are detected; of any other binary file only size "
                "and kind are given."
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
                    description=f"How many lines to show at most. Default {LINES_PER_PAGE}.",
                    minimum=1,
                ),
                ToolParameter(
                    name="raw",
                    type="boolean",
                    description="Show a notebook (.ipynb) as the JSON that it is. Default false: as its cells.",
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
        if isinstance(read, BinaryFile):
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
    if page.last < page.total:
        notes.append(f"lines {page.first}-{page.last} of {page.total}; continue with offset={page.last + 1}")
    elif page.first > 1:
        notes.append(f"lines {page.first}-{page.last} of {page.total}")
    return "\n".join([*page.lines, *(f"[{note}]" for note in [*notes, *page.notes])])


def _describe_empty(name: str, page: FilePage) -> str:
    if page.total:
        raise ToolError(f"{name} has {page.total} lines: offset {page.first} is past its end")
    return f"{name} is empty" + (" but for a byte order mark" if page.encoding.mark else "")
