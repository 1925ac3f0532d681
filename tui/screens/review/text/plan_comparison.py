"""What several models planned, beside the plan that is asked about: what they found first, then every plan."""

from __future__ import annotations

from collections.abc import Iterator

from quorum.domain.review.questions import ReviewRequest
from quorum.tui.screens.review.text.rows import Line, LineKind, clean_line

_MOST_FINDINGS = 8


def summarise_comparison(request: ReviewRequest) -> Iterator[Line]:
    """What they found, and where all plans are to be read."""
    if (comparison := request.comparison) is None:
        return
    first, *rest = comparison.findings
    yield Line("", clean_line(first), LineKind.STRONG)
    for finding in rest[:_MOST_FINDINGS]:
        yield Line("· ", clean_line(finding), LineKind.WARNING)
    more = len(rest) - _MOST_FINDINGS
    left_out = f"{more} more, and " if more > 0 else ""
    yield Line("", f"v shows {left_out}all {len(comparison.plans)} plans", LineKind.QUIET)


def draw_comparison(request: ReviewRequest) -> Iterator[Line]:
    """Every finding, and every plan with what the others say of it, the best first."""
    if (comparison := request.comparison) is None:
        return
    for finding in comparison.findings:
        yield Line("· ", clean_line(finding), LineKind.WARNING)
    for plan in comparison.plans:
        score = "not scored" if plan.score is None else f"{plan.score:.1f} of 10"
        yield Line("", "")
        yield Line("", clean_line(f"plan {plan.label} of {plan.model}, {score}"), LineKind.STRONG)
        for remark in plan.remarks:
            yield Line("· ", clean_line(remark), LineKind.QUIET)
        for line in plan.text.splitlines():
            yield Line("  ", clean_line(line))
