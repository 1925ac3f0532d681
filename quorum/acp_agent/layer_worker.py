"""A `quorum acp` of its own that works in a layer over a folder, and what passes between it and the client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

from acp.agent.connection import AgentSideConnection
from acp.exceptions import RequestError
from acp.meta import PROTOCOL_VERSION
from acp.schema import ClientCapabilities

from quorum.acp_agent.standard_io import CANCEL_REQUEST, REQUEST_SENT
from quorum.acp_agent.tool_calls import show_line
from quorum.domain.errors import StagingError
from quorum.infrastructure.execution.program import open_program

_INTERNAL_ERROR = -32603
_ENDING_SECS, _COMPLAINING_SECS = 40.0, 2.0
_CHUNK_BYTES = 1 << 16
_KEPT = "what it changed waits in the layer: the next prompt continues there, and quorum staged shows it"
_MOST_COMPLAINTS = 3
_INTERRUPTED_WRITES = (BrokenPipeError, ConnectionResetError)


class LayerWorker:
    """A running process. What it tells and asks the client passes on as it stands; what the client says to it
    is sent with `request` and `notify`.

    After the answer to `open_session` nothing passes on before `release`: the client is to know the session.
    `on_end` is called with a sentence about its end, where nobody asked for that.
    """

    def __init__(
        self,
        process: Process,
        exits: AsyncExitStack,
        client: AgentSideConnection,
        on_end: Callable[[str], None],
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process, self._exits, self._client, self._on_end = process, exits, client, on_end
        self._in, self._out, self._errors = process.stdin, process.stdout, process.stderr
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._asked: dict[object, asyncio.Task[None]] = {}
        self._sent = 0
        self._opening = -1
        self._is_released = asyncio.Event()
        self._is_leaving = self._is_ending = False
        self._complaints: deque[str] = deque(maxlen=_MOST_COMPLAINTS)
        self._reading = asyncio.create_task(self._read(), name="acp-layer")

    @classmethod
    async def start(
        cls,
        root: Path,
        session: str,
        client: AgentSideConnection,
        capabilities: ClientCapabilities | None,
        client_name: str,
        on_end: Callable[[str], None],
    ) -> LayerWorker:
        """Start one, as this process was started, in the layer in which the session, if any, worked last.

        Raises StagingError where it cannot work in one.
        """
        exits, command = AsyncExitStack(), build_command(sys.argv[1:], root, session)
        try:
            process = await exits.enter_async_context(
                open_program(command, environment=os.environ, stdin=PIPE, stderr=PIPE)
            )
        except OSError as error:
            raise StagingError(f"no process can be started that works in a layer: {error.strerror}") from error
        worker = cls(process, exits, client, on_end)
        known = capabilities.model_dump(mode="json", by_alias=True, exclude_none=True) if capabilities else {}
        greeting = {
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": known,
            "clientInfo": {"name": client_name, "version": ""},
        }
        try:
            await worker.request("initialize", greeting)
        except RequestError as error:
            raise StagingError(str(error)) from error
        except BaseException:
            worker.hang_up()
            raise
        return worker

    @property
    def is_running(self) -> bool:
        """Whether it still answers."""
        return not self._is_ending

    async def open_session(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Have it open its session. Raises RequestError."""
        self._opening = self._sent
        opened: dict[str, Any] = await self.request(method, params)
        return opened

    def release(self) -> None:
        """Pass on what comes after the answer that opened the session."""
        self._is_released.set()

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """Its answer. Raises RequestError, also where the process ends."""
        if not self.is_running:
            raise self._explain_end()
        number, self._sent = self._sent, self._sent + 1
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return await answer
        finally:
            self._answers.pop(number, None)

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        """Tell it something; where it has ended, nothing."""
        await self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def hang_up(self) -> None:
        """Have it end as where the client is gone: what it asked stays open, and its changes wait."""
        self._is_leaving = self._is_leaving or self.is_running
        self._is_released.set()
        self._in.close()

    async def end(self) -> None:
        """Have it end, and wait for that."""
        self.hang_up()
        await asyncio.wait({self._reading}, timeout=_ENDING_SECS)
        if not self._reading.done():
            self._reading.cancel()  # and the process is killed
            await asyncio.wait({self._reading})

    # ---------------------------------------------------------------- what it says

    async def _read(self) -> None:
        complaining = asyncio.create_task(self._pass_complaints(), name="acp-layer-errors")
        try:
            async for line in _read_lines(self._out):
                await self._take(json.loads(line))
        except (ValueError, ConnectionError):  # it is no quorum any more, or the client is gone
            self._in.close()
        finally:
            self._is_ending = True
            for task in tuple(self._asked.values()):
                task.cancel()
            with suppress(TimeoutError):  # nobody waits for what it started, which may hold its pipes
                await asyncio.wait_for(complaining, _COMPLAINING_SECS)
            await self._exits.aclose()
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(self._explain_end())
                    answer.exception()  # it is raised where it is waited for
            if not self._is_leaving:
                self._on_end(self._describe_end())

    async def _pass_complaints(self) -> None:
        async for line in _read_lines(self._errors):
            self._complaints.append(line.decode("utf-8", "replace").strip())
            sys.stderr.write(line.decode("utf-8", "replace") + "\n")
            sys.stderr.flush()

    def _describe_end(self) -> str:
        code = self._process.returncode or 0
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        return f"the process that works in the layer of this session {how}; {_KEPT}"

    def _explain_end(self) -> RequestError:
        said = [show_line(each.removeprefix("quorum: "), 500) for each in self._complaints if each]
        last = said[-1] if said and self._opening < 0 else ""
        return RequestError(
            _INTERNAL_ERROR,
            last or self._describe_end(),
        )

    async def _take(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if method is None:
            self._settle(message)
            if number == self._opening:
                await self._is_released.wait()
        elif "id" in message:
            task = asyncio.create_task(self._ask_client(message), name="acp-layer-question")
            self._asked[number] = task
            task.add_done_callback(lambda _: self._asked.pop(number, None))
        elif method == CANCEL_REQUEST:
            if (asked := self._asked.get(message["params"].get("requestId"))) is not None:
                asked.cancel()
        else:
            await self._client.ext_notification(method, message["params"])

    def _settle(self, message: dict[str, Any]) -> None:
        answer = self._answers.get(message["id"])
        if answer is None or answer.done():
            return
        if (error := message.get("error")) is not None:
            answer.set_exception(RequestError(error["code"], error["message"], error.get("data")))
        else:
            answer.set_result(message.get("result"))

    async def _ask_client(self, message: dict[str, Any]) -> None:
        """Put a question of the process to the client, and pass its answer back."""
        said: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        REQUEST_SENT.set(None)
        try:
            said["result"] = await self._client.ext_method(message["method"], message["params"])
        except RequestError as error:
            said["error"] = error.to_error_obj()
        except ConnectionError:  # the process is about to find out itself
            return
        except asyncio.CancelledError:
            if (asked := REQUEST_SENT.get()) is not None:
                with suppress(ConnectionError):
                    await self._client.ext_notification(CANCEL_REQUEST, {"requestId": asked})
            raise
        await self._send(said)

    async def _send(self, message: dict[str, Any]) -> None:
        if self._in.is_closing():
            return
        with suppress(*_INTERRUPTED_WRITES):  # its end is told where its output ends
            self._in.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
            await self._in.drain()


async def _read_lines(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The lines, of any length, without their ends; what comes behind the last one is none."""
    held = bytearray()
    while chunk := await stream.read(_CHUNK_BYTES):
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            yield bytes(held + piece)
            held.clear()
        held += rest


def build_command(words: Sequence[str], root: Path, session: str) -> tuple[str, ...]:
    """What starts a `quorum acp` like this one, by its arguments, in a layer over a folder."""
    own = ("--workdir", str(root), "--mode", "staged", "--layer-of", session)
    return (sys.executable, "-P", "-m", "quorum", *words, *own)
