"""The server: takes frames from whoever may connect, one after the other, and sends back what they come to.

Nothing that a peer does or leaves undone costs more than its own connection: what is held of it is bounded,
and so is the time it may take to send a frame or to read an answer.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

from msgspec import Struct

from quorum.infrastructure.execution.commands.orphans import read_markers
from quorum.infrastructure.execution.commands.supervisor import ProcessTable, list_processes
from quorum.infrastructure.remote.framing import MOST_ANSWER_BYTES, FrameError, FrameReader, encode_frame
from quorum.infrastructure.remote.peer import Peer, identify_peer

Answer: TypeAlias = Callable[[bytes], Awaitable[bytes | None]]
"""What a body comes to; None where nothing is to be sent. It never raises."""

Complaint: TypeAlias = Callable[[str], bytes]
"""The body that tells a peer why its connection ends."""

_CHUNK_BYTES = 1 << 16


class Bounds(Struct, frozen=True, kw_only=True):
    """How much a peer may take. `frame_secs`: from a frame's first byte to its last; `answer_secs`: to read an
    answer; `connections`: at once, of which the one that has been silent longest gives way to a new one.
    """

    frame_secs: float = 10.0
    answer_secs: float = 10.0
    connections: int = 32


def find_objection(peer: Peer) -> str:
    """Why this peer is not served, as a sentence; empty where it is. Reads /proc, or runs `ps`: it blocks.

    What a command of ours started is found by its descent from us and by the marker in its environment. That
    is a second wall, not the first: what has left both behind, or has another program connect for it, is not
    recognised here.
    """
    if peer.uid != os.geteuid():
        return "only the person who runs quorum is served"
    table = list_processes()
    if peer.pid not in table:
        return "a process that cannot be seen is not served"
    for pid in _list_ancestors(peer.pid, table):
        if pid == os.getpid() or read_markers(pid):
            return "what quorum itself started is not served: no command reaches its own approval"
    return ""


def _list_ancestors(pid: int, table: ProcessTable) -> list[int]:
    """A process and those it descends from, itself first."""
    line: list[int] = []
    while pid in table and pid not in line:
        line.append(pid)
        pid = table[pid][0]
    return line


class Server:
    """Serves a socket that listens. `answer` gets one body of a connection at a time."""

    def __init__(
        self,
        listening: socket.socket,
        answer: Answer,
        complaint: Complaint,
        *,
        bounds: Bounds | None = None,
        objection: Callable[[Peer], str] = find_objection,
    ) -> None:
        self._listening, self._answer, self._complaint = listening, answer, complaint
        self._bounds = bounds or Bounds()
        self._objection = objection
        self._talks: dict[asyncio.Task[None], _Talk] = {}

    async def run(self) -> None:
        """Serve until cancelled; then every connection is closed."""
        server = await asyncio.start_unix_server(self._meet, sock=self._listening, limit=_CHUNK_BYTES)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            server.close()
            talks = tuple(self._talks)
            for task in talks:
                task.cancel()
            if talks:
                await asyncio.wait(talks)

    def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A connection is there. A failure of a task that asyncio itself makes would be reported nowhere."""
        talk = _Talk(reader, writer, self._answer, self._complaint, self._bounds)
        if len(self._talks) >= self._bounds.connections and not self._end_idlest():
            writer.transport.abort()
            return
        task = asyncio.create_task(self._converse(talk), name="remote")
        self._talks[task] = talk
        task.add_done_callback(self._talks.pop)

    def _end_idlest(self) -> bool:
        """End the conversation that has been silent longest; False where all of them wait for an answer."""
        silent = [(talk.silent_since, task) for task, talk in self._talks.items() if not talk.is_answering]
        if not silent:
            return False
        task = min(silent, key=lambda each: each[0])[1]
        task.cancel()
        del self._talks[task]
        task.remove_done_callback(self._talks.pop)
        return True

    async def _converse(self, talk: _Talk) -> None:
        with suppress(OSError, TimeoutError):  # the peer is gone, or does not read: there is nobody to tell
            try:
                if objection := await self._find_objection_to(talk.writer):
                    await talk.end(objection)
                    return
                await talk.run()
            finally:
                talk.writer.transport.abort() if talk.is_stuck else talk.writer.close()

    async def _find_objection_to(self, writer: asyncio.StreamWriter) -> str:
        connection: socket.socket = writer.get_extra_info("socket")
        try:
            peer = identify_peer(connection)
            return await asyncio.to_thread(self._objection, peer)
        except OSError:
            return "who connected could not be found out"


class _Talk:
    """What is said over one connection."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answer: Answer,
        complaint: Complaint,
        bounds: Bounds,
    ) -> None:
        self.writer = writer
        self.is_answering = False
        self.is_stuck = False
        self._reader, self._answer, self._complaint, self._bounds = reader, answer, complaint, bounds
        self._frames = FrameReader()
        writer.transport.set_write_buffer_limits(high=0)  # what was sent is waited for to its last byte
        self._loop = asyncio.get_running_loop()
        self.silent_since = self._loop.time()

    async def run(self) -> None:
        """Answer frame after frame until the peer ends, or sends what is none."""
        while True:
            try:
                body = await self._read_body()
            except FrameError as error:
                await self.end(str(error))
                return
            except TimeoutError:
                await self.end(f"a frame has to arrive within {self._bounds.frame_secs:g} s")
                return
            if body is None:
                return
            self.is_answering = True
            answer = await self._answer(body)
            if answer is not None:
                if len(answer) > MOST_ANSWER_BYTES:
                    await self.end(
                        f"the answer would have {len(answer)} bytes, and {MOST_ANSWER_BYTES} is the most"
                    )
                    return
                await self._send(answer)
            self.is_answering = False
            self.silent_since = self._loop.time()

    async def end(self, why: str) -> None:
        """Say why nothing more is taken from the peer."""
        await self._send(self._complaint(why))

    async def _read_body(self) -> bytes | None:
        """The next frame's body, None at the end. A peer that is silent between two frames is waited for."""
        deadline: float | None = None
        while (body := self._frames.pop_body()) is None:
            if self._frames.is_midway:
                deadline = deadline if deadline is not None else self._loop.time() + self._bounds.frame_secs
            async with asyncio.timeout_at(deadline):
                data = await self._reader.read(_CHUNK_BYTES)
            if not data:
                return None
            self._frames.feed(data)
        return body

    async def _send(self, body: bytes) -> None:
        self.writer.write(encode_frame(body))
        self.is_stuck = True
        async with asyncio.timeout(self._bounds.answer_secs):
            await self.writer.drain()
        self.is_stuck = False
