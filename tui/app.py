"""The full-screen app: its keys, and the life of the agent behind the screen.

Nothing but Textual's core is imported before the first frame is painted; the rest follows while the person
may already type.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal
from weakref import WeakKeyDictionary

from textual import events, on
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.theme import ThemeProvider
from textual.widgets import Input, TextArea

from tui.chat_screen import ChatScreen
from tui.look import THEMES
from tui.palette import Palette, all_commands
from tui.review.keyboard_guard import Guarded
from tui.screen_observer import EventsArrived, ScreenObserver
from tui.terminal_title import TerminalTitle
from tui.transcript.printable import printable

if TYPE_CHECKING:
    from domain.errors import QuorumError
    from tui.agent import ComposeAgent

_TWICE_SECS = 1.0
_PATIENCE_SECS = 3.0
_LONG_TURN_SECS = 20.0
_HUNG_UP = 128 + signal.SIGHUP
_BEHIND_A_QUESTION_TOO = frozenset({"scroll_transcript", "toggle_fold"})


class QuorumApp(App[None]):
    """The app. `compose_agent` is awaited once, after the first frame; prompts sent before that wait.

    If it raises a QuorumError the app ends with return code 4 for a ProviderError and 2 for any other, and
    Textual prints the error's text to stderr when the screen is restored. An unknown `theme` raises
    ConfigError here. `clock` measures the dead time of dialogs and must be the one that stamps keys.
    """

    TITLE = "quorum"
    CSS_PATH = "quorum.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "copy_or_stop", "Copy, interrupt or clear; twice: quit", priority=True),
        Binding("ctrl+o", "toggle_fold", "Open or close all details", priority=True),
        Binding("pageup", "scroll_transcript('page_up')", "Scroll the transcript up", priority=True),
        Binding("pagedown", "scroll_transcript('page_down')", "Scroll the transcript down", priority=True),
        Binding("ctrl+home", "scroll_transcript('home')", "To the transcript's beginning", priority=True),
        Binding("ctrl+end", "scroll_transcript('end')", "To the transcript's end", priority=True),
        Binding("ctrl+p", "command_palette", "All commands", priority=True),
        Binding("f1", "show_help", "This help; also ? in an empty prompt", priority=True),
        Binding("ctrl+l", "redraw", "Draw the screen again"),
        Binding("ctrl+z", "suspend_process", "Suspend"),
        Binding("ctrl+q", "quit", "Quit", priority=True),
    ]

    def __init__(
        self,
        compose_agent: ComposeAgent,
        *,
        cwd: Path,
        initial_prompt: str | None = None,
        theme: str | None = None,
        notifications: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.chat = ChatScreen(cwd, clock=clock)
        self._compose_agent, self._initial_prompt, self._clock = compose_agent, initial_prompt, clock
        self._observer = ScreenObserver(self.post_message)
        self._title = TerminalTitle(self, cwd)
        self._leaving = False
        self._pressed: tuple[str, float] = ("", 0.0)
        self._pressed_over: WeakKeyDictionary[events.Key, Screen[object]] = WeakKeyDictionary()
        for own in THEMES:
            self.register_theme(own)
        self.adopt(theme=theme or THEMES[0].name, notifications=notifications)

    def adopt(self, *, theme: str, notifications: bool) -> None:
        """Take over settings, which may become known only after the first frame. Raises ConfigError."""
        if theme not in self.available_themes:
            from domain.errors import ConfigError

            known = ", ".join(sorted(self.available_themes))
            raise ConfigError(f"tui.theme: there is no theme {theme!r}; choose one of {known}")
        self.theme = theme
        self._title.rings = notifications

    def get_default_screen(self) -> Screen[None]:
        """The chat is the screen everything else appears over."""
        return self.chat

    # -- life -------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Paint first; everything else begins after that."""
        if not self.is_headless:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, self._leave_soon, 128 + number)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._title.begin()
        if self._initial_prompt:
            self.chat.submit(self._initial_prompt)
        self.run_worker(self._serve(), name="agent")

    async def _serve(self) -> None:
        """Compose the agent, then run turns until the end."""
        await asyncio.to_thread(import_module, "tui.screen_person")  # heavy, and typing goes on meanwhile
        from domain.errors import ProviderError, QuorumError
        from tui.screen_person import ScreenPerson

        person = ScreenPerson(self, self.chat, clock=self._clock)
        try:
            agent = await self._compose_agent(person, self._observer)
        except QuorumError as error:
            self._fail(error, 4 if isinstance(error, ProviderError) else 2)
            return
        await self.chat.serve(agent)

    def _fail(self, error: QuorumError, return_code: int) -> None:
        from rich.text import Text

        self.exit(return_code=return_code, message=Text(f"quorum: {printable(str(error))}"))

    def _leave_soon(self, return_code: int = 0) -> None:
        if not self._leaving:
            self._leaving = True
            self.chat.tell_closing()
            self.run_worker(self._leave(return_code), name="leave")

    async def _leave(self, return_code: int) -> None:
        """Stop what runs while the screen still works, so that nothing is left behind."""
        await self.chat.turns.close(_PATIENCE_SECS)
        if return_code == _HUNG_UP:  # no terminal is left to restore, and writing to it could block for ever
            os._exit(return_code)
        self.exit(return_code=return_code)

    async def on_unmount(self) -> None:
        """However the app ends, no turn outlives it."""
        await self.chat.turns.close(_PATIENCE_SECS)
        self._title.end()

    # -- what arrives -----------------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """Keep keys from screens they are not meant for."""
        if isinstance(event, events.Key) and not self._reaches_screen(event):
            return
        await super().on_event(event)

    def _reaches_screen(self, event: events.Key) -> bool:
        """Whether a key may act on the screen that is on top.

        A key comes by twice: when it is pressed, and again when the focused widget had no use for it. By then
        another screen may have appeared, which the person did not see when they pressed it.
        """
        if not self.screen_stack:  # the app is about to end
            return False
        if event.is_forwarded:
            return self._pressed_over.pop(event, None) is self.screen
        if self.screen is not self.chat and not self.screen.is_mounted:
            return False  # its widgets are not there yet, and its keys would look for them in vain
        if isinstance(self.screen, Guarded) and not self.screen.admits(event):
            return False
        self._pressed_over[event] = self.screen
        self.chat.say("")
        return True

    @on(EventsArrived)
    def _take_events(self) -> None:
        self.chat.hear(self._observer.take())

    @on(ChatScreen.AskingChanged)
    def _call_for_attention(self, message: ChatScreen.AskingChanged) -> None:
        self._title.mark(answer_needed=message.answer_needed)

    @on(ChatScreen.TurnEnded)
    def _ring_after_long_turn(self, message: ChatScreen.TurnEnded) -> None:
        if message.secs >= _LONG_TURN_SECS:
            self._title.ring()

    # -- keys and commands ------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Some keys belong to the chat alone, some work behind a question too."""
        on_chat = self.screen is self.chat
        if action == "command_palette":
            return on_chat
        if action in _BEHIND_A_QUESTION_TOO:
            return on_chat or isinstance(self.screen, Guarded)
        return super().check_action(action, parameters)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every command and every key, for the palette."""
        return all_commands(self, self.chat)

    def action_command_palette(self) -> None:
        """Show all commands and keys."""
        self.push_screen(Palette())

    def search_themes(self) -> None:
        """Show all themes to choose from."""
        self.push_screen(Palette([ThemeProvider], placeholder="Search for themes…"))

    def action_copy_or_stop(self) -> None:
        """Copy what is selected; else stop the turn, clear the prompt or arm quitting. Twice quits."""
        if text := self._selected_text():
            self.copy_to_clipboard(text)
            self.chat.say("copied")
        elif self._is_second("ctrl+c"):
            self._leave_soon()
        elif not self.chat.turns.interrupt():
            if self.chat.prompt.text and self.screen is self.chat:
                self.chat.prompt.put("")
            self.chat.say("ctrl+c again quits")

    def action_end_of_input(self) -> None:
        """Quit; while a turn runs only at the second time."""
        if not self.chat.turns.running or self._is_second("ctrl+d"):
            self._leave_soon()
        else:
            self.chat.say("a turn is running; ctrl+d again stops it and quits")

    async def action_quit(self) -> None:
        """Quit at once."""
        self._leave_soon()

    def _is_second(self, key: str) -> bool:
        """Whether this is the second press of a key within a second."""
        now = self._clock()
        before, at = self._pressed
        self._pressed = (key, now)
        return before == key and now - at <= _TWICE_SECS

    def _selected_text(self) -> str:
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

    async def action_show_help(self) -> None:
        """Show keys and commands."""
        from tui.help_screen import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            await self.push_screen(HelpScreen())
