"""The types of providers, and all that differs between them but how their APIs are spoken.

It imports nothing of ours, so that settings, prices and the diagnosis may all go by it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, assert_never, get_args

from msgspec import Struct

ProviderType: TypeAlias = Literal["anthropic", "openai", "openai-chat", "copilot", "offline"]
CloudClient: TypeAlias = Literal["", "bedrock", "vertex", "azure"]

PROVIDER_TYPES: tuple[ProviderType, ...] = get_args(ProviderType)
"""All of them, in the order in which they are explained."""

DEFAULT_ANTHROPIC_OUTPUT_TOKENS = 16384
"""The bound of an answer of the type `anthropic`, whose API demands one, where the settings give none."""


class PublicService(Struct, frozen=True, kw_only=True):
    """What holds for a type of provider where the settings say nothing.

    `vendor` is who runs it, as the published prices name them. `address_env` and `key_env` are the environment
    variables of another address and of the key; a server on this machine may be asked without a key where
    `local_needs_no_key`.
    """

    vendor: str
    address: str
    address_env: str
    key_env: str
    local_needs_no_key: bool = False


class ProviderTraits(Struct, frozen=True, kw_only=True):
    """What is to be known of a type of provider.

    `meaning` explains it in the reference of the settings. `package` is the Python package that it needs, None
    for none. `public` is the service of its vendor, None where there is none with an address and a key.
    """

    meaning: str
    package: str | None
    public: PublicService | None = None


_ANTHROPIC = PublicService(
    vendor="anthropic",
    address="https://api.anthropic.com",
    address_env="ANTHROPIC_BASE_URL",
    key_env="ANTHROPIC_API_KEY",
)
_OPENAI = PublicService(
    vendor="openai",
    address="https://api.openai.com/v1",
    address_env="OPENAI_BASE_URL",
    key_env="OPENAI_API_KEY",
    local_needs_no_key=True,
)


def get_traits(type: ProviderType) -> ProviderTraits:
    """All that is to be known of a type of provider."""
    match type:
        case "anthropic":
            return ProviderTraits(meaning="Messages", package="anthropic", public=_ANTHROPIC)
        case "openai":
            return ProviderTraits(meaning="Responses", package="openai", public=_OPENAI)
        case "openai-chat":
            return ProviderTraits(
                meaning="Chat Completions: Ollama, vLLM, llama.cpp, LM Studio, OpenRouter, …",
                package="openai",
                public=_OPENAI,
            )
        case "copilot":
            return ProviderTraits(meaning="the GitHub Copilot CLI, a separate program", package="copilot")
        case "offline":
            return ProviderTraits(meaning="no model", package=None)
        case _:
            assert_never(type)


def find_public_service(type: ProviderType) -> PublicService:
    """The service of the vendor; one without an address or a key where there is none."""
    return get_traits(type).public or PublicService(vendor="", address="", address_env="", key_env="")
