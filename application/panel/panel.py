"""Asking several models at the same time, each with its own stream, time limit, failure and cost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import TypeVar

from msgspec import Struct, field

from quorum.application.event_bus import EventBus
from quorum.application.ports.models import LlmGateway, MessageShaper
from quorum.application.ports.tools import AnswerTools
from quorum.application.structured_answer import (
    AnswerForm,
    AnswerTooLong,
    Unreadable,
    ask_for_words,
    ask_in_form,
    limit_answer,
)
from quorum.domain.conversation.context_size import ContextMeter
from quorum.domain.conversation.cost import PriceTable, Spending
from quorum.domain.conversation.effort import Effort, find_effort
from quorum.domain.conversation.history import Conversation, Message, UserMessage
from quorum.domain.conversation.response import Delta, LlmResponse, StopKind, StreamEvent, Usage
from quorum.domain.errors import ProviderError, RequestSkipped, SpendCapReached
from quorum.domain.events.event import AnswerProgressed, PanelAnswered, UsageCounted
from quorum.domain.panel.cost_estimate import (
    LONGEST_SHOWN_ANSWER,
    CostEstimate,
    PlannedRequests,
    QuestionSize,
    estimate_cost,
)
from quorum.domain.panel.panel_answer import AnswerStatus, PanelAnswer, Participant
from quorum.domain.replacing import replace
from quorum.domain.text.json_text import count_utf8_bytes

PARTICIPANTS = "participants"
MODERATOR = "moderator"
_SECS_BETWEEN_REPORTS = 0.1
_SHOWN_CHARACTERS = 4_000  # of an answer that is still being written

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class NoFormAnswer(Exception):
    """A model gave no answer in the form that was asked for; the text says why, `status` in what way."""

    def __init__(self, message: str, status: AnswerStatus = AnswerStatus.FAILED) -> None:
        super().__init__(message)
        self.status = status


class PanelQuestion(Struct, frozen=True, kw_only=True):
    """What a participant is asked: a message of the person, and the conversation before it.

    `left_out` is that of the conversation: what a participant refuses is noted there.
    """

    system: str
    said: UserMessage
    before: tuple[Message, ...] = ()
    left_out: dict[tuple[str, str], str] = field(default_factory=dict)

    def open_conversation(self) -> Conversation:
        """A conversation of its own, in which the question is to be asked."""
        conversation = Conversation(self.before)
        conversation.left_out = self.left_out
        return conversation


class Panel:
    """Asks models in parallel: all of it takes as long as the slowest of them, or `timeout_secs`.

    Every request is on its own: none sees what another model is asked or answers. `efforts` are those of models
    and roles. `longest_answer` answers the tokens of a model's longest answer, None where that is not known.
    """

    def __init__(
        self,
        *,
        gateway: LlmGateway,
        events: EventBus,
        prices: PriceTable,
        timeout_secs: float,
        efforts: Mapping[str, Effort] = MappingProxyType({}),
        shape: MessageShaper | None = None,
        longest_answer: Callable[[str], int | None] = lambda _model: None,
    ) -> None:
        self.longest_answer = longest_answer
        self._gateway = gateway
        self._events = events
        self._prices = prices
        self._timeout_secs = timeout_secs
        self._efforts = efforts
        self._shape = shape
        self._spent: list[tuple[Usage, Decimal | None]] = []

    def measure(self, question: PanelQuestion) -> QuestionSize:
        """Estimate the tokens of a question, by the bytes of its text."""
        whole = ContextMeter(count_utf8_bytes(question.system)).estimate_tokens(
            (*question.before, question.said)
        )
        return QuestionSize(whole=whole, bare=ContextMeter().estimate_tokens((question.said,)))

    def estimate_costs(self, planned: Sequence[PlannedRequests]) -> tuple[CostEstimate, ...]:
        """What these requests cost at least and at most."""
        return tuple(estimate_cost(each, self._prices, self.longest_answer(each.model)) for each in planned)

    async def gather_answers(
        self,
        panel_id: str,
        participants: Sequence[Participant],
        question: PanelQuestion,
        known: Mapping[str, PanelAnswer],
    ) -> tuple[PanelAnswer, ...]:
        """The answer of each participant, in their order; whatever fails is an answer that says so.

        Each is recorded as soon as it is there. Those that are `known`, by label, are not asked for again.
        Raises HookAborted where a hook ends the run; a cancellation ends all requests.
        """

        async def answer(participant: Participant) -> PanelAnswer:
            if (before := known.get(participant.label)) is not None:
                return before
            given = await self._answer(panel_id, participant, question)
            await self._events.record(PanelAnswered(panel_id=panel_id, answer=given))
            return given

        return await ask_in_parallel(participants, answer)

    async def ask_in_form(
        self,
        model: str,
        system: str,
        question: str | UserMessage,
        form: AnswerForm[_Result],
        *,
        role: str,
        conversation: Conversation | None = None,
        tools: AnswerTools | None = None,
        timeout_secs: float | None = None,
        on_usage: Callable[[Usage, Decimal | None], None] = lambda _usage, _cost: None,
    ) -> _Result:
        """The answer of one model in this form, within the time limit, or another one. `role` says whose effort
        it has where the model has none of its own; `conversation` is what comes before the question, which goes
        through the hooks where it is a message of the person; `tools` are what it may call first; `on_usage` is
        given what each request used and cost. Raises NoFormAnswer."""
        conversation = conversation if conversation is not None else Conversation()
        shape = self._shape if isinstance(question, UserMessage) else None
        limit_secs = self._timeout_secs if timeout_secs is None else timeout_secs

        async def count(response: LlmResponse) -> None:
            on_usage(response.usage, (await self._count(model, response.usage)).cost_usd)

        try:
            async with asyncio.timeout(limit_secs):
                effort = find_effort(self._efforts, model, role)
                session = self._gateway.open_session(model, conversation, system, shape, effort=effort)
                return await ask_in_form(session, conversation, question, form, count=count, tools=tools)
        except TimeoutError as late:
            raise NoFormAnswer(f"no answer within {limit_secs:g} s", AnswerStatus.TIMED_OUT) from late
        except SpendCapReached as error:
            raise NoFormAnswer(str(error), AnswerStatus.NOT_ASKED) from error
        except (ProviderError, Unreadable, RequestSkipped) as error:
            raise NoFormAnswer(str(error)) from error

    def take_spent(self) -> list[tuple[Usage, Decimal | None]]:
        spent, self._spent = self._spent, []
        return spent

    async def _answer(self, panel_id: str, participant: Participant, question: PanelQuestion) -> PanelAnswer:
        began = time.monotonic()
        writing = _Writing(self._events, panel_id, participant.label)
        responses: list[LlmResponse] = []
        answer = PanelAnswer(label=participant.label, model=participant.model, status=AnswerStatus.FAILED)
        try:
            async with asyncio.timeout(self._timeout_secs):
                conversation = question.open_conversation()
                session = self._gateway.open_session(
                    participant.model,
                    conversation,
                    question.system,
                    self._shape,
                    effort=find_effort(self._efforts, participant.model, PARTICIPANTS),
                )
                async with limit_answer(writing) as on_event:
                    response = await session.send_with_tools(question.said, (), on_event=on_event)
                    responses.append(response)
                    if again := await ask_for_words(session, conversation, response, on_event):
                        responses.append(again)
        except TimeoutError:
            limit = f"no answer within {self._timeout_secs:g} s"
            answer = replace(answer, status=AnswerStatus.TIMED_OUT, text=writing.text, reason=limit)
        except AnswerTooLong as problem:
            shown = writing.text[:LONGEST_SHOWN_ANSWER]
            answer = replace(answer, status=AnswerStatus.TOO_LONG, text=shown, reason=str(problem))
        except SpendCapReached as stop:
            answer = replace(answer, status=AnswerStatus.NOT_ASKED, reason=str(stop))
        except (ProviderError, RequestSkipped) as error:
            answer = replace(answer, text=writing.text, reason=str(error))
        else:
            answer = _read_answer(answer, responses[-1])
        if responses:
            spent = Spending()
            for response in responses:
                spent = (await self._count(participant.model, response.usage)).add_to(spent)
            answer = replace(answer, usage=spent.usage, cost_usd=spent.cost_usd)
        return replace(answer, secs=round(time.monotonic() - began, 3))

    async def _count(self, model: str, usage: Usage) -> UsageCounted:
        counted = UsageCounted.of(model, usage, self._prices)
        self._spent.append((usage, counted.cost_usd))
        await self._events.record(counted)
        return counted


async def ask_in_parallel(
    items: Sequence[_Item], ask: Callable[[_Item], Awaitable[_Result]]
) -> tuple[_Result, ...]:
    """The results for all items, in their order. The first error ends the others, and is raised as it is."""

    async def ask_one(item: _Item) -> _Result:
        return await ask(item)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ask_one(item)) for item in items]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return tuple(task.result() for task in tasks)


class _Writing:
    """Collects an answer while it arrives, and reports the end of it a few times a second."""

    def __init__(self, events: EventBus, panel_id: str, label: str) -> None:
        self._events = events
        self._panel_id = panel_id
        self._label = label
        self._pieces: list[str] = []
        self._tail = ""
        self._characters = 0
        self._reported: float | None = None

    @property
    def text(self) -> str:
        """What has arrived."""
        return "".join(self._pieces)

    def __call__(self, event: StreamEvent) -> None:
        if not isinstance(event, Delta):
            return
        self._pieces.append(event.text)
        self._characters += len(event.text)
        self._tail = (self._tail + event.text)[-_SHOWN_CHARACTERS:]
        now = time.monotonic()
        if self._reported is None or now - self._reported >= _SECS_BETWEEN_REPORTS:
            self._reported = now
            self._events.show(
                AnswerProgressed(
                    panel_id=self._panel_id, label=self._label, text=self._tail, characters=self._characters
                )
            )


def _read_answer(answer: PanelAnswer, response: LlmResponse) -> PanelAnswer:
    text = response.text_content().strip()
    if response.stop_reason.kind is StopKind.REFUSAL:
        return replace(answer, status=AnswerStatus.REFUSED, text=text, reason="the model refused")
    if not response.has_words:
        said = f"it said nothing ({response.stop_reason})"
        return replace(answer, status=AnswerStatus.EMPTY, reason=said)
    return replace(answer, status=AnswerStatus.ANSWERED, text=text)
