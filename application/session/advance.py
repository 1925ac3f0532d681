"""Advancing a session, whatever became of it before, until its turn ends or nothing but a review is left."""

from __future__ import annotations

import asyncio
from typing import TypeAlias

from msgspec import Struct

from quorum.application.ports.people import Observer
from quorum.application.review.approvers import DeferringApprover
from quorum.application.session.agent_session import AgentSession
from quorum.domain.errors import ConversationError, StagingError
from quorum.domain.events.event import Event
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.replacing import replace
from quorum.domain.sessions.waiting_review import find_last_report

REVIEW_OPEN = "review_open"
"""The stop reason of a turn that was left with an open review."""


class Ended(Struct, frozen=True):
    """The turn ended; its end is recorded."""

    report: RunReport


class LeftOpen(Struct, frozen=True):
    """The reviews of these digests wait, and nothing else does. The turn stands still in this process.

    The process is to end now, as if it were killed: an end in order would cancel the reviews.
    """

    digests: tuple[str, ...]
    text: str = ""
    """The answer of the turn, where that has ended and what it did in a layer is put to review."""

    def build_report(self, session_id: str) -> RunReport:
        """What a caller reads of it."""
        return RunReport(
            session_id=session_id,
            status=RunStatus.NEEDS_APPROVAL,
            stop_reason=REVIEW_OPEN,
            text=self.text,
            turns=0,
        )


Advanced: TypeAlias = Ended | LeftOpen


class SessionAdvance:
    """Observes a session, and advances it. `reviews` is its approver; events are passed on to `observer`."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._changed = asyncio.Event()
        self.reviews = DeferringApprover(self._changed.set)
        self._text = ""

    def notify(self, event: Event) -> None:
        """Pass the event on, and look again what is at work."""
        self._observer.notify(event)
        self._changed.set()

    async def advance(self, agent: AgentSession, prompt: str = "") -> Advanced:
        """Resume what is unfinished, else run a turn for `prompt`, or for a goal that is not reached. The
        session has been opened. What waits in a layer is unfinished, too: it is put to review.

        Cancelled, the turn is interrupted, and that is its end. Raises ConversationError where nothing is
        unfinished and there is no prompt, and where there is a prompt and something is unfinished: it would
        take the open review away.
        """
        goal = agent.state.goal
        is_unfinished = agent.run.has_pending or not agent.state.finished
        is_open = is_unfinished or (goal is not None and goal.is_open)
        if is_unfinished and prompt:
            raise ConversationError("the session has a turn that is not finished; advance it without a prompt")
        ended = None if is_open or prompt else await self._find_end_of_staged(agent)
        if not is_open and not prompt and ended is None:
            raise ConversationError("the session has no turn that is not finished; give it a prompt")
        turn = asyncio.ensure_future(self._run(agent, prompt, ended))
        rest = asyncio.ensure_future(self._wait_for_rest(agent))
        try:
            await asyncio.wait((turn, rest), return_when=asyncio.FIRST_COMPLETED)
            if rest.done() and not turn.done():
                return LeftOpen(rest.result(), self._text)
        except asyncio.CancelledError:
            turn.cancel()
        finally:
            rest.cancel()
        return Ended(await turn)

    @staticmethod
    async def _find_end_of_staged(agent: AgentSession) -> RunReport | None:
        """How the last turn ended, where what it did in a layer waits for a review."""
        if agent.staged is None or not await agent.staged.inquiry.has_effects():
            return None
        return find_last_report(agent.record.records)

    async def _run(self, agent: AgentSession, prompt: str, ended: RunReport | None) -> RunReport:
        """Run turns until one ends of which nothing waits in a layer any more; `ended` is how the last one did,
        where there is none to run first."""
        report = ended
        while True:
            if report is None:
                report = await (agent.run.execute(prompt) if prompt else agent.run.retry())
            if agent.staged is None or report.status is RunStatus.INTERRUPTED:
                return report
            self._text = report.text
            try:
                settled = await agent.staged.inquiry.settle(report)
            except StagingError as error:
                return replace(report, status=RunStatus.FAILED, error=f"its changes wait unread: {error}")
            if not isinstance(settled, str):
                return settled
            prompt, report, self._text = settled, None, ""

    async def _wait_for_rest(self, agent: AgentSession) -> tuple[str, ...]:
        """The digests of the reviews that wait once no call runs; background commands are ended then."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            if not self.reviews.waiting or _is_call_running(agent):
                continue
            await agent.jobs.close()
            if self.reviews.waiting and not _is_call_running(agent):
                return self.reviews.waiting


def _is_call_running(agent: AgentSession) -> bool:
    """Whether a call has begun whose end is not known yet: a process that ends now would not know it either."""
    return any(call.started and call.end is None for call in agent.state.open_calls)
