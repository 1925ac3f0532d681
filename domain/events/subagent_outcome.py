"""What came of a subagent's task, and how its owner reads it."""

from __future__ import annotations

from msgspec import Struct, field

from quorum.domain.calls.execution import Outcome
from quorum.domain.conversation.response import Usage
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.plan.phase import FAIL_TASK
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.struct_json import Amount

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
