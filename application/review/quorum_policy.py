"""Who votes on calls, and how the votes are counted."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from quorum.domain.conversation.effort import Effort
from quorum.domain.review.ballot import MAJORITY, Lens, QuorumRule, find_lens
from quorum.domain.review.calibration import NO_CALIBRATION, Calibration
from quorum.domain.review.escalation import Escalation


class QuorumPolicy(Struct, frozen=True, kw_only=True):
    """Who votes, by which rule, and how long each may take, in seconds.

    `efforts` are those of `models.effort`, and `lenses` those of `quorum.lenses`, by model or role.
    `escalate_below` is how sure the first reviewer must be to be the only one asked; None asks all at once. An
    approval needs votes of `min_families` families of models. `max_plan_revisions` is how often they may send a
    plan back before the person is asked about it.
    `calibration` is what was measured of the reviewers.
    """

    reviewers: tuple[str, ...] = ()
    rule: QuorumRule = MAJORITY
    min_votes: int = 2
    vote_timeout_secs: float = 60.0
    efforts: Mapping[str, Effort] = field(default_factory=dict)
    lenses: Mapping[str, Lens] = field(default_factory=dict)
    escalate_below: float | None = None
    min_families: int = 0
    max_plan_revisions: int = 3
    calibration: Calibration = NO_CALIBRATION

    @property
    def escalation(self) -> Escalation | None:
        """How votes are spared; None where all are asked for at once."""
        if self.escalate_below is None or len(self.reviewers) < 2:
            return None
        first = self.reviewers[0]
        least = self.calibration.get_least_confidence(first)
        return Escalation(first=first, below=max(self.escalate_below, least))

    def find_lens(self, reviewer: str) -> Lens | None:
        """What this reviewer looks at above all; None where that is nothing in particular."""
        return find_lens(self.lenses, reviewer, "review")
