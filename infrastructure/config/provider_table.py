"""The settings `[providers.NAME]`: how one provider is reached."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct, field

from quorum.domain.calls.tool_parser import ToolParser
from quorum.infrastructure.config.about import About, ProjectRule
from quorum.infrastructure.config.web_address import is_web_address
from quorum.infrastructure.provider_types import (
    PROVIDER_TYPES,
    CloudClient,
    ProviderType,
    find_public_service,
    get_traits,
)

_HEADER_NAME = r"\A[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z"
_VARIABLE = r"\A([A-Za-z_][A-Za-z0-9_]*)?\Z"
_HEADER_VALUE = r"\A[\t -~]*\Z"
_PLAIN_WORD = r"\A[A-Za-z0-9._:-]*\Z"
_NEVER = ProjectRule.NEVER
*_OTHERS, _LAST = (f"{each} ({get_traits(each).meaning})" for each in PROVIDER_TYPES)
_TYPES = f"{', '.join(_OTHERS)}, or {_LAST}"


class ProviderTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How one provider is reached."""

    type: Annotated[
        ProviderType,
        About(
            description=f"The API of the server: {_TYPES}.",
            project=_NEVER,
        ),
    ]
    client: Annotated[
        CloudClient,
        About(
            description="The cloud that serves it: bedrock, vertex or azure for anthropic, azure for openai "
            "and openai-chat (docs/cloud-providers.md). The cloud has its own address and its own "
            "authentication. Empty: no cloud.",
            project=_NEVER,
        ),
    ] = ""
    region: Annotated[
        str,
        Meta(pattern=_PLAIN_WORD),
        About(
            description="For bedrock and vertex: the region. Empty: for bedrock AWS_REGION, "
            "AWS_DEFAULT_REGION or that of the AWS profile; for vertex CLOUD_ML_REGION.",
            project=_NEVER,
            expected='the name of a region, for example "eu-central-1"',
        ),
    ] = ""
    project: Annotated[
        str,
        Meta(pattern=_PLAIN_WORD),
        About(
            description="For vertex: the id of the project. Empty: ANTHROPIC_VERTEX_PROJECT_ID, "
            "GOOGLE_CLOUD_PROJECT or that of the credentials.",
            project=_NEVER,
            expected="the id of a project",
        ),
    ] = ""
    api_version: Annotated[
        str,
        Meta(pattern=_PLAIN_WORD),
        About(
            description="For azure with openai and openai-chat: the version of the API. Empty: "
            "OPENAI_API_VERSION, else 2025-04-01-preview.",
            project=_NEVER,
            expected='a version, for example "2025-04-01-preview"',
        ),
    ] = ""
    program: Annotated[
        str,
        About(
            description="For copilot, claude-cli and codex: the program, as a path or a name to look up in "
            "PATH. For acp: the agent with its arguments, as in a shell (docs/members.md).",
            project=_NEVER,
            expected="a path or the name of a program",
        ),
    ] = ""
    base_url: Annotated[
        str,
        About(
            description="Address of the server: for anthropic without the final /v1, for openai and"
            " openai-chat with it. Empty: the public address. If it is not set, "
            "ANTHROPIC_BASE_URL and OPENAI_BASE_URL apply to the providers with those "
            "names.",
            project=_NEVER,
            expected='an address that starts with http:// or https://, for example "http://localhost:11434/v1"',
            accepts=is_web_address,
        ),
    ] = ""
    api_key_env: Annotated[
        str,
        Meta(pattern=_VARIABLE),
        About(
            description="Name of the environment variable with the API key; never the key itself. "
            "Empty: the server needs no key, or, with client, the cloud's own "
            "credentials are used. For claude-cli, codex and acp: passed on to the program, which uses its own "
            "login otherwise.",
            project=_NEVER,
            expected="the name of an environment variable (not the key itself)",
            unquoted=True,
        ),
    ] = ""
    timeout_secs: Annotated[
        float,
        Meta(gt=0, le=3600),
        About(
            description="Seconds without data, before the answer or between two pieces of it, after"
            " which a request fails.",
            project=_NEVER,
        ),
    ] = 120.0
    max_retries: Annotated[
        int,
        Meta(ge=0, le=20),
        About(
            description="How often a request that failed before its first byte is retried.",
            project=_NEVER,
        ),
    ] = 2
    requests_per_minute: Annotated[
        int,
        Meta(ge=0, le=1_000_000),
        About(
            description="The most requests in a minute, at most those of ten seconds at once; more wait for "
            "their turn. All who keep their sessions in the same PostgreSQL share them; with sessions in a "
            "file each process counts its own. Not for copilot. 0: no limit.",
            project=_NEVER,
        ),
    ] = 0
    max_output_tokens: Annotated[
        int,
        Meta(ge=0, le=1_000_000),
        About(
            description="The maximum number of tokens in one answer. 0: the limit of the server, "
            "and 16384 for anthropic, which requires a limit. An answer that it cuts off in the "
            "middle of a call is asked for once more, with room for four times as many.",
            project=_NEVER,
        ),
    ] = 0
    tool_parser: Annotated[
        ToolParser,
        About(
            description="For openai-chat: the family of models whose calls quorum reads from the text of the "
            "answer, where the server does not (docs/local-models.md). json: an answer that is nothing but "
            "one call in JSON. Empty: none; only calls that the server names are calls.",
            project=_NEVER,
        ),
    ] = ""
    headers: Annotated[
        Mapping[str, Annotated[str, Meta(pattern=_HEADER_VALUE)]],
        About(
            description='Additional headers of every request, for example { "X-Team" = "tools" }. '
            "Values are not shown by `quorum config show`.",
            project=ProjectRule.OWN,
            expected="a string of printable ASCII characters",
            secret=True,
            unquoted=True,
            names=_HEADER_NAME,
            names_expected="the characters of a header name only",
        ),
    ] = field(default_factory=dict)


def load_built_in_providers() -> dict[str, ProviderTable]:
    """The providers that exist without being declared."""
    anthropic, openai = find_public_service("anthropic"), find_public_service("openai")
    return {
        "anthropic": ProviderTable(type="anthropic", api_key_env=anthropic.key_env),
        "openai": ProviderTable(type="openai", base_url=openai.address, api_key_env=openai.key_env),
        "copilot": ProviderTable(type="copilot", program="copilot"),
        "offline": ProviderTable(type="offline"),
    }
