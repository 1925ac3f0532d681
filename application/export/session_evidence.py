"""What the records of a session show of its work: who decided what, with which votes, and which commands ran
with which end. Texts are as they were recorded: whoever shows them masks them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

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
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_value import JsonObject

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
