"""The tool runtime: every declared call of a batch ends with exactly one result, in the model's order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from msgspec import Struct, field

from quorum.application.calls.approval import AskedBefore, Interrupted
from quorum.application.calls.batch_state import BatchState, OneSession
from quorum.application.calls.call_run import CallRun
from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.hooks import ResultDraft
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_set import ToolSet
from quorum.application.cancellation import absorb_cancellation, run_shielded, run_to_end
from quorum.application.event_bus import EventBus
from quorum.application.identifiers import generate_id
from quorum.application.ports.tools import ToolSchemaPort
from quorum.application.ports.workspace import EditWatcher, FileKeeper, NoEditWatcher, SecretFinder
from quorum.application.review.review import Review
from quorum.domain.calls.execution import INTERRUPTED, Outcome, ToolExecution, ToolExecutionContext
from quorum.domain.calls.hook_points import HookAnswer, Skip
from quorum.domain.calls.planners import Planner
from quorum.domain.calls.run_state import RunState
from quorum.domain.calls.server_tools import OfferedTools
from quorum.domain.calls.summary import extract_text
from quorum.domain.calls.tool import RiskLevel, ToolCall, ToolResultMessage
from quorum.domain.errors import HookAborted, LostConnection
from quorum.domain.events.calls import PlannedLane
from quorum.domain.events.event import BatchPlanned, ErrorOccurred, OutputStored, StateMerged
from quorum.domain.events.report import CallRecord
from quorum.domain.goal import ApprovedChecks
from quorum.domain.replacing import replace
from quorum.domain.review.requested_scope import RequestedScope
from quorum.domain.sessions.state import CallEnd
from quorum.domain.subagent_task import Asker
from quorum.domain.text.output import ToolOutput

_STOPPED = "the result was withheld: the turn was interrupted before the hooks had seen it"


class AfterHooks:
    """Asks the hooks about results, in call order. What a hook was to see and did not is withheld.

    `aborted` is why a hook ended the run, if one did.
    """

    def __init__(self, hooks: HookChain, aborted: str | None) -> None:
        self.aborted = aborted
        self._hooks = hooks
        self._stopped = False
        self._asking: asyncio.Task[HookAnswer] | None = None

    def stop(self) -> None:
        """Cancel the hook that runs and ask no other: the person interrupted the turn."""
        self._stopped = True
        if self._asking is not None:
            self._asking.cancel()

    async def collect_output(self, call: CallRun) -> str | ToolOutput:
        """The output of an ended call, as the hooks leave it."""
        assert call.execution.outcome is not None
        output = call.output
        draft = ResultDraft(
            context=call.context,
            tool=call.execution.name,
            risk=call.risk,
            outcome=call.execution.outcome,
            output=extract_text(output),
            paths=call.paths,
        )
        withheld: str | None = None
        if self.aborted is None:
            withheld = await self._ask(draft)
        elif call.execution.outcome is Outcome.OK:
            withheld = f"the result was withheld: {self.aborted}"
        if withheld is not None:
            call.execution.seen.clear()  # the model does not read what the call showed
            return withheld
        return output if draft.output == extract_text(output) else draft.output

    async def _ask(self, draft: ResultDraft) -> str | None:
        """Let the hooks see the result; what the model reads in its place if it is withheld."""
        if not self._hooks.concerns(draft):
            return None
        if self._stopped:
            return _STOPPED
        self._asking = asyncio.create_task(self._hooks.after_tool_call(draft))
        await asyncio.wait({self._asking})
        if self._asking.cancelled():
            return _STOPPED
        try:
            answer = self._asking.result()
        except HookAborted as stop:
            self.aborted = str(stop)
            return f"the result was withheld: {self.aborted}"
        if isinstance(answer, Skip):
            because = f": {answer.reason}" if answer.reason else ""
            return f"the result was withheld by a hook{because}"
        return None


# A tool that ignores its cancellation for this long is given up; what it did is then unknown.
SETTLE_SECS = 10.0


class ToolBatch(Struct, frozen=True, kw_only=True):
    """The calls of one assistant response, each with its context, in the model's order.

    `scope` is what the person asked for. A batch that another process began has `ends`, the
    results of calls that will not run (again), by call id, and `reviews`, what was asked about the others.
    `offered` are the tools that the request offered, no other runs; None where that was settled before.
    `approved` are checks of a goal, which need no further question.
    """

    id: str
    calls: tuple[tuple[ToolExecutionContext, ToolCall], ...]
    scope: RequestedScope = field(default_factory=RequestedScope)
    ends: Mapping[str, CallEnd] = field(default_factory=dict)
    reviews: Mapping[str, AskedBefore] = field(default_factory=dict)
    offered: frozenset[str] | None = None
    approved: ApprovedChecks = field(default_factory=ApprovedChecks)

    @property
    def is_taken_up(self) -> bool:
        """Whether another process began it: it was planned, and the hooks before its calls have run."""
        return bool(self.ends or self.reviews)


def build_batch(
    calls: Sequence[ToolCall],
    *,
    turn_index: int,
    scope: RequestedScope,
    offered: frozenset[str] | None = None,
    approved: ApprovedChecks = ApprovedChecks(),  # noqa: B008 - it is immutable
) -> ToolBatch:
    """The calls of one response as a batch of their own; `scope` is what the person asked for, `offered` the
    tools that may run, `approved` what the person approved as checks."""
    batch_id = generate_id()
    contexts = [
        ToolExecutionContext(call_id=call.native_id, batch_id=batch_id, call_index=index, turn_index=turn_index)
        for index, call in enumerate(calls)
    ]
    placed = tuple(zip(contexts, calls, strict=True))
    return ToolBatch(id=batch_id, calls=placed, scope=scope, offered=offered, approved=approved)


class BatchResult(Struct, frozen=True, kw_only=True):
    """One result and one record per declared call, in declared order.

    `interrupted`: the person stopped it. `aborted`: why the run ends: a hook said so, or `is_record_lost`.
    """

    results: tuple[ToolResultMessage, ...]
    records: tuple[CallRecord, ...]
    interrupted: bool = False
    aborted: str | None = None
    is_record_lost: bool = False


class ToolRuntime:
    """Executes batches: validates, plans, reviews, runs in parallel what the plan allows.

    It holds no policy of its own about order: `planner` says which calls follow which, and the runtime
    obeys. A cancelled `run` still returns a result for every call, with `interrupted` set. `asker` is the
    subagent whose calls they are, for their reviews. Risky calls of sessions that share a workspace run in
    `one_session` at a time.
    """

    def __init__(  # noqa: PLR0913 - all that calls pass through meets here
        self,
        *,
        tools: ToolSet,
        schema: ToolSchemaPort,
        review: Review,
        events: EventBus,
        planner: Planner,
        hooks: HookChain,
        outputs: Outputs,
        cwd: str,
        keeper: FileKeeper | None = None,
        secrets: SecretFinder | None = None,
        edits: EditWatcher | None = None,
        asker: Asker | None = None,
        one_session: OneSession | None = None,
    ) -> None:
        self._asker = asker if asker is not None else Asker()
        self._one_session = one_session
        self._edits = edits if edits is not None else NoEditWatcher()
        self._keeper = keeper
        self._secrets = secrets
        self._hooks = hooks
        self.outputs = outputs
        self._tools = tools
        self._schema = schema
        self._review = review
        self._events = events
        self.planner = planner
        self._cwd = cwd
        self._current: tuple[CallRun, ...] = ()

    @property
    def state(self) -> RunState:
        """What the run shares between its tools, as the record of the session has it."""
        return RunState(self._events.state.values)

    @property
    def executions(self) -> tuple[ToolExecution, ...]:
        """The tracked records of the newest batch: what waits, runs, is done, has reported progress."""
        return tuple(call.execution for call in self._current)

    def list_outputs(self) -> tuple[str | ToolOutput, ...]:
        """What the calls of the newest batch put out, whole."""
        return tuple(call.output for call in self._current)

    def give_example(self, tool: str) -> str:
        """Arguments that a tool takes, as JSON; empty where there is no such tool."""
        found = self._tools.find(tool)
        return "" if found is None else self._schema.give_example(found.definition, {})

    def get_risk(self, tool: str) -> RiskLevel:
        """The risk of a tool; HIGH where there is no such tool."""
        found = self._tools.find(tool)
        return RiskLevel.HIGH if found is None else found.definition.risk

    def keep_ahead(self) -> AbstractContextManager[None]:
        """Meanwhile the files that a call may change are kept in the background, before it is asked for."""
        return nullcontext() if self._keeper is None else self._keeper.keep_ahead()

    async def run(self, batch: ToolBatch) -> BatchResult:
        """Execute a batch to its end. Never raises for what a tool, a hook, a person or a cancellation did."""
        offered = OfferedTools.choose(self._tools.names, batch.offered)
        calls, state = self._place(batch, offered)
        interrupted, aborted, lost, note = False, None, None, ""
        noted: tuple[str, ...] = ()
        try:
            for call in calls:
                await call.repair_arguments()
            await _derive_access(calls)
            for call in calls:
                if (end := batch.ends.get(call.context.call_id)) is not None:
                    call.adopt(end)
                else:
                    await call.refuse_if_invalid(offered)
            if batch.is_taken_up:
                state.open(calls)
            else:
                await self._open(batch, calls, state)
            await self._edits.before_edits(_list_written_paths(calls))
            interrupted = await _wait_for_all([asyncio.create_task(call.run()) for call in calls])
            if not interrupted:
                noted = _list_edited_paths(calls)
                self._edits.note_edits(noted)
                note = await self._edits.report_edits()
        except HookAborted as stop:
            aborted = str(stop)
        except LostConnection as error:
            lost = str(error)
        except asyncio.CancelledError:
            absorb_cancellation()
            interrupted = True
        message = INTERRUPTED if lost is None else f"not run: {lost}"
        result = await self._end_batch(
            batch, calls, state, interrupted=interrupted, aborted=aborted, message=message, note=note
        )
        if late := tuple(path for path in _list_edited_paths(calls) if path not in noted):
            self._edits.note_edits(late)
        return result if lost is None else replace(result, aborted=lost, is_record_lost=True)

    async def withhold(self, batch: ToolBatch, message: str) -> BatchResult:
        """Run none of these calls: each ends as not run, with the same events as any other. Raises nothing."""
        calls, state = self._place(batch, OfferedTools(self._tools.names))
        interrupted = False
        try:
            await run_shielded(_derive_access(calls))
        except asyncio.CancelledError:
            absorb_cancellation()
            interrupted = True
        state.open(calls)
        self._events.note(BatchPlanned(batch_id=batch.id, lanes=_plan_lanes(calls, state)))
        return await self._end_batch(batch, calls, state, interrupted=interrupted, message=message)

    def _place(self, batch: ToolBatch, offered: OfferedTools) -> tuple[tuple[CallRun, ...], BatchState]:
        state = BatchState(
            events=self._events,
            review=self._review,
            schema=self._schema,
            planner=self.planner,
            cwd=self._cwd,
            shared=self.state,
            scope=self._asker.widen(batch.scope),
            hooks=self._hooks,
            keeper=self._keeper,
            secrets=self._secrets,
            asked_by=self._asker.title,
            one_session=self._one_session,
            approved_checks=batch.approved,
        )
        self._current = tuple(
            CallRun(
                context=context,
                call=call,
                tool=None if call.tool_name in offered.withheld else self._tools.find(call.tool_name),
                state=state,
                asked_before=batch.reviews.get(context.call_id),
            )
            for context, call in batch.calls
        )
        return self._current, state

    async def _end_batch(
        self,
        batch: ToolBatch,
        calls: tuple[CallRun, ...],
        state: BatchState,
        *,
        interrupted: bool = False,
        aborted: str | None = None,
        message: str = INTERRUPTED,
        note: str = "",
    ) -> BatchResult:
        """Bring all calls to their ends, whatever cancels meanwhile; `message` is said of what did not run,
        `note` with the result of the last edit, or else of the last call."""
        if aborted is not None:
            message = f"not run: {aborted}"
        hooks = AfterHooks(self._hooks, aborted)
        closing = asyncio.create_task(self._close(batch.id, calls, state, hooks, message))
        while not closing.done():
            try:
                await asyncio.wait({closing})
            except asyncio.CancelledError:  # every call gets its result all the same
                absorb_cancellation()
                interrupted = True
                hooks.stop()
        closing.result()
        if note:
            edits = [call for call in calls if _list_edited_paths([call])]
            told = (edits or calls)[-1].execution
            told.revise(f"{told.output}\n\n{note}")
        return BatchResult(
            results=tuple(call.execution.hand_over() for call in calls),
            records=tuple(call.record for call in calls),
            interrupted=interrupted,
            aborted=hooks.aborted,
        )

    async def _open(self, batch: ToolBatch, calls: tuple[CallRun, ...], state: BatchState) -> None:
        for call in calls:
            await call.pass_hooks(self._hooks)
        state.open(calls)
        self._events.note(BatchPlanned(batch_id=batch.id, lanes=_plan_lanes(calls, state)))

    async def _close(
        self, batch_id: str, calls: tuple[CallRun, ...], state: BatchState, hooks: AfterHooks, message: str
    ) -> None:
        """Give every call its result as the model will see it, and merge what the calls changed."""
        for call in calls:
            await call.close_if_open(message)
        after, troubles = state.compute_final_state()
        for call in calls:
            if (trouble := troubles.get(call.context.call_index)) is not None:
                call.fail_afterwards(trouble)
                await self._events.record(ErrorOccurred(message=extract_text(call.output)))
        for call in calls:  # also what a process before this one left: its hooks may not have run
            await self._keep(call, await hooks.collect_output(call))
        if changed := after.diff_since(state.shared):
            await self._events.record(StateMerged(batch_id=batch_id, changed=changed))

    async def _keep(self, call: CallRun, output: str | ToolOutput) -> None:
        kept = await self.outputs.keep(output, call.definition)
        call.execution.revise(kept.text)
        if kept.trouble is not None:
            await self._events.record(ErrorOccurred(message=kept.trouble))
        if kept.blob_id is not None:
            self._events.note(
                OutputStored(
                    context=call.context, blob_id=kept.blob_id, size_bytes=kept.size_bytes, summary=kept.text
                )
            )


async def _derive_access(calls: tuple[CallRun, ...]) -> None:
    for call in calls:
        await call.derive_access()


def _list_written_paths(calls: Sequence[CallRun]) -> tuple[str, ...]:
    """The paths that these calls say they write; a shell command may write anything, and says none."""
    written = {each for call in calls for each in call.access.writes if each.startswith("/")}
    return tuple(sorted(written))


def _list_edited_paths(calls: Sequence[CallRun]) -> tuple[str, ...]:
    return _list_written_paths([call for call in calls if call.has_succeeded])


def _plan_lanes(calls: tuple[CallRun, ...], state: BatchState) -> tuple[PlannedLane, ...]:
    return tuple(
        PlannedLane(
            context=call.context,
            tool=call.execution.name,
            arguments=call.arguments,
            repairs=call.repairs,
            risk=call.risk,
            follows=tuple(sorted(state.find_predecessors(call))),
        )
        for call in calls
    )


async def _wait_for_all(tasks: list[asyncio.Task[None]]) -> bool:
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
        await run_to_end(_settle(pending))
    _raise_bugs(tasks)
    return interrupted


async def _settle(tasks: set[asyncio.Task[None]]) -> None:
    """Give cancelled calls a bounded time to clean up."""
    await asyncio.wait(tasks, timeout=SETTLE_SECS)


def _raise_bugs(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        if task.done() and not task.cancelled():
            error = task.exception()
            if error is not None and not isinstance(error, Interrupted):
                raise error
