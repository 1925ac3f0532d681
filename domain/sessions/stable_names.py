"""Names that are the same in every run, in place of ids and times that never are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import TypeVar, cast

from domain.calls.execution import ToolExecutionContext
from domain.calls.tool import ToolResultMessage
from domain.conversation.response import ToolUseBlock
from domain.events.event import (
    AnswerDefended,
    AnswerRevised,
    BatchPlanned,
    CallFinished,
    ChangeReviewed,
    ContextReceived,
    ConversationCompacted,
    FilesKept,
    FindingsTried,
    JobEnded,
    JobStarted,
    MessageAdded,
    ObjectionsRaised,
    ObjectionsRuled,
    OutputStored,
    PanelAnswered,
    PanelConcluded,
    PanelReviewed,
    PanelStarted,
    PartReviewed,
    PlanApproved,
    PlanProposed,
    PlanReviewStarted,
    QuorumConcluded,
    ResultReceived,
    ReviewDecided,
    ReviewerLooked,
    ReviewRequested,
    SessionResumed,
    SessionStarted,
    StateMerged,
    SubagentFinished,
    SubagentStarted,
    UserCommandFinished,
    UserCommandStarted,
    VoteCast,
)
from domain.events.report import RunReport
from domain.panel.panel_answer import PanelAnswer

_T = TypeVar("_T")

# The fields that hold an id, each with the word that it is named by. A digest covers ids, and is one itself.
_IDS: Mapping[tuple[type, str], str] = {
    (SessionStarted, "session_id"): "session",
    (SessionResumed, "session_id"): "session",
    (RunReport, "session_id"): "session",
    (ToolExecutionContext, "batch_id"): "batch",
    (BatchPlanned, "batch_id"): "batch",
    (StateMerged, "batch_id"): "batch",
    (ToolExecutionContext, "call_id"): "call",
    (ToolUseBlock, "id"): "call",
    (ToolResultMessage, "tool_use_id"): "call",
    (OutputStored, "blob_id"): "blob",
    (MessageAdded, "command_id"): "command",
    (ContextReceived, "note_id"): "command",
    (ContextReceived, "session_id"): "session",
    (ResultReceived, "note_id"): "command",
    (ResultReceived, "session_id"): "session",
    (UserCommandStarted, "command_id"): "command",
    (UserCommandFinished, "command_id"): "command",
    (UserCommandFinished, "blob_id"): "blob",
    (JobEnded, "blob_id"): "blob",
    (ConversationCompacted, "blobs"): "blob",
    (FilesKept, "manifest"): "manifest",
    (ReviewRequested, "digest"): "digest",
    (ReviewDecided, "digest"): "digest",
    (VoteCast, "digest"): "digest",
    (QuorumConcluded, "digest"): "digest",
    (PlanReviewStarted, "digest"): "digest",
    (PlanReviewStarted, "plan_digest"): "digest",
    (PlanProposed, "digest"): "digest",
    (PlanApproved, "digest"): "digest",
    (PanelStarted, "panel_id"): "panel",
    (PanelAnswered, "panel_id"): "panel",
    (PanelReviewed, "panel_id"): "panel",
    (PanelConcluded, "panel_id"): "panel",
    (ObjectionsRaised, "panel_id"): "panel",
    (AnswerDefended, "panel_id"): "panel",
    (ObjectionsRuled, "panel_id"): "panel",
    (AnswerRevised, "panel_id"): "panel",
    (ReviewerLooked, "panel_id"): "panel",
    (PartReviewed, "panel_id"): "panel",
    (FindingsTried, "panel_id"): "panel",
    (ChangeReviewed, "panel_id"): "panel",
    (SubagentStarted, "subagent_id"): "subagent",
    (SubagentFinished, "subagent_id"): "subagent",
}
_TIMES: Mapping[tuple[type, str], object] = {
    (CallFinished, "duration_secs"): 0.0,
    (UserCommandFinished, "duration_secs"): 0.0,
    (JobStarted, "ran_secs"): 0.0,
    (JobEnded, "duration_secs"): 0.0,
    (PanelAnswer, "secs"): 0.0,
    (QuorumConcluded, "timestamp"): "",
}
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
            case _ if is_dataclass(value) and not isinstance(value, type):
                shown = (field.name for field in fields(value) if field.compare)
                return replace(value, **{name: self._rename_field(value, name) for name in shown})
            case _:
                return value

    def _rename_field(self, owner: object, name: str) -> object:
        place = (type(owner), name)
        value = getattr(owner, name)
        if place in _TIMES:
            return _TIMES[place]
        if (kind := _IDS.get(place)) is not None and value is not None:
            return (
                tuple(self._rename_name(kind, id_) for id_ in value)
                if isinstance(value, tuple)
                else self._rename_name(kind, value)
            )
        if place == (QuorumConcluded, "target"):
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
