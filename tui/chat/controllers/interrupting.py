"""What Esc does: stops the turn, drops a selection; twice it clears the prompt, leaves a mode or rewinds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from quorum.tui.agent.turns import Turns
from quorum.tui.chat.controllers.host import ChatHost, CurrentSession
from quorum.tui.keys.keyboard_guard import SecondPress
from quorum.tui.keys.keyed_app import fill_in_keys
from quorum.tui.prompt_box.history import escape_command
from quorum.tui.prompt_box.prompt import Prompt


class InterruptController:
    """Has Esc do the first of these that there is a reason for.

    `remember` has Up bring a cleared prompt back; `return_held` puts what waits for the session back into the
    prompt, and says whether there was any; `leave_modes` has one model work at once; `leave_tab` goes
    from a tab that only looks or talks to the one it was opened from; `rewind` shows the turns to go back to;
    `clock` is in seconds.
    """

    def __init__(
        self,
        host: ChatHost,
        current: CurrentSession,
        turns: Turns,
        prompt: Prompt,
        *,
        remember: Callable[[str], object],
        return_held: Callable[[], bool],
        leave_modes: Callable[[], Awaitable[object]],
        leave_tab: Callable[[], Awaitable[object]],
        rewind: Callable[[], object],
        clock: Callable[[], float],
    ) -> None:
        self._host, self._current, self._turns, self._prompt = host, current, turns, prompt
        self._remember, self._return_held, self._rewind = remember, return_held, rewind
        self._leave_modes, self._leave_tab = leave_modes, leave_tab
        self._presses = SecondPress(clock)

    async def action_interrupt(self) -> None:
        """Stop the running turn, or drop a selection; twice, clear the prompt, leave a mode or go back to an
        earlier turn."""
        if self._turns.interrupt() or self._return_held():
            self._presses.spend("escape")
        elif self._host.selections:
            self._host.clear_selection()
        elif self._presses.register_press("escape"):
            await self._act_on_second_press()
        elif self._prompt.text:
            self._host.say(fill_in_keys("esc again clears the prompt; ↑ brings it back", self._host.app))
        elif (session := self._current.session) is not None and session.special_modes:
            self._host.say(f"esc again leaves {' and '.join(session.special_modes)}")

    async def _act_on_second_press(self) -> None:
        session, prompt = self._current.session, self._prompt
        if text := prompt.whole_text:
            self._remember(text if prompt.is_typed_by_person else escape_command(text))
            prompt.replace_text("")
            prompt.is_typed_by_person = True
        elif session is not None and session.special_modes:
            await self._leave_modes()
        elif session is not None and not session.is_agent:
            await self._leave_tab()
        elif session is not None and session.last_turn is not None:
            self._rewind()
