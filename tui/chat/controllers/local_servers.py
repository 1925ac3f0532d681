"""The local servers of models that an empty session names: choosing one writes the settings for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from quorum.tui.chat.controllers.host import ChatHost, CurrentSession
from quorum.tui.chat.controllers.questions import QuestionController
from quorum.tui.chat.welcome import LOCAL_SERVERS
from quorum.tui.keys.keyed_app import KeyedApp

if TYPE_CHECKING:
    from quorum.tui.agent.services import LocalServers


class LocalServerController:
    """Asks a server for its models, shows what would be written, and begins a session with it after a yes."""

    def __init__(
        self, host: ChatHost, current: CurrentSession, questions: QuestionController, clock: Callable[[], float]
    ) -> None:
        self._host, self._current, self._questions, self._clock = host, current, questions, clock
        self._is_offering = False

    def use(self, port: int, begin_session: Callable[[], object]) -> None:
        """Offer to write the settings for a local server that the welcome names.

        `begin_session` begins a session with the settings as they are then.
        """
        app = self._host.app
        open_servers = app.open_local_servers if isinstance(app, KeyedApp) else None
        if open_servers is None:
            self._host.refuse("there are no settings here")
        elif self._current.get_resting("use the server") is not None:
            self._host.run_worker(self._offer(open_servers(), port, begin_session), group="local-server")

    async def _offer(self, servers: LocalServers, port: int, begin_session: Callable[[], object]) -> None:
        from quorum.domain.errors import QuorumError
        from quorum.tui.screens.local_server import LocalServerDialog

        name = LOCAL_SERVERS[port]
        if self._is_offering:
            return
        self._is_offering = True
        try:
            self._host.say(f"asking {name} for its models…")
            if not (models := await servers.list_models(port)):
                self._host.refuse(
                    f"{name} on 127.0.0.1:{port} has no model yet; load one there, and choose again"
                )
                return
            dialog = LocalServerDialog(
                servers, port, name, models, await servers.propose(port, name, models[0]), clock=self._clock
            )
            self._host.say("")
            await self._questions.wait_until_in_front()
            if not await self._host.app.push_screen_wait(dialog):
                self._host.say("nothing was written")
                return
            problem = await servers.accept(dialog.proposal)
            if problem:
                self._host.tell(problem)
            else:
                begin_session()
        except QuorumError as error:
            self._host.tell(str(error))
        finally:
            self._is_offering = False
