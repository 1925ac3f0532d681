"""A session in the mode `staged`: a process of its own works on it, in a layer over its folder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from acp.agent.connection import AgentSideConnection
from acp.exceptions import RequestError
from acp.schema import LoadSessionResponse, PromptResponse, SetSessionConfigOptionResponse, TextContentBlock

from quorum.acp_agent.client_servers import ClientServer
from quorum.acp_agent.config_options import ConfigOption
from quorum.acp_agent.prompt_blocks import PromptBlock
from quorum.acp_agent.update_feed import build_notice
from quorum.domain.review.mode import Mode

if TYPE_CHECKING:
    from quorum.acp_agent.layer_worker import LayerWorker


class SessionPlace(NamedTuple):
    """What a client says of a session that it opens: its folder, others beside it, and MCP servers, as the SDK
    reads them and as they were `offered`."""

    root: Path
    folders: tuple[str, ...]
    servers: Sequence[ClientServer]
    offered: object

    def to_json(self) -> dict[str, Any]:
        """The same, as the parameters of a request."""
        return {
            "cwd": str(self.root),
            "additionalDirectories": list(self.folders),
            "mcpServers": self.offered or [],
        }


def read_crossing(blocks: Sequence[PromptBlock]) -> Mode | None:
    """The mode that a prompt chooses by a command alone: one in a layer, or the first that is in none."""
    match blocks:
        case [TextContentBlock(text=text)]:
            return {"/stage": Mode.STAGED, "/unstage": Mode.ASK}.get(text.strip())
        case _:
            return None


class LayeredSession:
    """As `ClientSession`, but that all is handed to the process, which is started anew where it has ended.

    `start` starts one that works on the session of an id, empty for a new one.
    """

    def __init__(
        self,
        client: AgentSideConnection,
        place: SessionPlace,
        start: Callable[[str, Callable[[str], None]], Awaitable[LayerWorker]],
        tell: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self.place = place
        self.session_id = ""
        self._client, self._start, self._tell = client, start, tell
        self._worker: LayerWorker | None = None
        self._choices = LoadSessionResponse()
        self._answering = 0

    async def open(self, method: str, session_id: str = "") -> None:
        """Have a process open the session by a method of the protocol. Raises RequestError and StagingError."""
        self.session_id = session_id
        worker = await self._start(session_id, self._note_end)
        try:
            named = {"sessionId": session_id} if session_id else {}
            opened = await worker.open_session(method, {**self.place.to_json(), **named})
            self.session_id = opened.get("sessionId", session_id)
            self._choices = LoadSessionResponse.model_validate(opened)
        except BaseException:
            worker.hang_up()
            raise
        self._worker = worker

    def release(self) -> None:
        """From now on the client knows the session, and gets its updates."""
        if self._worker is not None:
            self._worker.release()

    @property
    def is_busy(self) -> bool:
        """Whether a prompt is being answered."""
        return self._answering > 0

    @property
    def offered_modes(self) -> frozenset[str]:
        """The ids of the modes to switch to."""
        modes = self._choices.modes
        return frozenset(mode.id for mode in modes.available_modes) if modes is not None else frozenset()

    def crosses_layer(self, mode: str) -> bool:
        """Whether the session leaves its layer for a mode."""
        return mode in self.offered_modes - {Mode.STAGED, Mode.READ_ONLY}

    def is_in(self, mode: Mode) -> bool:
        """Whether this was its mode when it was opened."""
        return self._choices.modes is not None and self._choices.modes.current_mode_id == mode

    def list_choices(self) -> dict[str, Any]:
        """What can be chosen: modes, and the config options with them."""
        return {"modes": self._choices.modes, "config_options": self._choices.config_options}

    def list_options(self) -> list[ConfigOption]:
        """The config options with the values that were chosen last."""
        return self._choices.config_options or []

    async def answer(self, blocks: Sequence[PromptBlock]) -> PromptResponse:
        """Answer a prompt. Raises RequestError and StagingError."""
        self._answering += 1
        try:
            worker = await self._require_worker()
            prompt = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in blocks]
            return PromptResponse.model_validate(
                await worker.request("session/prompt", {"sessionId": self.session_id, "prompt": prompt})
            )
        finally:
            self._answering -= 1

    async def cancel(self) -> None:
        """Stop the prompt that is being answered, if one is."""
        if self._worker is not None:
            await self._worker.notify("session/cancel", {"sessionId": self.session_id})

    async def choose(self, option: str, value: str) -> None:
        """Set a config option. Raises RequestError and StagingError."""
        worker = await self._require_worker()
        chosen = {"sessionId": self.session_id, "configId": option, "value": value}
        answered = await worker.request("session/set_config_option", chosen)
        self._choices.config_options = SetSessionConfigOptionResponse.model_validate(answered).config_options

    async def close(self) -> None:
        """Stop what runs, and end the session and its process. What it changed waits in the layer."""
        if self._worker is not None:
            with suppress(RequestError):  # it has ended, and its end was told
                await self._worker.request("session/close", {"sessionId": self.session_id})
            await self._worker.end()

    def hang_up(self) -> None:
        """Have the process end as where the client is gone."""
        if self._worker is not None:
            self._worker.hang_up()

    async def leave(self) -> None:
        """Wait for that end."""
        if self._worker is not None:
            await self._worker.end()

    async def _require_worker(self) -> LayerWorker:
        if self._worker is None or not self._worker.is_running:
            await self.leave()
            await self.open("session/resume", self.session_id)
            self.release()
        assert self._worker is not None
        return self._worker

    def _note_end(self, said: str) -> None:
        if self._worker is not None:
            self._tell(self._client.session_update(self.session_id, build_notice(said)))
