"""The types of providers, and all that differs between them but how their APIs are spoken.

It imports nothing of ours, so that settings, prices and the diagnosis may all go by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, assert_never, get_args

from msgspec import Struct, field

ProviderType: TypeAlias = Literal[
    "anthropic", "openai", "openai-chat", "copilot", "claude-cli", "codex", "acp", "offline"
]
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


class ProviderProgram(Struct, frozen=True, kw_only=True):
    """The program through which models are asked. `name` is what people call it, `default` the command that is
    looked up on PATH, "" where the settings must name it; `install` and `sign_in` are what a person runs.
    `login_env` are the environment variables that say who asks, and are passed on to it alone; those of `sets`
    it is given besides.
    """

    name: str
    default: str
    install: str
    sign_in: str
    login_env: tuple[str, ...] = ()
    sets: Mapping[str, str] = field(default_factory=dict)


class ProviderTraits(Struct, frozen=True, kw_only=True):
    """What is to be known of a type of provider.

    `meaning` explains it in the reference of the settings. `package` is the Python package that it needs, None
    for none. `public` is the service of its vendor, None where there is none with an address and a key.
    `program` is the program of the vendor that is asked. A provider that `only_answers` calls no tools, and is
    paid by the plan of the program.
    """

    meaning: str
    package: str | None
    public: PublicService | None = None
    program: ProviderProgram | None = None
    only_answers: bool = False


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


_COPILOT = ProviderProgram(
    name="the GitHub Copilot CLI",
    default="copilot",
    install="npm install -g @github/copilot",
    sign_in="`copilot login`",
)
_CLAUDE = ProviderProgram(
    name="Claude Code",
    default="claude",
    install="npm install -g @anthropic-ai/claude-code",
    sign_in="`claude auth login`",
    login_env=("CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN"),
)
_CODEX = ProviderProgram(
    name="Codex",
    default="codex",
    install="npm install -g @openai/codex",
    sign_in="`codex login`",
    login_env=("CODEX_HOME",),
    sets={"RUST_LOG": "error,codex_core::stream_events_utils=info"},  # its log tells of each call of a tool
)
_ACP = ProviderProgram(
    name="the ACP agent",
    default="",
    install="install it as its vendor says",
    sign_in="the agent's own command",
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
            return ProviderTraits(
                meaning="the GitHub Copilot CLI, a separate program", package="copilot", program=_COPILOT
            )
        case "claude-cli":
            return ProviderTraits(
                meaning="Claude Code, only for votes and answers",
                package=None,
                program=_CLAUDE,
                only_answers=True,
            )
        case "codex":
            return ProviderTraits(
                meaning="Codex, for votes and answers", package=None, program=_CODEX, only_answers=True
            )
        case "acp":
            return ProviderTraits(
                meaning="an agent over ACP, for votes and answers",
                package=None,
                program=_ACP,
                only_answers=True,
            )
        case "offline":
            return ProviderTraits(meaning="no model", package=None)
        case _:
            assert_never(type)


def find_public_service(type: ProviderType) -> PublicService:
    """The service of the vendor; one without an address or a key where there is none."""
    return get_traits(type).public or PublicService(vendor="", address="", address_env="", key_env="")


def split_program(type: ProviderType, program: str) -> tuple[str, ...]:
    """The program of the settings and its arguments, which that of the type `acp` alone may have."""
    if type != "acp":
        return (program,) if program else ()
    import shlex

    try:
        return tuple(shlex.split(program))
    except ValueError:  # a quotation mark is not closed
        return tuple(program.split())
