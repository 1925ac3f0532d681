"""A resource of an MCP server as it is attached to a prompt: whole lines of text, as many as fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorum.domain.conversation.attached_file import AttachedFile
from quorum.domain.mcp.offered_resource import MOST_RESOURCES, OfferedResource, make_offered_resource
from quorum.domain.text.json_text import count_utf8_bytes
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.mcp.pages import iterate_pages

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import ReadResourceResult

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
