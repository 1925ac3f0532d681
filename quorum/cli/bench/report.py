"""What `quorum bench review` measures, as tables, as JSON, and as bars for the terminal or a drawing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape

from quorum.domain.benchmark.labelled_call import CallGroup, CallLabel
from quorum.domain.benchmark.panel_measure import RULES, SIGNIFICANT, BallotMeasure, PanelMeasure, TripleMeasure
from quorum.domain.benchmark.reviewer_measure import Rate, ReviewerMeasure
from quorum.domain.review.unasked_calls import CallKind, compute_upper_bound, format_share
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.model_names import shorten_model_names
from quorum.domain.text.printable import make_printable
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
        f"{names[each.model]} {f'${each.cost_usd:.4f}' if each.cost_usd else 'nothing (by plan, or free)'}"
        for each in measure.reviewers
        if each.cost_usd is not None
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


_BAR = 30  # columns
_WIDTH_OF_NAMES = 31
_WIDTH, _HEIGHT, _MARGIN = 720, 480, 60
_STEPS = 5


def draw_text_chart(measure: BallotMeasure) -> Iterator[str]:
    """Two bars for each: unsafe calls let through, safe calls held up. Both have one scale."""
    points = list(_list_points(measure))
    most = max((max(misses, friction) for _, misses, friction, _ in points), default=0.0) or 1.0
    yield f"  Misses (━) and friction (─); a whole bar is {100 * most:.1f} %"
    for name, misses, friction, _ in points:
        yield f"  {name:<{_WIDTH_OF_NAMES}} {'━' * round(_BAR * misses / most)} {100 * misses:.1f} %"
        yield f"  {'':<{_WIDTH_OF_NAMES}} {'─' * round(_BAR * friction / most)} {100 * friction:.1f} %"


def draw_svg(measured: Sequence[tuple[str, BallotMeasure]]) -> str:
    """Drawings without scripts, fonts or addresses: misses to the right, friction upwards."""
    whole = _HEIGHT * len(measured)
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{whole}" '
        f'viewBox="0 0 {_WIDTH} {whole}" font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for place, (title, measure) in enumerate(measured):
        drawn += [f'<g transform="translate(0 {_HEIGHT * place})">', *_draw_points(title, measure), "</g>"]
    return "\n".join((*drawn, "</svg>", ""))


def _draw_points(title: str, measure: BallotMeasure) -> Iterator[str]:
    points = list(_list_points(measure))
    most_misses = max((misses for _, misses, _, _ in points), default=0.0) or 1.0
    most_friction = max((friction for _, _, friction, _ in points), default=0.0) or 1.0
    across, up = _WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN
    yield f'<text x="{_WIDTH // 2}" y="25" text-anchor="middle" font-size="14">{escape(title)}</text>'
    yield f'<path d="M{_MARGIN} {_MARGIN}V{_HEIGHT - _MARGIN}H{_WIDTH - _MARGIN}" fill="none" stroke="black"/>'
    below = "misses: unsafe calls approved"
    yield f'<text x="{_WIDTH // 2}" y="{_HEIGHT - 15}" text-anchor="middle">{below}</text>'
    yield (
        f'<text x="15" y="{_HEIGHT // 2}" transform="rotate(-90 15 {_HEIGHT // 2})" text-anchor="middle">'
        "friction: safe calls not approved</text>"
    )
    for step in range(_STEPS + 1):
        x, y = _MARGIN + across * step / _STEPS, _HEIGHT - _MARGIN - up * step / _STEPS
        yield (
            f'<text x="{x:.0f}" y="{_HEIGHT - _MARGIN + 15}" text-anchor="middle">'
            f"{100 * most_misses * step / _STEPS:.1f} %</text>"
        )
        yield (
            f'<text x="{_MARGIN - 6}" y="{y:.0f}" text-anchor="end">'
            f"{100 * most_friction * step / _STEPS:.0f} %</text>"
        )
    for name, misses, friction, is_panel in points:
        x = _MARGIN + across * misses / most_misses
        y = _HEIGHT - _MARGIN - up * friction / most_friction
        colour = "#b33" if is_panel else "#36c"
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>'
        anchor = "end" if x > _WIDTH / 2 else "start"
        beside = x - 8 if anchor == "end" else x + 8
        yield f'<text x="{beside:.1f}" y="{y - 4:.1f}" text-anchor="{anchor}">{escape(name)}</text>'


def _list_points(measure: BallotMeasure) -> Iterator[tuple[str, float, float, bool]]:
    """A name, its misses, its friction, and whether it is a panel."""
    names = name_reviewers(measure)
    for each in measure.reviewers:
        if each.is_measured_whole:
            yield names[each.model], each.misses.share, each.friction.share, False
    for panel in measure.panels:
        yield f"all {len(panel.members)}, {panel.rule}", panel.misses.share, panel.friction.share, True
