"""A gateway whose models say what a script tells them, one list of answers for each model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from quorum.application.ports.models import MessageShaper
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.text.json_value import JsonObject
from tests.support.builders import a_call, calls_response
from tests.support.fake_session import FakeSession, Step

Answers = Sequence[LlmResponse | ProviderError | Step]


class FakeGateway:
    """Implements `LlmGateway`. Every session of a model goes on with that model's script."""

    def __init__(self, scripts: Mapping[str, Answers]) -> None:
        self.scripts = {model: list(answers) for model, answers in scripts.items()}
        self.sessions: list[FakeSession] = []

    @property
    def providers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(model.partition("/")[0] for model in self.scripts))

    @property
    def configured_providers(self) -> tuple[str, ...]:
        return self.providers

    def open_session(
        self,
        model: str,
        conversation: Conversation,
        system: str,
        shape: MessageShaper | None = None,
        *,
        effort: Effort = Effort.DEFAULT,
    ) -> FakeSession:
        if model not in self.scripts:
            raise ProviderError(f"no model {model}", kind=ProviderErrorKind.CONFIGURATION)
        session = FakeSession(
            self.scripts[model],
            conversation=conversation,
            model=model,
            shape=shape,
            system=system,
            effort=effort,
        )
        self.sessions.append(session)
        return session

    def open_exchange(self, model: str) -> FakeSession:
        return self.open_session(model, Conversation(), "")

    def list_efforts(self, model: str) -> tuple[Effort, ...]:
        """All of them, of every model that has a script."""
        return tuple(Effort) if model in self.scripts else ()

    async def all_wait(self, count: int) -> None:
        """Until so many sessions are open, and each of them waits at its gate."""
        async with asyncio.timeout(60):
            while len(self.sessions) < count:  # noqa: ASYNC110 - opening a session is not told
                await asyncio.sleep(0)
            for session in self.sessions:
                await session.waiting.wait()

    async def list_models(self, provider: str) -> tuple[str, ...]:
        return tuple(model for model in self.scripts if model.startswith(f"{provider}/"))

    async def aclose(self) -> None:
        """There is no connection to close."""


def ballot(
    verdict: str, reason: str = "because", confidence: float = 0.8, *, in_scope: str = "yes", **more: str
) -> LlmResponse:
    arguments: JsonObject = {
        **{"verdict": verdict, "in_scope": in_scope, "confidence": confidence, "reason": reason},
        **more,
    }
    return calls_response(a_call("cast_ballot", arguments))
