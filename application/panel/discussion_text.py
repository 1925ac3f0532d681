"""The result of a discussion as Markdown. Participants are named by their labels, as they know each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quorum.domain.panel.panel_answer import PanelAnswer
from quorum.domain.panel.peer_review import RankedAnswer
from quorum.domain.panel.synthesis import Point, Synthesis


def render_synthesis(synthesis: Synthesis) -> str:
    """What the answers agree on and where they differ, then the conclusion and the key points."""
    parts = []
    if synthesis.agreement:
        parts.append("\n".join(("**They agree**", "", *_render_points(synthesis.agreement))))
    if synthesis.disagreement:
        lines = ["**They differ**", ""]
        for each in synthesis.disagreement:
            lines.append(f"- {_put_in_one_line(each.text)}")
            lines += [f"  - {_join_names(one.answers)}: {_put_in_one_line(one.text)}" for one in each.claims]
        parts.append("\n".join(lines))
    parts.append(f"**Conclusion**\n\n{synthesis.conclusion}" if parts else synthesis.conclusion)
    if synthesis.key_points:
        parts.append("\n".join(("**Key points**", "", *_render_points(synthesis.key_points))))
    if synthesis.left_out:
        parts.append(render_left_out(synthesis.left_out))
    return "\n\n".join(parts)


def render_answer_alone(chosen: PanelAnswer, rank: RankedAnswer, answers: int, reason: str) -> str:
    """One answer that stands for all, and why."""
    why = _explain_choice(rank, answers)
    return f"{chosen.text}\n\n*This is answer {chosen.label} alone: {reason.rstrip('.')}; {why}.*"


def render_best_answer(
    chosen: PanelAnswer, rank: RankedAnswer, answers: int, additions: Sequence[Point], reason: str
) -> str:
    """The answer that stands, what the others add to it, and why it is this one; `reason` says why it is not
    known what they add."""
    parts = [chosen.text]
    if additions:
        parts.append("\n".join(("**What the others add**", "", *_render_points(additions))))
    unknown = f"; {reason.rstrip('.')}" if reason else ""
    parts.append(f"*This is answer {chosen.label}: {_explain_choice(rank, answers)}{unknown}.*")
    return "\n\n".join(parts)


def _explain_choice(rank: RankedAnswer, answers: int) -> str:
    if answers == 1:
        return "it is the only one"
    if rank.score is None:
        return "it is the first of those given, and no answer was reviewed"
    return f"the others score it best, {rank.score:.1f} of 10"


def _render_points(points: Sequence[Point]) -> Iterator[str]:
    return (f"- {_put_in_one_line(point.text)} ({_join_names(point.answers)})" for point in points)


def _join_names(labels: Sequence[str]) -> str:
    return ", ".join(labels)


def _put_in_one_line(text: str) -> str:
    return " ".join(text.split())


def render_left_out(problems: Sequence[str]) -> str:
    """What of an answer in fields could not be read."""
    return f"*Left out, as it could not be read: {_put_in_one_line('; '.join(problems))}.*"
