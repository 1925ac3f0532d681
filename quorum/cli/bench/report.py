"""What `quorum bench review` measures, as tables for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from quorum.cli.bench.json_form import (
    count_objected,
    count_objected_of_kind,
    count_objected_with_request,
    count_running_in_auto,
    count_unasked,
    list_errors_of_auto,
)
from quorum.domain.benchmark.labelled_call import CallGroup, CallLabel
from quorum.domain.benchmark.panel_measure import RULES, SIGNIFICANT, BallotMeasure, PanelMeasure
from quorum.domain.benchmark.reviewer_measure import ReviewerMeasure
from quorum.domain.benchmark.statistics import Rate
from quorum.domain.review.unasked_calls import compute_upper_bound, format_share
from quorum.domain.text.model_names import shorten_model_names
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.benchmark.model_free_layers import JudgedCall

_MOST_NAMED = 10
_NAME = 32  # columns


def report_layers(judged: Sequence[JudgedCall]) -> Iterator[str]:
    """The guards, never as one number over groups that must not be added up; then the mode `ask`."""
    yield f"Guards object to ({len(judged):,} calls)"
    yield from _report_groups(judged, count_objected)
    counts = Counter((guard, each.call.label) for each in judged for guard in each.guards)
    for guard in sorted({guard for guard, _ in counts}):
        unsafe, safe = counts[guard, CallLabel.UNSAFE], counts[guard, CallLabel.SAFE]
        yield f"  {guard:<18}unsafe {unsafe:>5}   safe {safe:>5}"
    yield "  In a pair the call is the same, and a guard sees nothing else: it objects to both or to neither."
    yield "  Where the person typed the request, and reviewers or the person see the call all the same"
    yield from _report_groups(judged, count_objected_with_request)
    yield "  By kind"
    for kind in sorted({each.call.kind for each in judged}):
        shares = (
            f"{label} {_share(count_objected_of_kind(judged, kind, label))}"
            for label in (CallLabel.UNSAFE, CallLabel.SAFE)
        )
        yield f"    {make_printable(kind):<18}{'   '.join(shares)}"
    yield ""
    unasked = [each.call for each in judged if each.runs_unasked and each.call.label is CallLabel.UNSAFE]
    yield f"Unsafe calls that run unasked in the mode ask: {len(unasked)}"
    for call in unasked[:_MOST_NAMED]:
        yield f"  {make_printable(call.id)}  {make_printable(call.kind)}"
    if len(unasked) > _MOST_NAMED:
        yield f"  … and {len(unasked) - _MOST_NAMED} more"
    yield "Calls that run unasked in the mode auto, where nobody but guards asks"
    for name, with_request in (("without a request", False), ("with their request", True)):
        shares = (
            f"{label} {_share(count_running_in_auto(calls, with_request=with_request))}"
            for label, calls in _divide_by_label(judged)
        )
        yield f"  {name:<18} {'   '.join(shares)}"
    for call_kind, rate in list_errors_of_auto(judged):
        bound = format_share(compute_upper_bound(rate.count, rate.of))
        yield f"    unsafe {call_kind:<18} {_share(rate)}  (≤ {bound}, 95 %)"
    yield "Safe calls that run unasked in the mode ask"
    for kind in sorted({each.call.kind for each in judged if each.call.label is CallLabel.SAFE}):
        yield f"  {make_printable(kind):<18} {_share(count_unasked(judged, kind))}"


def _divide_by_label(judged: Sequence[JudgedCall]) -> Iterator[tuple[CallLabel, list[JudgedCall]]]:
    for label in (CallLabel.UNSAFE, CallLabel.SAFE):
        yield label, [each for each in judged if each.call.label is label]


def _report_groups(
    judged: Sequence[JudgedCall], count: Callable[[Sequence[JudgedCall]], Rate]
) -> Iterator[str]:
    for group in CallGroup:
        of_group = [each for each in judged if each.call.group is group]
        shares = (f"{label} {_share(count(calls))}" for label, calls in _divide_by_label(of_group))
        yield f"  {group:<18}{'   '.join(shares)}"


def report_ballots(title: str, measure: BallotMeasure) -> Iterator[str]:
    """Every reviewer, then the panels, and in words whether a panel beats its best member."""
    yield title
    heads = f"{'misses':>15}{'friction':>15}{'errors':>8}{'p95':>8}"
    yield f"  {'reviewer':<{_NAME}}{heads}"
    names = name_reviewers(measure)
    for each in measure.reviewers:
        secs = "-" if each.p95_secs is None else f"{each.p95_secs:.1f} s"
        yield (
            f"  {names[each.model]:<{_NAME}}{_share(each.misses):>15}{_share(each.friction):>15}"
            f"{100 * each.errors.share:>6.1f} %{secs:>8}"
        )
    costs = [
        f"{names[each.model]} ${each.cost_usd:.4f}" for each in measure.reviewers if each.cost_usd is not None
    ]
    if costs:
        yield f"  A decision costs on average: {', '.join(costs)}"
    members = [each for each in measure.reviewers if each.model not in measure.left_out]
    if len(members) > 1:
        means = f"{_format_mean(members, 'misses'):>15}{_format_mean(members, 'friction'):>15}"
        yield f"  {f'mean of {len(members)}':<{_NAME}}{means}"
    if measure.left_out:
        left_out = ", ".join(names[model] for model in measure.left_out)
        yield f"  Not in panels, for not all calls or too many errors: {left_out}"
    yield from _report_panels(measure, names)
    yield from _report_calibration(measure, names)


def _report_panels(measure: BallotMeasure, names: Mapping[str, str]) -> Iterator[str]:
    if not measure.panels:
        yield "  There are fewer than two reviewers with ballots about all calls: no panel to measure."
        return
    yield ""
    yield f"  {'panel':<{_NAME}}{'misses':>15}{'friction':>15}{'p95':>16}"
    for panel in measure.panels:
        secs = "-" if panel.p95_secs is None else f"{panel.p95_secs:.1f} s"
        name = f"all {len(panel.members)}, {panel.rule}"
        yield f"  {name:<{_NAME}}{_share(panel.misses):>15}{_share(panel.friction):>15}{secs:>16}"
    for triple in measure.triples:
        name = f"{triple.panels} × 3 of {triple.families} families, {triple.rule}"
        spread = f"{100 * triple.lowest:.1f}–{100 * triple.highest:.1f} %"
        misses, friction = 100 * triple.misses.share, 100 * triple.friction.share
        yield f"  {name:<{_NAME}}{f'{misses:.2f} %':>15}{f'{friction:.2f} %':>15}{spread:>16}"
    if measure.triples:
        yield "  (The last column of panels of three: the lowest and highest misses of a single one.)"
    yield ""
    for name, times in (
        ("pairs of reviewers", measure.joint_misses),
        ("pairs of different families", measure.joint_misses_across_families),
    ):
        if times is not None:
            yield f"  Misses of {name} coincide {times:.2f} times as often as if they were independent."
    missed = ", ".join(f"{count} by {number}" for number, count in measure.missed_by.items())
    yield f"  Unsafe calls missed by so many reviewers: {missed or 'none by any'}"
    yield from (describe_comparison(panel, names) for panel in measure.panels)
    yield f"  (Beaten is what has p < {SIGNIFICANT:g}: 0.05, shared by {len(RULES)} rules.)"
    if all(panel.cost_usd is None for panel in measure.panels):
        yield "  Costs are not recorded in these ballots."
    else:
        for panel in measure.panels[:1]:
            yield f"  A decision of all reviewers costs ${panel.cost_usd or 0:.4f} on average."


def describe_comparison(panel: PanelMeasure, names: Mapping[str, str]) -> str:
    """One sentence: whether a panel beats its best member. `names` are those of `name_reviewers`."""
    test = panel.against_best
    count = f"only the panel wrong {test.only_panel_wrong}, only the member {test.only_member_wrong}"
    best = names[test.best_member]
    if test.is_proven:
        verdict = f"beats its best member, {best}"
    elif test.is_better:
        verdict = f"is not proven to beat its best member, {best}"
    else:
        verdict = f"DOES NOT BEAT its best member, {best}"
    return f"  The panel under {panel.rule} {verdict} ({count}; exact McNemar p = {test.p:.2g})."


def _report_calibration(measure: BallotMeasure, names: Mapping[str, str]) -> Iterator[str]:
    bins = Counter[tuple[float, float]]()
    right = Counter[tuple[float, float]]()
    for reviewer in measure.reviewers:
        for each in reviewer.calibration:
            bins[each.low, each.high] += each.right.of
            right[each.low, each.high] += each.right.count
    if bins:
        yield ""
        yield "  Stated confidence, and the share of votes of all reviewers that were right"
    for low, high in sorted(bins):
        yield f"    {low:.2f}–{high:.2f}  {_share(Rate(right[low, high], bins[low, high])):>20}"
    for reviewer in measure.reviewers:
        if (off := reviewer.calibration_error) is not None:
            yield f"    {names[reviewer.model]:<{_NAME}}off by {100 * off:.1f} %"


def name_reviewers(measure: BallotMeasure) -> Mapping[str, str]:
    """What each reviewer is called in a column: no two alike, and as short as that allows."""
    short = shorten_model_names((each.model for each in measure.reviewers), _NAME - 1)
    return {model: make_printable(name, newlines=False) for model, name in short.items()}


def _share(rate: Rate) -> str:
    return f"{rate.count:,}/{rate.of:,} {100 * rate.share:.1f} %" if rate.of else "-"


def _format_mean(members: Sequence[ReviewerMeasure], field: str) -> str:
    shares = [each.misses.share if field == "misses" else each.friction.share for each in members]
    return f"{100 * sum(shares) / len(shares):.2f} %"
