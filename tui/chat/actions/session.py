"""What commands and keys do with the session behind the chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.agent.turns import QueuedTask
from tui.chat.actions.base import ChatActions

if TYPE_CHECKING:
    from domain.errors import QuorumError
    from tui.agent.port import Agent
    from tui.session.session import Session
    from tui.transcript.model.entries import Call


class SessionActions(ChatActions):
    """The part of the chat that acts on its session."""

    # -- mode and model -----------------------------------------------------------------------------------

    async def action_set_mode(self, name: str) -> None:
        """Change the review mode, once there is an agent to change it for."""
        if (session := self._begun("choose the mode")) is not None:
            self.say(await session.set_mode(name))
            self.state_changed()

    async def action_cycle_mode(self) -> None:
        """The next of the modes that keep asking; never auto."""
        if (session := self._begun("choose the mode")) is not None:
            self.say(await session.cycle_mode())
            self.state_changed()

    def action_choose_model(self, name: str = "") -> None:
        """Set the model of that name; without one, let the person pick."""
        if (session := self._begun("choose the model")) is None:
            return
        if name:
            self.run_worker(self._set_model(session, name), group="model")
        else:
            self.app.push_screen(session.model_picker())

    async def _set_model(self, session: Session, name: str) -> None:
        if problem := await session.set_model(name):
            self.tell(problem)
            self.say(f"the model is still {session.agent.models.current}")

    # -- the course of the session ------------------------------------------------------------------------

    def action_go_on(self) -> None:
        """Take up a turn that failed or was interrupted where it stopped."""
        if (session := self._begun("go on")) is not None:
            self.say(session.refusal or self.turns.retry())

    def action_compact(self, focus: str = "") -> None:
        """Let a summary take the place of the conversation so far."""
        if self._writable("compact it") is None:
            return

        async def compact(agent: Agent) -> None:
            self.say(await agent.context.compact(focus))

        self.turns.submit(QueuedTask("compacting", compact))

    def action_undo(self) -> None:
        """Show what taking back the last turn would change."""
        if (session := self._writable("undo")) is None:
            return
        if (turn := session.last_turn) is None:
            self.say("there is no turn to take back")
        else:
            self.app.push_screen(session.restore_screen(turn, self._take_back))

    def action_rewind(self) -> None:
        """Show the turns, to go back to before one of them."""
        if (session := self._writable("rewind")) is None:
            return
        if session.last_turn is None:
            self.say("there is no turn to take back")
        else:
            self.app.push_screen(session.turn_list(self._take_back))

    async def _take_back(self, errand: QueuedTask, prompt: str) -> QuorumError | None:
        """Have a turn taken back, in line with the turns; why that failed, if it did.

        Its `prompt` comes back to be edited; it is empty where the conversation stays.
        """
        from application.cancellation import to_its_end
        from domain.errors import QuorumError

        failure: QuorumError | None = None

        async def whole(agent: Agent) -> None:
            nonlocal failure
            try:
                await to_its_end(errand.run(agent))
            except QuorumError as error:
                failure = error

        await self.turns.perform(QueuedTask(errand.does, whole))
        if failure is None and prompt:
            self.turns.begin_after("")
            self.turns.note_returned(prompt)
            self.give_back(prompt)
        return failure

    # -- other sessions -----------------------------------------------------------------------------------

    def action_new_session(self) -> None:
        """Begin another session."""
        if self._resting("begin another session") is not None:
            from domain.sessions.past_session import NewSession

            self.post_message(self.SessionWanted(self, NewSession()))

    def action_fork_session(self) -> None:
        """Go on in a copy of this session."""
        if self._resting("fork it") is not None:
            self.post_message(self.SessionWanted(self, "fork"))

    def action_resume_session(self) -> None:
        """Let the person pick a session to go on with."""
        if (session := self._resting("choose a session")) is not None:
            self.app.push_screen(session.session_picker(), self._session_picked)

    def _session_picked(self, name: str | None) -> None:
        if name is None or (session := self._resting("choose a session")) is None:
            return
        if name == session.agent.session_id and not session.agent.record.in_use:
            self.say("this session is open already")
            return
        from domain.sessions.past_session import NamedSession

        self.post_message(self.SessionWanted(self, NamedSession(name)))

    def action_export(self, file: str = "") -> None:
        """Write the session so far into a file; its ending chooses the form."""
        if (session := self._begun("export it")) is not None:
            self.run_worker(self._export(session, file), group="export")

    async def _export(self, session: Session, file: str) -> None:
        from domain.errors import QuorumError

        try:
            self.say(f"written to {await session.export(file)}")
        except (QuorumError, OSError) as error:
            self.tell(f"the session could not be exported: {error}")

    # -- what the session used and kept -------------------------------------------------------------------

    def action_show_cost(self) -> None:
        """Show what the session used and cost."""
        if (session := self._begun("nothing was used yet; look")) is not None:
            self.app.push_screen(session.costs())

    def action_open_output(self, nth: int = 1) -> None:
        """Read the nth latest stored output."""
        if (call := self.transcript.stored_output(nth)) is not None:
            self._open_output(call)
        else:
            self.say("no output is stored yet" if nth == 1 else f"there are fewer than {nth} stored outputs")

    def _open_output(self, call: Call) -> None:
        from domain.errors import BlobError

        if self.session is None:  # without one there is no call either
            return
        try:
            self.app.push_screen(self.session.pager(call))
        except BlobError as error:
            self.say(str(error))
