"""The app that a remote control listens for, with a terminal or without one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from textual import events

from quorum.rpc.approval import RemoteApproval
from quorum.rpc.json_rpc import handle_request
from quorum.rpc.key_feed import KeyFeed
from quorum.rpc.methods import Methods
from quorum.rpc.remote_gate import RemoteGate
from quorum.rpc.settings import LoadSettings
from quorum.tui.app.app import QuorumApp

Serve: TypeAlias = Callable[[Callable[[bytes], Awaitable[bytes | None]]], Awaitable[None]]
"""Has bodies answered until it is cancelled."""


class ListeningApp(QuorumApp):
    """An app whose keys may come over a socket as well. Each of those is looked at before it acts."""

    def __init__(
        self,
        *args: Any,
        serve: Serve,
        approval: RemoteApproval,
        load_settings: LoadSettings,
        gate: RemoteGate,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self._serve_remote = serve
        self._feed = KeyFeed(self)
        self._methods = Methods(self, self._feed, approval, load_settings, gate)

    def on_mount(self) -> None:
        self.run_worker(self._serve_remote(self._answer), name="remote")

    def leave(self, return_code: int) -> None:
        """End with this exit code, when what runs has been stopped."""
        self._leave_soon(return_code)

    async def _answer(self, body: bytes) -> bytes | None:
        return await handle_request(body, self._methods.invoke)

    def is_deliberate(self, event: events.Key) -> bool:
        """Whether a client fed the key: it means the screen that is in front, and nobody types like that."""
        return self._feed.has_fed(event)

    async def on_event(self, event: events.Event) -> None:
        """Keep keys of the socket from what takes approval."""
        if isinstance(event, events.Key) and self.screen_stack:
            if self._feed.keeps_back(event):
                return
            if notice := self._feed.explain_withholding(event):
                self.chat.say(notice)
                return
        await super().on_event(event)
