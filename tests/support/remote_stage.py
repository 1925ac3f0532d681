"""The listening app on a stage: asked as over its socket, without one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from quorum.command_line.options import StartOptions
from quorum.rpc.listening_app import ListeningApp, RemoteGate
from quorum.rpc.power import RemoteApproval
from quorum.rpc.settings import RemoteSetting
from tests.support.app_stage import Clock, Stage
from tests.support.fake_agent import FakeAgent, Scene, composing
from tests.support.rpc_client import RpcFailed

TOKEN = "the-token-of-this-stage"
SETTINGS = (
    RemoteSetting("review.mode", '"ask"', "default"),
    RemoteSetting("tui.theme", '"quorum"', "default"),
    RemoteSetting("tui.layout", '"auto"', "default"),
    RemoteSetting("tui.notifications", "true", "default"),
    RemoteSetting("models.decision", '"fake/model-1"', "default"),
    RemoteSetting("agent.max_tool_turns", "10", "default"),
    RemoteSetting("agent.phase_scope", '"full"', "default"),
    RemoteSetting("agent.consensus_level", '"solo"', "default"),
    RemoteSetting("tui.editing", '"emacs"', "default"),
    RemoteSetting("tui.enter_while_running", '"queue"', "default"),
    RemoteSetting("tui.notify_by", '"auto"', "default"),
    RemoteSetting("tui.mark_approve_for_edits", "false", "default"),
)

Answer = Callable[[bytes], Awaitable[bytes | None]]


class RemoteStage(Stage):
    """A running app, and a client of it."""

    def __init__(self, app: ListeningApp, pilot: Pilot[None], box: list[FakeAgent], answer: Answer) -> None:
        super().__init__(app, pilot, box)
        self.answer = answer

    async def call(self, method: str, /, **params: object) -> Any:
        """The result of a method. Raises RpcFailed."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        reply = await self.answer(json.dumps(request).encode())
        assert reply is not None
        answer = json.loads(reply)
        if "error" in answer:
            raise RpcFailed(answer["error"])
        return answer["result"]

    async def refused(self, method: str, /, **params: object) -> RpcFailed:
        """The error that a method comes to."""
        try:
            result = await self.call(method, **params)
        except RpcFailed as error:
            return error
        raise AssertionError(f"{method} was not refused: {result}")


@asynccontextmanager
async def on_remote_stage(
    cwd: Path,
    *scenes: Scene,
    token: str | None = None,
    size: tuple[int, int] = (100, 30),
    clock: Callable[[], float] | None = None,
    settings: Callable[[], Sequence[RemoteSetting]] = lambda: SETTINGS,
) -> AsyncIterator[RemoteStage]:
    """Run the listening app in `cwd` until its agent is there."""
    box: list[FakeAgent] = []
    given: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    async def serve(answer: Answer) -> None:
        given.set_result(answer)

    async def open_gate() -> Any:
        from quorum.gate.gate_service import GateService
        from quorum.settings import load

        return GateService(app, StartOptions(), load)

    app = ListeningApp(
        composing(box, *scenes),
        cwd=cwd,
        clock=clock or Clock(),
        serve=serve,
        approval=RemoteApproval(token),
        load_settings=settings,
        gate=RemoteGate(open_gate),
    )
    async with app.run_test(size=size) as pilot:
        stage = RemoteStage(app, pilot, box, await given)
        await stage.shows("fake/model-1")
        yield stage
