"""Prompts of an MCP server: the list of them, and the text of one as it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorum.domain.mcp.offered_prompt import MOST_PROMPTS, OfferedPrompt, PromptParameter, make_offered_prompt
from quorum.domain.text.amounts import format_size
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.mcp.pages import iterate_pages

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import ContentBlock, GetPromptResult

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
