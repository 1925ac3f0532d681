"""Events about other sessions: subagents that work on a task, and what a session takes over from another."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from msgspec import Struct, field

from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.conversation.exchanges import ContextExtent
from quorum.domain.conversation.response import Usage
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.fact import CallStage, CanonicalPlace, Fact
from quorum.domain.plan.plan import FAIL_TASK
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.struct_json import Amount
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_value import JsonObject

_INTERRUPTED = (
    "the task was interrupted when the process ended; what it had said and done by then is in session {id}, "
    "and what it changed stays changed. Look before you repeat it."
)
_GAVE_UP = "the subagent says that it cannot be done as planned"


class SubagentOutcome(Struct, frozen=True, kw_only=True):
    """The end of a task. `text` is the last that the subagent said, `error` why it did not come to its end.

    `turns` are its answers; `cost_usd` is None where that is not known. `needs_approval`: a call of it was
    withheld because nobody was there to approve it, whatever its end was.
    """

    status: RunStatus
    text: str
    error: str | None = None
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: Amount | None = None
    needs_approval: bool = False

    @classmethod
    def of(cls, report: RunReport) -> SubagentOutcome:
        """What the report of its run comes to. A run that called `fail_task` has failed, however it ended."""
        gave_up = any(call.tool == FAIL_TASK and call.outcome is Outcome.OK for call in report.calls)
        has_failed = gave_up and report.status is not RunStatus.INTERRUPTED
        return cls(
            status=RunStatus.FAILED if has_failed else report.status,
            text=report.text,
            error=(report.error or _GAVE_UP) if has_failed else report.error,
            turns=report.turns,
            usage=report.usage,
            cost_usd=report.cost_usd,
            needs_approval=any(call.decision is DecisionLabel.NEEDS_APPROVAL for call in report.calls),
        )

    @property
    def is_answer(self) -> bool:
        """Whether there is a text that the owner can use, be it not the whole."""
        return bool(self.text.strip()) and self.status not in (RunStatus.FAILED, RunStatus.INTERRUPTED)

    @property
    def message(self) -> str:
        """The result of the call, as the owner's model reads it."""
        text = self.text.strip()
        if (why := self._describe_shortfall()) is None:
            return text or "the task ended, and its agent said nothing"
        return f"[{why}]\n{text}" if text else why

    def _describe_shortfall(self) -> str | None:
        because = f": {self.error}" if self.error else ""
        match self.status:
            case RunStatus.COMPLETED:
                return None
            case RunStatus.LIMIT:
                return f"the task reached a limit before it was done{because}"
            case RunStatus.NEEDS_APPROVAL:
                return "a call of the task needed the approval of a person, and nobody was there to give it"
            case RunStatus.REFUSED:
                return "the model of the task refused to answer"
            case RunStatus.FAILED:
                return f"the task failed{because}"
            case RunStatus.INTERRUPTED:
                return "the task was interrupted; part of its work may be done"


def describe_interruption(session_id: str) -> str:
    """What the owner's model reads of a task whose process died."""
    return _INTERRUPTED.format(id=session_id)


class SubagentStarted(Fact, frozen=True, kw_only=True, tag="subagent_started"):
    """A call gave a task to a subagent, whose session has the id `subagent_id`. `agent` names its definition,
    and is empty for the one that quorum brings; `model` is "provider/model"."""

    place: ClassVar = CallStage.SUBAGENT_START
    context: ToolExecutionContext
    subagent_id: str
    prompt: str
    model: str
    agent: str = ""


class SubagentProgressed(Fact, frozen=True, kw_only=True, tag="subagent_progressed"):
    """Something happened in the session of a subagent: `event` is that, as JSON.

    A stream has it in the form of a line of its own.
    """

    durable: ClassVar = False
    context: ToolExecutionContext
    subagent_id: str
    event: JsonObject


class SubagentFinished(Fact, frozen=True, kw_only=True, tag="subagent_finished"):
    """A subagent came to the end of its task, whatever that is. It is not asked again, in this process or
    another."""

    place: ClassVar = CallStage.SUBAGENT_END
    context: ToolExecutionContext
    subagent_id: str
    outcome: SubagentOutcome


SubagentEvent: TypeAlias = SubagentStarted | SubagentProgressed | SubagentFinished


class ContextReceived(Fact, frozen=True, kw_only=True, tag="context_received"):
    """The session was opened from another one, `session_id`, whose first prompt was `title`.

    The model reads `note` with the next request, None for nothing: it is about so many `exchanges`, told to
    that `extent`. `depth` counts the sessions that this one follows, each opened from the one before.
    """

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    note_id: str
    session_id: str
    title: str
    extent: ContextExtent
    exchanges: int
    depth: int
    note: str | None = None

    @property
    def details(self) -> str:
        """What the model reads of it."""
        return self.note or ""

    @property
    def sentence(self) -> str:
        """What its models know of the other session, in a sentence."""
        if self.note is None:
            return "knows nothing of the session that it was opened from"
        told = format_amount(self.exchanges, "exchange")
        how = "" if self.extent is ContextExtent.FULL else " in a line each"
        return f"knows {told} of the session “{self.title}”{how}"


class ResultReceived(Fact, frozen=True, kw_only=True, tag="result_received"):
    """The person took over the last answer of another session, of that `form`, whose first prompt was `title`.

    The model reads `note` with the next request. `responses` counts the answers of that session up to it.
    """

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    note_id: str
    session_id: str
    title: str
    form: SessionKind
    responses: int
    note: str

    @property
    def details(self) -> str:
        """What the model reads of it."""
        return self.note

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        taken = f"took over the answer of “{self.title}” ({self.form.value})"
        return f"{taken}; the model reads it with the next request"
