"""What the records of a session show of its work: who decided what, with which votes, and which commands ran
with which end; as values, where whoever shows them masks them, and as a comment and trailers on its change.

In the comment every text of a model, tool or person is a span of code, masked and on one line: nothing in it is
markup, a link or the name of somebody who would be told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from quorum.application.export.formats import quote_code
from quorum.application.export.wording import DECISIONS
from quorum.domain.calls.command_end import CommandEnd
from quorum.domain.calls.effects import Effects, FileChange
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.job import JobStatus
from quorum.domain.calls.tool_traits import find_traits
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import ReasoningBlock, TextBlock
from quorum.domain.events.event import (
    CallFinished,
    CallStarted,
    EffectsApproved,
    EffectsObserved,
    EffectsReviewed,
    EffectsVoted,
    Event,
    FilesRestored,
    GoalSet,
    JobEnded,
    JobStarted,
    MessageAdded,
    ResponseCompleted,
    ReviewDecided,
    ReviewRequested,
    TurnStarted,
    UserCommandFinished,
    UserCommandStarted,
    VoteCast,
)
from quorum.domain.events.staging import EffectsDecision
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.sessions.stored_session import Anchor
from quorum.domain.staging.effects_answer import is_about_effects
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import make_printable

_EFFECTS = "effects of a layer"
_SUBJECTS = ("command", "path", "url")
"""The arguments that say what a call is about, the most telling first."""
_RAN = frozenset({Outcome.OK, Outcome.ERROR})
_BY_PERSON = frozenset({DecisionLabel.APPROVED, DecisionLabel.EDITED, DecisionLabel.REJECTED})


class ReviewedCall(Struct, frozen=True, kw_only=True):
    """A call that was put to review, or all effects of a layer, and how that ended. `subject` is the command,
    file or address of the call, or the amount of effects; `votes` are the reviewers, each with its vote."""

    tool: str
    subject: str
    decision: DecisionLabel
    reason: str = ""
    votes: tuple[tuple[str, str], ...] = ()

    @property
    def by_person(self) -> bool:
        return self.decision in _BY_PERSON


class EndedCommand(Struct, frozen=True, kw_only=True):
    """A command that ran. `is_stale`: files changed after it had ended."""

    command: CommandEnd
    is_stale: bool = False


class SessionEvidence(Struct, frozen=True, kw_only=True):
    """`decisions` counts all calls, `amounts` what else the records hold, by what a person calls it; `changed`
    are the paths of files that it changed."""

    decisions: Mapping[DecisionLabel, int]
    reviews: tuple[ReviewedCall, ...]
    commands: tuple[EndedCommand, ...]
    amounts: Mapping[str, int]
    changed: frozenset[str]


def gather_evidence(records: Iterable[LedgerRecord]) -> SessionEvidence:
    gathering = _Gathering()
    for record in records:
        if record.event is not None:
            gathering.read(record.event)
    return gathering.conclude()


class _Gathering(Struct, kw_only=True):
    decisions: Counter[DecisionLabel] = field(default_factory=Counter)
    amounts: Counter[str] = field(default_factory=Counter)
    reviews: list[ReviewedCall] = field(default_factory=list)
    changed: set[str] = field(default_factory=set)
    commands: list[CommandEnd] = field(default_factory=list)
    stale: int = 0  # as many commands, the first, ended before the last change of files
    calls: dict[str, tuple[str, JsonObject]] = field(
        default_factory=dict
    )  # by id, as they were reviewed or ran
    votes: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    effects_votes: dict[str, list[tuple[str, str]]] = field(
        default_factory=dict
    )  # by the digest of the effects
    lines: dict[str, str] = field(default_factory=dict)  # command lines by the ids of commands and jobs

    def read(self, event: Event) -> None:
        match event:
            case TurnStarted(prompt=prompt):
                self.amounts["prompt"] += prompt != ""
            case MessageAdded(message=UserMessage(files=files)):
                self.amounts["attached file"] += len(files)
            case ResponseCompleted(response=response, is_notice=False):
                for kind, name in ((TextBlock, "answer"), (ReasoningBlock, "piece of reasoning")):
                    self.amounts[name] += any(isinstance(each, kind) for each in response.content)
            case EffectsObserved(effects=Effects(changes=changes)) | FilesRestored(changes=changes):
                self._change(changes)
            case UserCommandStarted(command_id=id, command=line):
                self.lines[id] = line
            case JobStarted(subagent_id=str()):
                self.amounts["background subagent"] += 1
            case JobStarted(job_id=id, command=line):
                self.lines[id] = line
                self.calls.pop(event.context.call_id, None)  # it ends as a job, later than the call
            case UserCommandFinished(command_id=id) | JobEnded(job_id=id) if id in self.lines:
                was_stopped = isinstance(event, JobEnded) and event.status is JobStatus.STOPPED
                self.commands.append(
                    CommandEnd.read_job(
                        self.lines.pop(id), event.exit_code, event.output, was_stopped=was_stopped
                    )
                )
            case GoalSet():
                self.amounts["goal"] += 1
            case EffectsVoted() | EffectsApproved() | EffectsReviewed():
                self._read_of_layer(event)
            case _:
                self._read_of_call(event)

    def _read_of_layer(self, event: EffectsVoted | EffectsApproved | EffectsReviewed) -> None:
        match event:
            case EffectsVoted(votes=votes):
                self.amounts["vote"] += len(votes.votes)
                self.effects_votes = {votes.digest: [(vote.model, vote.verdict) for vote in votes.votes]}
            case EffectsApproved(digest=digest):
                files = len(event.effects) + sum(event.folded.values())
                self._review_effects(digest, DecisionLabel.APPROVED, format_amount(files, "file"))
            case EffectsReviewed(decision=EffectsDecision.REJECTED, digest=digest, words=words):
                self._review_effects(digest, DecisionLabel.REJECTED, reason=words)
            case _:
                pass  # what came of an approval, or of no review

    def _review_effects(
        self, digest: str, decision: DecisionLabel, subject: str = "", reason: str = ""
    ) -> None:
        votes = tuple(self.effects_votes.get(digest, ()))
        self.reviews.append(
            ReviewedCall(tool=_EFFECTS, subject=subject, decision=decision, reason=reason, votes=votes)
        )

    def _read_of_call(self, event: Event) -> None:
        match event:
            case CallStarted():
                self.calls[event.context.call_id] = (event.tool, event.arguments)
                self.amounts["diff"] += event.diff is not None
            case CallFinished():
                self._finish(event)
            case ReviewRequested() | ReviewDecided() if is_about_effects(event.context):
                pass  # what becomes of effects is told by itself
            case ReviewRequested(packet=packet):
                self.calls[event.context.call_id] = (packet.call.tool_name, packet.call.arguments)
                self.votes.pop(event.context.call_id, None)
            case VoteCast():
                self.amounts["vote"] += 1
                self.votes.setdefault(event.context.call_id, []).append((event.reviewer, event.verdict))
            case ReviewDecided():
                self._decide(event)
            case _:
                pass

    def conclude(self) -> SessionEvidence:
        return SessionEvidence(
            decisions=dict(self.decisions),
            reviews=tuple(self.reviews),
            commands=tuple(
                EndedCommand(command=each, is_stale=place < self.stale)
                for place, each in enumerate(self.commands)
            ),
            amounts={name: count for name, count in self.amounts.items() if count},
            changed=frozenset(self.changed),
        )

    def _change(self, changes: Iterable[FileChange]) -> None:
        paths = {each.path for each in changes if not each.ignored}
        self.changed |= paths
        if paths:
            self.stale = len(self.commands)

    def _finish(self, event: CallFinished) -> None:
        self.amounts["call"] += 1
        self.decisions[event.decision] += 1
        _, arguments = self.calls.get(event.context.call_id, ("", {}))
        line = arguments.get(find_traits(event.tool).command)
        if isinstance(line, str) and event.outcome in _RAN:
            self.commands.append(CommandEnd.read(line, event.outcome, event.output))

    def _decide(self, event: ReviewDecided) -> None:
        tool, arguments = self.calls.get(event.context.call_id, ("a call", {}))
        subject = next((each for name in _SUBJECTS if isinstance(each := arguments.get(name), str)), "")
        self.reviews.append(
            ReviewedCall(
                tool=tool,
                subject=subject,
                decision=event.decision,
                reason=event.reason or "",
                votes=tuple(self.votes.get(event.context.call_id, ())),
            )
        )


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
