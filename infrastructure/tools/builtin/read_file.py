"""read_file: a page of a text file with line numbers, or an image."""

from __future__ import annotations

import os

from application.ports.workspace import ImageViewer
from domain.calls.execution import ToolExecutionContext
from domain.calls.seen_file import SeenFile
from domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from domain.conversation.image import format_megabytes
from domain.errors import ImageError, ToolError
from domain.text.json_value import JsonObject
from infrastructure.blocking import Stop, in_thread
from infrastructure.files.workspace import Workspace
from infrastructure.images.files import LARGEST_BYTES, image_of
from infrastructure.tools.builtin.arguments import FILE_PARAMETER, flag, text, whole
from infrastructure.tools.builtin.file_page import (
    LINES_PER_PAGE,
    LONGEST_LINE,
    BinaryFile,
    FilePage,
    PageReader,
)
from infrastructure.tools.builtin.reading import reading_access
from infrastructure.tools.builtin.seen import SeenFiles


class ReadFile:
    """Shows a file, page by page, and remembers what was seen. Without `images` it names images only."""

    def __init__(self, workspace: Workspace, seen: SeenFiles, images: ImageViewer | None = None) -> None:
        self._images = images
        self._workspace = workspace
        self._pages = PageReader(workspace)
        self._seen = seen
        self._definition = ToolDefinition(
            name="read_file",
            description=(
                "Read a text file, or look at an image (PNG, JPEG, GIF, WebP). Each line comes with its number "
                "and a tab, which are not part of the file. Long files come in pages of at most "
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
            access=lambda arguments: reading_access(workspace.locate(text(arguments, "path"))),
        )

    @property
    def definition(self) -> ToolDefinition:
        """What the tool is."""
        return self._definition

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """The page as text, or the label of the image that is shown with the result. Raises ToolError."""
        path = text(arguments, "path")
        page = FilePage(
            whole(arguments, "offset", 1, minimum=1), whole(arguments, "limit", LINES_PER_PAGE, minimum=1)
        )
        raw = flag(arguments, "raw")
        read = await in_thread(lambda stop: self._read(path, page, context, stop, raw=raw), context.controls)
        return read if isinstance(read, str) else await self._shown(read, context.call_id)

    def _read(
        self, path: str, page: FilePage, context: ToolExecutionContext, stop: Stop, *, raw: bool
    ) -> str | BinaryFile:
        location = self._workspace.locate(path)
        read = self._pages.read(location, page, stop, with_images=self._images is not None, raw=raw)
        if isinstance(read, BinaryFile):
            self._seen.note_page(context, SeenFile(path=location.path, sha256=read.sha256))
            return read
        if (seen := page.seen(location.path)) is not None:
            self._seen.note_page(context, seen)
        return _rendered(page) if page.lines else _empty(self._workspace.relative(location.path), page)

    async def _shown(self, file: BinaryFile, call_id: str) -> str:
        if self._images is None or not file.is_image:
            return f"{file.name}: {file.description}"
        if file.image is None:
            most = format_megabytes(LARGEST_BYTES)
            return f"{file.name}: {file.description}; not shown, as an image has at most {most}"
        try:
            found = image_of(file.name, os.path.basename(file.name), file.image)
            image = await self._images.show(found, file.image, call_id=call_id)
        except ImageError as error:
            return f"{file.name}: {file.description}; not shown: {error}"
        return f"{image.label} of {file.size_bytes} bytes is shown with this result"


def _rendered(page: FilePage) -> str:
    """The lines, and below them what the reader must know about the page."""
    notes = []
    if page.last < page.total:
        notes.append(f"lines {page.first}-{page.last} of {page.total}; continue with offset={page.last + 1}")
    elif page.first > 1:
        notes.append(f"lines {page.first}-{page.last} of {page.total}")
    return "\n".join([*page.lines, *(f"[{note}]" for note in [*notes, *page.notes])])


def _empty(name: str, page: FilePage) -> str:
    if page.total:
        raise ToolError(f"{name} has {page.total} lines: offset {page.first} is past its end")
    return f"{name} is empty" + (" but for a byte order mark" if page.encoding.mark else "")
