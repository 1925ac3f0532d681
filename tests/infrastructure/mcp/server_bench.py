"""MCP servers as real processes, and a session's tools that they join."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from quorum.application.calls.tool_set import ToolSet
from quorum.application.event_bus import EventBus
from quorum.application.session.server_questions import ServerQuestions
from quorum.domain.calls.execution import Seal
from quorum.domain.calls.tool import ToolDefinition
from quorum.domain.conversation.attachment import Attachment
from quorum.domain.text.output import ToolOutput
from quorum.infrastructure.config.program_tables import McpServerTable
from quorum.infrastructure.mcp.pinned_tools import PinnedTools
from quorum.infrastructure.mcp.servers import McpServers
from quorum.infrastructure.tools.json_schema import JsonSchema
from tests.support.builders import a_context
from tests.support.fake_ports import FakePerson, RecordingObserver

SERVER = str(Path(__file__).parents[2] / "support" / "mcp_plain_server.py")


class ShownImages:
    """Keeps what is shown."""

    def __init__(self) -> None:
        self.contents: list[bytes] = []

    async def show(self, attachment: Attachment, content: bytes, *, call_id: str) -> Attachment:
        self.contents.append(content)
        return attachment


def a_server(
    plan: Mapping[str, object] | None = None, *, marker: str = "", **settings: object
) -> McpServerTable:
    """A server that is told what to do; `marker` is an argument by which its process is found."""
    command = (sys.executable, "-I", "-S", SERVER, json.dumps(plan or {}), *filter(None, (marker,)))
    return McpServerTable(command=command, **settings)  # type: ignore[arg-type]


def a_tool(name: str, description: str = "d") -> dict[str, object]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}


class ServerBench:
    """The servers of one session. Use it as a context: afterwards no server is alive."""

    def __init__(
        self,
        root: Path,
        *,
        trusts: bool = False,
        is_there: bool = True,
        reads_only: bool = False,
        environ: Mapping[str, str] = os.environ,
        **tables: McpServerTable,
    ) -> None:
        self.tools = ToolSet({}, JsonSchema())
        self.person = FakePerson(trusts=trusts)
        self.person.is_there = is_there
        self.images = ShownImages()
        self.observer = RecordingObserver()
        self.bus = EventBus([self.observer])
        self.servers = McpServers(
            tables,
            tools=self.tools,
            pins=PinnedTools(root),
            questions=ServerQuestions(self.person, self.bus),
            attachments=self.images,
            cwd=root,
            environ=environ,
            is_offered=lambda _name, reads: reads or not reads_only,
        )

    async def __aenter__(self) -> ServerBench:
        self.servers.begin()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.servers.aclose()

    def definition(self, name: str) -> ToolDefinition:
        tool = self.tools.find(name)
        assert tool is not None, f"{name} is none of {self.tools.names}"
        return tool.definition

    async def seal(self, name: str, **arguments: str) -> Seal:
        tool = self.tools.find(name)
        assert tool is not None, f"{name} is none of {self.tools.names}"
        return await tool.seal(arguments, {})

    async def call(self, name: str, **arguments: str) -> str:
        output = await self.call_for_output(name, **arguments)
        assert isinstance(output, str)
        return output

    async def call_for_output(self, name: str, **arguments: str) -> str | ToolOutput:
        tool = self.tools.find(name)
        assert tool is not None, f"{name} is none of {self.tools.names}"
        return await tool.execute(arguments, a_context())
