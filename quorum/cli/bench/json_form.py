"""What `quorum bench review` measures, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from quorum.domain.benchmark.labelled_call import CallGroup, CallLabel
from quorum.domain.benchmark.panel_measure import BallotMeasure, PanelMeasure, TripleMeasure
from quorum.domain.benchmark.reviewer_measure import ReviewerMeasure
from quorum.domain.benchmark.statistics import Rate
from quorum.domain.review.unasked_calls import CallKind, compute_upper_bound
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.benchmark.model_free_layers import JudgedCall


def describe_layers(judged: Sequence[JudgedCall]) -> JsonObject:
    """The guards per group of calls, and what runs unasked in the mode `ask`."""
    by_label = {label: [each for each in judged if each.call.label is label] for label in CallLabel}

    def describe_groups(count: Callable[[Sequence[JudgedCall]], Rate]) -> JsonObject:
        return {
            group.value: {
                label.value: describe_rate(count([each for each in calls if each.call.group is group]))
                for label, calls in by_label.items()
            }
            for group in CallGroup
        }

    unsafe = [each.call.id for each in judged if each.runs_unasked and each.call.label is CallLabel.UNSAFE]
    kinds = sorted({each.call.kind for each in judged if each.call.label is CallLabel.SAFE})
    return {
        "objected": describe_groups(count_objected),
        "objected_with_request": describe_groups(count_objected_with_request),
        "running_in_auto": {
            name: {
                label.value: describe_rate(count_running_in_auto(calls, with_request=with_request))
                for label, calls in by_label.items()
            }
            for name, with_request in (("without_request", False), ("with_request", True))
        },
        "unsafe_running_in_auto_by_kind": {
            kind.value: {**describe_rate(rate), "upper_bound": compute_upper_bound(rate.count, rate.of)}
            for kind, rate in list_errors_of_auto(judged)
        },
        "unsafe_unasked": list(unsafe),
        "safe_unasked": {kind: describe_rate(count_unasked(judged, kind)) for kind in kinds},
        "objected_by_kind": {
            kind: {
                label.value: describe_rate(count_objected_of_kind(judged, kind, label)) for label in CallLabel
            }
            for kind in sorted({each.call.kind for each in judged})
        },
    }


def count_objected(judged: Sequence[JudgedCall]) -> Rate:
    """How many of these calls a guard objects to."""
    return Rate(sum(bool(each.guards) for each in judged), len(judged))


def count_objected_with_request(judged: Sequence[JudgedCall]) -> Rate:
    """The same, where the person typed the request and reviewers or the person see the call."""
    return Rate(sum(bool(each.guards_with_request) for each in judged), len(judged))


def count_running_in_auto(judged: Sequence[JudgedCall], *, with_request: bool) -> Rate:
    """How many of these calls run unasked in the mode `auto`."""
    running = (each.runs_in_auto_with_request if with_request else each.runs_in_auto for each in judged)
    return Rate(sum(running), len(judged))


def list_errors_of_auto(judged: Sequence[JudgedCall]) -> Iterator[tuple[CallKind, Rate]]:
    """How many unsafe calls run unasked in the mode `auto` with their request, by the kinds of call for which a
    session tells its error; kinds without any are left out."""
    for kind in CallKind:
        unsafe = [
            each
            for each in judged
            if each.call.label is CallLabel.UNSAFE and CallKind.of(each.call.tool) is kind
        ]
        if unsafe:
            yield kind, count_running_in_auto(unsafe, with_request=True)


def count_objected_of_kind(judged: Sequence[JudgedCall], kind: str, label: CallLabel) -> Rate:
    """How many calls of a kind, safe or unsafe ones, a guard objects to."""
    return count_objected([each for each in judged if (each.call.kind, each.call.label) == (kind, label)])


def count_unasked(judged: Sequence[JudgedCall], kind: str) -> Rate:
    """How many safe calls of a kind would run unasked in the mode `ask`."""
    safe = [each for each in judged if each.call.kind == kind and each.call.label is CallLabel.SAFE]
    return Rate(sum(each.runs_unasked for each in safe), len(safe))


def describe_ballots(measure: BallotMeasure) -> JsonObject:
    """Every reviewer, panel and number of families."""
    best = measure.best
    return {
        "reviewers": [_describe_reviewer(each) for each in measure.reviewers],
        "left_out": list(measure.left_out),
        "best_member": best.model if best is not None else None,
        "panels": [_describe_panel(each) for each in measure.panels],
        "triples": [_describe_triples(each) for each in measure.triples],
        "joint_misses_times_independence": measure.joint_misses,
        "joint_misses_across_families": measure.joint_misses_across_families,
        "missed_by": {str(number): count for number, count in measure.missed_by.items()},
    }


def describe_rate(rate: Rate) -> JsonObject:
    """A count, its base, the share and its 95 % interval."""
    return {"count": rate.count, "of": rate.of, "share": rate.share, "interval": list[JsonValue](rate.interval)}


def _describe_reviewer(each: ReviewerMeasure) -> JsonObject:
    bins: list[JsonValue] = [
        {
            "low": each_bin.low,
            "high": each_bin.high,
            "mean_confidence": each_bin.mean_confidence,
            "right": describe_rate(each_bin.right),
        }
        for each_bin in each.calibration
    ]
    return {
        "model": each.model,
        "misses": describe_rate(each.misses),
        "friction": describe_rate(each.friction),
        "abstentions": each.abstentions,
        "errors": describe_rate(each.errors),
        "p50_secs": each.p50_secs,
        "p95_secs": each.p95_secs,
        "cost_usd": each.cost_usd,
        "calibration": bins,
        "calibration_error": each.calibration_error,
    }


def _describe_panel(each: PanelMeasure) -> JsonObject:
    test = each.against_best
    return {
        "members": list(each.members),
        "rule": each.rule,
        "misses": describe_rate(each.misses),
        "friction": describe_rate(each.friction),
        "p95_secs": each.p95_secs,
        "cost_usd": each.cost_usd,
        "against_best": {
            "best_member": test.best_member,
            "only_panel_wrong": test.only_panel_wrong,
            "only_member_wrong": test.only_member_wrong,
            "p": test.p,
            "is_better": test.is_better,
            "is_proven": test.is_proven,
        },
    }


def _describe_triples(each: TripleMeasure) -> JsonObject:
    return {
        "families": each.families,
        "panels": each.panels,
        "rule": each.rule,
        "misses": describe_rate(each.misses),
        "friction": describe_rate(each.friction),
        "lowest_misses": each.lowest,
        "highest_misses": each.highest,
    }
