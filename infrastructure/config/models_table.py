"""The settings `[models]`: which model does what."""

from collections.abc import Callable, Mapping
from typing import Annotated

from msgspec import Meta, Struct, field

from quorum.domain.conversation.effort import Effort
from quorum.infrastructure.config.about import About, ProjectRule
from quorum.infrastructure.config.toml_text import format_literal

_MODEL = r"\A([A-Za-z0-9_-]+/[!-~]+)?\Z"
MODEL_NAME = r"\A[A-Za-z0-9_-]+/[!-~]+\Z"
_EFFORT_NAME = r"\A(decision|ask|review|participants|moderator|[A-Za-z0-9_-]+/[!-~]+)\Z"
_EXPECTED = '"provider/model", for example "anthropic/claude-sonnet-5-5"'
_NEVER = ProjectRule.NEVER


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
            project=_NEVER,
            expected=_EXPECTED,
        ),
    ] = ""
    decision_fallback: Annotated[
        tuple[Annotated[str, Meta(pattern=MODEL_NAME)], ...],
        About(
            description="The models that stand in for the one that works with you, in this order, if it is "
            "overloaded or cannot be reached three times in a row; for the rest of that turn, and visibly. The "
            "next turn asks your model first again. Reviewers are not replaced.",
            project=_NEVER,
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
            project=_NEVER,
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
            project=_NEVER,
            expected=_EXPECTED,
        ),
    ] = ""
    ask: Annotated[
        str,
        Meta(pattern=_MODEL),
        About(
            description="The model that answers questions with read-only tools. Empty: that of decision.",
            project=_NEVER,
            expected=_EXPECTED,
        ),
    ] = ""
    moderator: Annotated[
        str,
        Meta(pattern=_MODEL),
        About(
            description="The model that makes a synthesis of the answers in a discussion. "
            "Empty: that of decision.",
            project=_NEVER,
            expected=_EXPECTED,
        ),
    ] = ""
    review: Annotated[
        tuple[Annotated[str, Meta(pattern=MODEL_NAME)], ...],
        About(
            description="The models that vote on risky calls, independently, and that review changes. Empty: "
            "no model votes.",
            project=_NEVER,
            expected='a list of "provider/model"',
            flaw=build_repeat_check(", and each model has one vote; name it once"),
        ),
    ] = ()
    participants: Annotated[
        tuple[Annotated[str, Meta(pattern=MODEL_NAME)], ...],
        About(
            description="The models that take part in a discussion: docs/several-models.md. "
            "Empty: only that of decision.",
            project=_NEVER,
            expected='a list of "provider/model"',
            flaw=build_repeat_check(", and each takes part once"),
        ),
    ] = ()
