"""What an MCP server offers: its tools, prompts and resources, as it lists them and as they are used.

The digests of the tools that the person accepted are kept in a file of the state folder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from quorum.domain.conversation.attachment import AttachedFile
from quorum.domain.errors import ToolError
from quorum.domain.mcp.offers import (
    MOST_PROMPTS,
    MOST_RESOURCES,
    OfferedPrompt,
    OfferedResource,
    OfferedTool,
    PromptParameter,
    Selection,
    make_offered_prompt,
    make_offered_resource,
    make_offered_tool,
    select_tools,
)
from quorum.domain.text.amounts import format_size
from quorum.domain.text.json_text import count_utf8_bytes
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.mcp.answers import iterate_pages
from quorum.infrastructure.mcp.argument_schema import adapt_schema
from quorum.infrastructure.tools.json_schema import find_schema_problem

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import ContentBlock, GetPromptResult, ReadResourceResult


_MOST_CHARACTERS = 100_000


async def list_prompts(server: str, client: Client, notices: list[str]) -> tuple[OfferedPrompt, ...]:
    """Those of the server, at most 100, one of each name; none where it does not say that it has any."""
    if client.server_capabilities.prompts is None:
        return ()
    found: dict[str, OfferedPrompt] = {}
    async for page in iterate_pages(lambda cursor: client.list_prompts(cursor=cursor), notices):
        for each in page.prompts:
            parameters = tuple(PromptParameter(one.name, bool(one.required)) for one in each.arguments or ())
            prompt = make_offered_prompt(server, each.name, each.description or each.title or "", parameters)
            found.setdefault(prompt.command, prompt)
        if len(found) > MOST_PROMPTS or (len(found) == MOST_PROMPTS and page.next_cursor):
            notices.append(f"of its prompts the first {MOST_PROMPTS} are offered")
            break
    return tuple(found.values())[:MOST_PROMPTS]


def render_prompt(result: GetPromptResult) -> str:
    """The text of its messages, with control sequences drawn, and cut at 100,000 characters."""
    parts = [
        f"[as an answer of the assistant]\n{text}" if message.role == "assistant" else text
        for message in result.messages
        if (text := _describe(message.content))
    ]
    whole = make_printable("\n\n".join(parts))
    if (left_out := len(whole) - _MOST_CHARACTERS) > 0:
        return f"{whole[:_MOST_CHARACTERS]}\n[{left_out:,} more characters are left out]"
    return whole


def _describe(block: ContentBlock) -> str:
    from mcp_types import AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent

    match block:
        case TextContent():
            return block.text
        case ImageContent() | AudioContent():
            size = format_size(len(block.data) * 3 // 4)
            return f"[{block.type}, {block.mime_type}, {size}: left out]"
        case ResourceLink():
            return f"[resource {block.uri}: {block.name}]"
        case EmbeddedResource():
            text = getattr(block.resource, "text", None)
            place = str(block.resource.uri)
            return f"[resource {place}]\n{text}" if isinstance(text, str) else f"[resource {place}: no text]"


_NO_TEXT = "it is not text ({kind})"
_NO_ROOM = "the context window has no room left for it"


async def list_resources(server: str, client: Client, notices: list[str]) -> tuple[OfferedResource, ...]:
    """The first 500 of the server; none where it does not say that it has any."""
    if client.server_capabilities.resources is None:
        return ()
    found: list[OfferedResource | None] = []
    async for page in iterate_pages(lambda cursor: client.list_resources(cursor=cursor), notices):
        for each in page.resources:
            found.append(make_offered_resource(server, each.uri, each.description or each.name))
        if len(found) > MOST_RESOURCES or (len(found) == MOST_RESOURCES and page.next_cursor):
            notices.append(f"of its resources the first {MOST_RESOURCES} are offered")
            break
    return tuple(each for each in found if each is not None)[:MOST_RESOURCES]


async def list_resource_templates(
    server: str, client: Client, notices: list[str]
) -> tuple[OfferedResource, ...]:
    """The first 500 of the server; none where it does not say that it has resources."""
    if client.server_capabilities.resources is None:
        return ()
    found: list[OfferedResource | None] = []
    async for page in iterate_pages(lambda cursor: client.list_resource_templates(cursor=cursor), notices):
        for each in page.resource_templates:
            described = each.description or each.name
            found.append(make_offered_resource(server, each.uri_template, described, is_template=True))
        if len(found) > MOST_RESOURCES or (len(found) == MOST_RESOURCES and page.next_cursor):
            notices.append(f"of its resources the first {MOST_RESOURCES} are offered")
            break
    return tuple(each for each in found if each is not None)[:MOST_RESOURCES]


def attach_resource(name: str, found: ReadResourceResult, most_bytes: int) -> AttachedFile:
    """Its texts, one after the other; or why nothing is attached. Escape sequences are drawn, not sent."""
    texts = [text for each in found.contents if isinstance(text := getattr(each, "text", None), str)]
    if not texts:
        kinds = ", ".join(dict.fromkeys(each.mime_type or "of an unknown type" for each in found.contents))
        kind = make_printable(kinds, newlines=False)[:80] or "nothing"
        return AttachedFile(name=name, note=_NO_TEXT.format(kind=kind))
    whole = "\n".join(texts)
    lines = make_printable(whole).splitlines()
    kept: list[str] = []
    for line in lines:
        most_bytes -= count_utf8_bytes(line) + 1
        if most_bytes < 0:
            break
        kept.append(line)
    if not kept:
        return AttachedFile(name=name, note=_NO_ROOM if lines else "it is empty")
    left_out = len(lines) - len(kept)
    return AttachedFile(
        name=name,
        content="\n".join(kept),
        first_line=1,
        last_line=len(kept),
        total_lines=len(lines),
        size_bytes=count_utf8_bytes(whole),
        note=f"{left_out} more lines are left out" if left_out else "",
    )


def select_usable_tools(server: str, tools: Sequence[OfferedTool], wanted: Sequence[str]) -> Selection:
    """Those of `select_tools` whose arguments can be checked. Loads the validator: blocks."""
    selection = select_tools(server, tools, wanted)
    problems = list(selection.problems)
    kept: list[OfferedTool] = []
    for tool in selection.tools:
        if (problem := find_schema_problem(adapt_schema(tool.input_schema).schema)) is None:
            kept.append(tool)
        else:
            problems.append(f"the tool {tool.full_name} is not offered: the schema of its arguments: {problem}")
    return Selection(tools=tuple(kept), problems=tuple(problems))


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
