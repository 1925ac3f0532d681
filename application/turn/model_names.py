"""Models as files name them: in full, or by a part of a name that the session's provider lists."""

from __future__ import annotations

from quorum.application.ports.models import LlmGateway
from quorum.domain.errors import ProviderError, ProviderErrorKind

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
