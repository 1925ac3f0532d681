"""What an MCP server offers: its tools, prompts and resources, as it lists them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from quorum.domain.errors import ToolError
from quorum.domain.mcp.offered_prompt import OfferedPrompt
from quorum.domain.mcp.offered_resource import OfferedResource
from quorum.domain.mcp.offered_tool import OfferedTool, make_offered_tool
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.mcp.pages import iterate_pages
from quorum.infrastructure.mcp.prompt import list_prompts
from quorum.infrastructure.mcp.resource import list_resource_templates, list_resources

if TYPE_CHECKING:
    from mcp import Client

_Entry = TypeVar("_Entry")


class ServerOffer(Struct, frozen=True, kw_only=True):
    """What a server offers, and what it says of itself."""

    tools: tuple[OfferedTool, ...]
    version: str
    prompts: tuple[OfferedPrompt, ...] = ()
    resources: tuple[OfferedResource, ...] = ()
    notices: tuple[str, ...] = ()


NO_OFFER = ServerOffer(tools=(), version="")


async def list_offer(server: str, client: Client, *, timeout_secs: float) -> ServerOffer:
    """Ask for all lists. Raises ToolError, TimeoutError or ValueError where the server does not list its tools;
    the others have `timeout_secs` each, and may fail with a notice."""
    notices: list[str] = []
    tools = await _list_tools(server, client, notices)
    prompts = await _try(server, "prompts", list_prompts, client, notices, timeout_secs)
    templates = await _try(server, "resources", list_resource_templates, client, notices, timeout_secs)
    resources = await _try(server, "resources", list_resources, client, notices, timeout_secs)
    info = client.server_info
    version = "" if info is None else make_printable(f"{info.name} {info.version}", newlines=False).strip()[:80]
    return ServerOffer(
        tools=tools,
        version=version,
        prompts=prompts,
        resources=(*templates, *resources),
        notices=tuple(notices),
    )


async def _list_tools(server: str, client: Client, notices: list[str]) -> tuple[OfferedTool, ...]:
    from mcp.shared.exceptions import MCPError
    from mcp_types import METHOD_NOT_FOUND

    found: list[OfferedTool] = []
    reasons: list[str] = []
    try:
        async for page in iterate_pages(lambda cursor: client.list_tools(cursor=cursor), reasons):
            found += [
                make_offered_tool(server, tool.name, tool.description or "", tool.input_schema)
                for tool in page.tools
            ]
    except MCPError as error:
        if error.code != METHOD_NOT_FOUND or client.server_capabilities.tools is not None:
            raise ToolError(f"it did not list its tools: {describe_failure(error)}") from error
    notices += [f"the tools of the MCP server {server}: {reason}" for reason in reasons]
    return tuple(found)


async def _try(
    server: str,
    what: str,
    listing: Callable[[str, Client, list[str]], Awaitable[tuple[_Entry, ...]]],
    client: Client,
    notices: list[str],
    timeout_secs: float,
) -> tuple[_Entry, ...]:
    """What the server lists; nothing, and a notice, where it does not: its tools are there all the same."""
    from mcp.shared.exceptions import MCPError
    from mcp_types import METHOD_NOT_FOUND

    reasons: list[str] = []
    try:
        async with asyncio.timeout(timeout_secs):
            found = await listing(server, client, reasons)
    except (MCPError, TimeoutError, ValueError) as error:
        if not (isinstance(error, MCPError) and error.code == METHOD_NOT_FOUND):
            notices.append(f"the MCP server {server} did not list its {what}: {describe_failure(error)}")
        return ()
    notices += [f"the {what} of the MCP server {server}: {reason}" for reason in reasons]
    return found


def describe_failure(error: BaseException) -> str:
    """The innermost reasons of a failure in a sentence's words: the SDK nests them in groups."""
    found: list[str] = []
    waiting: list[BaseException] = [error]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
        else:
            found.append(make_printable(str(one) or type(one).__name__, newlines=False)[:500])
    return "; ".join(dict.fromkeys(found))
