"""Reading a response's body within a bound, whatever the server sends."""

from __future__ import annotations

from dataclasses import dataclass

import httpx2

from domain.errors import ToolError

ACCEPTED_ENCODINGS = "gzip, deflate"
_DECODABLE = frozenset({"", "identity", "gzip", "deflate"})


@dataclass(frozen=True, slots=True)
class Body:
    """Decoded content. `cut`: there was more of it than was wanted."""

    content: bytes
    cut: bool


async def read_body(response: httpx2.Response, max_bytes: int) -> Body:
    """Read at most `max_bytes`, counted after decompression, and hang up on the rest.

    Raises ToolError for a compression that was not asked for, httpx2.HTTPError for a broken connection.
    """
    codings = response.headers.get("content-encoding", "").lower().split(",")
    if unknown := [coding.strip() for coding in codings if coding.strip() not in _DECODABLE]:
        raise ToolError(f"{response.url} is compressed with {unknown[0]!r:.60}, which was not asked for")
    content = bytearray()
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > max_bytes:
            return Body(bytes(content[:max_bytes]), cut=True)
    return Body(bytes(content), cut=False)
