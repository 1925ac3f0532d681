"""The turns of a session in which an agent of another vendor works, as front ends run those of any session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from quorum.application.agents.agent_run import AgentRun
from quorum.application.cancellation import postpone_cancellation
from quorum.application.ports.agents import AgentOffers, AgentTerms
from quorum.application.turn.run_agent import RunAgent, TurnParts
from quorum.domain.calls.execution import Outcome, ToolExecution
from quorum.domain.conversation.history import UserMessage
from quorum.domain.errors import ConversationError, LedgerError, ProviderError
from quorum.domain.events.event import AgentConnected, ErrorOccurred, NoticeGiven
from quorum.domain.events.report import RunReport
from quorum.domain.text.json_value import JsonObject

_CONTINUE = "Continue."
_NO_IMAGES = "images and PDFs are not sent to the agent: name their files, if it can read them"


class ExternalTurns(RunAgent):
    """The agent answers each prompt by itself, in `work`. It is started as background work, on the terms that
    held `before` in the session. What is said into a turn is its next prompt.
    """

    rewind_refusal = "the agent keeps what was said: the conversation cannot be taken back, only files can"

    def __init__(self, work: AgentRun, parts: TurnParts, *, before: AgentConnected | None) -> None:
        super().__init__(parts)
        is_copy = parts.events.state.session_id not in ("", parts.session_id)
        self.work, self._terms = work, AgentTerms.as_before(before, is_copy=is_copy)
        self._notes: list[str] = []
        self._starting: asyncio.Task[None] | None = None

    # ---------------------------------------------------------------- its life

    def begin(self) -> None:
        """Start the agent while the person types."""
        self._starting = asyncio.create_task(self._start())

    async def _start(self) -> None:
        try:
            await self.work.connect(self._terms)
        except ProviderError as error:  # the first prompt tries again
            self._events.note(ErrorOccurred(message=str(error)))
        except LedgerError:  # whoever records next says it
            return

    async def find_offers(self) -> AgentOffers:
        """What can be chosen of the agent, once its start has ended."""
        if self._starting is not None:
            await asyncio.wait({self._starting})
        return self.work.offers

    async def aclose(self) -> None:
        """End the agent."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        await self.work.aclose()

    # ---------------------------------------------------------------- turns

    async def execute(self, prompt: str, *, is_typed: bool = False) -> RunReport:
        await postpone_cancellation(self._events.settle())
        said = self.attachments.build_message(prompt)
        if said.images or said.documents:
            self._events.note(NoticeGiven(message=_NO_IMAGES))
        return await self._work(said.text)

    async def retry(self) -> RunReport:
        if not self._events.state.prompts:
            raise ConversationError("there is nothing to continue: the conversation is empty")
        return await self._work(_CONTINUE)

    async def _work(self, prompt: str) -> RunReport:
        secs = self._limits.max_time_secs or None
        report = await self.work.execute(prompt, await self._take_notes(), secs)
        if self.report_end is not None:
            self.report_end(report)
        return report

    async def _take_notes(self) -> Sequence[str]:
        """What the agent reads before the next prompt, recorded."""
        before = len(self._conversation.messages)
        with suppress(LedgerError):  # they wait for the next prompt
            await postpone_cancellation(self._dialogue.tell_of_commands())
        told = [each.text for each in self._conversation.messages[before:] if isinstance(each, UserMessage)]
        notes, self._notes = [*self._notes, *told], []
        return notes

    async def queue_note(self, text: str) -> None:
        self._notes.append(text)

    async def call_tool(
        self, tool: str, arguments: JsonObject, *, request: str, conclude: Callable[[Outcome, str], str]
    ) -> RunReport:
        raise ConversationError("in this session an agent of another vendor makes all calls")

    @property
    def executions(self) -> tuple[ToolExecution, ...]:
        return self.work.executions

    # ---------------------------------------------------------------- what was left open

    @property
    def has_pending(self) -> bool:
        """Never: a question of an agent that is gone has nobody to answer."""
        return False

    async def recover(self) -> None:
        self._recovery = None
        await self.work.begin_session()
