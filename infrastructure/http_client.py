"""The HTTP client of all that asks servers: what fails is an error of httpx2, and heads have a limit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2


class HeadTimeout(httpx2.ReadTimeout):
    """The head of an answer did not arrive in time."""


class HttpClient(httpx2.AsyncClient):
    """A client of which every failure of a connection is an `httpx2.HTTPError`.

    httpx2 lets through what it does not expect while it reads, such as the `ssl.SSLError` of a record that does
    not decrypt. `head_secs` bounds the head of an answer, from when the request is sent: httpx2's own limit
    begins anew with each byte.
    """

    def __init__(self, *, head_secs: float | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._head_secs = head_secs

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """Send a request. Raises httpx2.HTTPError where the connection fails."""
        limit = asyncio.timeout(None)

        async def bound_head(step: str, _details: object) -> None:
            if step.endswith("receive_response_headers.started"):
                limit.reschedule(asyncio.get_running_loop().time() + (self._head_secs or 0))
            elif step.endswith("receive_response_headers.complete"):
                limit.reschedule(None)

        if self._head_secs is not None:
            request.extensions = {**request.extensions, "trace": bound_head}
        try:
            async with limit:
                with translate_failures(OSError, EOFError):
                    response = await super().send(request, stream=True, **options)
        except TimeoutError as error:
            raise HeadTimeout(f"no head of an answer within {self._head_secs} s") from error
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Body(response.stream)
        if not stream:
            try:
                await response.aread()
            finally:
                await response.aclose()
        return response


class _Body(httpx2.AsyncByteStream):
    """The body of an answer."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with translate_failures(Exception):  # only the connection runs in here
            async for piece in self._stream:
                yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


@contextmanager
def translate_failures(*kinds: type[Exception]) -> Iterator[None]:
    """Raise what is of these `kinds` as httpx2.ReadError."""
    try:
        yield
    except httpx2.HTTPError:
        raise
    except kinds as error:
        raise httpx2.ReadError(str(error) or type(error).__name__) from error
