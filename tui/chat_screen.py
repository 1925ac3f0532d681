"""The one screen of a session: header, transcript, prompt, status bar, and the turns they belong to."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, HorizontalGroup
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from tui.commands import NotACommand, action_for, is_command
from tui.header import Header
from tui.panel.side_panel import SidePanel
from tui.prompt_box.prompt import Prompt
from tui.prompt_box.recall import Recall
from tui.status_bar import Status, StatusBar
from tui.transcript.view import TranscriptView
from tui.turns import Turns
from tui.welcome import welcome_text

if TYPE_CHECKING:
    from domain.events import Event
    from tui.agent import Agent
    from tui.session import Session
    from tui.transcript.entries import Call


class ChatScreen(Screen[None]):
    """Shows a session and takes prompts for it. Everything works before the agent is there; prompts wait."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "interrupt", "Interrupt the turn", priority=True),
        Binding("shift+tab", "cycle_mode", "Next mode: ask, accept-edits, quorum, read-only", priority=True),
        Binding("ctrl+b", "toggle_panel", "Show or hide the side panel", priority=True),
    ]

    class AskingChanged(Message):
        """A question to the person has appeared or gone."""

        def __init__(self, *, answer_needed: bool) -> None:
            super().__init__()
            self.answer_needed = answer_needed

    class TurnEnded(Message):
        """A turn that took so many seconds is over."""

        def __init__(self, secs: float) -> None:
            super().__init__()
            self.secs = secs

    def __init__(self, cwd: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(id="chat")
        self.turns = Turns(
            on_change=self._state_changed,
            on_end=lambda secs: self.post_message(self.TurnEnded(secs)),
            give_back=self._give_back,
        )
        self.transcript = TranscriptView(id="transcript")
        self.panel = SidePanel(id="panel")
        self._recall = Recall(cwd, self.turns.take_back)
        self.prompt = Prompt(self._recall, placeholder="Ask for something, or / for commands", id="prompt")
        self._welcome = Static(id="welcome", markup=False)
        self._header = Header(cwd, id="header")
        self._status_bar = StatusBar(self._status, id="status")
        self._session: Session | None = None
        self._clock, self._notice = clock, ""
        self._asking = self._leaving = False

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield self._header
        with Horizontal(id="main"):
            yield self.transcript
            yield self.panel
        yield self._welcome
        with HorizontalGroup(id="composer"):
            yield Static(" ›", id="sign", markup=False)
            yield self.prompt
        yield self._status_bar

    def on_mount(self) -> None:
        """The prompt takes every key from the start."""
        self.prompt.focus()

    def on_resize(self, event: events.Resize) -> None:
        """The side panel is there only where it has room."""
        self.panel.fit(event.size.width)

    # -- the session ------------------------------------------------------------------------------------------

    async def serve(self, agent: Agent) -> None:
        """Show this agent's session and run what is submitted, for ever."""
        from tui.session import Session

        self._session = Session(agent, clock=self._clock)
        self._state_changed()
        await self.turns.serve(agent)

    def hear(self, happened: list[Event]) -> None:
        """Show events, in order."""
        changed = False
        for event in happened:
            self.transcript.apply(event)
            self.panel.apply(event)
            changed |= self._session is not None and self._session.facts.apply(event)
        if changed:
            self._state_changed()

    def _begun(self, until_then: str) -> Session | None:
        """The session; where there is none yet, the person is told so."""
        if self._session is None:
            self.say(until_then)
        return self._session

    async def action_set_mode(self, name: str) -> None:
        """Change the review mode, once there is an agent to change it for."""
        if (session := self._begun("still starting; choose the mode in a moment")) is not None:
            await session.set_mode(name)
            self._state_changed()

    async def action_cycle_mode(self) -> None:
        """The next of the modes that keep asking; never auto."""
        if (session := self._begun("still starting; choose the mode in a moment")) is not None:
            await session.cycle_mode()
            self._state_changed()

    def action_choose_model(self, name: str = "") -> None:
        """Set the model of that name; without one, let the person pick."""
        if (session := self._begun("still starting; choose the model in a moment")) is None:
            return
        if name:
            self.run_worker(self._set_model(session, name), group="model")
        else:
            self.app.push_screen(session.model_picker())

    async def _set_model(self, session: Session, name: str) -> None:
        from domain.events import ErrorOccurred

        if problem := await session.set_model(name):
            self.transcript.apply(ErrorOccurred(message=problem))
            self.say(f"the model is still {session.agent.model}")

    def action_go_on(self) -> None:
        """Take up a turn that failed or was interrupted where it stopped."""
        if self._begun("still starting") is not None:
            self.say(self.turns.go_on())

    def action_show_cost(self) -> None:
        """Show what the session used and cost."""
        if (session := self._begun("still starting; nothing was used yet")) is not None:
            self.app.push_screen(session.costs())

    def action_interrupt(self) -> None:
        """Stop the running turn, or drop a selection."""
        if not self.turns.interrupt():
            self.clear_selection()

    def action_clear_transcript(self) -> None:
        """Clear the screen; the conversation goes on."""
        self.transcript.clear()

    def action_toggle_panel(self) -> None:
        """Show the side panel, or hide it for the rest of the session."""
        self.say(self.panel.toggle())

    # -- outputs ----------------------------------------------------------------------------------------------

    def action_open_output(self, nth: int = 1) -> None:
        """Read the nth latest stored output."""
        if (call := self.transcript.stored_output(nth)) is not None:
            self._open_output(call)
        else:
            self.say("no output is stored yet" if nth == 1 else f"there are fewer than {nth} stored outputs")

    @on(TranscriptView.OutputWanted)
    def _output_wanted(self, message: TranscriptView.OutputWanted) -> None:
        self._open_output(message.call)

    def _open_output(self, call: Call) -> None:
        from domain.errors import BlobError

        if self._session is None:  # without one there is no call either
            return
        try:
            self.app.push_screen(self._session.pager(call))
        except BlobError as error:
            self.say(str(error))

    # -- prompts --------------------------------------------------------------------------------------------

    @on(Prompt.Submitted)
    async def _submitted(self, message: Prompt.Submitted) -> None:
        message.stop()
        if is_command(message.text):
            try:
                await self.run_action(action_for(message.text))
            except NotACommand as problem:
                self.prompt.put(message.text)
                self.say(str(problem))
        else:
            self.submit(message.text)

    def submit(self, text: str) -> None:
        """Remember a prompt and put it in line."""
        self._welcome.display = False
        try:
            self._recall.history.add(text)
        except OSError as error:
            self.say(f"this prompt could not be added to the history: {error}")
        self.turns.submit(text)

    def _give_back(self, prompts: str) -> None:
        draft = self.prompt.text
        self.prompt.put(f"{prompts}\n{draft}" if draft else prompts)

    # -- what is told in passing ------------------------------------------------------------------------------

    def say(self, notice: str) -> None:
        """Show a remark in the status bar until the next key; an empty one takes it away."""
        if notice != self._notice:
            self._notice = notice
            self._status_bar.update()

    def tell_closing(self) -> None:
        """Say that the app is about to end."""
        self._leaving = True
        self._status_bar.update()

    @on(TranscriptView.NewBelow)
    def _below_changed(self) -> None:
        self._status_bar.update()

    def _state_changed(self) -> None:
        if self.is_mounted:
            if self._session is not None:
                facts = self._session.facts
                self._header.show(model=facts.model, mode=facts.mode, sandbox=facts.sandbox)
                self._welcome.update(welcome_text(facts.model))
            self._status_bar.update()

    def _status(self) -> Status:
        facts = self._session.facts if self._session is not None else None
        return Status(
            ready=facts is not None,
            running=self.turns.running,
            interrupting=self.turns.interrupting,
            answer_needed=self._asking,
            closing=self._leaving,
            elapsed=self.turns.elapsed,
            waiting=self.turns.waiting,
            retry=facts.retry if facts else "",
            can_go_on=self.turns.can_go_on,
            used=facts.used if facts else "",
            mode=facts.mode if facts else "",
            below=self.transcript.new_below,
            notice=self._notice,
        )

    # -- the question of a review (Room of ScreenPerson) ------------------------------------------------------

    def asking_begins(self) -> None:
        """A question has appeared."""
        self._asking = True
        self._state_changed()
        self.post_message(self.AskingChanged(answer_needed=True))

    def make_room(self, lines: int) -> None:
        """Keep the transcript's end above a dialog that covers so many lines from below."""
        own = self._status_bar.size.height + self.query_one("#composer").outer_size.height
        self.query_one("#main").styles.margin = (0, 0, max(0, lines - own), 0)

    def asking_ends(self, *, interrupts: bool) -> None:
        """The question is gone."""
        self._asking = False
        if interrupts:
            self.turns.mark_interrupting()
        self._state_changed()
        self.post_message(self.AskingChanged(answer_needed=False))
