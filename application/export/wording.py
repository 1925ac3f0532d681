"""The sentences of an account: plain words for labels, times, amounts and files."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence

from quorum.domain.calls.effects import Effects, FileChange
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.job import JobStatus, describe_job_end
from quorum.domain.conversation.cost import Spending
from quorum.domain.conversation.history import AssistantMessage, Message, ToolResults, UserMessage
from quorum.domain.conversation.response import Usage
from quorum.domain.events.event import (
    ConversationCompacted,
    FilesKept,
    JobEnded,
    OutputStored,
    PlanReviewStarted,
    QuorumConcluded,
    ReviewDecided,
    ReviewRequested,
    SessionRedone,
    SessionRewound,
    SubagentFinished,
    SubagentStarted,
    UserCommandFinished,
    VoteCast,
)
from quorum.domain.events.report import RunReport
from quorum.domain.review.ballot import DecidedBy, explain_vote, format_reviewer
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.review.quorum_result import VoteRecord
from quorum.domain.text.amounts import format_amount, format_confidence, format_duration

DECISIONS: Mapping[DecisionLabel, str] = {
    DecisionLabel.ALLOWED: "allowed without asking a person",
    DecisionLabel.APPROVED: "approved by a person",
    DecisionLabel.EDITED: "edited and approved by a person",
    DecisionLabel.REJECTED: "rejected by a person",
    DecisionLabel.DENIED: "denied by a rule or the mode",
    DecisionLabel.NEEDS_APPROVAL: "withheld: nobody was there to approve it",
    DecisionLabel.NONE: "nothing was decided about it",
}
OUTCOMES: Mapping[Outcome, str] = {
    Outcome.OK: "ok",
    Outcome.ERROR: "error",
    Outcome.REJECTED: "rejected",
    Outcome.SKIPPED: "skipped",
    Outcome.CANCELLED: "cancelled",
    Outcome.NOT_RUN: "not run",
    Outcome.UNKNOWN: "unknown: the process ended while it ran",
}
NO_OUTCOME = "no recorded end"


def format_time(at_ms: int) -> str:
    """A time in milliseconds since 1970 as a date and a time of day, UTC."""
    try:
        at = datetime.datetime.fromtimestamp(at_ms / 1000, datetime.UTC)
    except (OverflowError, ValueError, OSError):
        return "at an impossible time"
    return at.strftime("%Y-%m-%d %H:%M:%S UTC")


def format_usage(usage: Usage) -> str:
    """What was sent and what was answered."""
    cached = f" ({usage.cache_read:,} from the cache)" if usage.cache_read else ""
    return f"{usage.input + usage.cache_read + usage.cache_write:,} in{cached}, {usage.output:,} out"


def format_cost(spent: Spending) -> str:
    """What is known of the cost."""
    if spent.priced_usd is None:
        return "by plan" if spent.by_plan and not spent.has_unpriced else "not known"
    known = f"${spent.priced_usd:,.4f}" + (", and some requests by plan" if spent.by_plan else "")
    return f"at least {known}; the price of some requests is not known" if spent.has_unpriced else known


def describe_review_request(event: ReviewRequested) -> str:
    """That a call was put to review, why, and which bytes."""
    why = "; ".join(event.reasons) or "no reason given"
    signing = f"; {event.signing.describe()}" if event.signing else ""
    return f"put to review: {why}{signing} (packet sha256 {event.digest})"


def describe_user_command_end(event: UserCommandFinished) -> str:
    """How a command of the person's ended, and that what follows is what it printed."""
    exited = f", exit code {event.exit_code}" if event.exit_code is not None else ""
    stored = f"; its whole output was stored as {event.blob_id}" if event.blob_id is not None else ""
    took = format_duration(event.duration_secs)
    ended = f"their command ended: {OUTCOMES[event.outcome]}{exited}, {took}{stored}"
    return "; ".join([ended, *event.remarks]) + ("; it printed:" if event.output.strip() else "")


def describe_job_ending(event: JobEnded) -> str:
    """How a job ended, and that what follows is its report, or the end of what it printed."""
    ending = describe_job_end(event.status, event.exit_code, event.stopper, event.duration_secs)
    stored = f"; its whole output was stored as {event.blob_id}" if event.blob_id is not None else ""
    has_reported = event.status in (JobStatus.ANSWERED, JobStatus.FAILED)
    ended = f"{event.job_id} {ending}{stored}"
    said = "; its report:" if has_reported else "; it printed last:"
    return "; ".join([ended, *event.remarks]) + (said if event.output.strip() else "")


def describe_vote(event: VoteCast) -> str:
    """One vote with its reason."""
    sure = "" if event.confidence is None else f" ({format_confidence(event.confidence)} sure)"
    sure += f" [shown to you: {event.measured}]" if event.measured else ""
    objection = f"; it objects to: {event.objection}" if event.objection else ""
    objection += "".join(f"; it objects ({each.describe()})" for each in event.objections)
    explained = explain_vote(event.verdict, event.in_scope, event.reason or "no reason given")
    who = format_reviewer(event.reviewer, event.lens) + (f" through {event.program}" if event.program else "")
    return f"{who} voted {event.verdict}{sure}: {explained}{objection}"


def describe_verdict(event: QuorumConcluded) -> str:
    """What the votes came to."""
    votes = ", ".join(map(_describe_counted, event.votes)) or "no votes"
    basis = f"by the rule {event.rule}" if event.decided_by is DecidedBy.RULE else "by the first vote alone"
    spared = f"; not asked: {', '.join(vote.model for vote in event.spared)}" if event.spared else ""
    return f"the models, {basis}: {event.verdict} ({votes}{spared}; packet sha256 {event.digest})"


def _describe_counted(vote: VoteRecord) -> str:
    counted = "" if vote.counts_as in (None, vote.verdict) else f", counted as {vote.counts_as}"
    return f"{vote.model} {vote.verdict}{counted}"


def describe_decision(event: ReviewDecided) -> str:
    """How a review ended, and over which bytes."""
    reason = f": {event.reason}" if event.reason else ""
    return f"{DECISIONS[event.decision]}{reason} (packet sha256 {event.digest})"


def describe_call_event(
    event: PlanReviewStarted
    | VoteCast
    | QuorumConcluded
    | ReviewDecided
    | FilesKept
    | OutputStored
    | SubagentStarted
    | SubagentFinished,
) -> str:
    """One thing that happened to a call, beside its running."""
    match event:
        case PlanReviewStarted(round=number, plan_digest=digest):
            return f"round {number} of its review by models (plan sha256 {digest})"
        case VoteCast():
            return describe_vote(event)
        case QuorumConcluded():
            return describe_verdict(event)
        case ReviewDecided():
            return describe_decision(event)
        case FilesKept(files=count, complete=complete):
            text = f"{format_amount(count, 'file')} kept as before it"
            return text if complete else f"{text}; not every file was seen"
        case OutputStored(blob_id=blob, size_bytes=size):
            extent = format_amount(size, "byte")
            return f"its whole output, {extent}, was stored as {blob}; the model read a summary"
        case SubagentStarted(agent=agent):
            named = f"the subagent {agent}" if agent else "a subagent"
            return f"given to {named} with {event.model}, whose session is {event.subagent_id}"
        case SubagentFinished(outcome=outcome):
            answers = format_amount(outcome.turns, "answer")
            because = f": {outcome.error}" if outcome.error else ""
            return f"the subagent ended after {answers}: {outcome.status.value}{because}"


def describe_change(change: FileChange) -> str:
    """What became of one file."""
    return f"{change.kind.value} {change.path}"


def describe_effects(seen: Effects) -> tuple[str, ...]:
    """What became of the files while a call ran."""
    text = tuple(
        f"{describe_change(c)}{', which it had not declared' if c.is_surprise else ''}"
        f"{', found late: perhaps before it ran' if c.late else ''}"
        for c in seen.changes
    )
    return text if seen.complete else (*text, "not every change of files could be seen")


def describe_rewind(event: SessionRewound) -> str:
    """What was taken back, from which turn on."""
    what = {(True, True): "the conversation and the files", (True, False): "the conversation"}
    text = what.get((event.conversation, event.files), "the files" if event.files else "nothing")
    return f"taken back: {text} from turn {event.turn + 1} on"


def describe_redo(event: SessionRedone) -> str:
    """What was redone of the last undo, and which turns count again."""
    numbers = ", ".join(str(turn + 1) for turn in event.turns)
    turns = f"turn {numbers} counts" if len(event.turns) == 1 else f"turns {numbers} count"
    return f"the last undo was redone: {f'{turns} again' if numbers else 'files alone'}"


def describe_restoration(changes: Sequence[FileChange]) -> tuple[str, str]:
    """How many files were given back, and what became of each, a line each."""
    given_back = f"{format_amount(len(changes), 'file')} given back as before:"
    return given_back, "\n".join(map(describe_change, changes))


def describe_compaction(event: ConversationCompacted) -> tuple[str, str]:
    """What gave way to what, and the summary where there is one."""
    what = "the outputs of tools were shortened" if event.what == "outputs" else "it gave way to a summary"
    focus = f"; to keep in view: {event.focus}" if event.focus else ""
    tokens = f"{event.tokens_before:,} tokens before, {event.tokens_after:,} after"
    body = "\n\n".join(filter(None, map(_render_message, event.by))) if event.what == "summary" else ""
    return f"the conversation was compacted: {what} ({tokens}{focus})", body


def _render_message(message: Message) -> str:
    match message:
        case UserMessage(text):
            return text
        case AssistantMessage(response):
            return response.text_content()
        case ToolResults():
            return ""


def describe_ending(report: RunReport) -> str:
    """How a turn ended, and why where that is known."""
    why = report.error or report.stop_reason
    return f"the turn ended: {report.status.value}{f' ({why})' if why else ''}"
