"""Whether there is a model to ask, and what a client can tell the person to do where there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from acp.exceptions import RequestError
from acp.schema import AuthMethodAgent

from quorum.domain.conversation.history import Conversation
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.model_choice import DEFAULT_MODELS, OFFLINE_MODEL, StoredKey, choose_model
from quorum.infrastructure.managed_policy import open_registry
from quorum.infrastructure.models.registry import ProviderRegistry

_AUTH_REQUIRED = -32000

KEY_METHOD = AuthMethodAgent(
    id="provider-key",
    name="Set up a model provider",
    description="Set ANTHROPIC_API_KEY or OPENAI_API_KEY in the environment of the editor, store a key with "
    "`quorum keys set anthropic`, or set models.decision in quorum.toml; then try again",
)
"""The one way to sign in: the person sets up a provider, and quorum looks again."""


async def require_provider(
    loaded: LoadedSettings, environ: Mapping[str, str], stored_key: StoredKey, former: str = ""
) -> None:
    """Check that the model of a session could be asked; nothing is sent. `former` is the one that it had.

    The offline interpreter is none, unless it is chosen. Raises ProviderError, and what `choose_model` does.
    """
    gateway = open_registry(loaded, environ, stored_key)
    try:
        await asyncio.to_thread(_require_model, gateway, loaded, environ, stored_key, former)
    finally:
        await gateway.aclose()


def _require_model(
    gateway: ProviderRegistry,
    loaded: LoadedSettings,
    environ: Mapping[str, str],
    stored_key: StoredKey,
    former: str,
) -> None:
    if former not in ("", OFFLINE_MODEL):
        with suppress(ProviderError):  # then the model of the settings takes its place
            gateway.open_session(former, Conversation(), "")
            return
    choice = choose_model(loaded, environ, stored_key)
    if choice.model == OFFLINE_MODEL and not loaded.settings.models.decision:
        tables = (loaded.settings.providers[name] for name in DEFAULT_MODELS)
        variables = " or ".join(table.api_key_env for table in tables if table.api_key_env)
        raise ProviderError(
            f"{choice.reason}; set {variables} in the environment of the editor, store a key with "
            "`quorum keys set anthropic`, or set models.decision in quorum.toml",
            kind=ProviderErrorKind.CONFIGURATION,
        )
    gateway.open_session(choice.model, Conversation(), "")


def explain_sign_in(error: ProviderError, folder: Path) -> RequestError:
    """The error of the protocol for a provider that cannot be asked. Clients offer the methods to sign in."""
    return RequestError(_AUTH_REQUIRED, f"Authentication required: {error}", {"cwd": str(folder)})
