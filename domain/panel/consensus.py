"""How many models answer the prompts of a session, and how they come to one answer."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from quorum.domain.errors import QuorumError
from quorum.domain.plan.phase import PhaseScope
from quorum.domain.replacing import replace


class ConsensusLevel(StrEnum):
    """Whether one model answers a prompt, or several do."""

    SOLO = "solo"
    ENSEMBLE = "ensemble"


class Strategy(StrEnum):
    """How several models come to one answer: by scores for each other's answers, or by objections to one."""

    QUORUM = "quorum"
    DEBATE = "debate"


class ConsensusRefused(QuorumError):
    """A level and a strategy that do not go together; the text names both, and what helps."""


class Consensus(Struct, frozen=True, kw_only=True):
    """What was chosen of both. Not every combination is possible: see `check_consensus`."""

    level: ConsensusLevel = ConsensusLevel.SOLO
    strategy: Strategy = Strategy.QUORUM

    @property
    def meaning(self) -> str:
        """How a prompt is answered, in a sentence."""
        if self.level is ConsensusLevel.SOLO:
            return "consensus: solo, one model answers with its tools"
        if self.strategy is Strategy.QUORUM:
            return "consensus: ensemble, several models answer without tools and score each other's answers"
        return "consensus: ensemble, several models debate an answer without tools"

    @property
    def label(self) -> str:
        """It in a word or two; empty for what is usual."""
        if self.level is ConsensusLevel.SOLO:
            return ""
        return "ensemble" if self.strategy is Strategy.QUORUM else "ensemble, debate"

    def change(self, *, level: ConsensusLevel | None = None, strategy: Strategy | None = None) -> Consensus:
        """The same with another level or strategy; None keeps the one that is, but one model has no debate."""
        if level is ConsensusLevel.SOLO and strategy is None:
            strategy = Strategy.QUORUM
        return replace(self, level=level or self.level, strategy=strategy or self.strategy)


def check_consensus(consensus: Consensus, scope: PhaseScope = PhaseScope.FULL) -> tuple[str, ...]:
    """Sentences about a combination, also with how far the session goes, that is possible but not advisable.
    Raises ConsensusRefused for one that is not possible."""
    if consensus.level is ConsensusLevel.SOLO and consensus.strategy is Strategy.DEBATE:
        raise ConsensusRefused(
            "the consensus level solo and the strategy debate do not go together, because a debate takes two "
            "models: choose the level ensemble, or the strategy quorum"
        )
    if consensus.level is ConsensusLevel.ENSEMBLE and scope is PhaseScope.FAST:
        return (
            "the consensus level ensemble and the scope fast work against each other: several models answer "
            "each prompt, which is slow, and none of them looks at a plan",
        )
    return ()
