"""What all events have in common: they encode and decode themselves, and say how they are kept and ordered."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum, IntEnum
from typing import ClassVar, Self

from msgspec import UNSET, Struct, UnsetType

from quorum.domain.replacing import replace
from quorum.domain.struct_json import decode_struct, struct_to_json
from quorum.domain.text.json_value import JsonObject

SCHEMA_VERSION = 1


class CanonicalPlace(Enum):
    """Where an event that belongs to no call stands in the canonical form of a record."""

    BOUNDARY = "boundary"
    """Its order is never chance, and the events between two of these are put in order."""
    BEFORE_CALLS = "before_calls"
    """Before the calls, among its like in the order in which they came."""
    BY_CHANCE = "by_chance"
    """After those, in the order of what it says: the order in which it came is chance."""


class CallStage(IntEnum):
    """Where an event of a call stands among the others of that call in the canonical form of a record."""

    HOOKS_BEFORE = 0
    PLAN_REVIEW = 1
    VOTE = 2
    VOTES_COUNTED = 3
    REVIEW = 4
    DECISION = 5
    FILES_KEPT = 6
    START = 7
    PLAN_PROPOSED = 8
    PLAN_APPROVED = 9
    SUBAGENT_START = 10
    EFFECTS = 11
    SUBAGENT_END = 12
    END = 13
    HOOKS_AFTER = 14
    OUTPUT_STORED = 16


class _TypeName:
    def __get__(self, _event: object, kind: type[Struct]) -> str:
        return str(kind.__struct_config__.tag)


class Fact(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Something that has happened. The tag of its class is its `type`.

    `durable`: it is part of the record of a session; else it only feeds what is on the screen, and may be
    merged with its neighbours for a slow observer. `place` is where it stands in the canonical form. Where it
    has a `sentence`, the screen and exports show that unless they tell it in a way of their own; `is_warning`:
    the screen shows it as one.
    """

    type: ClassVar = _TypeName()
    durable: ClassVar[bool] = True
    place: ClassVar[CanonicalPlace | CallStage] = CanonicalPlace.BOUNDARY
    is_warning: ClassVar[bool] = False

    @property
    def sentence(self) -> str:
        """What happened, in a sentence for the person; empty where there is none."""
        return ""

    @property
    def details(self) -> str:
        """What an export shows below the sentence."""
        return ""

    def to_json(self) -> JsonObject:
        """The stable JSON form: `type`, the schema version `v`, and the fields."""
        return {"type": self.type, "v": SCHEMA_VERSION, **struct_to_json(self)}

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """The event of this class that `to_json` made this of. Raises Unfit."""
        return decode_struct(cls, value)


class PersonInput(Fact, frozen=True, kw_only=True):
    """What a person may have said. `asked_by` are the accounts of who may have, unset where `is_said` is false
    and in records of before it was kept."""

    asked_by: tuple[str, ...] | UnsetType = UNSET

    @property
    def is_said(self) -> bool:
        """Whether the model reads words in it that are a person's own."""
        return True

    def name_asker(self, accounts: Collection[str]) -> Self:
        """The same, said by those of these accounts, unless it says by whom."""
        if not self.is_said or self.asked_by is not UNSET:
            return self
        return replace(self, asked_by=tuple(sorted(accounts)))
