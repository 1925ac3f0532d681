"""The local servers of models that an empty session names: choosing one writes the settings for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from quorum.tui.chat.controllers.host import ChatHost, CurrentSession
from quorum.tui.chat.controllers.questions import QuestionController
from quorum.tui.chat.welcome import LOCAL_SERVERS, find_local_servers
from quorum.tui.keys.keyed_app import KeyedApp, offers_server_first

if TYPE_CHECKING:
    from quorum.tui.agent.services import LocalServers
    from quorum.tui.session.session import Session


class LocalServerController:
    """Asks a server for its models, shows what would be written, and begins a session with it after a yes."""

    def __init__(
        self, host: ChatHost, current: CurrentSession, questions: QuestionController, clock: Callable[[], float]
    ) -> None:
        self._host, self._current, self._questions, self._clock = host, current, questions, clock
        self._is_offering = False

    async def find_for_first(self, prompt: str, session: Session) -> int:
        """The port of a server to offer before a first prompt is sent, which no model would read; 0: none."""
        if not prompt or session.facts.has_model or not offers_server_first(self._host.app):
            return 0
        return next(iter(await find_local_servers()), 0)

    def use(
        self, port: int, begin_session: Callable[[], object], otherwise: Callable[[], object] = lambda: None
    ) -> None:
        """Offer to write the settings for a local server that the welcome names.

        `begin_session` begins a session with the settings as they are then; `otherwise` is done where none is.
        """
        app = self._host.app
        open_servers = app.open_local_servers if isinstance(app, KeyedApp) else None
        if open_servers is None:
            self._host.refuse("there are no settings here")
            otherwise()
        elif self._current.get_resting("use the server") is not None:
            offer = self._offer(open_servers(), port, begin_session, otherwise)
            self._host.run_worker(offer, group="local-server")
        else:
            otherwise()

    async def _offer(
        self,
        servers: LocalServers,
        port: int,
        begin_session: Callable[[], object],
        otherwise: Callable[[], object],
    ) -> None:
        if self._is_offering:
            otherwise()
            return
        self._is_offering = True
        try:
            is_chosen = await self._choose(servers, port)
        finally:
            self._is_offering = False
        (begin_session if is_chosen else otherwise)()

    async def _choose(self, servers: LocalServers, port: int) -> bool:
        """Whether the settings are written now."""
        from quorum.domain.errors import QuorumError
        from quorum.tui.screens.local_server import LocalServerDialog

        name = LOCAL_SERVERS[port]
        try:
            self._host.say(f"asking {name} for its models…")
            if not (models := await servers.list_models(port)):
                self._host.refuse(
                    f"{name} on 127.0.0.1:{port} has no model yet; load one there, and choose again"
                )
                return False
            dialog = LocalServerDialog(
                servers, port, name, models, await servers.propose(port, name, models[0]), clock=self._clock
            )
            self._host.say("")
            if not await self._questions.confirm(dialog):
                self._host.say("nothing was written")
                return False
            problem = await servers.accept(dialog.proposal)
        except QuorumError as error:
            problem = str(error)
        if problem:
            self._host.tell(problem)
        return not problem
