"""read_file: a page of a text file with line numbers."""

from __future__ import annotations

from domain.calls.execution import ToolExecutionContext
from domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from domain.errors import ToolError
from domain.text.json_value import JsonObject
from infrastructure.blocking import Stop, in_thread
from infrastructure.files.workspace import Workspace
from infrastructure.tools.builtin.arguments import FILE_PARAMETER, text, whole
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
    """Shows a file, page by page, and remembers what was seen."""

    def __init__(self, workspace: Workspace, seen: SeenFiles) -> None:
        self._workspace = workspace
        self._pages = PageReader(workspace, seen)
        self._definition = ToolDefinition(
            name="read_file",
            description=(
                "Read a text file. Each line comes with its number and a tab, which are not part of the file. "
                f"Long files come in pages of at most {LINES_PER_PAGE} lines and 60 kB; the end of a page says "
                f"how to get the next one. Lines are cut at {LONGEST_LINE} characters. Encodings are "
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
                    description=f"How many lines to show at most. Default {LINES_PER_PAGE}.",
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
        page = FilePage(
            whole(arguments, "offset", 1, minimum=1), whole(arguments, "limit", LINES_PER_PAGE, minimum=1)
        )
        return await in_thread(lambda stop: self._read(path, page, stop), context.controls)

    def _read(self, path: str, page: FilePage, stop: Stop) -> str:
        location = self._workspace.locate(path)
        name = self._workspace.relative(location.path)
        match self._pages.read(location, page, stop):
            case BinaryFile() as binary:
                return f"{name}: {binary.description}"
            case _:
                return _rendered(page) if page.lines else _empty(name, page)


def _rendered(page: FilePage) -> str:
    """The lines, and below them what the reader must know about the page."""
    notes = []
    if page.last < page.total:
        notes.append(f"lines {page.first}-{page.last} of {page.total}; continue with offset={page.last + 1}")
    elif page.first > 1:
        notes.append(f"lines {page.first}-{page.last} of {page.total}")
    return "\n".join([*page.lines, *(f"[{note}]" for note in [*notes, *page.encoding_notes])])


def _empty(name: str, page: FilePage) -> str:
    if page.total:
        raise ToolError(f"{name} has {page.total} lines: offset {page.first} is past its end")
    return f"{name} is empty" + (" but for a byte order mark" if page.encoding.mark else "")
