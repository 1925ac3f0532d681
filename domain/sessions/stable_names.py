"""Names that are the same in every run, in place of ids and times that never are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from quorum.domain.code_review.review_result import ReviewResult
from quorum.domain.conversation.response import StopReason, ToolUseBlock
from quorum.domain.events.event import QuorumConcluded, ServerQuestionAnswered

_T = TypeVar("_T")

# The fields that hold an id, each with the word that it is named by. A digest covers ids, and is one itself.
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
}
_WITHOUT_IDS = (ServerQuestionAnswered, ReviewResult)  # of what their digests cover, nothing is an id
_TIMES: Mapping[str, object] = {"duration_secs": 0.0, "ran_secs": 0.0, "secs": 0.0, "timestamp": ""}
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
        if kind is not None and value is not None and not isinstance(owner, _WITHOUT_IDS):
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
