"""The installed `quorum`, listening without a terminal, as a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.headless_run import Ended, Started, environment, run_quorum, start_quorum
from tests.support.rpc_client import RpcClient

_PATIENCE_SECS = 120.0


@dataclass
class ListeningQuorum:
    """A running process, where it listens, and the token it handed over."""

    process: Started
    socket: Path
    token: str
    home: Path
    first_words: str

    async def client(self) -> RpcClient:
        """A connection of its own."""
        return await RpcClient.at(self.socket)

    async def until(self, client: RpcClient, **wanted: object) -> dict[str, Any]:
        """The state, as soon as it says all this."""
        async with asyncio.timeout(_PATIENCE_SECS):
            while True:
                state: dict[str, Any] = await client.call("state.get")
                if all(state.get(name) == value for name, value in wanted.items()):
                    return state
                await asyncio.sleep(0.02)  # to ask without a pause would keep it from its work

    async def asked(self, client: RpcClient) -> dict[str, Any]:
        """The question, as soon as there is one."""
        async with asyncio.timeout(_PATIENCE_SECS):
            while (question := (await client.call("state.get"))["question"]) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        found: dict[str, Any] = question
        return found

    async def rpc(self, *words: str) -> Ended:
        """What `quorum rpc` says of it."""
        return await rpc("--socket", str(self.socket), *words, home=self.home)

    async def ended(self) -> tuple[int, str]:
        """Its exit code, and what it said on stderr."""
        _, err = await asyncio.wait_for(self.process.communicate(), _PATIENCE_SECS)
        assert self.process.returncode is not None
        return self.process.returncode, self.first_words + err.decode()


async def rpc(*words: str, home: Path, stdin: bytes = b"") -> Ended:
    """Run `quorum rpc` to its end."""
    return await run_quorum("rpc", *words, cwd=home, env=environment(home), stdin=stdin.decode())


@asynccontextmanager
async def listening(
    project: Path, home: Path, socket: Path, *arguments: str, approving: bool = False
) -> AsyncIterator[ListeningQuorum]:
    """Start one, and end it however the test ends. `approving`: have it hand a token over."""
    reader, writer = os.pipe()
    words = ["--listen-approve", str(writer)] if approving else []
    process = await start_quorum(
        "--headless",
        "--listen",
        socket,
        *words,
        *arguments,
        cwd=project,
        env=environment(home),
        pass_fds=[writer] if approving else [],
    )
    os.close(writer)
    try:
        token = await asyncio.to_thread(_read_from, reader)
        assert process.stderr is not None
        # What it says first: that it listens, after which the socket is there, or why it does not.
        first = await asyncio.wait_for(process.stderr.readline(), _PATIENCE_SECS)
        yield ListeningQuorum(process, socket, token, home, first.decode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


def said(ended: Ended) -> Any:
    """What `quorum rpc` printed, read."""
    return json.loads(ended.out or ended.err)


def _read_from(descriptor: int) -> str:
    with open(descriptor, "rb") as handed:
        return handed.read().decode().strip()
