"""Keeps a session within its spend caps: every request is admitted before it is sent, and counted after it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, Decimal
from types import MappingProxyType

from msgspec import Struct

from quorum.application.events.event_bus import EventBus
from quorum.application.ports.people import Approver
from quorum.domain.conversation.cost import (
    CapStanding,
    PriceTable,
    SpendCap,
    SpendCaps,
    Spending,
    SpendQuestion,
)
from quorum.domain.conversation.response import Usage
from quorum.domain.errors import SpendCapReached
from quorum.domain.events.event import SpendCapRaised


class Admission(Struct, frozen=True, eq=False):
    """A request that may be sent; `estimate` is reserved for it until it is counted."""

    model: str
    estimate: Usage


class SpendLimiter:
    """Admits the requests of a session, whoever makes them.

    What the session spent before, in other processes too, counts. Requests under way count with their
    estimates, so that several at once cannot exceed a cap together by more than their estimates were short.
    `always_asked` are models that are asked besides that of a request, such as reviewers; `is_free` tells a
    model that costs nothing anywhere. `ceilings` are what nobody may raise a cap above; where there is one for
    the cost, models without a price are not asked.
    """

    def __init__(
        self,
        caps: SpendCaps,
        *,
        prices: PriceTable,
        approver: Approver,
        events: EventBus,
        always_asked: Sequence[str] = (),
        is_free: Callable[[str], bool] = lambda _model: False,
        ceilings: Mapping[SpendCap, Decimal] = MappingProxyType({}),
    ) -> None:
        self._caps = caps
        self._ceilings = ceilings
        self._prices = prices
        self._approver = approver
        self._events = events
        self._always_asked = tuple(always_asked)
        self._is_free = is_free
        self._session = events.state.spending
        self._session_raises = dict(events.state.cap_raises)
        self._turn = Spending()
        self._turn_raises: dict[SpendCap, Decimal] = {}
        self._under_way: list[Admission] = []
        self._accepted_unpriced: set[str] = set()
        self._one_question = asyncio.Lock()

    @property
    def is_on(self) -> bool:
        """Whether there is any cap."""
        return bool(self._caps.limits)

    @property
    def standings(self) -> tuple[CapStanding, ...]:
        """How far each cap is used up, in the order of the settings."""
        return tuple(
            CapStanding(
                cap=cap, limit=limit, spent=cap.get_amount(self._turn if cap.is_per_turn else self._session)
            )
            for cap, limit in self._in_force.limits.items()
        )

    def build_unpriced_notices(self, models: Sequence[str]) -> tuple[str, ...]:
        """What to say at the start of a session with these models: for which of them a cap cannot be kept."""
        unpriced = self._list_unpriced(models)
        if not unpriced:
            return ()
        question = self._build_unpriced_question(unpriced)
        return (f"{question.reason}; {question.remedy}",)

    def begin_turn(self) -> None:
        """What is spent from now on belongs to another turn; what a cap of the turn was raised by is over."""
        self._turn, self._turn_raises = Spending(), {}

    async def admit(self, model: str, estimate: Usage, *, may_ask: bool) -> Admission:
        """Reserve what a request is expected to use. `count` or `release` must follow.

        The person is asked where a cap would be exceeded or cannot be kept; without `may_ask`, and where
        nobody is there, the request is refused at once. Raises SpendCapReached.
        """
        if (question := self._find_question(model, estimate)) is not None:
            if not may_ask or not self._approver.is_there:
                raise _build_refusal(question)
            async with self._one_question:
                while (
                    question := self._find_question(model, estimate)
                ) is not None:  # answered by now, it may fit
                    if (ceiling := self._find_ceiling(question)) is not None:
                        raise SpendCapReached(f"{question.reason}; {ceiling}", cap=question.cap.value)
                    if await self._approver.ask(question) is not True:
                        raise _build_refusal(question)
                    await self._raise(question)
        admission = Admission(model, estimate)
        self._under_way.append(admission)
        return admission

    def release(self, admission: Admission) -> None:
        """The request used nothing, as far as anybody knows."""
        self._under_way.remove(admission)

    def count(self, admission: Admission, usage: Usage) -> None:
        """The request used this."""
        self._under_way.remove(admission)
        cost = self._find_cost(admission.model, usage)
        self._session, self._turn = (
            self._session.with_request(usage, cost),
            self._turn.with_request(usage, cost),
        )

    # ---------------------------------------------------------------- what may be asked

    @property
    def _in_force(self) -> SpendCaps:
        raised = self._caps.raise_by({**self._session_raises, **self._turn_raises}).limits
        # What was raised in an earlier process may be above what is allowed by now.
        return SpendCaps({cap: min(limit, self._ceilings.get(cap, limit)) for cap, limit in raised.items()})

    def _find_question(self, model: str, estimate: Usage) -> SpendQuestion | None:
        """What has to be answered before this request, if anything."""
        if unpriced := self._list_unpriced((model, *self._always_asked)):
            return self._build_unpriced_question(unpriced)
        caps = self._in_force
        session, turn = self._session, self._turn
        for usage, cost in (
            (each.estimate, self._find_cost(each.model, each.estimate)) for each in self._under_way
        ):
            session, turn = session.with_request(usage, cost), turn.with_request(usage, cost)
        cost = self._find_cost(model, estimate)
        session, turn = session.with_request(estimate, cost), turn.with_request(estimate, cost)
        if (cap := caps.find_exceeded(session, turn)) is None:
            return None
        limit, step = caps.limits[cap], self._caps.limits[cap]
        expected = cap.get_amount(turn if cap.is_per_turn else session)
        steps = ((expected - limit) / step).to_integral_value(ROUND_CEILING)
        return SpendQuestion(
            cap=cap,
            models=(model,),
            limit=limit,
            spent=cap.get_amount(self._turn if cap.is_per_turn else self._session),
            estimate=expected,
            raise_to=limit + steps * step,
        )

    def _list_unpriced(self, models: Sequence[str]) -> tuple[str, ...]:
        """Those for which no cap on the cost can be kept, and the person has not agreed to that."""
        if not self._caps.bound_cost:
            return ()
        return tuple(
            model
            for model in dict.fromkeys(models)
            if self._prices.find_price(model) is None
            and not self._is_free(model)
            and model not in self._accepted_unpriced
        )

    def _build_unpriced_question(self, models: tuple[str, ...]) -> SpendQuestion:
        cap, limit = next((cap, limit) for cap, limit in self._in_force.limits.items() if cap.is_cost)
        spent = cap.get_amount(self._turn if cap.is_per_turn else self._session)
        return SpendQuestion(cap=cap, models=models, limit=limit, spent=spent)

    def _find_ceiling(self, question: SpendQuestion) -> str | None:
        """Why nobody may agree to this, one clause; None where the person may."""
        if question.raise_to is None:
            return "it cannot be waived: the managed policy demands it" if self._caps_cost_for_good else None
        ceiling = self._ceilings.get(question.cap)
        if ceiling is None or question.raise_to <= ceiling:
            return None
        return f"the managed policy allows no more than {question.cap.render(ceiling)}"

    @property
    def _caps_cost_for_good(self) -> bool:
        return any(cap.is_cost for cap in self._ceilings)

    async def _raise(self, question: SpendQuestion) -> None:
        if question.raise_to is None:
            self._accepted_unpriced.update(question.models)
            return
        by = question.raise_to - question.limit
        raises = self._turn_raises if question.cap.is_per_turn else self._session_raises
        raises[question.cap] = raises.get(question.cap, Decimal(0)) + by
        await self._events.record(SpendCapRaised(cap=question.cap, by=by, limit=question.raise_to))

    def _find_cost(self, model: str, usage: Usage) -> Decimal | None:
        return Decimal(0) if self._is_free(model) else self._prices.compute_cost(model, usage)


def _build_refusal(question: SpendQuestion) -> SpendCapReached:
    return SpendCapReached(f"{question.reason}; {question.remedy}", cap=question.cap.value)
