"""Other sessions in the place of the present one, and the present one as a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from quorum.tui.chat.controllers.host import CHANGES, ChatHost, CurrentSession

if TYPE_CHECKING:
    from quorum.application.ports.storage import SessionArchive
    from quorum.tui.agent.opening import Wanted
    from quorum.tui.session.session import Session


class SessionController:
    """Begins, forks, resumes and exports sessions. `want` is called with the one to be opened."""

    def __init__(self, host: ChatHost, current: CurrentSession, want: Callable[[Wanted], object]) -> None:
        self._host, self._current, self._want = host, current, want

    def action_new_session(self) -> None:
        if self._current.get_resting("begin another session") is not None:
            from quorum.domain.sessions.session_summary import NewSession

            self._want(NewSession())

    def action_fork_session(self) -> None:
        """Continue in a copy of this session."""
        if self._current.get_resting("fork it") is not None:
            self._want("fork")

    def action_rename_session(self, title: str = "") -> None:
        """Give this session another title in lists."""
        from quorum.domain.sessions.session_facts import cut_title

        if (session := self._current.require_session("rename it")) is None:
            return
        if not (named := cut_title(title)):
            self._host.say("/rename TITLE gives this session another title in lists")
        elif session.refusal:
            self._host.refuse(session.refusal)
        else:
            self._host.run_worker(self._rename(session, named), group=CHANGES)

    async def _rename(self, session: Session, title: str) -> None:
        from quorum.domain.errors import LedgerError

        try:
            await session.agent.rename(title)
        except LedgerError as error:
            self._host.tell(str(error))
        else:
            self._host.say(f"this session is called “{title}”")

    def action_resume_session(self) -> None:
        """Let the person pick a session to continue with."""
        if (session := self._current.get_resting("choose a session")) is None:
            return
        from quorum.tui.screens.session_picker import SessionPicker

        async def get_archive() -> SessionArchive:
            return session.agent.record.archive

        self._host.app.push_screen(
            SessionPicker(get_archive, cwd=session.cwd, present=session.agent.session_id),
            self._open_picked_session,
        )

    def resume_by_id(self, name: str) -> None:
        self._open_picked_session(name)

    def _open_picked_session(self, name: str | None) -> None:
        if name is None or (session := self._current.get_resting("choose a session")) is None:
            return
        if name == session.agent.session_id and not session.agent.record.in_use:
            self._host.refuse("this session is open already")
            return
        from quorum.domain.sessions.session_summary import NamedSession

        self._want(NamedSession(name))

    def action_export(self, file: str = "") -> None:
        """Write the session so far into a file; its ending chooses the form."""
        if (session := self._current.require_session("export it")) is not None:
            self._host.run_worker(self._export(session, file), group="export")

    async def _export(self, session: Session, file: str) -> None:
        from quorum.domain.errors import QuorumError

        try:
            self._host.say(f"written to {await session.export(file)}")
        except (QuorumError, OSError) as error:
            self._host.tell(f"the session could not be exported: {error}")
