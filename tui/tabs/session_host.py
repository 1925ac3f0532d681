"""Opens the sessions of a tab, one after the other.

The next one is opened first, so that the present one stays if that fails.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from textual.app import App

from quorum.tui.agent.observer import ScreenObserver
from quorum.tui.agent.opening import StartFailure

if TYPE_CHECKING:
    from pathlib import Path

    from quorum.application.session.agent_session import AgentSession
    from quorum.domain.conversation.exchanges import SharedContext
    from quorum.domain.sessions.session_summary import SessionChoice
    from quorum.tui.agent.opening import ComposeAgent, OpenArchive, Wanted
    from quorum.tui.chat.chat_screen import ChatScreen
    from quorum.tui.session.approver import ScreenApprover

PlaceSession: TypeAlias = "Callable[[SessionChoice], Awaitable[SessionChoice]]"

_PATIENCE_SECS = 3.0


class SessionHost:
    """Composes an agent for each session that is wanted and has the chat serve it. `clock` is in seconds."""

    def __init__(
        self,
        app: App[None],
        chat: ChatScreen,
        compose_agent: ComposeAgent,
        open_archive: OpenArchive | None,
        *,
        cwd: Path,
        clock: Callable[[], float],
    ) -> None:
        self.trouble = ""
        self._app, self._chat, self._cwd, self.clock = app, chat, cwd, clock
        self._compose_agent, self._open_archive = compose_agent, open_archive
        self._agent: AgentSession | None = None
        self._approver: ScreenApprover | None = None
        self._wanted: Wanted | None = None
        self._wish = asyncio.Event()

    def want(self, wanted: Wanted) -> None:
        """Have another session opened, unless a turn runs or one is being opened."""
        if self._wanted is not None:
            return
        if busy := self._chat.turns.busy:
            self._chat.refuse(busy)
            return
        self._chat.begin_opening()
        self._wanted = wanted
        self._wish.set()

    async def run(
        self, choose: Callable[[], SessionChoice], place: PlaceSession, shared: SharedContext | None = None
    ) -> None:
        """Open the session chosen and those wanted later, for ever. Raises StartFailure if the first fails.

        `place` may have another tab open the session, and returns the one that is left for this tab. The first
        session is told what is `shared` of another one.
        """
        try:
            person = self._approver = await self._make_approver()
            choice = await place(await self._pick_session(choose()))
        except Exception as error:
            raise StartFailure(error) from error
        agent = self._agent = await self._open(choice, person)
        if shared is not None:
            await self._tell_context(agent, shared)
        while True:
            wanted = await self._serve_until_another_is_wanted(agent)
            agent = self._agent = await self._exchange_agent(agent, wanted, person)
            self._wanted = None
            self._wish.clear()

    async def close_dialog(self) -> None:
        """Let go of the dialog in which the session asks."""
        if self._approver is not None:
            await self._approver.close()

    async def close(self) -> None:
        """Let go of the present session. What goes wrong with that is kept in `trouble`, as a sentence."""
        agent, self._agent = self._agent, None
        if agent is None:
            return
        from quorum.domain.errors import QuorumError

        try:
            async with asyncio.timeout(_PATIENCE_SECS):
                await agent.aclose()
        except QuorumError as error:
            self.trouble = str(error)
        except TimeoutError:
            self.trouble = "the session could not be closed in time"

    async def _tell_context(self, agent: AgentSession, shared: SharedContext) -> None:
        """Tell a session of the one that it was opened from; it goes on without where that cannot be."""
        from quorum.domain.errors import QuorumError

        try:
            await agent.exchanges.receive_context(shared)
        except QuorumError as error:
            self._chat.tell(
                f"this session knows nothing of the one that it was opened from: {error}", refuses=False
            )

    async def _make_approver(self) -> ScreenApprover:
        await asyncio.to_thread(
            import_module, "quorum.tui.session.approver"
        )  # heavy, and typing continues meanwhile
        from quorum.tui.session.approver import ScreenApprover

        root = await asyncio.to_thread(os.path.realpath, self._cwd)
        return ScreenApprover(self._app, self._chat.questions, root=root, clock=self.clock)

    async def _pick_session(self, choice: SessionChoice) -> SessionChoice:
        """What the person picks, where that was asked for; a new session where they leave the list."""
        from quorum.domain.sessions.session_summary import NamedSession, NewSession, PickedSession

        if not isinstance(choice, PickedSession):
            return choice
        if self._open_archive is None:
            return NewSession()
        from quorum.tui.screens.session_picker import SessionPicker

        picked: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        picker = SessionPicker(self._open_archive, cwd=str(self._cwd), leaving="esc begins a new one")
        self._app.push_screen(picker, lambda name: None if picked.done() else picked.set_result(name))
        name = await picked
        return NamedSession(name) if name else NewSession()

    async def _serve_until_another_is_wanted(self, agent: AgentSession) -> Wanted:
        serving = asyncio.create_task(self._chat.turns.serve(agent), name="serve")
        wish = asyncio.create_task(self._wish.wait(), name="wish")
        try:
            await asyncio.wait({serving, wish}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
            assert self._wanted is not None
            return self._wanted
        finally:
            for task in (serving, wish):
                task.cancel()
            await asyncio.wait({serving, wish})

    async def _exchange_agent(self, old: AgentSession, wanted: Wanted, person: ScreenApprover) -> AgentSession:
        """The agent of the session that is wanted; the old one where that cannot be had."""
        from quorum.domain.errors import QuorumError
        from quorum.domain.sessions.session_summary import NamedSession, NewSession

        ended = len(self._chat.jobs.running)
        try:
            choice = NamedSession(await old.record.archive.fork(old.session_id)) if wanted == "fork" else wanted
            agent = await self._open(choice, person)
        except (QuorumError, StartFailure) as error:
            self._chat.stay(str(error))
            return old
        try:
            await old.tell_end("new" if isinstance(choice, NewSession) else "resume")
            await old.aclose()
            if ended:
                from quorum.tui.screens.jobs_screen import describe_ended_jobs

                self._chat.say(describe_ended_jobs(ended))
        except QuorumError as error:
            self._chat.tell(str(error))
        return agent

    async def _open(self, choice: SessionChoice, person: ScreenApprover) -> AgentSession:
        """Compose the agent of a session and show what it holds.

        Each has an observer of its own: events of a closed session reach nobody. Raises
        StartFailure.
        """
        observer = ScreenObserver(self._chat.post_message)
        try:
            agent = await self._compose_agent(person, observer, choice, self._cwd)
        except Exception as error:
            raise StartFailure(error) from error
        try:
            await self._chat.begin(agent, observer)
        except Exception as error:
            self._agent, present = agent, self._agent
            await self.close()
            self._agent = present
            raise StartFailure(error) from error
        return agent
