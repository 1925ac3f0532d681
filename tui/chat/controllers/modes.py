"""The modes that a command enters and leaves: a plan first, several models, plans that no model looks at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from quorum.tui.chat.controllers.host import ChatHost, CurrentSession
from quorum.tui.keys.slash_commands import PLAN_WORDS
from quorum.tui.prompt_box.history import REFUSAL, is_prompt
from quorum.tui.prompt_box.prompt import Prompt

if TYPE_CHECKING:
    from quorum.tui.session.session import Session


class ModeController:
    """Enters a mode, or leaves it where it is entered already; a prompt behind the command enters and is sent.

    What cannot be carried out goes back into the `prompt`; `submit` puts a prompt in line.
    """

    def __init__(
        self, host: ChatHost, current: CurrentSession, *, prompt: Prompt, submit: Callable[[str], object]
    ) -> None:
        self._host, self._current = host, current
        self._prompt, self._submit = prompt, submit

    async def action_plan(self, text: str = "") -> None:
        """Have the model make a plan, for this prompt or the next; again, or `off`, leaves that, and `drop`
        withdraws a plan."""

        async def change(session: Session) -> str:
            return await session.change_plan(text.strip())

        word = text.strip()
        await self._change("/plan", "" if word in PLAN_WORDS else word, "make a plan", change)

    async def action_choose_fast(self, text: str = "") -> None:
        """Have plans put to no other model; again, have them put to it."""

        async def change(session: Session) -> str:
            return await session.set_scope("full" if session.is_fast and not text.strip() else "fast")

        await self._change("/fast", text, "choose how far to go", change)

    async def action_choose_ensemble(self, text: str = "") -> None:
        """Let several models answer, and score each other's answers; again, let one."""

        async def change(session: Session) -> str:
            is_left = session.is_ensemble and not text.strip()
            return await self._choose_consensus(session, level="solo" if is_left else "ensemble")

        await self._change("/ensemble", text, "choose who answers", change)

    async def action_choose_solo(self, text: str = "") -> None:
        """Let one model answer, with its tools."""

        async def change(session: Session) -> str:
            return await self._choose_consensus(session, level="solo")

        await self._change("/solo", text, "choose who answers", change)

    async def action_choose_strategy(self, name: str) -> None:
        """Choose how several models come to one answer."""

        async def change(session: Session) -> str:
            return await self._choose_consensus(session, strategy=name)

        await self._change("/strategy", "", "choose who answers", change)

    async def action_choose_scope(self, name: str) -> None:
        """Choose how far the session goes: full, fast or plan-only."""

        async def change(session: Session) -> str:
            return await session.set_scope(name)

        await self._change("/scope", "", "choose how far to go", change)

    async def leave_all(self) -> None:
        """Have one model work at once, and other models asked about its plans."""

        async def change(session: Session) -> str:
            left = await self._choose_consensus(session, level="solo") if session.is_ensemble else ""
            return left or await session.set_scope("full")

        await self._change("", "", "leave it", change)

    async def _change(
        self, command: str, text: str, wish: str, change: Callable[[Session], Awaitable[str]]
    ) -> None:
        """Change the mode, and send the text as a prompt; where either cannot be, the command goes back into
        the prompt. `change` returns why it cannot, or raises QuorumError with a longer reason."""
        from quorum.domain.errors import QuorumError

        text = text.strip()
        if (session := self._current.require_session(wish)) is None:
            self._return_typed(command, text)
            return
        explain: Callable[[str], object] = self._host.refuse
        problem = REFUSAL if text and not is_prompt(text) else session.refusal
        if not problem:
            try:
                problem = await change(session)
            except QuorumError as error:
                problem, explain = str(error), self._host.tell
        self._host.refresh_state()
        if problem:
            self._return_typed(command, text)
            explain(problem)
        elif text:
            self._submit(text)

    def _return_typed(self, command: str, text: str) -> None:
        if text:
            self._prompt.put_before(f"{command} {text}")

    async def _choose_consensus(self, session: Session, *, level: str = "", strategy: str = "") -> str:
        """Say what there is to warn of. Raises QuorumError where that cannot be; nothing else is in the way."""
        for warning in await session.choose_consensus(level, strategy):
            self._host.tell(warning, refuses=False)
        return ""
