"""How a session reviews changes."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from quorum.domain.review.ballot import MAJORITY, Lens, QuorumRule


class CodeReviewPolicy(Struct, frozen=True, kw_only=True):
    """How changes are reviewed. `rule` and `min_votes` are those by which votes are counted everywhere;
    `max_part_bytes` is how much of a change goes into one question; `lenses` are those that are set, by model
    or role."""

    rule: QuorumRule = MAJORITY
    min_votes: int = 2
    max_part_bytes: int = 60_000
    lenses: Mapping[str, Lens] = field(default_factory=dict)
