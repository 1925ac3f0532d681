"""What the sessions of a change show of it, as a comment in Markdown and as trailers of a commit.

Every text of a model, tool or person is a span of code, masked and on one line: nothing in it is markup, a link
or the name of somebody who would be told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from quorum.application.export.formats import quote_code
from quorum.application.export.session_evidence import EndedCommand, ReviewedCall, SessionEvidence
from quorum.application.export.wording import DECISIONS
from quorum.domain.sessions.stored_session import Anchor
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable

_MOST_LISTED = 20
_MOST_VOTES = 8
_LONGEST = 120


class SharedWork(Struct, frozen=True, kw_only=True):
    """One session of the change: its title, how far it has come, and what it shows. It verifies."""

    title: str
    anchor: Anchor
    evidence: SessionEvidence


def render_comment(works: Sequence[SharedWork], mask: Callable[[str], str]) -> str:
    """The comment. It is shorter than GitHub allows, however much the sessions hold."""
    quote = _Quote(mask)
    return "\n".join(_render_lines(works, quote)) + "\n"


def render_trailers(works: Sequence[SharedWork]) -> str:
    """A line for each session: its id, its head, and what was decided in it and by whom."""
    return "".join(f"Quorum-Session: {_render_trailer(work)}\n" for work in works)


class _Quote(Struct, frozen=True):
    mask: Callable[[str], str]

    def __call__(self, text: str) -> str:
        line = make_printable(self.mask(text), newlines=False)
        return quote_code(line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…")


def _render_trailer(work: SharedWork) -> str:
    reviews = work.evidence.reviews
    people = sum(each.by_person for each in reviews)
    votes = sum(len(each.votes) for each in reviews)
    return (
        f"{work.anchor.session_id} head={work.anchor.head} records={work.anchor.records} "
        f"calls={sum(work.evidence.decisions.values())} decided-by-person={people} votes={votes}"
    )


def _render_lines(works: Sequence[SharedWork], quote: _Quote) -> Iterator[str]:
    yield "### How this change was reviewed while it was made"
    yield ""
    if (more := len(works) - _MOST_LISTED) > 0:
        yield f"- {format_amount(more, 'earlier session')}"
    for work in works[-_MOST_LISTED:]:
        anchor = work.anchor
        yield (
            f"- session {quote(anchor.session_id)}, {quote(work.title)}: "
            f"{format_amount(anchor.records, 'record')}, each fits; head `{anchor.head}`"
        )
    yield from _render_decisions(works)
    reviews = [review for work in works for review in work.evidence.reviews]
    yield from _render_reviews("Decided by a person", [each for each in reviews if each.by_person], quote)
    voted = [each for each in reviews if each.votes and not each.by_person]
    yield from _render_reviews("Decided without a person, after votes of models", voted, quote)
    yield from _render_checks([command for work in works for command in work.evidence.commands], quote)
    yield ""
    yield (
        "<sub>Made from the ledger of whoever posts this; `quorum sessions verify` checks it, `quorum share` "
        "writes a session as a page that can be verified.</sub>"
    )


def _render_decisions(works: Sequence[SharedWork]) -> Iterator[str]:
    decisions = sum((Counter(work.evidence.decisions) for work in works), Counter())
    if decisions:
        counted = ", ".join(f"{count:,} {DECISIONS[decision]}" for decision, count in decisions.most_common())
        yield f"- {format_amount(decisions.total(), 'call')}: {counted}"


def _render_reviews(heading: str, reviews: Sequence[ReviewedCall], quote: _Quote) -> Iterator[str]:
    yield from _head(heading, len(reviews))
    for review in reviews[-_MOST_LISTED:]:
        subject = f" {quote(review.subject)}" if review.subject else ""
        reason = f"; reason: {quote(review.reason)}" if review.reason else ""
        votes = ", ".join(f"{quote(who)} {quote(verdict)}" for who, verdict in review.votes[:_MOST_VOTES])
        yield (
            f"- {quote(review.tool)}{subject}: {DECISIONS[review.decision]}{reason}"
            f"{f'; votes: {votes}' if votes else ''}"
        )


def _render_checks(commands: Sequence[EndedCommand], quote: _Quote) -> Iterator[str]:
    """How the commands that run tests ended, each as it ran last."""
    last = {each.command.command: each for each in commands if each.command.is_test}
    yield from _head("Tests that ran", len(last))
    for each in list(last.values())[-_MOST_LISTED:]:
        stale = ", and files changed after it" if each.is_stale else ""
        yield f"- {quote(each.command.command)}: {each.command.ending}{stale}"


def _head(heading: str, count: int) -> Iterator[str]:
    if count:
        yield ""
        yield f"**{heading}**" + (f" (the last {_MOST_LISTED} of {count:,})" if count > _MOST_LISTED else "")
        yield ""
