"""A client of the remote control that can also misbehave."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from quorum.infrastructure.remote.framing import MOST_ANSWER_BYTES, FrameReader, encode_frame

_PATIENCE_SECS = 120.0


class RpcFailed(Exception):
    """The answer was an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.reason: str = error.get("data", {}).get("reason", "")


class RpcClient:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._frames = FrameReader(MOST_ANSWER_BYTES)
        self._asked = 0

    @classmethod
    async def at(cls, path: Path) -> RpcClient:
        """Connect."""
        return cls(*await asyncio.open_unix_connection(path))

    async def __aenter__(self) -> RpcClient:
        return self

    async def __aexit__(self, *_raised: object) -> None:
        self.writer.close()

    async def call(self, method: str, **params: object) -> Any:
        """The result of a method. Raises RpcFailed."""
        self._asked += 1
        self.send({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params})
        answer = await self.answer()
        assert answer is not None, "the connection was closed"
        assert answer["jsonrpc"] == "2.0"
        if "error" in answer:
            raise RpcFailed(answer["error"])
        assert answer["id"] == self._asked
        return answer["result"]

    def send(self, message: object) -> None:
        """Send any JSON in a frame."""
        self.send_bytes(encode_frame(json.dumps(message).encode()))

    def send_bytes(self, data: bytes) -> None:
        """Send what may be no frame."""
        self.writer.write(data)

    async def answer(self) -> Any:
        """The next answer, None at the end of the connection."""
        async with asyncio.timeout(_PATIENCE_SECS):
            while (body := self._frames.pop_body()) is None:
                if not (data := await self.reader.read(65536)):
                    return None
                self._frames.feed(data)
        return json.loads(body)

    async def ended(self) -> bool:
        """Whether the other side closes the connection, whatever it says before."""
        async with asyncio.timeout(_PATIENCE_SECS):
            try:
                while await self.reader.read(65536):
                    pass
            except ConnectionError:
                pass
        return True
