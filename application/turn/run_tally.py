"""The bounds of one run, its totals, and which of its endings is reported."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Protocol

from quorum.application.ports.subagents import SubagentPort
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.cost import Spending
from quorum.domain.conversation.response import LlmResponse, Usage, says_anything
from quorum.domain.events.report import MAX_TIME, CallRecord, RunReport, RunStatus
from quorum.domain.goal import PROPOSE_CHECKS
from quorum.domain.plan.plan import RUN_TASK, UPDATE_TASK
from quorum.domain.plan.progress import PlanProgress
from quorum.domain.review.person_question import ASK_PERSON
from quorum.domain.review.plan_terms import CREATE_PLAN
from quorum.domain.review.questions import DecisionLabel

_APPROVED = frozenset({DecisionLabel.APPROVED, DecisionLabel.EDITED})


class Spender(Protocol):
    """Sends requests of its own beside those of the conversation, such as a reviewer's."""

    def take_spent(self) -> list[tuple[Usage, Decimal | None]]:
        """The tokens of each request since the last time, and its cost in USD where that is known."""
        ...


def _waits_for_person(record: CallRecord) -> bool:
    """Whether it is a plan that no person was asked about, or a question, also about the checks of a goal, that
    nobody was there to answer."""
    if record.tool in (ASK_PERSON, PROPOSE_CHECKS):
        return record.decision is DecisionLabel.NEEDS_APPROVAL
    return record.tool == CREATE_PLAN and record.outcome is Outcome.OK and record.decision not in _APPROVED


class RunTally:
    """Collects one run. Every ending that applied is kept; the report names the strictest."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._responses = 0
        self._spending = Spending()
        self._text = ""
        self._stop_reason: str | None = None
        self._records: list[CallRecord] = []
        self._rejections: Counter[str] = Counter()
        self._error: str | None = None
        self._fallbacks: tuple[str, ...] = ()
        self._interrupted = self._provider_failed = self._limited = self._gave_up = self._refused = False
        self._subagents_need_approval = False
        self._expired = ""
        self.host_failure = ""
        """What is wrong with the machine or the server of the record, where the run ended for that."""
        self.waits_for_person = False
        """Whether the turn ends for a plan or a question that nobody was there to answer."""

    @property
    def rejected_alike(self) -> int:
        """How often the most rejected call, same tool and same arguments, was rejected."""
        return max(self._rejections.values(), default=0)

    @property
    def text(self) -> str:
        """The last answer, with those that it continues."""
        return self._text

    @property
    def has_words(self) -> bool:
        """Whether the last answer, with those that it continues, says anything."""
        return says_anything(self._text)

    @property
    def broke_off(self) -> bool:
        """Whether the run was stopped in the middle, by the person or by a failing provider."""
        return self._interrupted or self._provider_failed

    @property
    def is_cut_short(self) -> bool:
        """Whether the run ends before the model came to its end."""
        return self.broke_off or bool(self._expired) or self._limited or self._gave_up or self._refused

    def add_response(self, response: LlmResponse, cost_usd: Decimal | None, *, continues: bool) -> None:
        """Count an answer, and its cost where that is known.

        `continues`: its text continues where the one before was cut off.
        """
        self._responses += 1
        self._spending = self._spending.with_request(response.usage, cost_usd)
        self._stop_reason = str(response.stop_reason)
        text = response.text_content()
        self._text = self._text + text if continues else text

    def add_spent(self, *spenders: Spender) -> None:
        """Count their requests, which were no part of the conversation."""
        for spender in spenders:
            for usage, cost_usd in spender.take_spent():
                self.count(usage, cost_usd)

    def count(self, usage: Usage, cost_usd: Decimal | None) -> None:
        """Count a request whose answer is no part of the conversation."""
        self._spending = self._spending.with_request(usage, cost_usd)

    def add_subagents(self, subagents: SubagentPort | None) -> None:
        """Count the requests of its subagents, and note whether a call of theirs needed approval in vain."""
        if subagents is None:
            return
        self.add_spent(subagents)
        self._subagents_need_approval |= subagents.take_needs_approval()

    def add_calls(self, records: Sequence[CallRecord], calls: Sequence[ToolCall]) -> None:
        """Count the calls of a batch, in declared order."""
        self._records += records
        self.waits_for_person |= any(map(_waits_for_person, records))
        for record, call in zip(records, calls, strict=True):
            if record.outcome.is_rejected:
                self._rejections[f"{call.tool_name} {json.dumps(call.arguments, sort_keys=True)}"] += 1

    def add_fallbacks(self, models: Sequence[str]) -> None:
        """Note the models that stood in for the chosen one."""
        self._fallbacks = tuple(models)

    def interrupt(self) -> None:
        """Note that the person stopped the run."""
        self._interrupted = True

    def fail(self, error: str) -> None:
        self._provider_failed, self._error = True, error

    def limit(self, stop_reason: str, error: str | None = None) -> None:
        """Note that a limit of turns, tokens or costs ended the run; `error` describes it in a sentence."""
        self._limited, self._stop_reason, self._error = True, stop_reason, error

    def expire(self, secs: float | None) -> None:
        """Note that the time of the run was over: what that cut short, nobody interrupted."""
        self._expired = f"the turn took longer than the {secs:g} s of agent.{MAX_TIME}"

    def give_up(self, error: str, *, is_of_host: bool = False) -> None:
        """Note that the run ended without an answer, for a reason of quorum's own, or of its host."""
        self._gave_up, self._error = True, error
        if is_of_host:
            self.host_failure = error

    def refuse(self) -> None:
        self._refused = True

    def report(self, progress: PlanProgress | None = None) -> RunReport:
        """Return the report of the run so far.

        `progress` is that of the plan in force: a run that marked its tasks has failed where one of them has.
        """
        failed = self._describe_failed_tasks(progress) if progress is not None else ""
        if failed and self._error is None:
            self.give_up(failed)
        return RunReport(
            session_id=self._session_id,
            status=self._choose_status(),
            stop_reason=MAX_TIME if self._expired else self._stop_reason,
            text=self._text,
            turns=self._responses,
            usage=self._spending.usage,
            cost_usd=self._spending.cost_usd,
            calls=tuple(self._records),
            error=self._expired or self._error,
            provider_failed=self._provider_failed,
            fallback_models=self._fallbacks,
        )

    def _describe_failed_tasks(self, progress: PlanProgress) -> str:
        marked = any(
            each.tool == RUN_TASK or (each.tool == UPDATE_TASK and each.outcome is Outcome.OK)
            for each in self._records
        )
        failed = [task.id for task in progress.failed] if marked else []
        blocked = [task.id for task in progress.plan.ordered if progress.is_blocked(task.id)]
        if not failed:
            return ""
        behind = f"; {', '.join(blocked)} cannot be started because of it" if blocked else ""
        return f"of the plan failed: {', '.join(failed)}{behind}"

    def _choose_status(self) -> RunStatus:
        if self._expired:
            return RunStatus.LIMIT
        if self._interrupted:
            return RunStatus.INTERRUPTED
        if self._provider_failed:
            return RunStatus.FAILED
        if self._limited:
            return RunStatus.LIMIT
        if self._subagents_need_approval or any(
            record.decision is DecisionLabel.NEEDS_APPROVAL for record in self._records
        ):
            return RunStatus.NEEDS_APPROVAL
        if self._gave_up:
            return RunStatus.FAILED
        if self._refused:
            return RunStatus.REFUSED
        return RunStatus.COMPLETED
