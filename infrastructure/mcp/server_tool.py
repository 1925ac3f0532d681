"""A tool of an MCP server, as a session calls it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING

from quorum.application.ports.workspace import AttachmentViewer
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.seal import Seal
from quorum.domain.calls.tool import RiskLevel, ToolDefinition
from quorum.domain.errors import AttachmentError, StaleSeal, ToolError
from quorum.domain.mcp.offers import OfferedTool
from quorum.domain.text.amounts import format_size
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import ToolOutput
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.attachments.files import build_attachment
from quorum.infrastructure.mcp.argument_schema import adapt_schema
from quorum.infrastructure.mcp.connection import ServerConnection

if TYPE_CHECKING:
    from mcp_types import ContentBlock

_STANDARD_ALPHABET = str.maketrans("-_", "+/")


class ServerTool:
    """One tool of the server that `connection` leads to and `target` names for the person.

    `reads_only`: the settings say that its calls only read. `attachments` shows its images.
    """

    def __init__(
        self,
        tool: OfferedTool,
        connection: ServerConnection,
        *,
        target: str,
        cwd: str,
        reads_only: bool,
        timeout_secs: float,
        attachments: AttachmentViewer,
    ) -> None:
        self._tool = tool
        self._arguments = adapt_schema(tool.input_schema)
        self._connection = connection
        self._target = target
        self._cwd = cwd
        self._reads_only = reads_only
        self._timeout_secs = timeout_secs
        self._attachments = attachments

    @property
    def definition(self) -> ToolDefinition:
        """As the server describes it; high risk, and alone while it runs, unless it only reads."""
        reads_only = self._reads_only
        return ToolDefinition(
            name=self._tool.full_name,
            description=f"[MCP server {self._tool.server}] {self._tool.description}",
            parameters=(),
            input_schema=self._arguments.schema,
            risk=RiskLevel.LOW if reads_only else RiskLevel.HIGH,
            access=lambda _arguments: Access(exclusive=not reads_only),
        )

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """Which tool of which server, as it was described when this was asked. What it does is not sealed."""
        return self._seal()

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str | ToolOutput:
        """Have the server do it; the output is what it answered. Raises ToolError where it says that it failed,
        and StaleSeal where the tool is no longer what was approved."""
        approved = context.controls.seal
        if approved is not None and approved != self._seal():
            raise StaleSeal(f"{self._tool.full_name} is no longer the tool that was approved")
        result = await self._connection.call(
            self._tool.name,
            self._arguments.restore(arguments),
            timeout_secs=self._timeout_secs,
            report=context.controls.report,
        )
        text = "\n".join([await self._render_part(block, context) for block in result.content])
        if result.is_error:
            raise ToolError(
                text or f"the MCP server {self._tool.server} says that the call failed, and not why"
            )
        if result.structured_content is None:
            return text
        from quorum.infrastructure.mcp.answers import add_structure

        return add_structure(text, result.structured_content)

    def _seal(self) -> Seal:
        return Seal(
            cwd=self._cwd,
            unsealed=f"what the MCP server {self._tool.server} ({self._target}) does with this is not sealed, "
            f"and no sandbox holds it; its tool {self._tool.name} as it was described, "
            f"sha256 {self._tool.digest[:16]}",
        )

    async def _render_part(self, block: ContentBlock, context: ToolExecutionContext) -> str:
        from mcp_types import AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent

        match block:
            case TextContent():
                return block.text
            case ImageContent():
                return await self._show(block.data, block.mime_type, context)
            case AudioContent():
                return (
                    f"[audio, {_make_line(block.mime_type)}, {format_size(len(block.data) * 3 // 4)}: left out]"
                )
            case ResourceLink():
                return f"[resource {_make_line(block.uri)}: {_make_line(block.name)}]"
            case EmbeddedResource():
                text = getattr(block.resource, "text", None)
                place = _make_line(str(block.resource.uri))
                return (
                    f"[resource {place}]\n{text}" if isinstance(text, str) else f"[resource {place}: no text]"
                )

    async def _show(self, data: str, mime_type: str, context: ToolExecutionContext) -> str:
        try:
            content = _decode_base64(data)
            name = self._tool.full_name
            image = build_attachment(f"the answer of {name}", name, content)
            shown = await self._attachments.show(image, content, call_id=context.call_id)
        except (ValueError, AttachmentError) as error:
            return f"[image, {_make_line(mime_type)}, left out: {error}]"
        return shown.label


def _decode_base64(data: str) -> bytes:
    """Either alphabet, with line ends, without padding, or as a `data:` address. Raises ValueError."""
    if data.startswith("data:"):
        data = data.partition(",")[2]
    data = "".join(data.split()).translate(_STANDARD_ALPHABET).rstrip("=")
    return base64.b64decode(data + "=" * (-len(data) % 4), validate=True)


def _make_line(text: str) -> str:
    return make_printable(text, newlines=False)[:200]
