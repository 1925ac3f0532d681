"""The settings `[quorum]`: how the votes of the models are counted."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from domain.review.ballot import DEFAULT_MIN_VOTES, BadQuorumRule, QuorumRule
from infrastructure.config.about import About, ProjectRule
from infrastructure.config.toml_text import format_literal

_NEVER = ProjectRule.NEVER


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
