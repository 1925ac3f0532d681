"""The reasoning efforts that each API takes, and the models that refuse one all the same."""

from __future__ import annotations

from typing import assert_never

from quorum.domain.conversation.effort import Effort
from quorum.domain.errors import ProviderError
from quorum.domain.replacing import replace
from quorum.infrastructure.models.shared.api_client import ApiRequest
from quorum.infrastructure.provider_types import ProviderType

_OPENAI = tuple(Effort)
_ANTHROPIC = tuple(effort for effort in Effort if effort is not Effort.MINIMAL)
_COPILOT = tuple(effort for effort in _ANTHROPIC if effort is not Effort.NONE)
_NAMES_OF_THE_FIELDS = ("effort", "adaptive", "outputconfig", "thinkingtype", "supportthinking")


def list_efforts(type: ProviderType) -> tuple[Effort, ...]:
    """The efforts that an API has names for, the least first; none where its models do not reason."""
    match type:
        case "anthropic":
            return _ANTHROPIC
        case "openai" | "openai-chat" | "codex":
            return _OPENAI
        case "copilot" | "claude-cli":
            return _COPILOT
        case "acp" | "offline":
            return ()
        case _:
            assert_never(type)


class RefusedEfforts:
    """The efforts that models of one provider refuse. Which they are is found out by asking."""

    def __init__(self) -> None:
        self._refused: set[tuple[str, Effort]] = set()

    def fit_request(self, request: ApiRequest) -> ApiRequest:
        """The request as its model takes it, as far as that is known."""
        is_refused = (request.model, request.effort) in self._refused
        return replace(request, effort=Effort.DEFAULT) if is_refused else request

    def learn(self, request: ApiRequest, error: ProviderError) -> str:
        """Why this request was refused for its effort, in a sentence; empty where that is not the reason."""
        if error.partial or error.retryable or request.effort is Effort.DEFAULT:
            return ""
        words = "".join(letter for letter in str(error).lower() if letter.isalnum())
        if not any(name in words for name in _NAMES_OF_THE_FIELDS):
            return ""
        self._refused.add((request.model, request.effort))
        return f"{request.model} is asked without the effort {request.effort.value}: {error}"
