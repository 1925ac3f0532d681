"""How a turn goes on that broke off: the calls that were left open, and what the model reads to continue.

None of the calls runs a second time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from quorum.application.calls.approval import AskedBefore
from quorum.application.calls.tool_runtime import ToolBatch
from quorum.application.conversation_session import CONTINUE_PROMPT
from quorum.application.identifiers import generate_id
from quorum.domain.calls.execution import Orphan, Outcome, ToolExecutionContext
from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.history import AssistantMessage, Message
from quorum.domain.conversation.response import StopKind
from quorum.domain.events.event import CallFinished, SubagentFinished
from quorum.domain.events.subagents import describe_interruption
from quorum.domain.replacing import replace
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.review.requested_scope import RequestedScope
from quorum.domain.sessions.replayed_calls import build_subagent_end
from quorum.domain.sessions.state import CallEnd, OpenCall
from quorum.domain.text.amounts import format_amount

CONTINUE_CUT_OFF = "Your answer was cut off by the output limit. Continue exactly where you stopped."
LIMIT_REACHED = (
    "not run: the limit of {limit} tool turns is reached. Say where things stand and what is left to do."
)
NO_ANSWER = "the model gave no answer, also when asked again: {lack}"
_MORE_TURNS = "Continue with the task. You have {rounds} of tool calls."


def choose_continuation(last: Message, *, rounds: int) -> str | None:
    """Return a prompt to make the model continue after this message; None if it has yet to answer it.

    `rounds` is how many rounds of tool calls it has for that.
    """
    if not isinstance(last, AssistantMessage):
        return None
    if (
        last.response.stop_reason.kind is StopKind.END_TURN and last.response.lack is None
    ):  # it said where things stood at the limit
        return _MORE_TURNS.format(rounds=format_amount(rounds, "more round"))
    return CONTINUE_PROMPT


UNKNOWN = "was running when the process died; its effect is unknown. Look before you repeat it."
NEVER_BEGUN = "not run: the process ended before its turn came"
_NOT_ANSWERED = "not run: nobody answered its review, and the person continued with something else"
_HIDDEN = "not run: the process ended while it was in review, and what it holds is secret and was not kept"


class Recovery(Struct, frozen=True, kw_only=True):
    """The batch that was open, as it is to be resumed.

    `batch` holds the end of every call but those whose review is still pending; `new_ends` are the ends that
    are not recorded yet, by call id; `notices` says in sentences what the person should know.
    """

    batch: ToolBatch
    new_ends: Mapping[str, CallEnd]
    notices: tuple[str, ...]

    @property
    def pending(self) -> bool:
        """Whether a review is to be asked again."""
        return bool(self.batch.reviews)

    def drop_reviews(self) -> Recovery:
        """Return the recovery without its reviews, whose calls will not run: the person sent another prompt."""
        ends = {id_: CallEnd(outcome=Outcome.NOT_RUN, message=_NOT_ANSWERED) for id_ in self.batch.reviews}
        batch = replace(self.batch, ends={**self.batch.ends, **ends}, reviews={})
        return Recovery(batch=batch, new_ends=ends, notices=())

    def list_ends(self) -> tuple[CallFinished, ...]:
        return tuple(
            CallFinished(
                context=context,
                tool=call.tool_name,
                outcome=end.outcome,
                decision=DecisionLabel.NONE,
                output=end.message,
                duration_secs=0.0,
            )
            for context, call in self.batch.calls
            if (end := self.new_ends.get(context.call_id)) is not None
        )


def plan_recovery(
    open_calls: Sequence[OpenCall],
    *,
    turn_index: int,
    scope: RequestedScope,
    subagent_ends: Sequence[SubagentFinished] = (),
) -> Recovery | None:
    """Decide what becomes of these open calls after a restart; None if there are none.

    `subagent_ends` are those that are not on the record of this session yet.
    A review whose packet was recorded with something hidden in it cannot be asked again: it would be about
    other bytes.
    """
    if not open_calls:
        return None
    batch_id = next((c.context.batch_id for c in open_calls if c.context is not None), generate_id())
    ended_tasks = {end.subagent_id: build_subagent_end(end) for end in subagent_ends}
    ends: dict[str, CallEnd] = {}
    reviews: dict[str, AskedBefore] = {}
    new_ends: dict[str, CallEnd] = {}
    placed: list[tuple[ToolExecutionContext, ToolCall]] = []
    for index, each in enumerate(open_calls):
        call = each.call
        context = each.context or ToolExecutionContext(
            call_id=call.native_id, batch_id=batch_id, call_index=index, turn_index=turn_index
        )
        if each.end is not None:
            ends[context.call_id] = each.end
        elif (
            not each.started
            and each.reply is None
            and each.pending is not None
            and not _has_lost_something(each)
        ):
            reviews[context.call_id] = AskedBefore(
                each.pending.digest, is_edited=each.is_edited, hook_asks="; ".join(each.hook_asks)
            )
            call = replace(call, arguments=each.pending.call.arguments)
        else:
            ends[context.call_id] = new_ends[context.call_id] = _build_call_end(each, ended_tasks)
        placed.append((context, call))
    return Recovery(
        batch=ToolBatch(id=batch_id, calls=tuple(placed), scope=scope, ends=ends, reviews=reviews),
        new_ends=new_ends,
        notices=_list_notices(open_calls, new_ends, len(reviews)),
    )


def _has_lost_something(call: OpenCall) -> bool:
    """Whether the recorded packet is another than the one that was asked about."""
    return call.pending is not None and call.pending.digest != call.pending_digest


def _build_call_end(call: OpenCall, ended_tasks: Mapping[str, CallEnd]) -> CallEnd:
    if call.subagent_end is not None:
        return call.subagent_end
    if call.reply is not None:  # the reply is all that the call is for
        return CallEnd(outcome=Outcome.OK, message=call.reply)
    if call.subagent_id is not None:
        if (end := ended_tasks.get(call.subagent_id)) is not None:
            return end
        return CallEnd(outcome=Outcome.UNKNOWN, message=describe_interruption(call.subagent_id))
    if call.started:
        return CallEnd(outcome=Outcome.UNKNOWN, message=f"{call.call.tool_name} {UNKNOWN}")
    return CallEnd(outcome=Outcome.NOT_RUN, message=_HIDDEN if call.pending is not None else NEVER_BEGUN)


def _list_notices(calls: Sequence[OpenCall], ends: Mapping[str, CallEnd], pending: int) -> tuple[str, ...]:
    by_outcome: dict[Outcome, list[str]] = {}
    for each in calls:
        if (end := ends.get(each.call.native_id)) is not None:
            by_outcome.setdefault(end.outcome, []).append(each.call.tool_name)
    notices: list[str] = []
    if unknown := by_outcome.get(Outcome.UNKNOWN):
        notices.append(f"running when the process ended, effect unknown: {', '.join(unknown)}")
    if never := by_outcome.get(Outcome.NOT_RUN):
        notices.append(f"never begun, and not run now: {', '.join(never)}")
    if pending:
        notices.append("a review is still open" if pending == 1 else f"{pending} reviews are still open")
    return tuple(notices)


def describe_orphans(orphans: Sequence[Orphan]) -> tuple[str, ...]:
    """Describe processes that still run and how to end them, in a sentence; empty if there are none."""
    if not orphans:
        return ()
    named = [f"{each.pid} ({each.command})" if each.command else f"{each.pid}" for each in orphans]
    ids = " ".join(str(each.pid) for each in orphans)
    return (
        f"still running, started by a call whose end is not known: process {', '.join(named)}; quorum leaves "
        f"that to you, and this ends it: kill {ids}",
    )
