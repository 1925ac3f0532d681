"""Checks before a turn ends: whether its edits broke something, and whether hooks have more for the model."""

from __future__ import annotations

from quorum.application.calls.hook_chain import HookChain
from quorum.application.turn.dialogue import Dialogue
from quorum.application.turn.steering import PendingMessage
from quorum.application.turn.turn_diagnostics import TurnDiagnostics
from quorum.domain.calls.hook import ContinueWithMessages, PersonMessage
from quorum.domain.conversation.history import UserMessage
from quorum.domain.errors import HookAborted


class TurnEndChecks:
    """Checks whether a turn may end. Diagnostics may send the model back `max_returns` times; so may hooks."""

    def __init__(
        self,
        dialogue: Dialogue,
        hooks: HookChain,
        diagnostics: TurnDiagnostics | None,
        *,
        max_returns: int,
    ) -> None:
        self._dialogue = dialogue
        self._hooks = hooks
        self._diagnostics = diagnostics
        self._max_returns = max_returns
        self._returns_by_hooks = 0
        self._returns_by_diagnostics = 0

    async def ask_for_more(self) -> str | UserMessage | None:
        """Return a message for the model instead of ending: on what the edits broke, else what the hooks want.
        None where the turn may end. Raises HookAborted."""
        note = await self._diagnostics.check() if self._diagnostics is not None else None
        if note is not None and note.has_new_lines and self._returns_by_diagnostics < self._max_returns:
            self._returns_by_diagnostics += 1
            return note.text
        if note is not None:  # nothing to go back for, or not again: it is read with what is said next
            notice = PendingMessage(UserMessage(note.text), is_notice=True)
            self._dialogue.pending_messages.add(notice)
        return await self._ask_hooks()

    async def _ask_hooks(self) -> str | UserMessage | None:
        """Raises HookAborted where the hooks are not satisfied and the model may not be sent back again."""
        returns, self._returns_by_hooks = self._returns_by_hooks, self._returns_by_hooks + 1
        answer = await self._hooks.on_turn_end(self._dialogue.conversation.messages)
        if not isinstance(answer, ContinueWithMessages):
            return None
        if returns >= self._max_returns:
            again = "1 time" if returns == 1 else f"{returns} times"
            raise HookAborted(
                f"the hooks at the turn's end sent the model back {again}, which is the limit, and are not "
                f"satisfied: {_read_text(answer.messages[-1])}"
            )
        *first, last = answer.messages
        for message in first:
            await self._dialogue.add(
                message if isinstance(message, UserMessage) else UserMessage(_read_text(message))
            )
        return last if isinstance(last, UserMessage) else _read_text(last)


def _read_text(message: str | PersonMessage) -> str:
    return message if isinstance(message, str) else message.text
