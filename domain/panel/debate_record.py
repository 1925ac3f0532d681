"""A debate: an answer, objections to it with ids, and what is ruled on each of them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.domain.review.severity import Severity

MOST_OBJECTIONS = 10
"""So many objections one model may raise in a round."""

_GRAVE = (Severity.CRITICAL, Severity.HIGH)


class Intensity(StrEnum):
    """How hard a debate is: whether only grave objections lead to another round, or all do."""

    MILD = "mild"
    STRONG = "strong"


class DebatePolicy(Struct, frozen=True, kw_only=True):
    """How debates go: the most rounds of objections, how hard they are, and whether all that take part object
    in each round, or the one that follows on the one whose answer it is."""

    max_rounds: int = 3
    intensity: Intensity = Intensity.MILD
    allow_interjection: bool = False


class ObjectionRuling(StrEnum):
    """What a moderator rules on an objection: it is right, it is wrong, or neither is shown."""

    UPHELD = "upheld"
    REFUTED = "refuted"
    OPEN = "open"


class DebateObjection(Struct, frozen=True, kw_only=True):
    """What the model of this label holds against the answer as it was in this round. `id` is unique in the
    debate."""

    id: str
    round: int
    label: str
    claim: str
    evidence: str
    severity: Severity


class ObjectionResponse(Struct, frozen=True, kw_only=True):
    """What the one whose answer it is says to the objection of this id."""

    objection: str
    is_conceded: bool
    text: str


class RuledObjection(Struct, frozen=True, kw_only=True):
    """The ruling on the objection of this id, and the reason for it."""

    objection: str
    ruling: ObjectionRuling
    reason: str


class RaisedObjections(Struct, frozen=True, kw_only=True):
    """All that one model objects to in a round; nothing is an answer as well. `error` says why it gave none,
    and `left_out` what of it could not be read."""

    round: int
    label: str
    objections: tuple[DebateObjection, ...] = ()
    error: str = ""
    left_out: tuple[str, ...] = ()


class AnswerDefence(Struct, frozen=True, kw_only=True):
    """The responses to the unsettled objections of a round; `error` says why there are none."""

    round: int
    label: str
    responses: tuple[ObjectionResponse, ...] = ()
    error: str = ""


class RoundRulings(Struct, frozen=True, kw_only=True):
    """What the moderator rules on the unsettled objections of a round; `error` says why it rules on none."""

    round: int
    rulings: tuple[RuledObjection, ...] = ()
    error: str = ""


class RevisedAnswer(Struct, frozen=True, kw_only=True):
    """The answer as it is after the rulings of a round; `error` says why it stays as it was."""

    round: int
    label: str
    text: str = ""
    error: str = ""


class DebateRecord(Struct, frozen=True, kw_only=True):
    """What was said in a debate so far, in the order in which it came. What is in it is not asked for again."""

    raised: tuple[RaisedObjections, ...] = ()
    defences: tuple[AnswerDefence, ...] = ()
    rulings: tuple[RoundRulings, ...] = ()
    revisions: tuple[RevisedAnswer, ...] = ()

    def add(self, said: RaisedObjections | AnswerDefence | RoundRulings | RevisedAnswer) -> DebateRecord:
        """The record with this as well."""
        match said:
            case RaisedObjections():
                return replace(self, raised=(*self.raised, said))
            case AnswerDefence():
                return replace(self, defences=(*self.defences, said))
            case RoundRulings():
                return replace(self, rulings=(*self.rulings, said))
            case RevisedAnswer():
                return replace(self, revisions=(*self.revisions, said))

    @property
    def round(self) -> int:
        """The last round that anything was said in; 0 before the first."""
        return max((each.round for each in self.raised), default=0)

    @property
    def objections(self) -> tuple[DebateObjection, ...]:
        """All of them, by rounds and then by who raised them."""
        found = (objection for raised in self.raised for objection in raised.objections)
        return tuple(sorted(found, key=lambda each: (each.round, each.label)))  # the sort keeps their own order

    def find_raised(self, number: int, label: str) -> RaisedObjections | None:
        """What the model of this label objected to in a round; None where there was no readable answer."""
        return next((each for each in self.raised if (each.round, each.label) == (number, label)), None)

    def list_raised(self, label: str) -> tuple[RaisedObjections, ...]:
        """What the model of this label said to the answer, round by round; also why it said nothing."""
        return tuple(each for each in self.raised if each.label == label)

    def find_response(self, objection: str) -> ObjectionResponse | None:
        """The last response to the objection of this id."""
        said = [each for defence in self.defences for each in defence.responses if each.objection == objection]
        return said[-1] if said else None

    def find_ruling(self, objection: str) -> RuledObjection | None:
        """The ruling on the objection of this id: one that settles it stays, others are replaced by later
        ones."""
        ruled = [each for round_ in self.rulings for each in round_.rulings if each.objection == objection]
        settled = [each for each in ruled if each.ruling is not ObjectionRuling.OPEN]
        return settled[0] if settled else ruled[-1] if ruled else None

    def select(self, ruling: ObjectionRuling) -> tuple[DebateObjection, ...]:
        """The objections with this ruling. One that nobody ruled on is open."""
        return tuple(each for each in self.objections if self._find_standing(each) is ruling)

    def list_due(self, number: int) -> tuple[DebateObjection, ...]:
        """The objections that this round is about: all that were raised, but those that were settled before."""
        settled = {
            ruled.objection
            for earlier in self.rulings
            if earlier.round < number
            for ruled in earlier.rulings
            if ruled.ruling is not ObjectionRuling.OPEN
        }
        return tuple(each for each in self.objections if each.round <= number and each.id not in settled)

    def find_answer(self, opening: str) -> str:
        """The answer as it is now; `opening` is what it was at first."""
        return next((each.text for each in reversed(self.revisions) if not each.error), opening)

    def needs_round_after(self, number: int, intensity: Intensity) -> bool:
        """Whether what was objected to in this round calls for another one."""
        new = [each for each in self.objections if each.round == number]
        if intensity is Intensity.STRONG:
            return bool(new)
        grave = (each for each in new if each.severity in _GRAVE)
        return any(self._find_standing(each) is not ObjectionRuling.REFUTED for each in grave)

    def _find_standing(self, objection: DebateObjection) -> ObjectionRuling:
        ruled = self.find_ruling(objection.id)
        return ruled.ruling if ruled is not None else ObjectionRuling.OPEN


def number_objections(
    number: int, label: str, said: Iterable[tuple[str, str, Severity]]
) -> tuple[DebateObjection, ...]:
    """Give an id to each claim, evidence and severity that the model of this label raises in a round."""
    return tuple(
        DebateObjection(
            id=f"R{number}-{label}{place}",
            round=number,
            label=label,
            claim=claim,
            evidence=evidence,
            severity=severity,
        )
        for place, (claim, evidence, severity) in enumerate(said, 1)
    )
