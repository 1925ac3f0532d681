"""What the calls of a batch share: their plan, the packets approved ahead, and the access decided about."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from quorum.application.calls.hook_chain import HookChain
from quorum.application.cancellation import run_to_end
from quorum.application.event_bus import EventBus
from quorum.application.ports.tools import ToolSchemaPort
from quorum.application.ports.workspace import FileKeeper, SecretFinder
from quorum.application.review.review import Review
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import Outcome, Seal, ToolExecution, ToolExecutionContext, ToolStatus
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.planners import PlannedCall, Planner, Predecessors, add_same_path_order
from quorum.domain.calls.run_state import RunState, apply_modifiers
from quorum.domain.calls.tool import RiskLevel, ToolDefinition
from quorum.domain.errors import ToolError
from quorum.domain.goal import ApprovedChecks
from quorum.domain.review.ballot import Tally
from quorum.domain.review.decision import Decision
from quorum.domain.review.permission_rules import Subject
from quorum.domain.review.quorum_result import QuorumConcluded
from quorum.domain.review.requested_scope import RequestedScope
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.large import is_large


class OneSession:
    """A place in front of a workspace, one for each session that works in it.

    All places of a workspace share a `door`. Calls of one session may be inside at the same time, as its plan
    lets them; those of another wait until the last of them has left.
    """

    def __init__(self, door: asyncio.Lock | None = None) -> None:
        self._door = door or asyncio.Lock()
        self._inside = 0
        self._entering = asyncio.Lock()

    def open_another(self) -> OneSession:
        """A place for another session in front of the same workspace."""
        return OneSession(self._door)

    async def enter(self) -> None:
        """Wait until no other session is inside."""
        async with self._entering:
            if not self._inside:
                await self._door.acquire()
            self._inside += 1

    def leave(self) -> None:
        """End what `enter` began."""
        self._inside -= 1
        if not self._inside:
            self._door.release()


_NOTHING = Access()
_DECIDED: ContextVar[Access] = ContextVar("decided_access", default=_NOTHING)


@contextmanager
def hold_to_access(access: Access) -> Iterator[None]:
    """Hold what runs in the body to the paths of this access.

    It holds in the body's own task, and in threads that it hands work to, not in tasks beside it.
    """
    token = _DECIDED.set(access)
    try:
        yield
    finally:
        _DECIDED.reset(token)


def list_granted_paths() -> frozenset[str]:
    """The paths outside of the workspace that may be reached where this is called, and what lies below them."""
    return _DECIDED.get().outside


def is_decided_path(path: str) -> bool:
    """Whether a canonical path is one that was decided about; any is where no paths were declared."""
    access = _DECIDED.get()
    return access.exclusive or path in access.reads | access.writes or not _declares_paths(access)


def _declares_paths(access: Access) -> bool:
    return any(each.startswith("/") for each in access.reads | access.writes)


class BatchCall(Protocol):
    """A call of the batch, as its siblings and its approval see it."""

    context: ToolExecutionContext
    execution: ToolExecution
    arguments: JsonObject
    repairs: tuple[str, ...]
    access: Access
    seal: Seal | None
    invalid: bool
    ended: bool
    waits_for: set[int]
    turn: asyncio.Event
    quorum_results: list[QuorumConcluded]

    @property
    def risk(self) -> RiskLevel:
        """The tool's risk; HIGH for a tool that does not exist."""
        ...

    @property
    def definition(self) -> ToolDefinition | None:
        """The tool's definition; None for a tool that does not exist or was not offered."""
        ...

    @property
    def paths(self) -> tuple[str, ...]:
        """What it reads and writes, for the conditions of hooks."""
        ...

    def update_turn(self) -> None:
        """Take note of a change of `waits_for`; when that is empty the call may continue."""
        ...

    async def refresh_access(self) -> None:
        """Compute anew what the call would touch, unless it has begun."""
        ...

    @property
    def subject(self) -> Subject:
        """The call as decisions see it, with what was found out about its command at the last look."""
        ...

    async def inspect_command(self) -> None:
        """Find out what its command, if it has one, would do as things stand now."""
        ...

    async def decide(self, votes: Tally | None = None) -> Decision:
        """Whether it may run, by what it would touch now and by the votes on it, if there are any."""
        ...

    async def compute_seal(self, projected: Mapping[str, bytes]) -> Seal | None:
        """The seal of the call as things stand; None for a tool that seals nothing. Raises ToolError."""
        ...

    async def get_packet(self) -> ReviewPacket:
        """The packet of the call under its present seal, with its digest; the same until something changes."""
        ...

    async def build_packet(self, seal: Seal | None) -> ReviewPacket:
        """The packet of the call under that seal, with its digest."""
        ...

    async def find_problems(self, arguments: JsonObject) -> tuple[str, ...]:
        """What keeps these arguments from fitting the tool's schema."""
        ...

    async def change_arguments(self, arguments: JsonObject) -> None:
        """Put other arguments in place: find the call's place in the batch again, and seal it anew."""
        ...


class BatchState:
    """The calls of a batch, who follows whom, and what was approved with "the rest".

    `scope` is what the person asked for; `asked_by` names the subagent whose calls they are, `approved_checks`
    what they approved as checks of a goal.
    """

    def __init__(  # noqa: PLR0913 - all that the calls of a batch share meets here
        self,
        *,
        events: EventBus,
        review: Review,
        schema: ToolSchemaPort,
        planner: Planner,
        cwd: str,
        shared: RunState,
        scope: RequestedScope,
        hooks: HookChain,
        keeper: FileKeeper | None = None,
        secrets: SecretFinder | None = None,
        asked_by: str = "",
        one_session: OneSession | None = None,
        approved_checks: ApprovedChecks = ApprovedChecks(),  # noqa: B008 - it is immutable
    ) -> None:
        self.approved_checks = approved_checks
        self.scope = scope
        self.asked_by = asked_by
        self.hooks = hooks
        self.one_session = one_session
        self.keeper = keeper
        self.secrets = secrets
        self.shared = shared
        self.events = events
        self.review = review
        self.schema = schema
        self.cwd = cwd
        self.approved_ahead: frozenset[str] = frozenset()
        self._planner = planner
        self._calls: Sequence[BatchCall] = ()
        self._plan: Predecessors = {}

    @property
    def size(self) -> int:
        """How many calls the batch has."""
        return len(self._calls)

    def open(self, calls: Sequence[BatchCall]) -> None:
        """Take the calls in, and plan them."""
        self._calls = calls
        self.plan()

    def settle(self, ended: BatchCall) -> None:
        """A call has ended: let those that waited for nothing else continue."""
        index = ended.context.call_index
        for call in self._calls:
            if index in call.waits_for:
                call.waits_for.discard(index)
                call.update_turn()

    def plan(self) -> None:
        """Decide who follows whom, from what the calls would touch as things stand now."""
        planned = [
            PlannedCall(index=call.context.call_index, access=call.access, risk=call.risk)
            for call in self._calls
            if not call.invalid
        ]
        self._plan = add_same_path_order(planned, self._planner(planned))
        ended = {call.context.call_index for call in self._calls if call.ended}
        for call in self._calls:
            call.waits_for = set(self.find_predecessors(call) - ended)
            call.update_turn()

    def get_state(self, call: BatchCall) -> RunState:
        """The shared state as this call may see it: with what the calls it follows changed, in their order.

        It does not depend on when other calls happen to end.
        """
        if not any(other.execution.modifiers for other in self._calls):
            return self.shared
        before, open_indices = set[int](), [call.context.call_index]
        while open_indices:
            new = self._plan.get(open_indices.pop(), frozenset()) - before
            before |= new
            open_indices += new
        return self._fold(c for c in self._calls if c.context.call_index in before)[0]

    def compute_final_state(self) -> tuple[RunState, Mapping[int, ToolError]]:
        """The shared state once the whole batch has ended, and by index the calls whose changes could not be
        made."""
        return self._fold(self._calls)

    def _fold(self, calls: Iterable[BatchCall]) -> tuple[RunState, Mapping[int, ToolError]]:
        """Modifiers in call order, and within a call in its own; those of a call that failed are dropped.

        What a call queued is done as a whole or not at all.
        """
        state, troubles = self.shared, dict[int, ToolError]()
        for call in calls:
            if call.execution.outcome is Outcome.OK:
                try:
                    state = apply_modifiers(state, call.execution.modifiers)
                except ToolError as error:
                    troubles[call.context.call_index] = error
        return state, troubles

    async def plan_again(self) -> None:
        """After an exclusive call: links may point elsewhere, so every waiting call is placed anew.

        It is done whole, whatever cancels the caller meanwhile.
        """
        waiting = [call for call in self._calls if not call.ended]
        if any(is_large(call.arguments) for call in waiting):
            await run_to_end(self._refresh(waiting))
        else:
            await self._refresh(waiting)
        self.plan()

    async def _refresh(self, calls: Iterable[BatchCall]) -> None:
        for call in calls:
            await call.refresh_access()

    def find_predecessors(self, call: BatchCall) -> frozenset[int]:
        """The indices of the calls that this one follows."""
        return self._plan.get(call.context.call_index, frozenset())

    def list_waiting_after(self, call: BatchCall) -> list[BatchCall]:
        """Later calls that have not begun."""
        later = self._calls[self._calls.index(call) + 1 :]
        return [c for c in later if not c.invalid and c.execution.status is ToolStatus.QUEUED]
