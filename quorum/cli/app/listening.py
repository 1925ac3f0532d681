"""An app that listens: its socket taken before anything is shown, its token handed over, both given back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from pathlib import Path
from signal import SIGHUP, SIGINT, SIGTERM
from typing import TYPE_CHECKING, Any

from quorum.cli.app import AppOptions
from quorum.domain.errors import ConfigError
from quorum.errors import UsageError, complain
from quorum.infrastructure.remote.approval_token import write_new_token
from quorum.infrastructure.remote.place import SocketPath
from quorum.infrastructure.remote.server import Server

if TYPE_CHECKING:
    from quorum.domain.events.masking import SecretMask
    from quorum.gate.gate_service import GateService
    from quorum.rpc.listening_app import ListeningApp, RemoteGate
    from quorum.rpc.settings import RemoteSetting
    from quorum.tui.app.app import QuorumApp


class Listening:
    """The socket of an app, from before its first frame to after its last. Raises UsageError."""

    def __init__(self, options: AppOptions, root: Path) -> None:
        assert options.listen is not None
        self._options, self._root = options, root
        self._app: ListeningApp
        self._gate: RemoteGate
        try:
            self._place = SocketPath(options.listen)
        except ConfigError as error:
            raise UsageError(str(error)) from error
        try:
            self._token = (
                write_new_token(options.listen_approve) if options.listen_approve is not None else None
            )
        except ConfigError as error:
            self._place.leave()
            raise UsageError(str(error)) from error
        if options.headless and not options.quiet:
            complain(
                [f"listens at {self._place.path}; quorum rpc --socket {self._place.path} state.get asks it"]
            )

    @property
    def path(self) -> Path:
        """The socket's path: quorum's own, and so hidden from commands."""
        return self._place.path

    def teach(self, mask: SecretMask) -> None:
        """Have the token hidden wherever anything is shown or kept, should it ever get there."""
        if self._token is not None:
            mask.learn("listen-approve", self._token)

    def build_app(self, *args: Any, **options: Any) -> QuorumApp:
        """The app, as QuorumApp is made, which listens as soon as it runs."""
        from quorum.rpc.listening_app import ListeningApp, RemoteGate
        from quorum.rpc.power import RemoteApproval

        self._gate = RemoteGate(self._open_gate)
        self._app = ListeningApp(
            *args,
            serve=self._serve,
            approval=RemoteApproval(self._token),
            load_settings=self._list_settings,
            gate=self._gate,
            **options,
        )
        return self._app

    def close(self) -> None:
        """Listen no more; the socket is gone."""
        self._place.leave()

    async def _serve(self, answer: Callable[[bytes], Awaitable[bytes | None]]) -> None:
        from quorum.rpc.json_rpc import encode_invalid_request

        if self._options.headless:
            self._end_on_signals()
        try:
            await Server(self._place.socket, answer, encode_invalid_request).run()
        finally:
            await self._gate.aclose()

    async def _open_gate(self) -> GateService:
        await asyncio.to_thread(import_module, "quorum.gate.gate_service")  # heavy, and typing continues
        from quorum.gate.gate_service import GateService
        from quorum.settings import load

        return GateService(self._app, self._options, load)

    def _end_on_signals(self) -> None:
        """Without a terminal nothing but a signal or a client ends the app. One that is closed takes nothing
        away from it: it ends then as when it is asked to.
        """
        assert self._app.shutdown is not None
        codes = {SIGINT: 128 + SIGINT, SIGTERM: 128 + SIGTERM, SIGHUP: 128 + SIGTERM}
        self._app.shutdown.take_signals(codes, self._app.leave)

    def _list_settings(self) -> Sequence[RemoteSetting]:
        from quorum.infrastructure.config.report import list_setting_texts
        from quorum.rpc.settings import RemoteSetting
        from quorum.settings import load

        return [RemoteSetting(*texts) for texts in list_setting_texts(load(self._options, self._root))]
