"""The one screen of a session: header, transcript, prompt, status bar, and the turns they belong to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, HorizontalGroup
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from tui.agent.observer import EventsArrived, ScreenObserver
from tui.agent.turns import Turns
from tui.agent.user_commands import parse_user_command
from tui.chat.actions.asking import AskingActions
from tui.chat.actions.images import ImageActions
from tui.chat.actions.looking import LookingActions
from tui.chat.actions.looks import LookActions
from tui.chat.actions.reading import ReadingActions
from tui.chat.actions.session import SessionActions
from tui.chat.actions.telling import TellingActions
from tui.chat.actions.timeline import TimelineActions
from tui.chat.actions.working import WaitingLines, WorkingActions
from tui.chat.actions.writing import WritingActions
from tui.chat.header import Header
from tui.chat.status_bar import StatusBar
from tui.chat.tab_bar import TabBar
from tui.keys.commands import NotACommand, action_for, is_command
from tui.keys.modes import CYCLED_MODES
from tui.keys.second_press import SecondPress
from tui.panel.side_panel import SidePanel
from tui.prompt_box.prompt import Prompt
from tui.prompt_box.prompt_text import as_prompt
from tui.prompt_box.recall import Recall
from tui.transcript.layout.view import TranscriptView

if TYPE_CHECKING:
    from domain.events.event import Event
    from tui.agent.port import Agent
    from tui.session.session import Session


class ChatScreen(
    TellingActions,
    AskingActions,
    SessionActions,
    LookActions,
    WorkingActions,
    ImageActions,
    WritingActions,
    LookingActions,
    ReadingActions,
    TimelineActions,
):
    """Shows a session and takes prompts for it. Everything works before the agent is there; prompts wait."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "escape", "interrupt", "Interrupt the turn; twice: clear or rewind", priority=True, id="interrupt"
        ),
        Binding(
            "shift+tab",
            "cycle_mode",
            f"Next mode: {', '.join(CYCLED_MODES)}",
            priority=True,
            id="cycle_mode",
        ),
        Binding("alt+v", "paste_image", "Attach the image in the clipboard", priority=True, id="paste_image"),
        Binding("ctrl+b", "toggle_panel", "Show or hide the side panel", priority=True, id="toggle_panel"),
        Binding("ctrl+s", "show_timeline", "When everything happened", priority=True, id="show_timeline"),
    ]

    class TurnEnded(Message):
        """A turn that took so many seconds is over."""

        def __init__(self, secs: float) -> None:
            super().__init__()
            self.secs = secs

    def __init__(self, cwd: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._cwd = cwd
        self.tab_bar = TabBar(id="tabs")
        self.turns = Turns(
            on_change=self.state_changed,
            on_end=lambda secs: self.post_message(self.TurnEnded(secs)),
            on_failure=self.tell,
            give_back=self.give_back,
        )
        self.transcript = TranscriptView(id="transcript")
        self.panel = SidePanel(id="panel")
        self._recall = Recall(cwd, self.turns.take_back)
        self.prompt = Prompt(
            self._recall, self, placeholder="Ask for something, / for commands, @ for files", id="prompt"
        )
        self._welcome = Static(id="welcome", markup=False)
        self._waiting_lines = WaitingLines(id="waiting", markup=False)
        self._header = Header(cwd, id="header")
        self._status_bar = StatusBar(self._status, id="status")
        self._kept: Session | None = None
        self._held_commands = []
        self._clock = clock
        self._presses = SecondPress(clock)
        self._in_front = asyncio.Event()
        self._observer: ScreenObserver | None = None
        self._guide_handle: Callable[[Event], None] = lambda _event: None

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        self.begin_fitting()
        yield self.tab_bar
        yield self._header
        with Horizontal(id="main"):
            yield self.transcript
            yield self.panel
        yield self._welcome
        yield self._waiting_lines
        yield self.prompt.menu
        with HorizontalGroup(id="composer"):
            yield Static(" ›", id="sign", markup=False)
            yield self.prompt
        yield self._status_bar

    def on_mount(self) -> None:
        """The prompt takes every key from the start."""
        self.prompt.focus()

    def on_resize(self, event: events.Resize) -> None:
        """Each part is where there is room for it."""
        self.fit(event.size)

    # -- the session ------------------------------------------------------------------------------------------

    async def begin(self, agent: Agent, observer: ScreenObserver) -> None:
        """Show this agent's session in the place of any other: its past, and then what can be done with it.

        What happens in it arrives at the observer, one for each session: what a closed one still tells is
        nobody's.
        """
        from tui.chat.past import last_ending, replay_into
        from tui.session.session import Session

        self._observer = None
        if self._kept is not None:
            self.transcript.forget()
            self.panel.forget()
            self._welcome.display = not self.turns.waiting
        session = Session(agent, cwd=str(self._cwd), clock=self._clock)
        in_use = bool(agent.record.in_use)
        await replay_into(
            agent.record.past,
            self.transcript,
            self.panel,
            session.facts,
            in_use=in_use,
            past_at=agent.record.past_at,
        )
        session.facts.end_past(model=agent.models.current, mode=agent.review.mode.value)
        self.turns.begin_after(last_ending(agent.record.past))
        self._welcome.display = self._welcome.display and not agent.record.past
        self.session = session
        self._recall.history.hide = session.agent.mask.text
        if agent.record.in_use:
            self.tell(session.refusal)
            self.turns.return_waiting()
        self.state_changed()
        self._observer = observer
        self.handle_events(observer.take())
        self.run_held_commands()

    @property
    def last_session(self) -> Session | None:
        """The session; while another one is being opened, the one before."""
        return self.session or self._kept

    def begin_opening(self) -> None:
        """Another session is being opened: this one rests, and what is sent waits."""
        self.turns.hold()
        self._kept, self.session = self.session, None
        self.state_changed()

    def be_guided(self, guide: Widget, handle: Callable[[Event], None]) -> None:
        """Have a guide lead through what is seen here; it hears of all that happens."""
        self._guide_handle = handle
        self.mount(guide, before="#main")

    def stay(self, sentence: str) -> None:
        """The other session could not be opened, for this reason: this one goes on."""
        self.session = self._kept
        self.tell(sentence)
        self.turns.return_waiting()
        self.state_changed()
        self.run_held_commands()

    @on(EventsArrived)
    def _take_events(self) -> None:
        if self._observer is not None:
            self.handle_events(self._observer.take())

    def handle_events(self, happened: list[Event]) -> None:
        """Show events, in order."""
        changed = False
        for event in happened:
            self.transcript.apply(event)
            self.panel.apply(event)
            self._guide_handle(event)
            changed |= self.session is not None and self.session.handle(event)
        if changed:
            self.state_changed()

    def action_interrupt(self) -> None:
        """Stop the running turn, or drop a selection; twice, clear the prompt or go back to an earlier turn."""
        if self.turns.interrupt():
            self._presses.spend("escape")
        elif self.selections:
            self.clear_selection()
        elif self._presses.is_second("escape"):
            self._clear_or_rewind()
        elif self.prompt.text:
            self.say("esc again clears the prompt; ↑ brings it back")

    def _clear_or_rewind(self) -> None:
        if text := self.prompt.whole_text:
            self._remember(text if self.prompt.is_typed_by_person else as_prompt(text))
            self.prompt.put("")
            self.prompt.is_typed_by_person = True
        elif self.session is not None and self.session.last_turn is not None:
            self.action_rewind()

    def action_clear_transcript(self) -> None:
        """Clear the screen; the conversation goes on."""
        self.transcript.clear()

    def action_toggle_panel(self) -> None:
        """Show the side panel, or hide it for the rest of the session."""
        self.say(self.panel.toggle())

    @on(TranscriptView.OutputWanted)
    def _output_wanted(self, message: TranscriptView.OutputWanted) -> None:
        self._open_output(message.call)

    # -- prompts --------------------------------------------------------------------------------------------

    @on(Prompt.Submitted)
    async def _submitted(self, message: Prompt.Submitted) -> None:
        message.stop()
        if is_command(message.text):
            self._remember(message.text)
            try:
                await self.run_action(action_for(message.text))
            except NotACommand as problem:
                self.prompt.put(message.text)
                self.say(str(problem))
        elif (own := parse_user_command(message.text)) is not None:
            self.run_user_command(own, message.text)
        elif (text := await self.with_images(message.text)) is not None:
            self.submit(text)

    def submit(self, text: str) -> None:
        """Remember a prompt and put it in line; in a session that takes none it stays where it is."""
        if self.session is not None and self.session.refusal:
            self.prompt.put(as_prompt(text))
            self.say(self.session.refusal)
            return
        self._welcome.display = False
        self._remember(as_prompt(text))
        if not self.turns.running:  # what waits stands above the prompt, and disturbs nobody who reads
            self.transcript.action_scroll_end()
        self.turns.submit(text)

    def _remember(self, text: str) -> None:
        try:
            self._recall.history.add(text)
        except OSError as error:
            self.say(f"this prompt could not be added to the history: {error}")
