"""The words in which the ending of a turn, and events of the session as a whole, are described."""

from __future__ import annotations

from quorum.domain.conversation.effort import format_model
from quorum.domain.conversation.response import StopKind
from quorum.domain.conversation.spend_caps import SpendCap
from quorum.domain.events.event import ConversationCompacted, SessionRedone, SessionResumed, SessionRewound
from quorum.domain.events.report import MAX_TOOL_TURNS, RunReport, RunStatus
from quorum.domain.text.amounts import format_amount, format_tokens

PROCESS_ENDED = "interrupted: the process ended here"
_SPEND_CAPS = frozenset(cap.value for cap in SpendCap)
_KNOWN_STOPS = frozenset({*StopKind, MAX_TOOL_TURNS}) | _SPEND_CAPS
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
        case RunStatus.LIMIT if report.stop_reason in _SPEND_CAPS:
            return f"stopped at the spend cap agent.{report.stop_reason}"
        case RunStatus.LIMIT:
            return f"stopped at the turn limit, after {format_amount(report.turns, 'turn')}"
        case RunStatus.NEEDS_APPROVAL:
            return "stopped: a call needed approval and nobody was there"
        case RunStatus.REFUSED:
            return "the model refused"
        case RunStatus.FAILED if report.error and report.error == last_error:
            return None
        case RunStatus.FAILED:
            return report.error or "failed"


def describe_unknown_stop(report: RunReport) -> str | None:
    """A sentence where the model stopped for a reason that nobody here knows; None where it is known."""
    if report.stop_reason is None or report.stop_reason in _KNOWN_STOPS:
        return None
    return f"the model stopped for a reason that quorum does not know: {report.stop_reason}"


def describe_resumption(event: SessionResumed) -> str:
    """Describe a resume: the model, and below it what had to be repaired or closed."""
    return "\n".join([f"resumed with {format_model(event.model, event.effort)}", *event.told])


def describe_compaction(event: ConversationCompacted) -> str:
    """What was shortened, and what that came to, as far as it is known."""
    what = "outputs of tools were shortened" if event.what == "outputs" else "compacted to a summary"
    sizes = f": {format_tokens(event.tokens_before)} → {format_tokens(event.tokens_after)} tokens"
    kept = f" · kept in view: {event.focus}" if event.focus else ""
    return what + (sizes if event.tokens_before and event.tokens_after else "") + kept


def describe_rewind(event: SessionRewound, turns: int) -> str:
    """What was taken back. `turns` is how many there were when that was done."""
    count = format_amount(max(1, turns - event.turn), "turn")
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
