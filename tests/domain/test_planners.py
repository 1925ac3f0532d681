from __future__ import annotations

from graphlib import TopologicalSorter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.access import EXCLUSIVE, Access, has_conflict
from quorum.domain.calls.planners import (
    PLANNERS,
    PlannedCall,
    Planner,
    Predecessors,
    ToolExecutionBatch,
    add_same_path_order,
    partition,
    partition_calls,
    plan_by_risk,
    plan_parallel,
)
from quorum.domain.calls.tool import RiskLevel

PATHS = st.sampled_from(["/w/a", "/w/b", "/w/a/x", "/w/ab", "/w", "state:plan"])
ACCESSES = st.builds(
    Access,
    reads=st.frozensets(PATHS, max_size=3),
    writes=st.frozensets(PATHS, max_size=2),
    exclusive=st.integers(0, 4).map(lambda n: n == 0),
)
BATCHES = st.lists(st.tuples(ACCESSES, st.sampled_from(RiskLevel)), max_size=8).map(
    lambda batch: [PlannedCall(index=i, access=a, risk=r) for i, (a, r) in enumerate(batch)]
)
LOW, HIGH = RiskLevel.LOW, RiskLevel.HIGH
READ, OTHER = Access.of(reads=["/w/a"]), Access.of(reads=["/w/b"])
WRITE = Access.of(writes=["/w/a"])

every_planner = pytest.mark.parametrize("planner", PLANNERS.values(), ids=PLANNERS)


def calls_of(*batch: tuple[Access, RiskLevel]) -> list[PlannedCall]:
    return [PlannedCall(index=i, access=a, risk=r) for i, (a, r) in enumerate(batch)]


def before(plan: Predecessors) -> dict[int, set[int]]:
    """All calls that have ended when a call begins, through any number of others. Raises on a circle."""
    seen: dict[int, set[int]] = {}
    for index in TopologicalSorter(plan).static_order():
        seen[index] = set(plan[index]).union(*(seen[other] for other in plan[index]))
    return seen


@every_planner
@given(calls=BATCHES)
def test_every_call_has_its_place_and_no_call_waits_for_itself(
    planner: Planner, calls: list[PlannedCall]
) -> None:
    plan = planner(calls)

    assert set(plan) == {call.index for call in calls}
    assert set().union(*plan.values()) <= set(plan)
    assert all(index not in follows for index, follows in before(plan).items())


@pytest.mark.parametrize("name", ["serializable", "partition", "all_parallel"])
@given(calls=BATCHES)
def test_a_call_follows_earlier_calls_only(name: str, calls: list[PlannedCall]) -> None:
    plan = PLANNERS[name](calls)

    assert all(other < index for index, follows in plan.items() for other in follows)


@every_planner
@given(calls=BATCHES)
def test_places_need_not_be_without_gaps(planner: Planner, calls: list[PlannedCall]) -> None:
    kept = calls[1::2]

    plan = add_same_path_order(kept, planner(kept))

    assert set(plan) == {call.index for call in kept}
    assert set().union(*plan.values()) <= set(plan)


# ------------------------------------------------------------------ partition


@pytest.mark.requirement("B01")
def test_a_batch_becomes_lanes_in_the_given_order() -> None:
    calls = calls_of((READ, LOW), (OTHER, LOW), (WRITE, HIGH), (READ, LOW))

    plan = partition(calls)

    assert plan == {0: frozenset(), 1: frozenset(), 2: frozenset({0, 1}), 3: frozenset({0, 1, 2})}


@pytest.mark.requirement("B02")
def test_safety_is_judged_by_the_call_and_not_by_its_risk() -> None:
    reviewed_read, free_write = (READ, HIGH), (WRITE, LOW)

    batches = partition_calls(calls_of(reviewed_read, free_write))

    assert [batch.is_concurrency_safe for batch in batches] == [True, False]


@pytest.mark.requirement("B03")
def test_a_call_that_cannot_be_placed_runs_alone() -> None:
    calls = calls_of((READ, LOW), (EXCLUSIVE, LOW), (READ, LOW))

    assert [len(batch.blocks) for batch in partition_calls(calls)] == [1, 1, 1]
    assert not partition_calls(calls)[1].is_concurrency_safe


@pytest.mark.requirement("B04")
def test_a_batch_record_says_whether_it_is_safe_and_lists_its_calls() -> None:
    one, two, three, four, five = calls_of((READ, LOW), (OTHER, LOW), (WRITE, HIGH), (WRITE, HIGH), (READ, LOW))

    assert partition_calls([one, two, three, four, five]) == (
        ToolExecutionBatch(is_concurrency_safe=True, blocks=(one, two)),
        ToolExecutionBatch(is_concurrency_safe=False, blocks=(three,)),
        ToolExecutionBatch(is_concurrency_safe=False, blocks=(four,)),
        ToolExecutionBatch(is_concurrency_safe=True, blocks=(five,)),
    )


@given(calls=BATCHES)
@pytest.mark.requirement("B04")
def test_the_blocks_of_all_batches_together_are_the_calls_in_their_order(calls: list[PlannedCall]) -> None:
    batches = partition_calls(calls)

    assert [call for batch in batches for call in batch.blocks] == calls
    for batch in batches:
        assert batch.is_concurrency_safe or len(batch.blocks) == 1
        assert {call.access.is_concurrency_safe for call in batch.blocks} == {batch.is_concurrency_safe}
    for one, next_ in pairwise(batches):
        assert not (one.is_concurrency_safe and next_.is_concurrency_safe), "a run was cut in two"


@given(calls=BATCHES)
def test_calls_of_one_batch_do_not_wait_for_each_other_and_those_of_two_do(calls: list[PlannedCall]) -> None:
    plan = partition(calls)

    place = {call.index: n for n, batch in enumerate(partition_calls(calls)) for call in batch.blocks}
    for one in place:
        for other in place:
            assert (other in plan[one]) == (place[other] < place[one])


# ------------------------------------------------------------------ risk_split, all_parallel


def test_low_risk_calls_go_first_and_together_then_the_high_risk_ones_one_by_one() -> None:
    calls = calls_of((WRITE, HIGH), (READ, LOW), (EXCLUSIVE, HIGH), (WRITE, LOW))

    plan = plan_by_risk(calls)

    assert plan == {0: frozenset({1, 3}), 1: frozenset(), 2: frozenset({0, 1, 3}), 3: frozenset()}


@given(calls=BATCHES)
def test_at_most_one_high_risk_call_runs_and_never_beside_a_low_risk_one(calls: list[PlannedCall]) -> None:
    earlier = before(plan_by_risk(calls))

    for one in calls:
        for other in calls:
            if one.risk is HIGH and (other.risk is LOW or other.index < one.index):
                assert other.index in earlier[one.index]
            if one.risk is LOW:
                assert not earlier[one.index]


@given(calls=BATCHES)
@pytest.mark.requirement("A07")
def test_all_parallel_lets_nobody_wait(calls: list[PlannedCall]) -> None:
    assert not any(plan_parallel(calls).values())


# ------------------------------------------------------------------ turnstiles


def write_one_path(one: PlannedCall, other: PlannedCall) -> bool:
    return has_conflict(Access(writes=one.access.writes), Access(writes=other.access.writes))


@pytest.mark.long(after=1)
@every_planner
@given(calls=BATCHES)
@pytest.mark.requirement("A12")
def test_two_writers_of_one_path_are_ordered_under_every_planner(
    planner: Planner, calls: list[PlannedCall]
) -> None:
    plan = planner(calls)
    planned = before(plan)

    ordered = before(add_same_path_order(calls, plan))

    for place, one in enumerate(calls):
        for other in calls[:place]:
            if write_one_path(one, other):
                reversed_by_planner = one.index in planned[other.index]
                assert (one.index in ordered[other.index]) == reversed_by_planner
                assert (other.index in ordered[one.index]) != reversed_by_planner


@every_planner
@given(calls=BATCHES)
def test_turnstiles_add_nothing_but_the_order_of_writers(planner: Planner, calls: list[PlannedCall]) -> None:
    plan = planner(calls)

    joined = add_same_path_order(calls, plan)

    by_index = {call.index: call for call in calls}
    for index, follows in joined.items():
        assert plan[index] <= follows
        assert all(write_one_path(by_index[index], by_index[other]) for other in follows - plan[index])


@st.composite
def batches_in_any_order(draw: st.DrawFn) -> tuple[list[PlannedCall], Predecessors]:
    """A batch, and a plan without circles that heeds nothing of the model's order."""
    calls = draw(BATCHES)
    order = draw(st.permutations(range(len(calls))))
    plan = {
        index: draw(st.frozensets(st.sampled_from(order[:place]), max_size=2)) if place else frozenset[int]()
        for place, index in enumerate(order)
    }
    return calls, plan


@given(batches_in_any_order())
def test_turnstiles_never_close_a_circle(case: tuple[list[PlannedCall], Predecessors]) -> None:
    calls, plan = case

    ordered = before(add_same_path_order(calls, plan))

    for place, one in enumerate(calls):
        for other in calls[:place]:
            if write_one_path(one, other):
                assert (one.index in ordered[other.index]) != (other.index in ordered[one.index])


def test_writers_of_different_paths_and_exclusive_calls_pass_no_turnstile() -> None:
    calls = calls_of((WRITE, LOW), (Access.of(writes=["/w/b"]), LOW), (EXCLUSIVE, LOW), (READ, LOW))

    assert add_same_path_order(calls, plan_parallel(calls)) == plan_parallel(calls)


def test_a_write_into_a_folder_passes_the_turnstile_of_the_folder() -> None:
    calls = calls_of((Access.of(writes=["/w"]), LOW), (WRITE, LOW))

    assert add_same_path_order(calls, plan_parallel(calls))[1] == frozenset({0})


def test_writers_that_risk_split_turned_round_stay_so() -> None:
    calls = calls_of((WRITE, HIGH), (WRITE, LOW))

    plan = plan_by_risk(calls)

    assert add_same_path_order(calls, plan) == plan == {0: frozenset({1}), 1: frozenset()}
