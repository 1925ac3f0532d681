"""The quorum of models: ballots, the lenses of reviewers, and the rule by which votes are counted.

Whether a call is harmless and whether it was asked for are two questions: an approval of what nobody asked for
is none. An outage is not a verdict. Approved means that the rule holds even if every missing answer had been a
reject; rejected, that it fails even if every missing answer had been an approval; all else is unclear, and a
person is asked.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType

from quorum.domain.review.plan_terms import PlanObjection
from quorum.domain.text.fuzzy import find_nearest_word
from quorum.domain.text.pattern import compile_once
from quorum.domain.text.printable import make_printable

_AT_LEAST = r"at_?least:([0-9]{1,4})"
_PERCENT = r"([0-9]{1,3})%"
DEFAULT_MIN_VOTES = 2


class Vote(StrEnum):
    """What a reviewer says of a packet. ERROR: it failed, took too long, or said nothing that can be read."""

    APPROVE = "approve"
    REJECT = "reject"
    ABSTAIN = "abstain"
    ERROR = "model_error"


class InScope(StrEnum):
    """Whether what the person asked, or the plan that they approved, covers a call, as a reviewer sees it."""

    YES = "yes"
    NO = "no"
    UNCLEAR = "unclear"


class Ballot(Struct, frozen=True, kw_only=True):
    """One reviewer's answer. `objection` is text of the packet that it objects to, word for word.

    `measured` says how much harm the reviewer misses, empty where that is not known.
    `reviewer` is the model, "provider/model"; `confidence` lies between 0 and 1. `vote` is what it says of the
    call; `in_scope` is None where it was not asked, as in older records, or failed. `lens` is the name of
    the lens that it was given, None where it has none. `objections` are what it finds wrong with a plan; none
    where the packet is about another call. `program` names the agent program that was asked, with its version;
    not set where an API was.
    """

    reviewer: str
    vote: Vote
    reason: str
    confidence: float | None = None
    objection: str | None = None
    in_scope: InScope | None = None
    lens: str | None = None
    objections: tuple[PlanObjection, ...] = ()
    measured: str = ""
    program: str | UnsetType = UNSET

    @property
    def counts_as(self) -> Vote:
        """The vote that is counted: an approval of what was not asked for is a reject, and one where that is
        unclear an abstention."""
        match self.vote, self.in_scope:
            case Vote.APPROVE, InScope.NO:
                return Vote.REJECT
            case Vote.APPROVE, InScope.UNCLEAR:
                return Vote.ABSTAIN
            case _:
                return self.vote

    @property
    def explanation(self) -> str:
        """The reason, in words for people: after whether this was asked for, unless it was."""
        return explain_vote(self.vote, self.in_scope, self.reason)


def explain_vote(vote: str, in_scope: InScope | None, reason: str) -> str:
    """The reason of a vote, in words for people: after whether this was asked for, unless it was."""
    if in_scope in (None, InScope.YES):
        return reason
    approves = ", though it approves" if vote == Vote.APPROVE else ""
    return f"{describe_scope(in_scope)}{approves}: {reason}"  # what matters first: rows may cut the rest


def describe_scope(in_scope: InScope | None) -> str:
    """Whether a call was asked for, in words; empty where nobody said."""
    match in_scope:
        case InScope.YES:
            return "within what was asked"
        case InScope.NO:
            return "outside of what was asked"
        case InScope.UNCLEAR:
            return "perhaps outside of what was asked"
        case None:
            return ""


class Verdict(StrEnum):
    """What a quorum comes to."""

    APPROVED = "approved"
    REJECTED = "rejected"
    UNCLEAR = "unclear"


class DecidedBy(StrEnum):
    """What a verdict rests on: the rule over all reviewers, or the first vote, where nobody else was asked."""

    RULE = "rule"
    FIRST_VOTE = "first_vote"


class BadQuorumRule(ValueError):
    """The text is not a rule; the message says what is."""


class QuorumRule(Struct, frozen=True):
    """How many approvals are enough: a share of the votes, or a number of them. `text` is how it is written."""

    text: str
    share: float | None = None
    more_than: bool = False
    number: int | None = None

    @classmethod
    def parse(cls, text: str) -> QuorumRule:
        """Read `majority`, `unanimous`, `atleast:N` or `NN%`. Raises BadQuorumRule."""
        written = text.strip().lower()
        if written == "majority":
            return cls(text=written, share=0.5, more_than=True)
        if written == "unanimous":
            return cls(text=written, share=1.0)
        if (found := compile_once(_AT_LEAST).fullmatch(written)) and int(found[1]) > 0:
            return cls(text=f"atleast:{int(found[1])}", number=int(found[1]))
        if (found := compile_once(_PERCENT).fullmatch(written)) and 0 < int(found[1]) <= 100:
            return cls(text=f"{int(found[1])}%", share=int(found[1]) / 100)
        raise BadQuorumRule("a rule is majority, unanimous, atleast:N, or a percentage such as 67%")

    def holds(self, approvals: int, votes: int) -> bool:
        """Whether so many approvals among so many votes are enough. Without votes nothing holds."""
        if votes <= 0:
            return False
        if self.number is not None:
            return approvals >= self.number
        assert self.share is not None
        needed = math.floor(votes * self.share) + 1 if self.more_than else math.ceil(votes * self.share - 1e-9)
        return approvals >= needed


MAJORITY = QuorumRule.parse("majority")


class Tally(Struct, frozen=True, kw_only=True):
    """A count of ballots, and what follows from it. `not_asked` are reviewers that the first vote spared.

    `doubt` is why an approval by the rule does not hold, in words; empty where it does.
    """

    approvals: int
    rejections: int
    abstentions: int
    errors: int
    verdict: Verdict
    rule: str
    not_asked: int = 0
    decided_by: DecidedBy = DecidedBy.RULE
    doubt: str = ""

    def describe_count(self, awaited: int = 0) -> str:
        """The count in one line, for the person. Of the votes that failed, so many are only awaited still."""
        if 0 < awaited <= self.errors:
            return self._describe_arrived(awaited)
        parts = [f"{self.approvals} for, {self.rejections} against"]
        if self.abstentions:
            parts.append(f"{self.abstentions} abstained")
        if self.errors:
            parts.append(f"{self.errors} failed")
        if self.not_asked:
            parts.append(f"{self.not_asked} not asked")
        basis = self.rule if self.decided_by is DecidedBy.RULE else "first vote"
        doubt = f", {self.doubt}" if self.doubt else ""
        return f"{', '.join(parts)} ({basis}): {self.verdict}{doubt}"

    def _describe_arrived(self, awaited: int) -> str:
        said = (
            (self.approvals, "for"),
            (self.rejections, "against"),
            (self.abstentions, "abstained"),
            (self.errors - awaited, "failed"),
        )
        arrived = sum(count for count, _ in said)
        counted = ", ".join(f"{count} {word}" for count, word in said if count)
        return f"{arrived} of {arrived + awaited} voted{f': {counted}' if counted else ''}"


def tally(
    ballots: Iterable[Ballot], rule: QuorumRule, *, min_votes: int, reviewers: int, min_families: int = 0
) -> Tally:
    """Count the ballots of `reviewers` models; one that is missing counts as an error.

    At least `min_votes` of them, or all where there are fewer, must have said yes or no; and where nobody
    said no, too few approvals are no rejection. An approval needs the yes or no of so many families of models.
    """
    ballots = tuple(ballots)
    counts = Counter(ballot.counts_as for ballot in ballots)
    decided = [ballot.reviewer for ballot in ballots if ballot.counts_as in (Vote.APPROVE, Vote.REJECT)]
    is_varied = len({guess_family(model) for model in decided}) >= min_families
    approvals, rejections = counts[Vote.APPROVE], counts[Vote.REJECT]
    errors = max(counts[Vote.ERROR], reviewers - approvals - rejections - counts[Vote.ABSTAIN])
    enough = approvals + rejections >= max(1, min(min_votes, reviewers))
    votes = approvals + rejections + errors
    verdict = Verdict.UNCLEAR
    if enough and is_varied and rule.holds(approvals, votes):
        verdict = Verdict.APPROVED
    elif enough and rejections and not rule.holds(approvals + errors, votes):
        verdict = Verdict.REJECTED
    return Tally(
        approvals=approvals,
        rejections=rejections,
        abstentions=counts[Vote.ABSTAIN],
        errors=errors,
        verdict=verdict,
        rule=rule.text,
    )


def sort_dissent_first(ballots: Sequence[Ballot]) -> tuple[Ballot, ...]:
    """Sort ballots: the strongest objection first, then the others, errors last."""
    place = {Vote.REJECT: 0, Vote.ABSTAIN: 1, Vote.APPROVE: 2, Vote.ERROR: 3}
    return tuple(sorted(ballots, key=lambda b: (place[b.counts_as], -(b.confidence or 0.0), b.reviewer)))


_FAMILIES = (
    (re.compile(r"claude|anthropic"), "anthropic"),
    (re.compile(r"gpt|chatgpt|codex|\bo[0-9]"), "openai"),
    (re.compile(r"gemini|gemma"), "google"),
    (re.compile(r"grok"), "xai"),
    (re.compile(r"llama|foundation-sec"), "meta"),
    (re.compile(r"mi[sx]tral|codestral|devstral"), "mistral"),
    (re.compile(r"deepseek"), "deepseek"),
    (re.compile(r"qwen|qwq"), "qwen"),
    (re.compile(r"kimi|moonshot"), "moonshot"),
    (re.compile(r"glm"), "zhipu"),
)


def guess_family(model: str) -> str:
    """Return the family of a model, judged by its name; an unknown name is a family of its own."""
    provider, _, own_name = model.lower().partition("/")
    return next((family for pattern, family in _FAMILIES if pattern.search(own_name)), f"{provider}/{own_name}")


def are_independent(models: Sequence[str]) -> bool:
    """Whether the models come from more than one family: those of one are likely to err alike."""
    return len({guess_family(model) for model in models}) > 1


LONGEST_LENS = 400
_LABEL_CHARACTERS = 24
_KNOWN = {
    "safety": "harm: secrets, injection, destructive or irreversible effects, data loss, broken access control",
    "scope": "scope: whether all of this was asked for, what is missing of it, and what was changed beside it",
    "correctness": "correctness: wrong results, edge cases, error handling, races, broken callers",
}


class Lens(Struct, frozen=True):
    """A way of looking. `name` is safety, scope or correctness, or the person's own words."""

    name: str

    @property
    def instruction(self) -> str:
        """What a reviewer with this lens is told to look at first."""
        return _KNOWN.get(self.name, self.name)

    @property
    def label(self) -> str:
        """The name as it stands beside a reviewer: long words of the person's by their beginning."""
        if len(self.name) <= _LABEL_CHARACTERS:
            return self.name
        return f"{self.name[: _LABEL_CHARACTERS - 1]}…"


SAFETY, SCOPE, CORRECTNESS = (Lens(name) for name in _KNOWN)
_IN_TURN = (CORRECTNESS, SAFETY, SCOPE)


def parse_lens(text: str) -> Lens:
    """Read a lens as the settings have it. Raises ValueError for one that is empty or too long, or that
    cannot be printed as it is."""
    words = " ".join(text.split())
    if not words or len(words) > LONGEST_LENS or make_printable(words, newlines=False) != words:
        raise ValueError(
            "a lens is safety, scope, correctness, or words of your own, "
            f"at most {LONGEST_LENS} characters that can all be printed"
        )
    return Lens(words.lower() if words.lower() in _KNOWN else words)


def assign_lenses(reviewers: int) -> tuple[Lens, ...]:
    """A lens for each of so many reviewers, in turn."""
    return tuple(_IN_TURN[place % len(_IN_TURN)] for place in range(reviewers))


def find_lens(configured: Mapping[str, Lens], model: str, *roles: str) -> Lens | None:
    """The lens set for a model, "provider/model", else that of the first of these roles that has one."""
    return next((configured[name] for name in (model, *roles) if name in configured), None)


def list_unused_lenses(
    lenses: Iterable[str], review: Sequence[str], participants: Sequence[str] = ()
) -> tuple[str, ...]:
    """A sentence for each model that has a lens and does not review: its name may be a typing error.

    `review` are the models of that role. Without them the `participants` review changes.
    """
    unused = [name for name in lenses if "/" in name and name not in (*review, *participants)]
    return tuple(f"quorum.lenses names {name}, which {_explain_unused(name, review)}" for name in unused)


def _explain_unused(name: str, review: Sequence[str]) -> str:
    if not review:
        return "does not review: models.review names no model"
    if near := find_nearest_word(name, review):
        return f"does not review; did you mean {near}?"
    return f"does not review; models.review names {', '.join(review)}"


def format_reviewer(model: str, lens: str | None) -> str:
    """The reviewer with the label of its lens, as `openai/gpt-5.4 (safety)`."""
    return f"{model} ({lens})" if lens else model
