"""The tool runtime: every declared call of a batch ends with exactly one result, in the model's order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from application.approval import Interrupted
from application.batch_state import BatchState
from application.call_run import CallRun
from application.cancellation import absorb_cancellation, to_its_end
from application.event_stream import EventStream
from application.ports import Tool, ToolSchemaPort
from application.review import Review
from domain.events import BatchPlanned, PlannedLane
from domain.execution import ToolExecution, ToolExecutionContext
from domain.plan import Planner
from domain.report import CallRecord
from domain.tool import ToolCall, ToolResultMessage

# A tool that ignores its cancellation for this long is given up; what it did is then unknown.
SETTLE_SECS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBatch:
    """The calls of one assistant response, each with its context, in the model's order."""

    id: str
    calls: tuple[tuple[ToolExecutionContext, ToolCall], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """One result and one record per declared call, in declared order."""

    results: tuple[ToolResultMessage, ...]
    records: tuple[CallRecord, ...]
    interrupted: bool


class ToolRuntime:
    """Executes batches: validates, plans, reviews, runs in parallel what the plan allows.

    It holds no policy of its own about order: `planner` says which calls follow which, and the runtime
    obeys. A cancelled `run` still returns a result for every call, with `interrupted` set.
    """

    def __init__(
        self,
        *,
        tools: Mapping[str, Tool],
        schema: ToolSchemaPort,
        review: Review,
        events: EventStream,
        planner: Planner,
        cwd: str,
    ) -> None:
        self._tools = tools
        self._schema = schema
        self._review = review
        self._events = events
        self._planner = planner
        self._cwd = cwd
        self._current: tuple[CallRun, ...] = ()

    @property
    def executions(self) -> tuple[ToolExecution, ...]:
        """The tracked records of the newest batch: what waits, runs, is done, has reported progress."""
        return tuple(call.execution for call in self._current)

    async def run(self, batch: ToolBatch) -> BatchResult:
        """Execute a batch to its end. Never raises for what a tool, a person or a cancellation did."""
        state = BatchState(
            events=self._events,
            review=self._review,
            schema=self._schema,
            planner=self._planner,
            cwd=self._cwd,
        )
        calls = tuple(
            CallRun(context=context, call=call, tool=self._tools.get(call.tool_name), state=state)
            for context, call in batch.calls
        )
        self._current = calls
        interrupted = False
        try:
            for call in calls:
                await call.refuse_if_invalid(tuple(self._tools))
            state.open(calls)
            await self._events.record(BatchPlanned(batch_id=batch.id, lanes=_lanes(calls, state)))
            interrupted = await _all_ended([asyncio.create_task(call.run()) for call in calls])
        except asyncio.CancelledError:
            absorb_cancellation()
            interrupted = True
        await to_its_end(_close(calls))
        return BatchResult(
            results=tuple(call.execution.hand_over() for call in calls),
            records=tuple(call.record for call in calls),
            interrupted=interrupted,
        )


def _lanes(calls: tuple[CallRun, ...], state: BatchState) -> tuple[PlannedLane, ...]:
    return tuple(
        PlannedLane(
            context=call.context,
            tool=call.execution.name,
            arguments=call.arguments,
            risk=call.risk,
            follows=tuple(sorted(state.follows(call))),
        )
        for call in calls
    )


async def _all_ended(tasks: list[asyncio.Task[None]]) -> bool:
    """Wait for all calls; True if an interruption, from outside or from a dialog, cut them short."""
    try:
        done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        interrupted = any(not t.cancelled() and isinstance(t.exception(), Interrupted) for t in done)
    except asyncio.CancelledError:
        absorb_cancellation()
        pending, interrupted = set(tasks), True
    if pending:
        for task in pending:
            task.cancel()
        await to_its_end(_settle(pending))
    _raise_bugs(tasks)
    return interrupted


async def _settle(tasks: set[asyncio.Task[None]]) -> None:
    """Give cancelled calls a bounded time to clean up."""
    await asyncio.wait(tasks, timeout=SETTLE_SECS)


async def _close(calls: tuple[CallRun, ...]) -> None:
    for call in calls:
        await call.close_if_open()


def _raise_bugs(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        if task.done() and not task.cancelled():
            error = task.exception()
            if error is not None and not isinstance(error, Interrupted):
                raise error
