"""The one screen of a session: header, transcript, prompt, status bar, and the turns they belong to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, HorizontalGroup
from textual.message import Message
from textual.widget import Widget
from textual.widgets import TextArea

from quorum.tui.agent.observer import EventsArrived, ScreenObserver
from quorum.tui.agent.turns import Turns
from quorum.tui.chat.controllers.arrangement import ArrangementController
from quorum.tui.chat.controllers.copying import CopyController
from quorum.tui.chat.controllers.effects import EffectsController
from quorum.tui.chat.controllers.finding import FindController
from quorum.tui.chat.controllers.goals import GoalController
from quorum.tui.chat.controllers.host import CHANGES, CurrentSession, collect_actions
from quorum.tui.chat.controllers.interrupting import InterruptController
from quorum.tui.chat.controllers.jobs import JobController
from quorum.tui.chat.controllers.local_servers import LocalServerController
from quorum.tui.chat.controllers.memory import MemoryController
from quorum.tui.chat.controllers.modes import ModeController
from quorum.tui.chat.controllers.questions import QuestionController
from quorum.tui.chat.controllers.rewinding import RewindController
from quorum.tui.chat.controllers.sending import SendController, SubmitController
from quorum.tui.chat.controllers.sessions import SessionController
from quorum.tui.chat.controllers.settings import SettingsController
from quorum.tui.chat.controllers.status import StatusController
from quorum.tui.chat.controllers.views import ViewController
from quorum.tui.chat.controllers.writing import PromptSources, WritingController
from quorum.tui.chat.tab_bar import TabBar
from quorum.tui.keys.choices import CYCLED_MODES, STAGED
from quorum.tui.keys.keyed_app import KeyedApp, fill_in_keys
from quorum.tui.prompt_box.history import Recall, escape_command
from quorum.tui.prompt_box.prompt import Prompt
from quorum.tui.side_panel.side_panel import SidePanel
from quorum.tui.themes.looks import Looks
from quorum.tui.transcript.layout.view import TranscriptView, replay_events
from quorum.tui.widgets.dialog_parts import DrawnOnce

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession
    from quorum.application.session.session_record import SessionRecord
    from quorum.domain.events.event import Event
    from quorum.tui.agent.opening import Wanted
    from quorum.tui.chat.carried_tab import CarriedTab
    from quorum.tui.copying import StopBar
    from quorum.tui.finding_bar import FindBar


async def replay_into(record: SessionRecord, transcript: TranscriptView, panel: SidePanel) -> None:
    """Apply the events of a record, oldest first. Nothing is drawn before the end, and nothing stays alive.

    Where the record is in use, another process may be at work on the last turn.
    """
    if not record.past:
        return
    from quorum.application.view.wording import PROCESS_ENDED, RECORD_ENDS

    cut = RECORD_ENDS if record.in_use else PROCESS_ENDED
    await replay_events(record.past, record.past_at, transcript, cut=cut)
    panel.show(transcript.session_view)


def describe_last_ending(past: Sequence[Event]) -> str:
    """How the last turn of a record ended, in a word; empty where there is none that counts."""
    from quorum.domain.events.event import SessionRedone, SessionRewound, TurnFinished, TurnStarted

    ending = ""
    undone: list[str] = []  # what it was before each undo that may be redone
    for event in past:
        match event:
            case TurnFinished(report=report):
                ending = report.status.value
            case TurnStarted():
                undone.clear()
                ending = "interrupted"  # until it ends: its process may have ended before
            case SessionRewound(conversation=True):
                undone.append(ending)
                ending = ""
            case SessionRedone(turns=turns) if turns and undone:
                ending = undone.pop()
            case _:
                continue
    return ending


_BACKGROUND_OR_PANEL = "Send a running command to the background; else show or hide the side panel"
_MARK_UP = "Select a part of the transcript, then the one above"
_RECOVERED = "an earlier quorum ended here before it had sent what you typed; ↑ brings it back"
_NEXT_MODE = f"Next mode: {', '.join((*CYCLED_MODES, STAGED))}"


class ChatScreen(DrawnOnce):
    """Shows a session and takes prompts for it. Everything works before the agent is there; prompts wait.

    It is the `ChatHost` of its controllers, whose actions are its own: keys, commands and palette name them.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+f,f3", "find", "Find in the transcript", priority=True, id="find"),
        Binding("ctrl+y", "copy", "Copy the last answer", priority=True, id="copy_answer"),
        Binding("alt+up", "mark(True)", _MARK_UP, priority=True, id="mark_up"),
        Binding("alt+down", "mark(False)", "Select the part below", priority=True, id="mark_down"),
        Binding(
            "escape",
            "interrupt",
            "Interrupt; twice: clear, leave a mode or rewind",
            priority=True,
            id="interrupt",
        ),
        Binding("shift+tab", "cycle_mode", _NEXT_MODE, priority=True, id="cycle_mode"),
        Binding("alt+v", "paste_image", "Attach the image in the clipboard", priority=True, id="paste_image"),
        Binding("ctrl+b", "background_or_panel", _BACKGROUND_OR_PANEL, priority=True, id="toggle_panel"),
        Binding("f8", "read_calls", "Have calls in the text read", priority=True, id="read_calls"),
        Binding("ctrl+s", "show_timeline", "Show the timeline", priority=True, id="show_timeline"),
    ]

    class TurnEnded(Message):
        """A turn that took so many seconds is over."""

        def __init__(self, secs: float) -> None:
            super().__init__()
            self.secs = secs

    class AskingChanged(Message):
        """A question to the person has appeared or gone; `tool` is what it is about, or empty."""

        def __init__(self, answer_needed: bool, tool: str) -> None:
            super().__init__()
            self.answer_needed, self.tool = answer_needed, tool

    class TakenOver(Message):
        """What an app before this one left is there again: the past, and all that stood in no record."""

    class MarkChanged(Message):
        """What is to be known of the session beside it, and from another tab, has changed."""

    class SessionWanted(Message):
        """Another session is to be opened in this chat."""

        def __init__(self, chat: ChatScreen, wanted: Wanted) -> None:
            super().__init__()
            self.chat, self.wanted = chat, wanted

    def __init__(self, cwd: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._cwd, self._clock = cwd, clock
        self.notice = self.refusal = ""
        self.refusals = 0
        self._mark: tuple[object, ...] = ()
        self._observer: ScreenObserver | None = None
        self.carried: CarriedTab | None = None
        self._first_prompt = self._next_prompt = ""
        self._guide_handle: Callable[[Event], None] = lambda _event: None
        self.turns = Turns(
            on_change=self.refresh_state,
            on_end=lambda secs: self.post_message(self.TurnEnded(secs)),
            on_failure=self.tell,
            give_back=lambda prompts: self.prompt.give_back(prompts),
        )
        self.current = CurrentSession(self.turns, self.refuse)
        self.tab_bar, self.side_panel = TabBar(id="tabs"), SidePanel(id="panel")
        self.transcript = TranscriptView(id="transcript", tell_filled=self._give_room)
        self._recall = Recall(cwd, self._take_back, self._list_unrecorded)
        self.prompt = Prompt(
            self._recall,
            PromptSources(cwd, self.current, themes=lambda: self.app.available_themes),
            id="prompt",
            editing=self._get_editing,
        )
        self._main, self._composer = Horizontal(id="main"), HorizontalGroup(id="composer")
        self._build_controllers()

    def _build_controllers(self) -> None:
        """Build the controllers, each with what it needs, and make their actions those of the screen."""
        self.arrangement = ArrangementController(self, self.side_panel, self._composer)
        self.status = StatusController(
            self,
            self.current,
            self.turns,
            self.transcript,
            self.side_panel,
            workspace=self._cwd,
            is_asking=lambda: self.questions.asking,
        )
        self.prompt.suggest = self.status.welcome.suggest
        self.questions = QuestionController(
            self,
            self.turns,
            self.transcript,
            main=self._main,
            below=(*self.status.above_prompt, self._composer, self.status.status_bar, self.status.status_line),
            announce=lambda answer_needed, tool: self.post_message(self.AskingChanged(answer_needed, tool)),
        )
        self.sending = SendController(
            self,
            self.current,
            self.turns,
            prompt=self.prompt,
            recall=self._recall,
            transcript=self.transcript,
            welcome=self.status.welcome,
            resume=lambda name: self.sessions.resume_by_id(name),
            use_server=self._use_server,
            is_asking=lambda: self.questions.asking,
        )
        memory = MemoryController(
            self,
            self.current,
            prompt=self.prompt,
            questions=self.questions,
            remember=self.sending.remember,
            clock=self._clock,
        )
        self.sessions = SessionController(
            self, self.current, want=lambda wanted: self.post_message(self.SessionWanted(self, wanted))
        )
        self.settings = SettingsController(self, self.current, self.turns)
        self.modes = ModeController(self, self.current, prompt=self.prompt, submit=self.sending.submit)
        goals = GoalController(self, self.current, prompt=self.prompt, submit=self.sending.submit)
        self.local_servers = LocalServerController(self, self.current, self.questions, self._clock)
        self.rewinding = RewindController(self, self.current, self.turns, self.prompt, self.transcript)
        self.effects = EffectsController(
            self,
            self.current,
            self.turns,
            self.prompt,
            perform=self.rewinding.perform,
            send=self.sending.submit,
            clock=self._clock,
        )
        self.views = ViewController(self, self.current, self.transcript)
        self.writing = WritingController(self, self.current, self.prompt, workspace=self._cwd)
        self.submitting = SubmitController(
            self,
            self.current,
            self.turns,
            self.prompt,
            sending=self.sending,
            memory=memory,
            writing=self.writing,
            run_action=self.run_action,
        )
        self.finding = FindController(self.transcript, self.prompt, self._main)
        self.copying = CopyController(self, self.current, self.transcript, workspace=self._cwd)
        self.jobs = JobController(
            self, self.current, self.transcript, self.side_panel, self.questions, self._clock
        )
        actions = collect_actions(
            self.sending,
            self.sessions,
            self.settings,
            self.modes,
            goals,
            self.rewinding,
            self.effects,
            self.views,
            self.writing,
            self.finding,
            self.copying,
            InterruptController(
                self,
                self.current,
                self.turns,
                self.prompt,
                remember=self.sending.remember,
                return_held=self.submitting.return_held,
                leave_modes=self.modes.leave_all,
                leave_tab=lambda: self.run_action("app.leave_tab"),
                rewind=self.rewinding.action_rewind,
                clock=self._clock,
            ),
            self.jobs,
        )
        for name, action in actions.items():  # Textual looks for them here, by these names
            setattr(self, name, action)

    def _take_back(self) -> str | None:
        """What was sent last and waits, as Enter sends it again."""
        if (typed := self.submitting.take_back()) is not None:
            return typed
        prompt = self.turns.take_back()
        return None if prompt is None else escape_command(prompt)

    def _list_unrecorded(self) -> tuple[str, ...]:
        """What was sent and no session has recorded: before the first is there it waits here alone."""
        prompts = self.turns.prompts if self.current.last is None else ()
        return self.submitting.held + tuple(map(escape_command, prompts))

    def _get_editing(self) -> str:
        """How the person wants prompts edited."""
        return self.app.settings.editing if isinstance(self.app, KeyedApp) else "emacs"

    def compose(self) -> ComposeResult:
        self.arrangement.begin_fitting()
        yield self.tab_bar
        yield self.status.header
        with self._main:
            yield self.transcript
            yield self.side_panel
        yield self.status.welcome
        yield from self.status.above_prompt
        yield self.prompt.menu
        with self._composer:
            yield self.arrangement.sign
            yield self.prompt
        yield self.status.status_bar
        yield self.status.status_line

    def on_mount(self) -> None:
        """The prompt takes every key from the start."""
        self.prompt.focus()
        if self.carried is not None:
            from quorum.tui.chat.carried_tab import put_draft

            put_draft(self.carried, self.prompt)

    def on_resize(self, event: events.Resize) -> None:
        """Each part is where there is room for it."""
        self.arrangement.fit(event.size)
        self.status.show_plan()

    @on(TurnEnded)
    def _review_effects(self) -> None:
        self.effects.note_turn_end()

    # -- what is shown ---------------------------------------------------------------------------------------

    def say(self, notice: str) -> None:
        self.refusal = ""
        if notice != self.notice:
            self.notice = notice
            self.status.status_bar.update()

    def refuse(self, reason: str) -> None:
        """Say why what was asked for cannot be done; empty where it can. `refusal` is the last reason."""
        self.say(reason)
        self.refusal = reason
        self.refusals += bool(reason)

    def tell(self, sentence: str, *, refuses: bool = True) -> None:
        """Add a sentence on what failed to the transcript, or, where it `refuses` nothing, a warning."""
        if refuses:
            from quorum.domain.events.event import ErrorOccurred

            self.transcript.apply(ErrorOccurred(message=sentence))
        else:
            self.transcript.warn(sentence)
        if not self.transcript.is_at_end:
            self.say(sentence)
        if refuses:
            self.refusal = sentence
            self.refusals += 1

    async def wait_for_changes(self) -> bool:
        changes = [each.wait() for each in self.workers if each.node is self and each.group == CHANGES]
        ended = await asyncio.gather(*changes, return_exceptions=True)
        return not any(isinstance(each, BaseException) for each in ended)

    def refresh_state(self) -> None:
        """Show what is known of the session anew, here and in the line of tabs.

        Turns run and sessions are opened in between: what cannot be loaded any more is said, and ends neither.
        """
        if not self.is_mounted:
            return
        try:
            self.status.show()
        except ImportError as error:
            from quorum.domain.errors import ProgramChanged

            if not isinstance(error, ProgramChanged):
                raise
            self.refuse(str(error))
        session = self.current.session
        title = session.facts.title if session is not None else ""
        mark = (self.questions.asking, self.turns.running, len(self.jobs.running), title)
        if mark != self._mark:
            self._mark = mark
            self.post_message(self.MarkChanged())

    # -- the session ------------------------------------------------------------------------------------------

    def begin_with(self, prompt: str) -> None:
        """Send a first prompt, once there is a session: see `LocalServerController.find_for_first`."""
        self._first_prompt = prompt
        self.sending.submit(prompt)

    async def begin(self, agent: AgentSession, observer: ScreenObserver) -> None:
        """Show this agent's session in the place of any other: its past, and then what can be done with it.

        What happens in it arrives at the observer, one for each session: what a closed one tells is nobody's.
        """
        from quorum.tui.session.session import Session

        self._observer = None
        if self.current.last is not None:
            self.transcript.forget()
            self.side_panel.forget()
            self.status.welcome.display = not self.turns.waiting
        session = Session(agent, self.transcript.session_view, cwd=str(self._cwd), clock=self._clock)
        await replay_into(agent.record, self.transcript, self.side_panel)
        session.begin()
        first, self._first_prompt = self._first_prompt, ""
        server = await self.local_servers.find_for_first(first, session)
        if server and self.turns.prompts == (first,):
            self.turns.take_back()
            self.status.welcome.display = True
        if self._next_prompt:
            self.sending.submit(self._next_prompt)
            self._next_prompt = ""
        self.turns.begin_after(describe_last_ending(agent.record.past))
        self.status.welcome.display &= not agent.record.past
        self.current.session = session
        carried, self.carried = self.carried, None
        if carried is not None:
            from quorum.tui.chat.carried_tab import resume_tab

            await resume_tab(carried, session, self.turns, self.transcript, self)
        self._recall.history.hide = agent.mask.mask_text
        if agent.record.in_use:
            self.tell(session.refusal, refuses=False)
            self.turns.return_waiting()
        self.refresh_state()
        self._observer = observer
        self.handle_events(observer.pop_events())
        self.run_worker(self.submitting.submit_held(), group="held")
        if server and not self.turns.waiting:
            self._use_server(server, first)
        if self._recall.recover_unsent() and carried is None:
            self.tell(fill_in_keys(_RECOVERED, self.app), refuses=False)
        if carried is not None:
            self.post_message(self.TakenOver())
        if self.prompt.keep_unsent() and isinstance(self.app, Looks) and self.app.typed_early is not None:
            self.app.typed_early.keep(())

    def _use_server(self, port: int, prompt: str) -> None:
        def send() -> None:
            if prompt:
                self.sending.submit(prompt)

        self.local_servers.use(port, partial(self._begin_again_with, prompt), send)

    def _begin_again_with(self, prompt: str) -> None:
        self._next_prompt = prompt
        self.sessions.action_new_session()

    def begin_opening(self) -> None:
        """Another session is being opened: this one rests, and what is sent waits."""
        self.current.begin_opening()
        self.refresh_state()

    def stay(self, sentence: str) -> None:
        """The other session could not be opened, for this reason: this one continues."""
        self.current.stay()
        self.tell(sentence)
        self.submitting.return_held()  # it was typed for the other one
        self.turns.return_waiting()
        self.refresh_state()

    def start_guide(self, guide: Widget, handle: Callable[[Event], None]) -> None:
        """Have a guide lead through what is seen here; it receives all events."""
        self._guide_handle = handle
        self.status.welcome.tell_of_tour()
        self.mount(guide, before=self._main)

    @on(EventsArrived)
    def _take_events(self) -> None:
        if self._observer is not None:
            self.handle_events(self._observer.pop_events())

    def handle_events(self, happened: list[Event]) -> None:
        for event in happened:
            self.transcript.apply(event)
            self._guide_handle(event)
        if happened:
            self.status.show_present()
        if (session := self.current.session) is not None and session.catch_up():
            self.refresh_state()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Esc and Ctrl+S mean something below the transcript, in the menu and in the search first."""
        taken = {
            "interrupt": self.finding.has_focus or (self.prompt.takes_escape and self.prompt.has_focus),
            "show_timeline": self.prompt.is_searching and self.prompt.has_focus,
        }
        return False if taken.get(action) else super().check_action(action, parameters)

    # -- what its widgets report ------------------------------------------------------------------------------

    @on(Prompt.Submitted)
    async def _send(self, message: Prompt.Submitted) -> None:
        message.stop()
        await self.submitting.submit(message.text, is_typed=message.is_typed)

    @on(Prompt.EditingModeChanged)
    def _show_mode(self, message: Prompt.EditingModeChanged) -> None:
        self.arrangement.show_mode(message.mode)
        self.status.use_vim_mode(message.mode)

    @on(Prompt.SentNothing)
    def _send_nothing(self) -> None:
        self.sending.send_nothing()

    @on(Prompt.AttachmentDropped)
    def _take_image(self, message: Prompt.AttachmentDropped) -> None:
        message.stop()
        self.writing.attach_dropped(message.path, message.pasted)

    @on(TextArea.Changed, "#prompt")
    def _on_prompt_changed(self) -> None:
        self.sending.tell_what_enter_does()
        self.writing.look_for_commands()
        self.prompt.keep_soon()

    @on(TranscriptView.NewBelow)
    def _tell_of_new_lines(self) -> None:
        self.status.status_bar.update()

    def _give_room(self, is_filled: bool) -> None:
        self.status.welcome.set_class(is_filled, "-over")
        self.app.stylesheet.update(self.status.welcome)  # before the next frame, and not only once all is idle

    @on(TranscriptView.OutputWanted)
    def _open_output(self, message: TranscriptView.OutputWanted) -> None:
        self.views.open_output(message.call)

    @on(TranscriptView.LinkPressed)
    def _follow_link(self, message: TranscriptView.LinkPressed) -> None:
        message.stop()
        self.copying.follow_link(message.target)

    async def on_find_bar_search_ended(self, message: FindBar.SearchEnded) -> None:
        """The person is done with finding."""
        message.stop()
        await self.finding.end_search(message.text)

    async def on_stop_bar_copying_ended(self, message: StopBar.CopyingEnded) -> None:
        """The person is done with marking."""
        message.stop()
        await self.finding.end_marking(message.typed)

    def on_stop_bar_wanted(self, message: StopBar.Wanted) -> None:
        """The marked part is to be copied."""
        message.stop()
        self.copying.copy_piece(message.piece)
