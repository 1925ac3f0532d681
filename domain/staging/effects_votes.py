"""What reviewers say of the effects of a layer."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from quorum.domain.review.ballot import explain_vote, format_reviewer
from quorum.domain.review.quorum_result import VoteRecord
from quorum.domain.text.amounts import format_amount, format_confidence


class EffectsVotes(Struct, frozen=True, kw_only=True):
    """The votes on the effects of this digest, which are advice: nothing is applied or dropped for them.

    `count` is how the votes came to the `verdict` (approved, rejected or unclear), in words. `quoted` names, by
    reviewer, the file in which the text stands that it objects to. `unshown` counts files of which they were
    shown no content.
    """

    digest: str
    verdict: str
    count: str
    votes: tuple[VoteRecord, ...] = ()
    quoted: Mapping[str, str] = field(default_factory=dict)
    unshown: int = 0

    @property
    def sentence(self) -> str:
        """What the votes came to, in a sentence."""
        unshown = (
            f"; the content of {format_amount(self.unshown, 'file')} was not shown" if self.unshown else ""
        )
        return f"the models on the effects {self.digest[:12]}: {self.count}{unshown}"

    @property
    def lines(self) -> tuple[str, ...]:
        """The votes, a line each."""
        return tuple(map(self.describe, self.votes))

    def describe(self, vote: VoteRecord) -> str:
        """One vote with its reason, and with what it objects to, in one line."""
        sure = "" if vote.confidence is None else f" ({format_confidence(vote.confidence)} sure)"
        explained = explain_vote(vote.verdict, vote.in_scope, vote.reasoning or "no reason given")
        place = self.quoted.get(vote.model)
        found = f"in {place} it objects to" if place else "it objects to what stands in no file that was shown"
        quote = f"; {found}: {vote.objection}" if vote.objection else ""
        said = f"{format_reviewer(vote.model, vote.lens)} {vote.verdict}{sure}: {explained}{quote}"
        return " ".join(said.split())
