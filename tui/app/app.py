"""The full-screen app: its keys, its palette, and the life of the agents behind its tabs.

Nothing but Textual's core is imported before the first frame is painted; the rest follows while the person may
already type.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from textual import events, on
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.command import CommandPalette
from textual.dom import DOMNode
from textual.markup import escape
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widget import AwaitMount
from textual.widgets import Input, TextArea
from textual.worker import Worker, WorkerFailed

from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.agent.opening import StartFailure
from quorum.tui.app.gated_app import GatedApp
from quorum.tui.chat.chat_screen import ChatScreen
from quorum.tui.keys.keyboard_guard import TYPING_PACE, Guarded, KeySorter, SecondPress, TypingPace
from quorum.tui.keys.keyed_app import KeyedApp, Restart
from quorum.tui.keys.keymap import label_key, list_own_bindings
from quorum.tui.keys.slash_commands import Command, list_actions
from quorum.tui.tabs.session_host import SessionHost
from quorum.tui.tabs.tabbed_app import PATIENCE_SECS
from quorum.tui.tabs.tabs import Tab, Tabs
from quorum.tui.terminal.shutdown import Shutdown
from quorum.tui.themes.looks import Looks
from quorum.tui.widgets.dialog_parts import ClosesItself

if TYPE_CHECKING:
    from quorum.domain.instructions.offer_list import Skill
    from quorum.domain.sessions.session_summary import SessionChoice
    from quorum.domain.settings import TuiTable
    from quorum.tui.agent.opening import ComposeAgent, OpenArchive
    from quorum.tui.session.session import Session
    from quorum.tui.tabs.carrying import CarriedApp


_LEFT_OUT = ("open_palette", "quit", "show_help", "toggle_fold")


class PaletteScreen(ClosesItself, CommandPalette):
    """Textual's palette, but for what it makes of keys that come at once."""

    _has_run = False

    def _action_command_list(self, action: str) -> None:
        try:
            super()._action_command_list(action)
        except KeyError:  # Textual's list knows the places of its lines only once it has been drawn
            self.app.bell()

    def _select_or_command(self, event: Any = None) -> None:
        if not self._has_run:  # Enter may come again before it is closed
            super()._select_or_command(event)
            self._has_run = self._selected_command is not None and not self._list_visible

    def run_worker(self, *args: Any, **options: Any) -> Worker[Any]:
        """A search that outlives the palette finds its list no more, which is no reason to end the app."""
        return super().run_worker(*args, **{**options, "exit_on_error": False})


def list_commands(app: KeyedApp, chat: Screen[None]) -> Iterable[SystemCommand]:
    for title, does, action in list_actions():
        yield SystemCommand(title, does, partial(chat.run_action, action))
    for node in (chat, app):
        keys: dict[tuple[str, str], list[str]] = {}
        for binding in list_own_bindings(type(node)):
            if binding.action not in _LEFT_OUT:
                present = app.keymap.get(binding.id or "", binding.key)
                keys.setdefault((binding.description, binding.action), []).extend(present.split(","))
        for (does, action), bound in keys.items():
            shown = ", ".join(map(label_key, dict.fromkeys(bound)))
            yield SystemCommand(does, shown, partial(node.run_action, action))


def list_custom_entries(
    commands: Iterable[Command], skills: Iterable[Skill], begin: Callable[[str], None]
) -> Iterable[SystemCommand]:
    """The custom slash commands and the trusted skills. Chosen, one begins the prompt: nothing is sent before
    the person has seen it there."""
    for command in commands:
        yield SystemCommand(f"/{command.name}", escape(command.does), partial(begin, f"/{command.name} "))
    for skill in skills:
        does = escape(make_printable(skill.description, newlines=False))
        yield SystemCommand(
            f"Use the skill {skill.name}", does, partial(begin, f"Use the skill {skill.name}: ")
        )


_LONG_TURN_SECS = 20.0
_HUNG_UP = 128 + signal.SIGHUP
_LONGEST_UNSEEN_SECS = 2.0
_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_BEHIND_A_QUESTION_TOO = frozenset({"scroll_transcript", "toggle_fold"})


_dispatch_message = MessagePump._dispatch_message


async def _dispatch_guarded(pump: MessagePump, message: Message) -> None:
    """Dispatch a message as Textual does, whose loop ends on any error, and its widget with it."""
    try:
        await _dispatch_message(pump, message)
    except ImportError as error:
        if not (isinstance(app := pump.app, QuorumApp) and app.tell_changed(error)):
            raise


class QuorumApp(Looks, GatedApp, KeyedApp):
    """The app. `compose_agent` is awaited after the first frame, for the session that `choose` names then, and
    again for each further session, in the same tab or in another, with the folder of the tab; prompts sent
    before that wait. `open_archive` opens the list of sessions where the person is to pick the first one.

    If the first one raises any error the app ends with return code 4 for a ProviderError and 2 for any
    other, and Textual prints the error's text to stderr when the screen is restored. An unknown `theme` raises
    ConfigError here. `clock` measures the dead time of dialogs and must be the one that stamps keys; `pace`
    says how fast the person types.
    """

    TITLE = "quorum"
    CSS_PATH = Path(__file__).with_name("quorum.tcss")
    # Textual's own key for it would open it without the skills.
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *GatedApp.BINDINGS,
        Binding(
            "ctrl+c", "copy_or_stop", "Copy, interrupt or clear; twice: quit", priority=True, id="copy_or_stop"
        ),
        Binding("ctrl+o", "toggle_fold", "Open or close all details", priority=True, id="toggle_fold"),
        Binding(
            "pageup", "scroll_transcript('page_up')", "Scroll the transcript up", priority=True, id="scroll_up"
        ),
        Binding(
            "pagedown",
            "scroll_transcript('page_down')",
            "Scroll the transcript down",
            priority=True,
            id="scroll_down",
        ),
        Binding(
            "ctrl+home",
            "scroll_transcript('home')",
            "Scroll to the start of the transcript",
            priority=True,
            id="scroll_to_start",
        ),
        Binding(
            "ctrl+end",
            "scroll_transcript('end')",
            "Scroll to the end of the transcript",
            priority=True,
            id="scroll_to_end",
        ),
        Binding("ctrl+p", "open_palette", "All commands", priority=True, id="palette"),
        Binding("f1", "show_help", "Help; also ? in an empty prompt", priority=True, id="help"),
        Binding("ctrl+l", "redraw", "Redraw the screen", id="redraw"),
        Binding("ctrl+z", "suspend_process", "Suspend", id="suspend"),
        Binding("ctrl+q", "quit", "Quit", priority=True, id="quit"),
    ]

    def __init__(
        self,
        compose_agent: ComposeAgent,
        *,
        cwd: Path,
        choose: Callable[[], SessionChoice] | None = None,
        open_archive: OpenArchive | None = None,
        initial_prompt: str | None = None,
        theme: str | None = None,
        notifications: bool = True,
        screen_reader: bool = False,
        clock: Callable[[], float] = time.monotonic,
        pace: TypingPace = TYPING_PACE,
    ) -> None:
        super().__init__(cwd)
        MessagePump._dispatch_message = _dispatch_guarded  # type: ignore[method-assign,assignment]

        def make_tab(mode: str, opener: Tab | None, folder: Path | None) -> Tab:
            folder = folder or (opener.folder if opener is not None else cwd)
            chat = ChatScreen(folder, clock=clock)
            host = SessionHost(self, chat, compose_agent, open_archive, cwd=folder, clock=clock)
            return Tab(mode=mode, chat=chat, host=host, folder=folder, opener=opener)

        self.tabs = Tabs(self, make_tab)
        self._choose, self._initial_prompt = choose or _choose_new_session, initial_prompt
        self._leaving = False
        self._jobs_ended = 0
        self._short_ids: dict[str, str] = {}
        self._skills: Sequence[Skill] = ()
        self._presses = SecondPress(clock)
        self._key_clock = clock
        self._sorter = KeySorter(pace)
        self._taken_over: CarriedApp | None = None
        self._is_unseen = False
        self._use_theme(theme or self.theme)
        self.screen_reader, self.notifier.wanted = screen_reader, notifications

    def adopt(self, table: TuiTable) -> None:
        """Go by these settings. Raises ConfigError for a theme that there is not."""
        self.adopt_look(table)
        self.settings = table
        self.rebind(table.keys)

    def take_over(self, carried: CarriedApp) -> None:
        """Begin with the tabs of the app before this one. Call it before this one runs."""
        self._taken_over = carried
        self.chat.carried = carried.tabs[carried.front]

    shutdown: Shutdown | None = None
    """Ends the process where the app does not; None where the app is not all of a process."""
    can_restart = False
    """Whether another app may take the place of this one: this one has a terminal, and nobody else is at it."""

    # -- life -------------------------------------------------------------------------------------------------

    @on(events.Mount)
    async def _paint_first(self) -> None:
        """Everything else begins after that, and what was typed until then waits for the prompt.

        The last frame of an app before this one stays until this one can show the same.
        """
        self.tabs.begin()
        if self._taken_over is not None:
            self._begin_batch()
            self._is_unseen = True
            self.set_timer(_LONGEST_UNSEEN_SECS, self._become_seen)
        await AwaitMount(self.chat, [self.chat])
        if self.shutdown is not None and not self.is_headless:
            codes = {number: 128 + number for number in _ENDING_SIGNALS}
            self.shutdown.take_signals(codes, self._leave_soon)
            self.shutdown.take_untaken_signals()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        if self._taken_over is not None:
            self.run_worker(self._take_over(self._taken_over), name="take-over")
            return
        if self._initial_prompt:
            self.chat.begin_with(self._initial_prompt)
        self.begin_tab(self.tabs.front, self._choose)

    async def _take_over(self, carried: CarriedApp) -> None:
        """Open the tabs of the app before this one, each with its session; that in front is there first."""
        from quorum.tui.tabs.carrying import choose_session

        await self.tabs.put_around_front(carried.tabs, carried.front)
        pairs = list(zip(self.tabs.all, carried.tabs, strict=True))
        for tab, its in (pairs[carried.front], *pairs[: carried.front], *pairs[carried.front + 1 :]):
            choice = choose_session(its)
            self.begin_tab(tab, self._choose if choice is None else partial(_choose_again, choice))

    def fail(self, error: StartFailure) -> None:
        """End, because the first session of all could not be opened."""
        from rich.text import Text

        self.exit(return_code=error.exit_code, message=Text(f"quorum: {make_printable(str(error))}"))

    def lose_terminal(self) -> None:
        """Leave, as after the signal for it: the terminal is gone."""
        self._leave_soon(_HUNG_UP)

    def explain_staying(self, mode: str) -> str:
        if not self.can_restart:
            return super().explain_staying(mode)
        from quorum.tui.tabs.carrying import explain_staying

        return explain_staying(self.tabs)

    def begin_anew(self, restart: Restart) -> None:
        if not self._leaving:  # who leaves meanwhile wants no other app
            self.restart = restart
            self._leave_soon()

    def _leave_soon(self, return_code: int = 0) -> None:
        if not self._leaving:
            self._leaving = True
            self._jobs_ended = self._jobs_running
            self._begin_shutdown(return_code)
            if return_code == _HUNG_UP and self.shutdown is not None and wait_for_reviews_alone(self.tabs.all):
                self.run_worker(self._leave_reviews_open(self.shutdown), name="leave")
                return
            if self.restart is not None:
                self.run_worker(self._hand_over(), name="leave")
                return
            for tab in self.tabs.all:
                tab.chat.status.tell_closing()
            self.run_worker(self._leave(return_code), name="leave")

    async def _leave_reviews_open(self, shutdown: Shutdown) -> None:
        """End the process at once: reviews that wait are recorded, and an end in order would cancel them."""
        await self._shorten_ids()
        if not wait_for_reviews_alone(self.tabs.all):  # one was answered elsewhere in this moment
            await self._leave(_HUNG_UP)
            return
        sessions = [session for tab in self.tabs.all if (session := tab.chat.current.last) is not None]
        await asyncio.gather(*(session.agent.tell_end() for session in sessions))
        from quorum.application.program_lookup import find_own_command

        self.keep_unsent_texts()
        words = [f"a review waits for your answer; {find_own_command()} inbox lists it", *self.parting_words]
        with suppress(OSError):  # it may be the terminal that is gone
            print(*map(make_printable, words), sep="\n", file=sys.__stderr__, flush=True)
        shutdown.end_now(_HUNG_UP)

    async def _hand_over(self) -> None:
        """End with all that the next app takes over, and the terminal as it is: what is typed now is for it."""
        from quorum.tui.tabs.carrying import collect, encode
        from quorum.tui.terminal.driver import TerminalDriver

        terminal = self._driver.hand_over() if isinstance(self._driver, TerminalDriver) else None
        for pump in (self, self.screen, self.chat.prompt):  # what was typed before is on its way to the prompt
            arrived = asyncio.Event()
            pump.call_later(arrived.set)
            await arrived.wait()
        self.carried = encode(collect(self.tabs, terminal))
        self.exit(return_code=0)

    async def _leave(self, return_code: int) -> None:
        """Stop what runs while the screen still works, so that nothing is left behind."""
        await self.tabs.close_turns(PATIENCE_SECS)
        await self._shorten_ids()
        self.exit(return_code=return_code)

    async def _shorten_ids(self) -> None:
        for session in self._resumable:
            self._short_ids[session.agent.session_id] = await session.shorten_id()

    @property
    def _jobs_running(self) -> int:
        """How many background commands of all tabs end with the app."""
        return sum(len(tab.chat.jobs.running) for tab in self.tabs.all)

    def _begin_shutdown(self, return_code: int) -> None:
        if self.shutdown is not None:
            self.shutdown.begin(return_code)

    async def on_unmount(self) -> None:
        """However the app ends, no turn outlives it, and no session stays open."""
        await self.tabs.close_turns(PATIENCE_SECS)
        await self.tabs.close_sessions()

    def tell_changed(self, error: Exception) -> bool:
        """Say that something cannot be done for want of code that was changed on disk, if this is the error."""
        failure = error.error if isinstance(error, WorkerFailed) else error
        if not isinstance(failure, ImportError):
            return False
        from quorum.domain.errors import ProgramChanged

        if not isinstance(failure, ProgramChanged) or not self.is_running:
            return False
        self.chat.refuse(str(failure))
        if isinstance(screen := self.screen, Guarded):
            screen.note(str(failure))
        return True

    async def _dispatch_action(self, namespace: DOMNode, action_name: str, params: Any) -> bool:
        """An action that cannot be loaded is none that ends what handles its key."""
        try:
            return await super()._dispatch_action(namespace, action_name, params)
        except ImportError as error:
            if not self.tell_changed(error):
                raise
            return True

    def _handle_exception(self, error: Exception) -> None:
        if not self.tell_changed(error):
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """End on an error that nobody caught, with an account of it that holds neither values nor secrets."""
        self._begin_shutdown(1)
        try:
            from quorum.tui.app.crash import render_crash
        except ImportError as error:  # an app that cannot account for an error must not stay and do nothing
            self.fail(StartFailure(error))
            return
        self._exit_renderables.append(render_crash(self.chat.current.last))
        self._close_messages_no_wait()

    @property
    def parting_words(self) -> list[str]:
        """What to say where the screen was, once it is restored: what went wrong last, how to continue."""
        from quorum.application.program_lookup import find_own_command

        words = [tab.host.trouble for tab in self.tabs.all if tab.host.trouble]
        if self._jobs_ended:
            words.append(f"{format_amount(self._jobs_ended, 'background command')} ended with quorum")
        several = len(self._resumable) > 1
        for session in self._resumable:
            name = session.agent.session_id
            command = f"{find_own_command()} --resume"
            title = f"  # {session.facts.title}" if several and session.facts.title else ""
            words += [*session.account, f"resume with: {command} {self._short_ids.get(name, name)}{title}"]
        return words

    @property
    def _resumable(self) -> list[Session]:
        """The sessions that something was said in, and that can be continued."""
        sessions = [session for tab in self.tabs.all if (session := tab.chat.current.last) is not None]
        return [session for session in sessions if session.can_be_resumed]

    # -- what arrives -----------------------------------------------------------------------------------------

    @on(ChatScreen.TakenOver)
    def _become_seen(self) -> None:
        if self._is_unseen:
            self._is_unseen = False
            self._end_batch()
            self.screen.refresh(layout=True)

    @on(ChatScreen.AskingChanged)
    def _call_for_attention(self, message: ChatScreen.AskingChanged) -> None:
        if message.answer_needed:
            self.notifier.notify_question(message.tool)

    @on(ChatScreen.MarkChanged)
    def _mark_title(self) -> None:
        marks = {tab.mark for tab in self.tabs.all}
        self.title_line.show("!" if "!" in marks else "●" if "●" in marks else "")

    def on_verdict_screen_judged(self) -> None:
        """Tell the new bound at once, below the screen on which verdicts are given."""
        for tab in self.tabs.all:
            tab.chat.refresh_state()
        for screen in self.screen_stack:  # each draws those below it once
            screen.refresh()

    @on(ChatScreen.TurnEnded)
    def _call_after_long_turn(self, message: ChatScreen.TurnEnded) -> None:
        if message.secs >= _LONG_TURN_SECS:
            self.notifier.notify_turn_end()

    # -- keys and commands ------------------------------------------------------------------------------------

    def rebind(self, wishes: Mapping[str, str | Sequence[str]]) -> None:
        """Have these keys; what is shown names them."""
        super().rebind(wishes)
        for tab in self.tabs.all:
            tab.chat.refresh_state()
            tab.chat.transcript.notify_style_update()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Some keys belong to the chat alone, some work behind a question too."""
        on_chat = self.screen is self.chat
        if action == "open_palette":
            return on_chat
        if action in _BEHIND_A_QUESTION_TOO:
            return on_chat or isinstance(self.screen, Guarded)
        return super().check_action(action, parameters)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every command, key and skill, for the palette."""
        custom = self.chat.prompt.known.list_custom_commands()
        return (
            *list_commands(self, self.chat),
            *list_custom_entries(custom, self._skills, self.chat.prompt.begin),
        )

    async def action_open_palette(self) -> None:
        """Show all commands and keys, and the custom commands and skills that there are now."""
        if (session := self.chat.current.session) is not None:
            await session.agent.custom_commands.refresh()
            self._skills = [skill for skill, is_trusted in await session.agent.skills.survey() if is_trusted]
        self.push_screen(PaletteScreen())

    def arrange(self) -> None:
        """Arrange every chat as it is wished for now."""
        for tab in self.tabs.all:
            tab.chat.arrangement.fit_again()

    def tell_of_looks(self, notice: str) -> None:
        """Say it in the chat."""
        self.chat.say(notice)

    def action_copy_or_stop(self) -> None:
        """Copy what is selected; else stop the turn, clear the prompt or arm quitting. Twice quits."""
        if text := self._get_selected_text():
            self.chat.copying.copy_selected(text)
        elif self._presses.register_press("ctrl+c"):
            self._leave_soon()
        elif not self.chat.turns.interrupt():
            if self.chat.prompt.text and self.screen is self.chat:
                self.chat.prompt.replace_text("")
            jobs = self._jobs_running
            ends = f" and ends {format_amount(jobs, 'background command')}" if jobs else ""
            self.chat.say(f"ctrl+c again quits{ends}")

    def action_end_of_input(self) -> None:
        """Quit; while a turn or a background command runs only at the second time."""
        running, jobs = self.chat.turns.running, self._jobs_running
        if not (running or jobs) or self._presses.register_press("ctrl+d"):
            self._leave_soon()
        elif running:
            self.chat.say("a turn is running; ctrl+d again stops it and quits")
        else:
            runs, them = ("runs", "it") if jobs == 1 else ("run", "them")
            self.chat.say(
                f"{format_amount(jobs, 'background command')} {runs}; ctrl+d again ends {them} and quits"
            )

    async def action_quit(self) -> None:
        """Quit at once."""
        self._leave_soon()

    def _get_selected_text(self) -> str:
        focused = self.screen.focused
        if isinstance(focused, TextArea | Input) and focused.selected_text:
            return focused.selected_text
        return self.screen.get_selected_text() or ""

    def action_scroll_transcript(self, how: Literal["page_up", "page_down", "home", "end"]) -> None:
        """Scroll the transcript, also behind a dialog."""
        view = self.chat.transcript
        match how:
            case "page_up":
                view.action_page_up()
            case "page_down":
                view.action_page_down()
            case "home":
                view.action_scroll_home()
            case "end":
                view.action_scroll_end()

    def action_toggle_fold(self) -> None:
        """Open or close all details of the transcript."""
        self.chat.transcript.toggle_fold_all()

    def action_redraw(self) -> None:
        """Draw everything again, for a terminal that something else has written to."""
        self.screen.refresh(layout=True)

    async def action_show_help(self, command: str = "") -> None:
        """Show keys and commands; of a command that is named, how it is typed."""
        from quorum.tui.keys.keymap import find_context_title
        from quorum.tui.screens.help import HelpScreen

        if isinstance(self.screen, HelpScreen):
            self.screen.dismiss()
        else:
            place = "" if self.screen is self.chat else find_context_title(self.screen)
            custom = self.chat.prompt.known.list_custom_commands()
            query = f"/{command.removeprefix('/')}" if command else ""
            await self.push_screen(HelpScreen(query, custom, place=place))


def _choose_again(choice: SessionChoice) -> SessionChoice:
    return choice


def _choose_new_session() -> SessionChoice:
    from quorum.domain.sessions.session_summary import NewSession

    return NewSession()


def wait_for_reviews_alone(tabs: Sequence[Tab]) -> bool:
    """Whether a review waits for the person, and nothing else is at work in any tab.

    Such reviews are recorded. A process that ends at once leaves them open, as one that is killed does: a
    session that is resumed asks again, and `quorum inbox` answers them. What else is at work is stopped in
    order instead, so that its end is recorded.
    """
    chats = [(tab, tab.chat) for tab in tabs]
    busy = [tab for tab, chat in chats if chat.turns.running or chat.turns.own.running or chat.jobs.running]
    return bool(busy) and all(_waits_for_review_alone(tab) for tab in busy)


def _waits_for_review_alone(tab: Tab) -> bool:
    from quorum.application.view.entries import Phase

    chat, session = tab.chat, tab.chat.current.session
    if session is None or not session.agent.record.outlives or not chat.questions.asking:
        return False
    if chat.turns.own.running or chat.jobs.running:
        return False
    present = chat.transcript.session_view.present
    batch = present.open_batch
    is_asked = batch is not None and any(call.phase is Phase.REVIEWED for call in batch.calls)
    return is_asked and not present.running
