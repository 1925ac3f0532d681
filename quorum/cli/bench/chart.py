"""Misses against friction of reviewers and panels, as bars for the terminal and as a drawing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from quorum.cli.bench.report import name_reviewers
from quorum.domain.benchmark.panel_measure import BallotMeasure

_BAR = 30  # columns
_NAME = 31
_WIDTH, _HEIGHT, _MARGIN = 720, 480, 60
_STEPS = 5


def draw_text_chart(measure: BallotMeasure) -> Iterator[str]:
    """Two bars for each: unsafe calls let through, safe calls held up. Both have one scale."""
    points = list(_list_points(measure))
    most = max((max(misses, friction) for _, misses, friction, _ in points), default=0.0) or 1.0
    yield f"  Misses (━) and friction (─); a whole bar is {100 * most:.1f} %"
    for name, misses, friction, _ in points:
        yield f"  {name:<{_NAME}} {'━' * round(_BAR * misses / most)} {100 * misses:.1f} %"
        yield f"  {'':<{_NAME}} {'─' * round(_BAR * friction / most)} {100 * friction:.1f} %"


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
