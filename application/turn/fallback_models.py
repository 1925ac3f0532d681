"""The models that stand in, one after the other, where the chosen one is overloaded or cannot be reached.

Models as files name them: in full, or by a part of a name that the session's provider lists.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from quorum.application.events.event_bus import EventBus
from quorum.application.ports.models import LlmExchange, LlmGateway
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import ErrorOccurred, ModelFellBack

SESSIONS_OWN = frozenset({"", "inherit", "default"})
"""What stands for the model that the session has."""


async def complete_model_name(model: str, current: str, gateway: LlmGateway) -> str:
    """Complete a model to "provider/model". Without a provider it is one of that of the `current` model, by its
    name or a part of it, as `haiku` is. Raises ProviderError."""
    if "/" in model:
        return model
    provider = current.partition("/")[0]
    listed = await gateway.list_models(provider)
    full = f"{provider}/{model}"
    if full in listed:
        return full
    if (near := next((name for name in listed if model in name), None)) is not None:
        return near
    raise ProviderError(f"{provider} lists no model of that name", kind=ProviderErrorKind.CONFIGURATION)


OUTAGES = frozenset(
    (
        ProviderErrorKind.OVERLOADED,
        ProviderErrorKind.RATE_LIMIT,
        ProviderErrorKind.SERVER,
        ProviderErrorKind.CONNECTION,
        ProviderErrorKind.TIMEOUT,
    )
)
"""Failures for which another model may be asked; any other would meet it too, or is for the person to mend."""

FAILURES_IN_A_ROW = 3
"""After so many failures of one request it is waited for no more."""


class FallbackModels:
    """The models of `models.decision_fallback`, each asked at most once in a turn, in their order."""

    def __init__(self, models: Sequence[str], events: EventBus) -> None:
        self._models = tuple(dict.fromkeys(models))
        self._events = events
        self._left = list(self._models)
        self._used: list[str] = []

    @property
    def are_left(self) -> bool:
        """Whether another model may be asked in this turn."""
        return bool(self._left)

    def begin_turn(self) -> None:
        """Start a turn: all models may be asked again."""
        self._left, self._used = list(self._models), []

    @property
    def used(self) -> tuple[str, ...]:
        """Those that stood in during this turn."""
        return tuple(self._used)

    async def open_next(
        self, failed: str, chosen: str, reason: str, open_exchange: Callable[[str], Awaitable[LlmExchange]]
    ) -> LlmExchange | None:
        """What sends requests to the next of them that can be had, after it was said that it stands in; None
        where none is left. `reason` is why `failed` does not answer."""
        while self._left:
            model = self._left.pop(0)
            if model in (failed, chosen):
                continue
            try:
                exchange = await open_exchange(model)
            except ProviderError as error:
                await self._events.record(ErrorOccurred(message=f"{model} cannot stand in: {error}"))
                continue
            self._used.append(model)
            await self._events.record(ModelFellBack(model=model, instead_of=failed, reason=reason))
            return exchange
        return None
