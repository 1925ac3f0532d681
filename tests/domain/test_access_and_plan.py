from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.access import EXCLUSIVE, Access, has_conflict
from quorum.domain.calls.planners import PlannedCall, plan_serializable
from quorum.domain.calls.tool import RiskLevel

PATHS = st.sampled_from(["/w/a", "/w/b", "/w/a/x", "/w/ab", "/w", "state:plan"])
ACCESSES = st.builds(
    Access,
    reads=st.frozensets(PATHS, max_size=3),
    writes=st.frozensets(PATHS, max_size=2),
    exclusive=st.booleans(),
)
BATCHES = st.lists(st.tuples(ACCESSES, st.sampled_from(RiskLevel)), max_size=8)


def planned(batch: list[tuple[Access, RiskLevel]]) -> list[PlannedCall]:
    return [PlannedCall(index=i, access=a, risk=r) for i, (a, r) in enumerate(batch)]


def test_two_reads_of_one_file_do_not_conflict() -> None:
    assert not has_conflict(Access.of(reads=["/w/a"]), Access.of(reads=["/w/a"]))


def test_a_search_in_a_folder_conflicts_with_a_write_inside_it() -> None:
    assert has_conflict(Access.of(reads=["/w"]), Access.of(writes=["/w/src/a.py"]))


def test_a_name_that_only_begins_alike_is_another_path() -> None:
    assert not has_conflict(Access.of(writes=["/w/a"]), Access.of(reads=["/w/ab"]))


def test_a_write_below_the_root_conflicts_with_reading_the_root() -> None:
    assert has_conflict(Access.of(reads=["/"]), Access.of(writes=["/etc/x"]))


def test_an_exclusive_call_conflicts_with_one_that_touches_nothing() -> None:
    assert has_conflict(EXCLUSIVE, Access())


@given(ACCESSES, ACCESSES)
def test_conflict_is_symmetric(one: Access, other: Access) -> None:
    assert has_conflict(one, other) == has_conflict(other, one)


@given(BATCHES)
def test_a_call_follows_only_earlier_calls_and_exactly_those_it_conflicts_with(
    batch: list[tuple[Access, RiskLevel]],
) -> None:
    calls = planned(batch)

    plan = plan_serializable(calls)

    for call in calls:
        for other in calls:
            both_high = call.risk is RiskLevel.HIGH and other.risk is RiskLevel.HIGH
            expected = other.index < call.index and (both_high or has_conflict(call.access, other.access))
            assert (other.index in plan[call.index]) == expected


def test_a_read_of_something_else_does_not_wait_for_a_dialog() -> None:
    plan = plan_serializable(
        planned(
            [
                (Access.of(writes=["/w/a"]), RiskLevel.HIGH),
                (Access.of(reads=["/w/b"]), RiskLevel.LOW),
                (Access.of(reads=["/w/a"]), RiskLevel.LOW),
            ]
        )
    )

    assert plan == {0: frozenset(), 1: frozenset(), 2: frozenset({0})}
