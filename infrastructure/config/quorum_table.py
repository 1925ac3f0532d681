"""The settings `[quorum]`: how the votes of the models are counted."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct, field

from quorum.domain.review.ballot import DEFAULT_MIN_VOTES, BadQuorumRule, QuorumRule
from quorum.domain.review.escalation import DEFAULT_ESCALATE_BELOW
from quorum.domain.review.lens import LONGEST_LENS, parse_lens
from quorum.infrastructure.config.about import About, ProjectRule
from quorum.infrastructure.config.toml_text import format_literal

_NEVER = ProjectRule.NEVER
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
            project=_NEVER,
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
            project=_NEVER,
        ),
    ] = DEFAULT_MIN_VOTES
    vote_timeout_secs: Annotated[
        float,
        Meta(gt=0, le=3600),
        About(description="Seconds after which a model that has not voted counts as failed.", project=_NEVER),
    ] = 60.0
    lenses: Annotated[
        Mapping[str, str],
        About(
            description="What a reviewer looks at above all, by model or, for all that have none of their own, "
            'under review: { "openai/gpt-5.4" = "scope", review = "safety" }. safety, scope, correctness, or '
            "words of your own on one line. It is shown beside the reviewer and lowers no bar: each still "
            "answers about the whole call. One for a model that does not review is reported at the start.",
            project=_NEVER,
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
            project=_NEVER,
        ),
    ] = False
    escalate_below: Annotated[
        float,
        Meta(gt=0, le=1),
        About(
            description="How sure, from 0 to 1, the first model must be for the others not to be asked.",
            project=_NEVER,
        ),
    ] = DEFAULT_ESCALATE_BELOW
    calibration: Annotated[
        str,
        About(
            description="A file of quorum bench review --write-calibration: what was measured of the models. "
            "The review then shows how much harm each misses in place of its own confidence, and an approval "
            "counts only if it holds without votes that are too unsure, and by the weights of the models too. "
            "It never makes approving easier.",
            project=_NEVER,
            expected="a path that begins with / or ~/, or nothing",
            accepts=_is_place,
        ),
    ] = ""
