"""The result of a discussion as Markdown. Participants are named by their labels, as they know each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from domain.panel.panel_answer import PanelAnswer
from domain.panel.peer_review import RankedAnswer
from domain.panel.synthesis import Point, Synthesis


def render_synthesis(synthesis: Synthesis) -> str:
    """What the answers agree on and where they differ, then the conclusion and the key points."""
    parts = []
    if synthesis.agreement:
        parts.append("\n".join(("**They agree**", "", *_render_points(synthesis.agreement))))
    if synthesis.disagreement:
        lines = ["**They differ**", ""]
        for each in synthesis.disagreement:
            lines.append(f"- {_put_in_one_line(each.text)}")
            lines += [f"  - {_names(one.answers)}: {_put_in_one_line(one.text)}" for one in each.claims]
        parts.append("\n".join(lines))
    parts.append(f"**Conclusion**\n\n{synthesis.conclusion}" if parts else synthesis.conclusion)
    if synthesis.key_points:
        parts.append("\n".join(("**Key points**", "", *_render_points(synthesis.key_points))))
    return "\n\n".join(parts)


def render_answer_alone(chosen: PanelAnswer, rank: RankedAnswer, answers: int, reason: str) -> str:
    """One answer that stands for all, and why."""
    if answers == 1:
        why = "it is the only one"
    elif rank.score is None:
        why = "it is the first of those given, and no answer was reviewed"
    else:
        why = f"the others score it best, {rank.score:.1f} of 10"
    return f"{chosen.text}\n\n*This is answer {chosen.label} alone: {reason.rstrip('.')}; {why}.*"


def _render_points(points: Sequence[Point]) -> Iterator[str]:
    return (f"- {_put_in_one_line(point.text)} ({_names(point.answers)})" for point in points)


def _names(labels: Sequence[str]) -> str:
    return ", ".join(labels)


def _put_in_one_line(text: str) -> str:
    return " ".join(text.split())
