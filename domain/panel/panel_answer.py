"""What one participant of a panel answered, or why it did not."""

from __future__ import annotations

from enum import StrEnum
from string import ascii_uppercase

from msgspec import Struct, field

from quorum.domain.conversation.response import Usage
from quorum.domain.struct_json import Amount


class Participant(Struct, frozen=True, kw_only=True):
    """A model that takes part, "provider/model". Other models know it only by its label: A, B, …"""

    label: str
    model: str


class AnswerStatus(StrEnum):
    """How asking a participant ended."""

    ANSWERED = "answered"
    EMPTY = "empty"
    REFUSED = "refused"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    TOO_LONG = "too_long"
    NOT_ASKED = "not_asked"


class PanelAnswer(Struct, frozen=True, kw_only=True):
    """An answer of a participant. `text` is what arrived of it, and counts only where the status is `answered`.

    `secs` is how long it took; `cost_usd` is None where that is not known; `reason` says why there is no
    answer.
    """

    label: str
    model: str
    status: AnswerStatus
    text: str = ""
    usage: Usage = field(default_factory=Usage)
    cost_usd: Amount | None = None
    secs: float = 0.0
    reason: str = ""

    @property
    def is_answer(self) -> bool:
        """Whether there is an answer that others can judge."""
        return self.status is AnswerStatus.ANSWERED


def label_participants(models: tuple[str, ...]) -> tuple[Participant, ...]:
    """Give each model a label that does not tell which one it is: A to Z, then AA, AB, …"""
    return tuple(Participant(label=_format_letters(place), model=model) for place, model in enumerate(models))


def _format_letters(place: int) -> str:
    before, last = divmod(place, len(ascii_uppercase))
    return (_format_letters(before - 1) if before else "") + ascii_uppercase[last]
