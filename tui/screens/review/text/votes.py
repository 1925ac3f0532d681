"""The votes on a call as rows: who objects stands first, and nothing in them can pass for a row of its own."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len

from quorum.application.ports.people import ReviewContext
from quorum.domain.review.ballot import (
    Ballot,
    InScope,
    Vote,
    describe_scope,
    format_reviewer,
    sort_dissent_first,
)
from quorum.domain.text.model_names import cut_apart, shorten_model_names
from quorum.tui.transcript.cells.lines import fit_text, pad_text, wrap_words
from quorum.tui.transcript.draw.remarks import AWAITED, NOT_ASKED, SIGNS, describe_vote
from quorum.tui.transcript.kinds.rows import Line, LineKind, Row, StyledPart, clean_line, fold

_KINDS = {
    Vote.APPROVE: LineKind.GOOD,
    Vote.REJECT: LineKind.BAD,
    Vote.ABSTAIN: LineKind.QUIET,
    Vote.ERROR: LineKind.WARNING,
}
_WHAT_CELLS = max(len(describe_vote(word, 0.99)) for _, word in SIGNS.values())
_NAME_CELLS, _NAME_CELLS_WITH_LENS = 26, 34
_LEAST_REASON = 8
_TIGHT_BELOW = 90
_ALL = "v shows all of it"


def compute_height(review_context: ReviewContext) -> int:
    """How many rows show the votes, each in one. Known before any arrives."""
    count = len(review_context.reviewers)
    return 1 + count if count else 0


def render_short_votes(review_context: ReviewContext, width: int, height: int) -> list[Row]:
    """The votes in exactly `height` rows (at least two) of at most `width` cells, the count first.

    Reasons that do not fit are cut and votes that do not fit are counted, and both is said.
    """
    ballots, awaited = sort_dissent_first(review_context.ballots), _list_silent(review_context)
    names = _align_names(review_context, width)
    room = height - 1
    count = len(ballots) + len(awaited)
    left_out = count - (room - 1) if count > room else 0
    ballots, awaited = ballots[: count - left_out], awaited[: max(count - left_out - len(ballots), 0)]
    spare = room - len(ballots) - len(awaited) - bool(left_out)
    rows: list[Row] = []
    is_cut = bool(left_out)
    for ballot in ballots:
        own, was_cut = _render_ballot(ballot, names.get(ballot.reviewer, ""), width, 1 + spare)
        spare -= len(own) - 1
        is_cut |= was_cut
        rows += own
    rows += [_draw_silent(sign, names[reviewer], width) for sign, reviewer in awaited]
    if left_out:
        rows.append((StyledPart(f"  … {left_out} more", LineKind.QUIET),))
    rows += [()] * (room - len(rows))
    return [_count_row(review_context, width, _ALL if is_cut else ""), *rows]


def render_votes(review_context: ReviewContext, width: int) -> list[Row]:
    """Every vote with its whole reason, and what it objects to."""
    rows = [_count_row(review_context, width, "")]
    for ballot in sort_dissent_first(review_context.ballots):
        (sign, word), kind = SIGNS[ballot.counts_as], _KINDS[ballot.counts_as]
        who = clean_line(format_reviewer(ballot.reviewer, ballot.lens))
        program = f" · {clean_line(ballot.program)}" if ballot.program else ""
        asked_for = f" · {describe_scope(ballot.in_scope)}" if ballot.in_scope is InScope.YES else ""
        measured = f" · {clean_line(ballot.measured)}" if ballot.measured else ""
        rows += [
            (),
            *fold(
                [
                    Line(
                        f"{sign} ",
                        f"{_describe_vote(word, ballot)} · {who}{program}{measured}{asked_for}",
                        kind,
                        kind,
                    )
                ],
                width,
            ),
        ]
        rows += [
            (StyledPart(f"  {line}", LineKind.PLAIN),)
            for line in wrap_words(clean_line(ballot.explanation), width - 2)
        ]
        if ballot.objection:
            rows += fold([Line("  objects to  ", clean_line(ballot.objection), LineKind.STRONG)], width)
        rows += fold(list_objections(ballot), width)
    for why, reviewer in _list_silent(review_context):
        name = format_reviewer(reviewer, review_context.lenses.get(reviewer))
        rows += [(), _draw_silent(why, clean_line(name), width)]
    return rows


def list_objections(ballot: Ballot) -> Iterator[Line]:
    """What a reviewer finds wrong with a plan, each with its severity and task."""
    for objection in ballot.objections:
        yield Line("  objects  ", clean_line(objection.describe()), LineKind.STRONG)


def _list_silent(review_context: ReviewContext) -> list[tuple[tuple[str, str], str]]:
    """Who has not voted, with the sign and the word for why."""
    awaited = [(AWAITED, reviewer) for reviewer in review_context.awaited]
    return awaited + [(NOT_ASKED, reviewer) for reviewer in review_context.not_asked]


def _count_row(review_context: ReviewContext, width: int, hint: str) -> Row:
    counted = review_context.tally.describe_count(len(review_context.awaited))
    parts = [StyledPart("votes  ", LineKind.QUIET), StyledPart(counted, LineKind.STRONG)]
    if not review_context.independent and len(review_context.reviewers) > 1:
        parts.append(StyledPart(" · not independent: one family of models", LineKind.WARNING))
    if hint:
        parts.append(StyledPart(f" · {hint}", LineKind.QUIET))
    return _cut(tuple(parts), width)


def _render_ballot(ballot: Ballot, name: str, width: int, most: int) -> tuple[list[Row], bool]:
    """A vote on at most so many rows; whether some of its reason is left out."""
    (sign, word), kind = SIGNS[ballot.counts_as], _KINDS[ballot.counts_as]
    head = f"{sign} {pad_text(_describe_vote(word, ballot), _WHAT_CELLS)}  {name}  "
    said = f"{ballot.measured} · {ballot.explanation}" if ballot.measured else ballot.explanation
    lines = wrap_words(clean_line(said), max(width - cell_len(head), 4))
    is_cut = len(lines) > most
    if is_cut:
        last = fit_text(f"{lines[most - 1]} {lines[most]}", width - cell_len(head))
        lines = [*lines[: most - 1], last if last.endswith("…") else f"{last[:-1]}…"]
    rows: list[Row] = [(StyledPart(head, kind), StyledPart(lines[0], LineKind.PLAIN))]
    rows += [
        (StyledPart(" " * cell_len(head), LineKind.PLAIN), StyledPart(line, LineKind.PLAIN))
        for line in lines[1:]
    ]
    return rows, is_cut


def _describe_vote(word: str, ballot: Ballot) -> str:
    """The vote, with how sure its reviewer says it is where nothing better is known of it."""
    return describe_vote(word, None if ballot.measured else ballot.confidence)


def _draw_silent(sign_and_word: tuple[str, str], name: str, width: int) -> Row:
    sign, word = sign_and_word
    return (StyledPart(fit_text(f"{sign} {pad_text(word, _WHAT_CELLS)}  {name}", width), LineKind.QUIET),)


def _align_names(review_context: ReviewContext, width: int) -> dict[str, str]:
    """What the reviewers are called, in one width; without their providers where there is little room."""
    names = {reviewer: reviewer for reviewer in review_context.reviewers}
    lenses = review_context.lenses
    if width < _TIGHT_BELOW or lenses:
        names = shorten_model_names(names, _NAME_CELLS)
    names = {model: clean_line(format_reviewer(name, lenses.get(model))) for model, name in names.items()}
    most = min(
        _NAME_CELLS_WITH_LENS if lenses else _NAME_CELLS, max(4, width - _WHAT_CELLS - 6 - _LEAST_REASON)
    )
    room = min(max(map(cell_len, names.values()), default=0), most)
    return {reviewer: pad_text(fit_text(name, room), room) for reviewer, name in cut_apart(names, room).items()}


def _cut(row: Row, width: int) -> Row:
    """As much of a row as fits."""
    return tuple(_cut_parts(row, width))


def _cut_parts(row: Row, width: int) -> Iterator[StyledPart]:
    for part in row:
        if width <= 0:
            return
        text = fit_text(part.text, width)
        width -= cell_len(text)
        yield part._replace(text=text)
