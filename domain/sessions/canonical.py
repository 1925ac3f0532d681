"""A session's record in a form that is the same for every run in which the same things happened.

Calls of one batch run side by side, so their events arrive as chance will have it. Here they stand by turn,
call and kind; times are left out, and ids have names.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TypeVar, cast

from msgspec import UNSET, Struct, field
from msgspec.structs import replace

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.code_review.review_result import ReviewResult
from quorum.domain.conversation.response import StopReason, ToolUseBlock
from quorum.domain.events.event import (
    Event,
    QuorumConcluded,
    SandboxChecked,
    ServerQuestionAnswered,
    SessionResumed,
    SessionStarted,
    TurnStarted,
    VoteCast,
)
from quorum.domain.fact import CallStage, CanonicalPlace
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.text.json_value import JsonObject

_T = TypeVar("_T")

# The fields that hold an id, each with the word that it is named by. A digest covers ids, and is one itself; a
# signature covers a time.
_IDS: Mapping[str, str] = {
    "session_id": "session",
    "batch_id": "batch",
    "call_id": "call",
    "tool_use_id": "call",
    "blob_id": "blob",
    "blobs": "blob",
    "command_id": "command",
    "note_id": "command",
    "manifest": "manifest",
    "digest": "digest",
    "plan_digest": "digest",
    "panel_id": "panel",
    "subagent_id": "subagent",
    "signature": "signature",
}
_WITHOUT_IDS = (ServerQuestionAnswered, ReviewResult)  # of what their digests cover, nothing is an id
_TIMES: Mapping[str, object] = {"duration_secs": 0.0, "ran_secs": 0.0, "secs": 0.0, "timestamp": "", "at_ms": 0}
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# What is shorter than this may be a word that means something else; as an id it is known by its field.
_LIKE_AN_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{11,}")


class StableNames:
    """Names ids in the order in which they are met: `call-1`, `blob-2`. Paths below one of the folders `cwds`
    are relative to it."""

    def __init__(self, cwds: Iterable[str]) -> None:
        self._names: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        folders = sorted({cwd.rstrip("/") for cwd in cwds} - {""}, key=len, reverse=True)
        alternatives = "|".join(map(re.escape, folders))
        self._folder = re.compile(rf"(?<![\w.-])(?<!\w/)(?:{alternatives})(?![\w-]|\.\w)") if folders else None

    def rename_ids(self, value: _T) -> _T:
        """The value without times, all ids in it named; those in texts as far as they were met before."""
        return cast("_T", self._rename(value))

    def _rename(self, value: object) -> object:
        match value:
            case Enum():
                return value
            case str():
                return self._rename_text(value)
            case Mapping():
                return {self._rename(key): self._rename(item) for key, item in value.items()}
            case tuple() | list():
                return tuple(self._rename(item) for item in value)
            case StopReason(detail=str(detail)):
                return StopReason(value.kind, self._rename_text(detail))
            case Struct():
                return replace(
                    value, **{name: self._rename_field(value, name) for name in value.__struct_fields__}
                )
            case _:
                return value

    def _rename_field(self, owner: object, name: str) -> object:
        value = getattr(owner, name)
        if name in _TIMES:
            return _TIMES[name]
        kind = "call" if (type(owner), name) == (ToolUseBlock, "id") else _IDS.get(name)
        if kind is not None and value not in (None, UNSET) and not isinstance(owner, _WITHOUT_IDS):
            return (
                tuple(self._rename_name(kind, id_) for id_ in value)
                if isinstance(value, tuple)
                else self._rename_name(kind, value)
            )
        if isinstance(owner, QuorumConcluded) and name == "target":
            call_id = value.get("call_id")
            named = {"call_id": self._rename_name("call", call_id)} if isinstance(call_id, str) else {}
            return {**cast("dict[str, object]", self._rename(value)), **named}
        return self._rename(value)

    def _rename_name(self, kind: str, id_: str) -> str:
        if id_ not in self._names:
            self._counts[kind] += 1
            self._names[id_] = f"{kind}-{self._counts[kind]}"
        return self._names[id_]

    def _rename_text(self, text: str) -> str:
        for pattern in (_UUID, _LIKE_AN_ID):
            text = pattern.sub(lambda found: self._names.get(found[0], found[0]), text)
        return text if self._folder is None else self._folder.sub(".", text)


_NO_CALL = -1
_SIDE_BY_SIDE = 1


class _Line(Struct, kw_only=True):
    """One record and its turn, and what it is sorted by: the place of its call, its kind, and what tells equals
    apart. What belongs to no call stands before all calls; where it came by chance, what it says decides.
    """

    event: Event | None
    turn: int | None
    redacted: bool
    call: int = _NO_CALL
    kind: int = 0
    detail: tuple[int, str] = (0, "")
    shown: str = ""

    def show(self, names: StableNames) -> None:
        """Write it, with these names."""
        value: JsonObject = {"type": "unreadable"}
        if self.event is not None:
            value = names.rename_ids(self.event).to_json()
        mark: JsonObject = {"redacted": True} if self.redacted else {}
        self.shown = json.dumps({"turn": self.turn, **value, **mark}, sort_keys=True, separators=(",", ":"))

    def get_sort_key(self) -> tuple[int, int, tuple[int, str], str]:
        """What it is sorted by; what came in the order in which it stands stays so."""
        by_chance = self.call == _NO_CALL and self.kind == _SIDE_BY_SIDE
        return self.call, self.kind, self.detail, self.shown if by_chance else ""


class _Stretch(Struct):
    """What lies between two events whose order is never chance, with the first of them."""

    first: _Line | None = None
    rest: list[_Line] = field(default_factory=list)
    rounds: dict[str, int] = field(default_factory=dict)

    def sort_lines(self) -> list[_Line]:
        """All of it in its order."""
        return [*([self.first] if self.first else []), *sorted(self.rest, key=_Line.get_sort_key)]


def render_canonical(records: Iterable[LedgerRecord]) -> str:
    """The record as JSON lines. Two runs of one script give the same text, however long each call took in them,
    whichever ids they drew and wherever their folders lay; whatever else differs is seen in it, even the size
    of an output that names its folder.
    """
    stretches = _split_into_stretches(records)
    lines = [line for stretch in stretches for line in stretch.sort_lines()]
    opened = (line.event for line in lines)
    names = StableNames(event.cwd for event in opened if isinstance(event, SessionStarted | SessionResumed))
    for _ in range(2):  # an id may stand in a text before it is met in its place
        for line in lines:
            line.show(names)
    return "".join(f"{line.shown}\n" for stretch in stretches for line in stretch.sort_lines())


def _split_into_stretches(records: Iterable[LedgerRecord]) -> list[_Stretch]:
    turn: int | None = None
    opening = _Stretch()
    stretches = [opening]
    for record in records:
        event = record.event
        if event is not None and not event.durable:
            continue
        if isinstance(event, TurnStarted):
            turn = 0 if turn is None else turn + 1
        line = _Line(event=event, turn=turn, redacted=record.redacted)
        if isinstance(event, SandboxChecked):  # looked into while the session continues already
            line.turn = opening.first.turn if opening.first else None
            opening.rest.append(line)
        elif _place_line(line, stretches[-1]):
            stretches[-1].rest.append(line)
        else:
            stretches.append(_Stretch(line))
            opening = stretches[-1] if isinstance(event, SessionStarted | SessionResumed) else opening
    return stretches


def _place_line(line: _Line, stretch: _Stretch) -> bool:
    """Find the place of a line in its stretch; False where it begins another."""
    event = line.event
    place = CanonicalPlace.BEFORE_CALLS if event is None else event.place
    match place:
        case CanonicalPlace.BOUNDARY:
            return False
        case CanonicalPlace.BEFORE_CALLS:
            pass
        case CanonicalPlace.BY_CHANCE:
            line.kind = _SIDE_BY_SIDE
        case CallStage():
            context: ToolExecutionContext | None = getattr(event, "context", None)
            line.call, line.kind = _NO_CALL if context is None else context.call_index, place
    if isinstance(event, VoteCast):
        line.detail = (stretch.rounds.setdefault(event.digest, len(stretch.rounds)), event.reviewer)
    return True
