"""The settings of models: `[providers.NAME]`, `[prices."provider/model"]`, `[models]` and `[quorum]`."""

from collections.abc import Callable, Mapping
from typing import Annotated

from msgspec import Meta, Struct, field

from quorum.domain.calls.tool import ToolParser
from quorum.domain.conversation.effort import Effort
from quorum.domain.review.ballot import DEFAULT_MIN_VOTES, LONGEST_LENS, BadQuorumRule, QuorumRule, parse_lens
from quorum.domain.review.quorum_result import DEFAULT_ESCALATE_BELOW
from quorum.domain.settings import About, ProjectRule, is_web_address
from quorum.infrastructure.config.toml_text import format_literal
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
*_OTHERS, _LAST = (f"{each} ({get_traits(each).meaning})" for each in PROVIDER_TYPES)
_TYPES = f"{', '.join(_OTHERS)}, or {_LAST}"


class ProviderTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How one provider is reached."""

    type: Annotated[
        ProviderType,
        About(
            description=f"The API of the server: {_TYPES}.",
        ),
    ]
    client: Annotated[
        CloudClient,
        About(
            description="The cloud that serves it: bedrock, vertex or azure for anthropic, azure for openai "
            "and openai-chat (docs/cloud-providers.md). The cloud has its own address and its own "
            "authentication. Empty: no cloud.",
        ),
    ] = ""
    region: Annotated[
        str,
        Meta(pattern=_PLAIN_WORD),
        About(
            description="For bedrock and vertex: the region. Empty: for bedrock AWS_REGION, "
            "AWS_DEFAULT_REGION or that of the AWS profile; for vertex CLOUD_ML_REGION.",
            expected='the name of a region, for example "eu-central-1"',
        ),
    ] = ""
    project: Annotated[
        str,
        Meta(pattern=_PLAIN_WORD),
        About(
            description="For vertex: the id of the project. Empty: ANTHROPIC_VERTEX_PROJECT_ID, "
            "GOOGLE_CLOUD_PROJECT or that of the credentials.",
            expected="the id of a project",
        ),
    ] = ""
    api_version: Annotated[
        str,
        Meta(pattern=_PLAIN_WORD),
        About(
            description="For azure with openai and openai-chat: the version of the API. Empty: "
            "OPENAI_API_VERSION, else 2025-04-01-preview.",
            expected='a version, for example "2025-04-01-preview"',
        ),
    ] = ""
    program: Annotated[
        str,
        About(
            description="For copilot, claude-cli and codex: the program, as a path or a name to look up in "
            "PATH. For acp: the agent with its arguments, as in a shell (docs/members.md).",
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
        ),
    ] = 120.0
    content_timeout_secs: Annotated[
        float,
        Meta(gt=0, le=86_400),
        About(
            description="Seconds after which a request fails in which only signs of life arrived, and nothing "
            "of an answer. Longer than the model thinks in silence.",
        ),
    ] = 1800.0
    max_retries: Annotated[
        int,
        Meta(ge=0, le=20),
        About(
            description="How often a request that failed before its first byte is retried.",
        ),
    ] = 2
    requests_per_minute: Annotated[
        int,
        Meta(ge=0, le=1_000_000),
        About(
            description="The most requests in a minute, at most those of ten seconds at once; more wait for "
            "their turn. All who keep their sessions in the same PostgreSQL share them; with sessions in a "
            "file each process counts its own. Not for copilot. 0: no limit.",
        ),
    ] = 0
    max_output_tokens: Annotated[
        int,
        Meta(ge=0, le=1_000_000),
        About(
            description="The maximum number of tokens in one answer. 0: the limit of the server, "
            "and 16384 for anthropic, which requires a limit. An answer that it cuts off in the "
            "middle of a call is asked for once more, with room for four times as many.",
        ),
    ] = 0
    tool_parser: Annotated[
        ToolParser,
        About(
            description="For openai-chat: the family of models whose calls quorum reads from the text of the "
            "answer, where the server does not (docs/local-models.md). json: an answer that is nothing but "
            "one call in JSON. Empty: none; only calls that the server names are calls.",
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


_HIGHEST = 1_000_000

PRICES = About(
    description="The prices of models, one table per model, if they differ from what the vendor "
    "publishes: on your own server or cloud, or by contract. Such a price applies to "
    "prompts of any length.",
    names=r"\A[A-Za-z0-9_-]+/[!-~]+\Z",
    names_expected='"provider/model" in quotes, for example [prices."ollama/qwen3:8b"]',
    names_example="provider/model",
)


class ModelPriceTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one model costs, in USD per million tokens. All of it is given, so that nothing is assumed."""

    input: Annotated[
        float,
        Meta(ge=0, le=_HIGHEST),
        About(
            description="USD per million tokens of input that is neither read from a cache nor written to one.",
        ),
    ]
    output: Annotated[
        float,
        Meta(ge=0, le=_HIGHEST),
        About(description="USD per million tokens of output, reasoning included."),
    ]
    cache_read: Annotated[
        float,
        Meta(ge=0, le=_HIGHEST),
        About(
            description="USD per million tokens of input read from a cache; the same as input if "
            "there is no discount.",
        ),
    ]
    cache_write: Annotated[
        float,
        Meta(ge=0, le=_HIGHEST),
        About(
            description="USD per million tokens of input written to a cache; the same as input if "
            "writing costs nothing extra.",
        ),
    ]


_MODEL = r"\A([A-Za-z0-9_-]+/[!-~]+)?\Z"
MODEL_NAME = r"\A[A-Za-z0-9_-]+/[!-~]+\Z"
_EFFORT_NAME = r"\A(decision|ask|review|participants|moderator|[A-Za-z0-9_-]+/[!-~]+)\Z"
_EXPECTED = '"provider/model", for example "anthropic/claude-sonnet-5-5"'


def build_repeat_check(remedy: str) -> Callable[[object], str | None]:
    """What finds a model that a list names twice; `remedy` ends the sentence about it."""

    def find_repeated(models: object) -> str | None:
        names = list(models) if isinstance(models, list | tuple) else []
        twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
        return None if twice is None else f"it names {format_literal(twice)} twice{remedy}"

    return find_repeated


class ModelsTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which model does what."""

    decision: Annotated[
        str,
        Meta(pattern=_MODEL),
        About(
            description='The model that works with you, as "provider/model" (split at the first slash). Empty: '
            "anthropic/claude-sonnet-5-5 if the key of [providers.anthropic] is set, else openai/gpt-5.4 if "
            "that of [providers.openai] is set, else, if no other provider is configured, offline/offline. "
            "On the command line: -m MODEL or -m decision=MODEL.",
            expected=_EXPECTED,
        ),
    ] = ""
    decision_fallback: Annotated[
        tuple[Annotated[str, Meta(pattern=MODEL_NAME)], ...],
        About(
            description="The models that stand in for the one that works with you, in this order, if it is "
            "overloaded or cannot be reached three times in a row; for the rest of that turn, and visibly. The "
            "next turn asks your model first again. Reviewers are not replaced.",
            expected='a list of "provider/model"',
            flaw=build_repeat_check("; name it once"),
        ),
    ] = ()
    effort: Annotated[
        Mapping[str, Effort],
        About(
            description="How much a model reasons before it answers, by role (decision, ask, review, "
            "participants, moderator) or, before that, by model: "
            '{ decision = "high", "openai/gpt-5.4" = "low" }. "default" asks for '
            "nothing in particular. An effort that an API does not have is reported and left out; a model "
            "that refuses one is asked without it, and that is said. In the app: /model, then the left and "
            "right arrow. On the command line: --effort.",
            names=_EFFORT_NAME,
            names_expected='decision, ask, review, participants, moderator, or a model as "provider/model"',
            names_example="decision",
        ),
    ] = field(default_factory=dict)
    exploration: Annotated[
        str,
        Meta(pattern=_MODEL),
        About(
            description="The model of subagents that no file defines, which find things out with read-only "
            "tools. Empty: the one that the session has. On the command line this role and the ones below are "
            "set like decision: -m exploration=MODEL; for a list, once for each model.",
            expected=_EXPECTED,
        ),
    ] = ""
    ask: Annotated[
        str,
        Meta(pattern=_MODEL),
        About(
            description="The model that answers questions with read-only tools. Empty: that of decision.",
            expected=_EXPECTED,
        ),
    ] = ""
    moderator: Annotated[
        str,
        Meta(pattern=_MODEL),
        About(
            description="The model that makes a synthesis of the answers in a discussion. "
            "Empty: that of decision.",
            expected=_EXPECTED,
        ),
    ] = ""
    review: Annotated[
        tuple[Annotated[str, Meta(pattern=MODEL_NAME)], ...],
        About(
            description="The models that vote on risky calls, independently, and that review changes. Empty: "
            "no model votes.",
            expected='a list of "provider/model"',
            flaw=build_repeat_check(", and each model has one vote; name it once"),
        ),
    ] = ()
    participants: Annotated[
        tuple[Annotated[str, Meta(pattern=MODEL_NAME)], ...],
        About(
            description="The models that take part in a discussion: docs/several-models.md. "
            "Empty: only that of decision.",
            expected='a list of "provider/model"',
            flaw=build_repeat_check(", and each takes part once"),
        ),
    ] = ()


_LENS_NAME = r"\A(review|[A-Za-z0-9_-]+/[!-~]+)\Z"


def _is_rule(text: str) -> bool:
    try:
        QuorumRule.parse(text)
    except BadQuorumRule:
        return False
    return True


def explain_unreachable_rule(rule: str, reviewers: int) -> str | None:
    """What is wrong with a rule that so many reviewers can never meet; without reviewers there is no vote."""
    number = QuorumRule.parse(rule).number
    if not reviewers or number is None or number <= reviewers:
        return None
    models = "one model" if reviewers == 1 else f"{reviewers} models"
    return (
        f"quorum.rule = {format_literal(rule)} can never be met, because models.review names {models}; "
        "lower it or name more models"
    )


def _is_lens(text: str) -> bool:
    try:
        parse_lens(text)
    except ValueError:
        return False
    return True


def _is_place(text: str) -> bool:
    return not text or text.startswith(("/", "~/"))


class QuorumTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """When the votes of models.review approve a call."""

    rule: Annotated[
        str,
        About(
            description="The approvals that are needed. majority: more than half of the votes. "
            "unanimous: all. atleast:N: N of them. 67%: that share. A failed vote "
            "counts as unknown: the result must hold whatever it would have been.",
            expected='"majority", "unanimous", "atleast:N" or a percentage such as "67%"',
            accepts=_is_rule,
        ),
    ] = "majority"
    min_votes: Annotated[
        int,
        Meta(ge=1, le=100),
        About(
            description="This many models must have said yes or no, or all of them if there are "
            "fewer; otherwise the vote is unclear and you are asked.",
        ),
    ] = DEFAULT_MIN_VOTES
    vote_timeout_secs: Annotated[
        float,
        Meta(gt=0, le=3600),
        About(description="Seconds after which a model that has not voted counts as failed."),
    ] = 60.0
    lenses: Annotated[
        Mapping[str, str],
        About(
            description="What a reviewer looks at above all, by model or, for all that have none of their own, "
            'under review: { "openai/gpt-5.4" = "scope", review = "safety" }. safety, scope, correctness, or '
            "words of your own on one line. It is shown beside the reviewer and lowers no bar: each still "
            "answers about the whole call. One for a model that does not review is reported at the start.",
            names=_LENS_NAME,
            names_expected='review, or a model of models.review as "provider/model"',
            names_example="review",
            expected=f"safety, scope, correctness, or one line of your own, at most {LONGEST_LENS} characters",
            accepts=_is_lens,
        ),
    ] = field(default_factory=dict)
    escalate: Annotated[
        bool,
        About(
            description="Ask the first of models.review alone, and the others only if it does not approve, "
            "doubts that you asked for the call, or is not sure enough. One sure approval is then enough, "
            "whatever rule and min_votes say; nothing is rejected by one vote. What is spared is in /cost.",
        ),
    ] = False
    escalate_below: Annotated[
        float,
        Meta(gt=0, le=1),
        About(
            description="How sure, from 0 to 1, the first model must be for the others not to be asked.",
        ),
    ] = DEFAULT_ESCALATE_BELOW
    calibration: Annotated[
        str,
        About(
            description="A file of quorum bench review --write-calibration: what was measured of the models. "
            "The review then shows how much harm each misses in place of its own confidence, and an approval "
            "counts only if it holds without votes that are too unsure, and by the weights of the models too. "
            "It never makes approving easier.",
            expected="a path that begins with / or ~/, or nothing",
            accepts=_is_place,
        ),
    ] = ""
