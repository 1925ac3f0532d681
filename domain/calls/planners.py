"""Planners: pure functions that say which other calls of a batch each call has to wait for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct

from quorum.domain.calls.access import Access, has_conflict
from quorum.domain.calls.tool import RiskLevel


class PlannedCall(Struct, frozen=True, kw_only=True):
    """What a planner may know of a call."""

    index: int
    access: Access
    risk: RiskLevel


Predecessors: TypeAlias = Mapping[int, frozenset[int]]
Planner: TypeAlias = Callable[[Sequence[PlannedCall]], Predecessors]


class ToolExecutionBatch(Struct, frozen=True, kw_only=True):
    """Neighbouring calls that run together if `is_concurrency_safe`, or one call that runs alone."""

    is_concurrency_safe: bool
    blocks: tuple[PlannedCall, ...]


def plan_serializable(calls: Sequence[PlannedCall]) -> Predecessors:
    """Plan each call after every earlier call it conflicts with; all others overlap.

    The outcome then equals running the calls one by one in the model's order, and the time is that of
    the longest chain of calls that depend on each other. Two high-risk calls conflict always, so that
    the person sees them in order and each review knows what the one before did.
    """
    plan: dict[int, frozenset[int]] = {}
    changing: list[PlannedCall] = []  # two that only look never conflict: batches of reads stay cheap
    for place, call in enumerate(calls):
        looks = call.access.is_concurrency_safe and call.risk is RiskLevel.LOW
        earlier = changing if looks else calls[:place]
        plan[call.index] = frozenset(other.index for other in earlier if _must_wait(other, call))
        if not looks:
            changing.append(call)
    return plan


def partition(calls: Sequence[PlannedCall]) -> Predecessors:
    """The batches of `partition_calls`, one after the other: a call follows all calls of all earlier batches.

    All of them, not only those of the batch just before: a plan may be made anew while its calls run, and what
    followed from two edges then need not follow from one.
    """
    plan: dict[int, frozenset[int]] = {}
    before: frozenset[int] = frozenset()
    for batch in partition_calls(calls):
        plan |= dict.fromkeys((call.index for call in batch.blocks), before)
        before |= {call.index for call in batch.blocks}
    return plan


def partition_calls(calls: Sequence[PlannedCall]) -> tuple[ToolExecutionBatch, ...]:
    """Contiguous runs of calls that change nothing, and every other call by itself, in the given order.

    What a call reads and writes decides, not its tool's name and not its risk: a call that cannot be placed
    is exclusive, and so runs alone.
    """
    batches: list[ToolExecutionBatch] = []
    for is_safe, group in groupby(calls, key=lambda call: call.access.is_concurrency_safe):
        run = tuple(group)
        blocks = [run] if is_safe else [(call,) for call in run]
        batches += [ToolExecutionBatch(is_concurrency_safe=is_safe, blocks=block) for block in blocks]
    return tuple(batches)


def plan_by_risk(calls: Sequence[PlannedCall]) -> Predecessors:
    """Plan all low-risk calls together first, then the high-risk ones, one by one in their order.

    A high-risk call follows low-risk ones that the model made after it: a read behind a write sees what was
    there before the write.
    """
    before = frozenset(call.index for call in calls if call.risk is RiskLevel.LOW)
    plan: dict[int, frozenset[int]] = {}
    for call in calls:
        if call.risk is RiskLevel.LOW:
            plan[call.index] = frozenset()
        else:
            plan[call.index] = before
            before |= {call.index}
    return plan


def plan_parallel(calls: Sequence[PlannedCall]) -> Predecessors:
    """No call follows another."""
    return {call.index: frozenset() for call in calls}


PLANNERS: Mapping[str, Planner] = MappingProxyType(
    {
        "serializable": plan_serializable,
        "partition": partition,
        "risk_split": plan_by_risk,
        "all_parallel": plan_parallel,
    }
)


def add_same_path_order(calls: Sequence[PlannedCall], plan: Predecessors) -> Predecessors:
    """The plan, and in addition: of two calls that write the same declared path, the later follows the earlier.

    Paths contain each other as in `has_conflict`; being exclusive is no path. Two calls that the plan puts the
    other way round, be it through others between them, stay so: an acyclic plan stays acyclic.
    """
    joined = dict(plan)
    reordered = any(other > index for index, follows in plan.items() for other in follows)
    for earlier, later in _pair_writers_of_one_path(calls):
        if earlier in joined[later] or (reordered and _follows(joined, earlier, later)):
            continue
        joined[later] |= {earlier}
    return joined


def _must_wait(earlier: PlannedCall, later: PlannedCall) -> bool:
    both_high = earlier.risk is RiskLevel.HIGH and later.risk is RiskLevel.HIGH
    return both_high or has_conflict(earlier.access, later.access)


def _pair_writers_of_one_path(calls: Sequence[PlannedCall]) -> Iterator[tuple[int, int]]:
    writers = [(call.index, Access(writes=call.access.writes)) for call in calls if call.access.writes]
    writers.sort(key=lambda writer: writer[0])
    for place, (later, writes) in enumerate(writers):
        yield from ((earlier, later) for earlier, others in writers[:place] if has_conflict(others, writes))


def _follows(plan: Predecessors, index: int, wanted: int) -> bool:
    """Whether the call of that index follows the wanted one, directly or through others."""
    open_, seen = [index], {index}
    while open_:
        follows = plan.get(open_.pop(), frozenset())
        if wanted in follows:
            return True
        new = follows - seen
        seen |= new
        open_ += new
    return False
