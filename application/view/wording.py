"""Sentences about what happens in a session, its panels and its reviews, the same for any front end."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal

from quorum.application.view.entries import Call, NoticeKind, Remark
from quorum.domain.calls.hook_points import describe_point
from quorum.domain.code_review.review_result import (
    CodeFinding,
    FindingStanding,
    PartReview,
    ReportedFinding,
    ReviewResult,
)
from quorum.domain.conversation.cost import SpendCap
from quorum.domain.conversation.effort import format_model
from quorum.domain.conversation.response import StopKind
from quorum.domain.events.event import (
    AnswerDefended,
    AnswerRevised,
    ConversationCompacted,
    HookRan,
    ObjectionsRaised,
    ObjectionsRuled,
    PanelAnswered,
    PanelConcluded,
    PanelResumed,
    PanelReviewed,
    PanelStarted,
    SessionRedone,
    SessionResumed,
    SessionRewound,
)
from quorum.domain.events.report import (
    EFFECTS_WAIT,
    MAX_GOAL_ATTEMPTS,
    MAX_TIME,
    MAX_TOOL_TURNS,
    RunReport,
    RunStatus,
    describe_unknown_stop,
)
from quorum.domain.panel.cost_estimate import CostEstimate, sum_estimates
from quorum.domain.panel.debate_record import DebateObjection, DebateRecord, ObjectionRuling
from quorum.domain.panel.panel_answer import PanelAnswer, PeerReview
from quorum.domain.review.ballot import Verdict, Vote
from quorum.domain.review.questions import DecisionLabel, is_by_others
from quorum.domain.text.amounts import format_amount, format_duration, format_tokens


def describe_decision(call: Call) -> str:
    """What let a reviewed call run, in a few words; empty where nothing did."""
    if not call.is_decided:
        return ""
    match call.decision:
        case DecisionLabel.APPROVED | DecisionLabel.EDITED:
            return describe_approval(call.decision, call.reason)
        case DecisionLabel.ALLOWED if call.votes:
            verdicts = [ballot.counts_as for ballot in call.votes]
            count = f"{verdicts.count(Vote.APPROVE)}:{verdicts.count(Vote.REJECT)}"
            spared = f", {len(call.not_asked)} not asked" if call.not_asked else ""
            return f"quorum approved {count}{spared}"
        case DecisionLabel.ALLOWED:
            return call.reason or "allowed"
        case _:
            return ""


def describe_approval(label: DecisionLabel, reason: str | None) -> str:
    """That the person approved, or somebody elsewhere; empty where this was not what they decided."""
    match label:
        case DecisionLabel.APPROVED if is_by_others(reason):
            return f"approved · {reason}"
        case DecisionLabel.APPROVED | DecisionLabel.EDITED:
            who = "you approved" if label is DecisionLabel.APPROVED else "you approved what you edited"
            return f"{who} · {reason}" if reason else who
        case _:
            return ""


_EFFECTS_WAIT = "its changes wait for your review"
PROCESS_ENDED = "interrupted: the process ended here"
_SPEND_CAPS = frozenset(cap.value for cap in SpendCap)
_LIMITS = {MAX_TIME: "time limit", MAX_GOAL_ATTEMPTS: "limit of attempts"}
RECORD_ENDS = "the record ends here; the process that writes it may be at work on this turn"


def describe_ending(report: RunReport, last_error: str) -> str | None:
    """Describe how a turn ended; None if `last_error` already says it."""
    match report.status:
        case RunStatus.COMPLETED:
            return describe_unknown_stop(report)
        case RunStatus.INTERRUPTED:
            return "interrupted"
        case RunStatus.LIMIT if report.stop_reason == StopKind.MAX_TOKENS.value:
            return "stopped at the token limit of one answer"
        case RunStatus.LIMIT if report.stop_reason == MAX_TOOL_TURNS:
            return f"stopped at the turn limit, after {format_amount(report.tool_turns, 'turn')}"
        case RunStatus.LIMIT if report.stop_reason in _LIMITS:
            return f"stopped at the {_LIMITS[report.stop_reason]} agent.{report.stop_reason}"
        case RunStatus.LIMIT if report.stop_reason in _SPEND_CAPS:
            return f"stopped at the spend cap agent.{report.stop_reason}"
        case RunStatus.LIMIT:
            return f"stopped at the turn limit, after {format_amount(report.turns, 'turn')}"
        case RunStatus.NEEDS_APPROVAL:
            waits = report.stop_reason == EFFECTS_WAIT
            return _EFFECTS_WAIT if waits else "stopped: a call needed approval and nobody was there"
        case RunStatus.REFUSED:
            return "the model refused"
        case RunStatus.FAILED if report.error and report.error == last_error:
            return None
        case RunStatus.FAILED:
            return report.error or "failed"


def describe_resumption(event: SessionResumed) -> str:
    """Describe a resume: model and mode, and below them what had to be repaired or closed."""
    model = format_model(event.model, event.effort)
    return "\n".join([f"resumed with {model} · mode: {event.mode.value}", *event.told])


def describe_compaction(event: ConversationCompacted) -> str:
    """What was shortened, and what that came to, as far as it is known."""
    what = "outputs of tools were shortened" if event.what == "outputs" else "compacted to a summary"
    sizes = f": from {format_tokens(event.tokens_before)} to {format_tokens(event.tokens_after)} tokens"
    kept = f" · kept in view: {event.focus}" if event.focus else ""
    return what + (sizes if event.tokens_before and event.tokens_after else "") + kept


def describe_rewind(event: SessionRewound, turns: int) -> str:
    """What was taken back. `turns` is how many of them counted until then."""
    count = format_amount(max(1, turns), "turn")
    if not event.conversation:
        return f"files are as they were before the last {count}; the conversation continues"
    return f"took back {count}: conversation{' and files' if event.files else '; files stay as they are'}"


def describe_redo(event: SessionRedone) -> str:
    """What was redone of the last undo."""
    if not event.turns:
        return "redid the last undo of files; the conversation stays as it is"
    files = "" if event.files else "; some files could not be brought back"
    count = format_amount(len(event.turns), "turn")
    return f"redid the last undo: {count} back in the conversation{files}"


_QUIET = frozenset({"continue", "finish"})
_KINDS = {
    "skip": NoticeKind.WARNING,
    "abort": NoticeKind.ERROR,
    "error": NoticeKind.ERROR,
}


def build_hook_remark(event: HookRan) -> Remark:
    """The remark about a hook's run; quiet where the hook changed nothing."""
    return Remark(
        _KINDS.get(event.answer, NoticeKind.INFO),
        f"hook {event.hook} {describe_hook_answer(event)}",
        quiet=event.answer in _QUIET and event.edited is None,
    )


def describe_hook_answer(event: HookRan) -> str:
    """What the hook did and why, without its name."""
    answer = "edited" if event.edited is not None and event.answer == "continue" else event.answer
    if answer == "abort":
        words = "ended the run"
    elif (known := describe_point(event.point).remarks.get(answer)) is not None:
        words = known.format(call=event.context.call_index + 1 if event.context is not None else "")
    else:
        words = f"answered {answer} at {event.point}"
    return f"{words}: {event.reason}" if event.reason else words


def describe_part_review(review: PartReview) -> str:
    """What one reviewer says of one part, in a line."""
    where = f"{review.label} {review.model}, part {review.part}"
    if review.vote is Vote.ERROR:
        return f"{where}: no answer: {review.reason}"
    return f"{where}: {review.vote.value}, {format_amount(len(review.findings), 'finding')}. {review.reason}"


def describe_review_result(result: ReviewResult) -> str:
    """What a code review came to, in a line."""
    votes = ", ".join(f"{ballot.reviewer} {ballot.vote.value}" for ballot in result.ballots)
    found = format_amount(len(result.findings), "finding")
    return f"{result.description}: {result.verdict.value} ({result.rule}) · {found} · {votes}"


def describe_verdict_and_findings(result: ReviewResult) -> str:
    """Whether a change is approved, and how many findings there are, in a few words."""
    verdict = {
        Verdict.APPROVED: "approved",
        Verdict.REJECTED: "not approved",
        Verdict.UNCLEAR: "not approved, too few votes",
    }[result.verdict]
    sure = sum(finding.standing is FindingStanding.CONFIRMED for finding in result.findings)
    found = format_amount(len(result.findings), "finding")
    return f"{verdict} · {found}, {sure} confirmed" if result.findings else f"{verdict} · no findings"


def describe_finding(finding: CodeFinding) -> str:
    """What a finding is, where, and how it stands, in a line."""
    report = finding.report
    return f"{finding.id} {report.severity.value} {describe_finding_place(report)} · {finding.standing.value}"


def describe_finding_place(report: ReportedFinding) -> str:
    """The file of a finding, with its line where it is about one."""
    return f"{report.file}:{report.line}" if report.line else report.file


def explain_finding(finding: CodeFinding) -> str:
    """All that was said of a finding: by who reported it, and by who tried it."""
    report = finding.report
    found_by = format_amount(len(finding.reviewers), "reviewer")
    kind = report.kind.value.replace("_", " ")
    lines = [report.claim, "", f"Evidence: {report.evidence}"]
    lines += [f"Suggestion: {report.suggestion}"] if report.suggestion else []
    lines += ["", f"{kind}, found by {found_by} ({', '.join(finding.reviewers)})"]
    lines += [f"Also: {other.claim}" for other in finding.others]
    lines += [f"{trial.model}: {trial.ruling.value}. {trial.reason}" for trial in finding.trials]
    return "\n".join(lines)


def describe_debate_step(event: ObjectionsRaised | AnswerDefended | ObjectionsRuled | AnswerRevised) -> str:
    """What happened, in a line."""
    match event:
        case ObjectionsRaised(raised=raised) if raised.error:
            return f"{raised.label} could not object in round {raised.round}: {raised.error}"
        case ObjectionsRaised(raised=raised):
            count = len(raised.objections)
            found = format_amount(count, "objection") if count else "no objection"
            unread = f"; could not be read: {'; '.join(raised.left_out)}" if raised.left_out else ""
            return f"{raised.label} raises {found} in round {raised.round}{unread}"
        case AnswerDefended(defence=defence) if defence.error:
            return f"{defence.label} gave no response in round {defence.round}: {defence.error}"
        case AnswerDefended(defence=defence):
            conceded = sum(each.is_conceded for each in defence.responses)
            return f"{defence.label} responds: {conceded} of {len(defence.responses)} conceded"
        case ObjectionsRuled(ruled=ruled) if ruled.error:
            return f"nobody ruled on the objections of round {ruled.round}: {ruled.error}"
        case ObjectionsRuled(ruled=ruled):
            rulings = (f"{each.objection} {each.ruling.value}" for each in ruled.rulings)
            return f"rulings of round {ruled.round}: {', '.join(rulings)}"
        case AnswerRevised(revised=revised) if revised.error:
            return f"{revised.label} did not revise the answer: {revised.error}"
        case AnswerRevised(revised=revised):
            return f"{revised.label} revised the answer after round {revised.round}"


def describe_tally(record: DebateRecord) -> str:
    """How many objections are open, upheld and refuted, the open ones first."""
    counts = (
        (len(record.select(ruling)), ruling.value)
        for ruling in (ObjectionRuling.OPEN, ObjectionRuling.UPHELD, ObjectionRuling.REFUTED)
    )
    return ", ".join(f"{count} {name}" for count, name in counts if count) or "no objections"


def describe_objection(objection: DebateObjection) -> str:
    """An objection in a line."""
    return f"{objection.id}, {objection.severity.value}: {objection.claim}"


def list_replies(objection: DebateObjection, record: DebateRecord) -> list[str]:
    """What was said to an objection: its evidence, the response and the ruling, a line each."""
    said = [f"Evidence: {objection.evidence}"]
    if (response := record.find_response(objection.id)) is not None:
        said.append(f"{'Conceded' if response.is_conceded else 'Contested'}: {response.text}")
    if (ruled := record.find_ruling(objection.id)) is not None:
        said.append(f"Ruled {ruled.ruling.value}: {ruled.reason}")
    return said


def describe_panel_step(
    event: PanelStarted | PanelResumed | PanelAnswered | PanelReviewed | PanelConcluded,
) -> str:
    """What a person without a screen reads of a step; empty where there is nothing to say."""
    match event:
        case PanelStarted(costs=costs):
            return "; ".join([*filter(None, [describe_total_cost(costs)]), *describe_costs(costs)])
        case PanelResumed():
            return "the panel is continued: only what is missing is asked for"
        case PanelAnswered(answer=answer):
            return describe_answer(answer)
        case PanelReviewed(review=review):
            return f"{review.label} {_describe_error(review)}" if review.error else ""
        case PanelConcluded() if event.merged and event.additions:
            points = "; ".join(f"{each.text} ({', '.join(each.answers)})" for each in event.additions)
            return f"the drafts differ: {points}"
        case PanelConcluded():
            return event.reason


def describe_total_cost(costs: Sequence[CostEstimate]) -> str:
    """What a panel costs before it starts, in a line; empty where nothing was estimated."""
    if not costs:
        return ""
    total = sum_estimates(costs)
    few, many = total.least_requests, total.most_requests
    requests = f"{few} requests" if few == many else f"{few} to {many} requests"
    if by_plan := [cost for cost in costs if cost.by_plan]:
        requests += ", all by plan" if len(by_plan) == len(costs) else ", some of them by plan"
    if len(by_plan) == len(costs):
        return requests
    if total.least_usd is None:
        return f"{requests}; no price is known, so neither is the cost"
    least = f"at least about {_format_dollars(total.least_usd)}"
    if total.most_usd is not None:
        return f"{requests}, {least}, at most about {_format_dollars(total.most_usd)}"
    return f"{requests}, {least}; what it costs at most is not known"


def describe_costs(costs: Sequence[CostEstimate]) -> list[str]:
    """What each model of a panel costs before it starts."""
    return [f"{each.label or 'moderator'} {each.model} {_describe_range(each)}" for each in costs]


def _describe_range(cost: CostEstimate) -> str:
    if cost.by_plan:
        return "by plan"
    if cost.least_usd is None:
        return "at a price that is not known"
    if cost.most_usd is None:
        return f"{_format_dollars(cost.least_usd)} or more, its longest answer is not known"
    return f"{_format_dollars(cost.least_usd)} to {_format_dollars(cost.most_usd)}"


def _format_dollars(usd: Decimal) -> str:
    """Four digits, rounded up: an estimate of nothing is said of nothing alone."""
    return f"${usd.quantize(Decimal('0.0001'), rounding=ROUND_CEILING):,}"


def describe_answer(answer: PanelAnswer) -> str:
    """How asking a participant ended, and after how long."""
    how = f"{answer.label} {answer.model} answered" if answer.is_answer else describe_missing_answer(answer)
    return f"{how} · {format_duration(answer.secs)}"


def describe_missing_answer(answer: PanelAnswer) -> str:
    """Who gave no answer, and why."""
    return f"{answer.label} {answer.model} gave no answer: {answer.reason}"


def describe_missing_review(review: PeerReview) -> str:
    """Who reviewed nothing, and why."""
    return f"{review.label} {review.model} {_describe_error(review)}"


def _describe_error(review: PeerReview) -> str:
    return f"reviewed no other answer: {review.error}"
