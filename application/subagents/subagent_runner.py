"""Has subagents do tasks, several at the same time, each in a session of its own."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from decimal import Decimal

from quorum.application.cancellation import run_to_end
from quorum.application.events.event_bus import EventBus
from quorum.application.ports.subagents import SubagentSession, SubagentSessions, SubagentStopped
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.conversation.cost import Spending
from quorum.domain.conversation.response import Usage
from quorum.domain.errors import ConfigError, LedgerError, ProviderError
from quorum.domain.events.event import (
    CallFinished,
    CallQueued,
    CallStarted,
    ErrorOccurred,
    Event,
    ResponseCompleted,
    RetryScheduled,
    ReviewRequested,
    SessionStarted,
    SubagentFinished,
    SubagentProgressed,
    SubagentStarted,
    TextDelta,
    TurnFinished,
    UsageCounted,
)
from quorum.domain.events.report import RunStatus
from quorum.domain.events.subagent_outcome import SubagentOutcome
from quorum.domain.subagents.session_ids import build_subagent_id
from quorum.domain.subagents.subagent_task import SubagentTask
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_value import JsonObject

_LONGEST_SUBJECT = 60
_KEPT_LINES = 20
# The arguments that tell best what a call is about.
_SUBJECTS = ("path", "command", "pattern", "url", "query", "name", "blob_id")


class SubagentProgress:
    """Keeps up with a subagent. `doing` is what it does now; `tools` are the calls that run, oldest first.

    `lines` are the last lines that it has said, of which the last may still grow.
    """

    def __init__(self) -> None:
        self.model = ""
        self.answers = 0
        self.spending = Spending()
        self.is_asking = False
        self.is_over = False
        self.lines: deque[str] = deque([""], maxlen=_KEPT_LINES)
        self._running: dict[ToolExecutionContext, str] = {}
        self._is_waiting = False

    def apply(self, event: Event) -> None:
        match event:
            case SessionStarted(model=model):
                self.model = model
            case TextDelta(text=text):
                self._say(text)
            case ResponseCompleted():
                self.answers += 1
                self._is_waiting = False
                if self.lines[-1]:
                    self.lines.append("")
            case RetryScheduled():
                self._is_waiting = True
            case CallStarted():
                self.is_asking = False
                self._running[event.context] = describe_call(event.tool, event.arguments)
            case CallFinished():
                self.is_asking = False
                self._running.pop(event.context, None)
            case CallQueued(waiting_for=waiting_for):
                self.is_asking = waiting_for == "review"
            case ReviewRequested():
                self.is_asking = True
            case UsageCounted():
                self.spending = self.spending.with_request(event.usage, event.cost_usd)
            case TurnFinished():
                self.is_over = True
                self.is_asking = False
                self._running.clear()
            case _:
                return

    def _say(self, text: str) -> None:
        first, *rest = text.split("\n")
        self.lines[-1] += first
        self.lines.extend(rest)

    @property
    def doing(self) -> str:
        """What it does now, in a few words."""
        if self.is_over:
            return "done"
        if self.is_asking:
            return "waits for your review"
        if self._running:
            others = len(self._running) - 1
            last = list(self._running.values())[-1]
            return f"{last} (and {others} more)" if others else last
        return "waits for the model to be there again" if self._is_waiting else "thinks"

    @property
    def amounts(self) -> str:
        """What it used so far."""
        usage = self.spending.usage
        parts = [format_amount(self.answers, "answer"), format_amount(usage.context, "token")]
        cost: Decimal | None = self.spending.cost_usd
        return " · ".join([*parts, f"${cost:,.2f}"] if cost else parts)

    @property
    def sentence(self) -> str:
        """Both, on one line."""
        return f"{self.doing} · {self.amounts}"


def describe_call(tool: str, arguments: JsonObject) -> str:
    """A call in a few words: its tool, and what it is about."""
    named = (arguments.get(name) for name in _SUBJECTS)
    subject = next((" ".join(each.split()) for each in named if isinstance(each, str) and each.strip()), "")
    if len(subject) > _LONGEST_SUBJECT:
        subject = f"{subject[: _LONGEST_SUBJECT - 1]}…"
    return f"{tool} {subject}".rstrip()


_STOPPED = "the person stopped the turn while they were asked about a call of this task"


class SubagentRunner:
    """Implements `SubagentPort` over sessions. Whoever runs tasks runs them here: a tool, or a plan.

    The beginning and the end of each task are on the owner's record, `events`; what lies between is on that of
    its own session. `sessions` answers who opens these. At most `most` work at the same time, and the others
    wait for their turn.
    """

    def __init__(
        self, session_id: str, *, sessions: Callable[[], SubagentSessions], events: EventBus, most: int
    ) -> None:
        self._session_id = session_id
        self._sessions = sessions
        self._events = events
        self._places = asyncio.Semaphore(most)
        self._spent: list[tuple[Usage, Decimal | None]] = []
        self._needs_approval = False

    async def run(self, task: SubagentTask, context: ToolExecutionContext) -> SubagentOutcome:
        async with self._places:
            model = self._sessions().choose_model(task)
            subagent_id = build_subagent_id(self._session_id, self._events.state.subagents + 1)
            started = SubagentStarted(
                context=context,
                subagent_id=subagent_id,
                prompt=task.prompt,
                model=model,
                agent=task.agent,
            )
            ended, stop = await self._carry_out(started, task)
            self._needs_approval |= ended.needs_approval
            await self._events.record(SubagentFinished(context=context, subagent_id=subagent_id, outcome=ended))
        if stop is not None:
            raise stop
        if ended.status is RunStatus.INTERRUPTED:
            raise SubagentStopped(_STOPPED)
        return ended

    def take_spent(self) -> list[tuple[Usage, Decimal | None]]:
        spent, self._spent = self._spent, []
        return spent

    def take_needs_approval(self) -> bool:
        needed, self._needs_approval = self._needs_approval, False
        return needed

    async def _carry_out(
        self, started: SubagentStarted, task: SubagentTask
    ) -> tuple[SubagentOutcome, asyncio.CancelledError | None]:
        """The end of the task, and the cancellation that arrived meanwhile."""
        stop: asyncio.CancelledError | None = None
        try:
            await self._events.announce(started)
        except asyncio.CancelledError as cancelled:
            return SubagentOutcome(status=RunStatus.INTERRUPTED, text=""), cancelled
        work = asyncio.create_task(self._open_and_run(task, started.context, started.subagent_id))
        while not work.done():
            try:
                await asyncio.wait({work})
            except asyncio.CancelledError as cancelled:
                stop = cancelled
                work.cancel()
        if work.cancelled():  # before its session had begun
            return SubagentOutcome(status=RunStatus.INTERRUPTED, text=""), stop
        return work.result(), stop

    async def _open_and_run(
        self, task: SubagentTask, context: ToolExecutionContext, subagent_id: str
    ) -> SubagentOutcome:
        relay = _SubagentRelay(self._events, context, subagent_id)
        try:
            session = await self._sessions().open(task, subagent_id, context, relay)
        except (LedgerError, ConfigError, ProviderError) as error:
            return SubagentOutcome(status=RunStatus.FAILED, text="", error=str(error))
        try:
            return await session.run(task.prompt)
        finally:
            self._spent += session.take_spent()
            await run_to_end(self._close(session))

    async def _close(self, session: SubagentSession) -> None:
        try:
            await session.aclose()
        except LedgerError as error:
            await self._events.record(ErrorOccurred(message=str(error)))


class _SubagentRelay:
    """Implements `Observer` of a subagent's session: tells the observers of its owner what happens there.

    What the subagent does now is shown as progress of the call, too.
    """

    def __init__(self, events: EventBus, context: ToolExecutionContext, subagent_id: str) -> None:
        self._events = events
        self._context = context
        self._subagent_id = subagent_id
        self._progress = SubagentProgress()
        self._shown = ""

    def notify(self, event: Event) -> None:
        """Pass the event on, as JSON: a stream has it in a line of its own."""
        self._events.show(
            SubagentProgressed(context=self._context, subagent_id=self._subagent_id, event=event.to_json())
        )
        self._progress.apply(event)
        if (text := self._progress.sentence) != self._shown:
            self._shown = text
            self._context.controls.report(text)
