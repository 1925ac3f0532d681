"""Opens the sessions in which a conversation is sent to models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from application.instructions.system_prompt import SystemPrompt
from application.ports.models import LlmSession, MessageShaper
from application.turn.reasoning_efforts import ReasoningEfforts
from application.turn.switchable_session import OpenSession
from domain.conversation.history import Conversation
from domain.errors import ProviderError


@dataclass(frozen=True, slots=True)
class Opening:
    """The first way to a model; `notices` say which other one was wanted and why it cannot be had."""

    session: LlmSession
    notices: tuple[str, ...] = ()


def make_session_opener(
    open_session: Callable[..., LlmSession],
    *,
    conversation: Conversation,
    system_prompt: SystemPrompt,
    shape: MessageShaper,
    efforts: ReasoningEfforts,
) -> OpenSession:
    """Opens sessions with models for this conversation, each with the system prompt and effort as they are
    then."""
    return lambda model: open_session(
        model, conversation=conversation, system=system_prompt.text, shape=shape, effort=efforts.of(model)
    )


def open_first(open_session: Callable[[str], LlmSession], models: Sequence[str]) -> Opening:
    """Open a session with the first of these models that can be had. Raises ProviderError where none can."""
    notices: list[str] = []
    for model, following in pairwise(models):
        try:
            return Opening(open_session(model), tuple(notices))
        except ProviderError as error:
            notices.append(
                f"The session's model, {model}, cannot be used, so {following} continues it: {error}"
            )
    return Opening(open_session(models[-1]), tuple(notices))


def check_fallbacks(open_session: Callable[[str], LlmSession], models: Sequence[str]) -> tuple[str, ...]:
    """What is wrong with the models that replace others: reported at the start, not when they are needed."""
    notices: list[str] = []
    for model in models:
        try:
            open_session(model)
        except ProviderError as error:
            notices.append(f"{model} in models.decision_fallback cannot stand in: {error}")
    return tuple(notices)
