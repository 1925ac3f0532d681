"""How remarks, votes and decisions are drawn: a sign that tells how loud they are, and words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import Call, NoticeKind, Phase, Remark
from quorum.application.view.wording import describe_approval, describe_decision
from quorum.domain.calls.execution import Outcome
from quorum.domain.review.ballot import Ballot, Vote, format_reviewer
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.text.amounts import format_confidence
from quorum.domain.text.printable import make_printable
from quorum.tui.transcript.cells.lines import ASIDE, build_strip, fit_text, wrap_words
from quorum.tui.transcript.cells.palette import Palette


def choose_sign(kind: NoticeKind, palette: Palette) -> tuple[str, Style]:
    """The sign of a remark, and the style it is drawn in."""
    return {
        NoticeKind.INFO: ("·", palette.muted),
        NoticeKind.WARNING: ("!", palette.warning),
        NoticeKind.ERROR: ("✗", palette.error),
    }[kind]


def draw_remark_lines(remarks: Iterable[Remark], width: int, palette: Palette) -> list[Strip]:
    """The remarks one below the other, broken between words, in at most `width` cells."""
    return [strip for remark in remarks for strip in draw_remark(remark.kind, remark.text, width, palette)]


def draw_remark(kind: NoticeKind, text: str, width: int, palette: Palette) -> list[Strip]:
    """One remark; its further lines stand below its first word."""
    sign, style = choose_sign(kind, palette)
    lines = wrap_words(make_printable(text), width - 2)
    signs = [sign, *(" " for _ in lines[1:])]
    return [build_strip((f"{s} ", style + ASIDE), (line, style)) for s, line in zip(signs, lines, strict=True)]


SIGNS: dict[Vote, tuple[str, str]] = {
    Vote.APPROVE: ("✓", "for"),
    Vote.REJECT: ("✗", "against"),
    Vote.ABSTAIN: ("–", "abstains"),
    Vote.ERROR: ("!", "failed"),
}
AWAITED = ("…", "awaited")
NOT_ASKED = ("–", "not asked")
_WITHHELD = (Outcome.REJECTED, Outcome.SKIPPED, Outcome.NOT_RUN)


def describe_vote(word: str, confidence: float | None) -> str:
    """A vote in words, with how sure the reviewer is."""
    return word if confidence is None else f"{word} {format_confidence(confidence)}"


def list_awaited(call: Call) -> tuple[str, ...]:
    """The reviewers whose votes are still to come."""
    settled = {vote.reviewer for vote in call.votes} | set(call.not_asked)
    return tuple(reviewer for reviewer in call.reviewers if reviewer not in settled)


def describe_voting(call: Call) -> str:
    """How far a voting is, as `voting 1 of 3`."""
    return f"voting {len(call.votes)} of {len(call.reviewers)}"


def list_decision_texts(call: Call) -> list[str]:
    """What let a call run, the last decision first; those that do not count any more are shown as earlier."""
    texts = [
        describe_approval(label, reason) or reason or label.value for label, reason in reversed(call.earlier)
    ]
    if last := describe_decision(call):
        texts.insert(0, last)
    counts = last and call.phase is not Phase.REVIEWED and call.outcome not in _WITHHELD
    return [text if counts and not place else f"earlier: {text}" for place, text in enumerate(texts)]


def fold_decision_texts(call: Call) -> list[str]:
    """What of it is news to the person: neither that a rule allows a call nor that they just approved it."""
    texts = list_decision_texts(call)
    is_known = not call.votes and call.decision in (DecisionLabel.ALLOWED, DecisionLabel.APPROVED)
    is_known = is_known and (call.decision is DecisionLabel.ALLOWED or not call.reason)
    return texts[1:] if is_known and texts[:1] == [describe_decision(call)] else texts


def explain_failure(call: Call) -> str:
    """Why a call failed or was withheld: the reason of an approval says nothing of that."""
    output = call.output.head if call.output is not None else ""
    return output if describe_decision(call) else call.reason or output


def draw_votes(
    votes: Sequence[Ballot], width: int, palette: Palette, *, most: int | None = None
) -> list[Strip]:
    """The votes one below the other, each reason cut to so many lines; 0 leaves it out."""
    return [strip for ballot in votes for strip in _vote(ballot, width, palette, most)]


def _vote(ballot: Ballot, width: int, palette: Palette, most: int | None) -> list[Strip]:
    sign, word = SIGNS[ballot.counts_as]
    who = format_reviewer(ballot.reviewer, ballot.lens)
    style = {"✓": palette.ok, "✗": palette.error, "!": palette.warning}.get(sign, palette.muted)
    sure = describe_vote(word, None if ballot.measured else ballot.confidence)
    measured = f" · {ballot.measured}" if ballot.measured else ""
    head = make_printable(f"{sign} {sure} · {who}{measured}", newlines=False)
    strips = [build_strip((fit_text(head, width), style))]
    if most == 0:
        return strips
    lines = wrap_words(make_printable(ballot.explanation, newlines=False), width - 2)
    if most is not None and len(lines) > most:
        lines = [*lines[: most - 1], fit_text(" ".join(lines[most - 1 :]), width - 2)]
    return strips + [build_strip((f"  {line}", palette.muted)) for line in lines]


def draw_awaited(call: Call, width: int, palette: Palette) -> list[Strip]:
    """A line for each reviewer that has not voted."""
    lines = [(AWAITED, reviewer) for reviewer in list_awaited(call)]
    lines += [(NOT_ASKED, reviewer) for reviewer in call.not_asked]
    strips = []
    for (sign, word), reviewer in lines:
        who = format_reviewer(reviewer, call.lenses.get(reviewer))
        line = make_printable(f"{sign} {word} · {who}", newlines=False)
        strips.append(build_strip((fit_text(line, width), palette.muted)))
    return strips


def draw_decision(text: str, width: int, style: Style) -> Strip:
    """What decided, on one line."""
    line = make_printable(text, newlines=False)
    return build_strip((line if cell_len(line) <= width else fit_text(line, width), style))
