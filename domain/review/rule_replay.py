"""What permission rules would have decided about past calls, beside what was decided then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

from msgspec import Struct, field

from quorum.domain.calls.tool import RiskLevel
from quorum.domain.replacing import replace
from quorum.domain.review.permission_rules import Answer
from quorum.domain.text.json_value import JsonObject


class PastAnswer(StrEnum):
    """What became of a past call: the person's answer, or what was decided without one.

    WITHHELD: it would have been asked about, and nobody was there. UNASKED: it was allowed without a question.
    """

    REJECTED = "rejected"
    DENIED = "denied"
    WITHHELD = "withheld"
    APPROVED = "approved"
    UNASKED = "unasked"


class PastCall(Struct, frozen=True, kw_only=True):
    """A call that was decided about once. `arguments` are those that it had when that was, after an edit."""

    tool: str
    arguments: JsonObject
    risk: RiskLevel
    answer: PastAnswer


MOST_EXAMPLES = 5
# What would run although somebody said no comes first, then what would be held up, then what changes nothing.
_ORDER = tuple(
    (now, then)
    for now, several in (
        (Answer.ALLOW, (PastAnswer.REJECTED, PastAnswer.DENIED, PastAnswer.WITHHELD)),
        (Answer.DENY, (PastAnswer.APPROVED, PastAnswer.UNASKED)),
        (Answer.ASK, (PastAnswer.UNASKED,)),
        (Answer.ALLOW, (PastAnswer.APPROVED, PastAnswer.UNASKED)),
        (Answer.ASK, (PastAnswer.REJECTED, PastAnswer.DENIED, PastAnswer.WITHHELD, PastAnswer.APPROVED)),
        (Answer.DENY, (PastAnswer.REJECTED, PastAnswer.DENIED, PastAnswer.WITHHELD)),
    )
    for then in several
)
_THEN = {
    PastAnswer.REJECTED: "you rejected",
    PastAnswer.DENIED: "were denied",
    PastAnswer.WITHHELD: "waited for you in vain",
    PastAnswer.APPROVED: "you approved",
    PastAnswer.UNASKED: "ran unasked",
}
_NOW = {Answer.ALLOW: "would run", Answer.ASK: "would be asked about", Answer.DENY: "would be denied"}


class ReplayGroup(Struct, frozen=True, kw_only=True):
    """Past calls with the same answer now and then. `examples` are the first of them, each once."""

    now: Answer
    then: PastAnswer
    calls: int
    examples: tuple[str, ...]

    @property
    def loosens(self) -> bool:
        """Whether they would run although they did not then."""
        return self.now is Answer.ALLOW and self.then not in (PastAnswer.APPROVED, PastAnswer.UNASKED)

    @property
    def sentence(self) -> str:
        """What they are, with their number."""
        return f"{self.calls:,} {_NOW[self.now]} that {_THEN[self.then]}"


class RuleReplay(Struct, frozen=True, kw_only=True):
    """What would be decided about past calls. `calls` of `sessions` were looked at; `groups` come in the order
    of their weight, those that would run although they did not then first.

    Where rules are tried, `groups` hold only the calls that they speak of. `newest`: only so many of the
    newest calls were looked at; None: all.
    """

    calls: int = 0
    sessions: int = 0
    groups: tuple[ReplayGroup, ...] = ()
    newest: int | None = None

    def map_examples(self, change: Callable[[str], str]) -> RuleReplay:
        """The same with other examples."""
        groups = tuple(replace(each, examples=tuple(map(change, each.examples))) for each in self.groups)
        return replace(self, groups=groups)


class ReplayCount(Struct):
    """Counts replayed calls, and keeps the first examples of each group."""

    calls: int = 0
    _groups: dict[tuple[Answer, PastAnswer], tuple[list[int], dict[str, None]]] = field(default_factory=dict)

    def add(self, now: Answer, then: PastAnswer, example: str, *, times: int = 1) -> None:
        """Count a call that is shown as `example`."""
        count, examples = self._groups.setdefault((now, then), ([0], {}))
        count[0] += times
        if len(examples) < MOST_EXAMPLES:
            examples[example] = None

    def list_groups(self) -> Iterator[ReplayGroup]:
        """The groups, the weightiest first."""
        for now, then in _ORDER:
            if (found := self._groups.get((now, then))) is not None:
                yield ReplayGroup(now=now, then=then, calls=found[0][0], examples=tuple(found[1]))
