"""The body of a request as JSON, and sending it through an SDK that does not encode it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2
import msgspec

from quorum.domain.text.json_value import JsonValue


def encode_body(body: Mapping[str, JsonValue]) -> bytes:
    """The body, in UTF-8 and without spaces; NaN and infinities, which JSON does not have, are null.

    Each request carries the whole conversation. Python's own encoder, which the SDKs use, takes 6 ms of the
    event loop for a megabyte of it, msgspec less than one. Raises UnicodeEncodeError for half a surrogate pair.
    """
    return msgspec.json.encode(body)


@asynccontextmanager
async def post_body(
    post: Callable[..., Awaitable[object]], path: str, body: Mapping[str, JsonValue], stream_cls: type[Any]
) -> AsyncIterator[httpx2.Response]:
    """Send the body of a request with the `post` of an SDK's client; the answer is still to be read.

    `stream_cls` is what the SDK names a streamed answer. Raises what the SDK raises.
    """
    posted = await post(
        path, content=encode_body(body), cast_to=httpx2.Response, stream=True, stream_cls=stream_cls
    )
    response = cast("httpx2.Response", posted)  # which the SDK says is a `stream_cls`
    try:
        yield response
    finally:
        await response.aclose()
