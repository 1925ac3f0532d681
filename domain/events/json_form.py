"""The stable JSON form of events and reports: what `stream-json` prints and a record keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

from domain.calls.packet import ReviewPacket
from domain.conversation.history import AssistantMessage, ToolResults, UserMessage
from domain.conversation.response import (
    OpaqueBlock,
    ReasoningBlock,
    StopKind,
    StopReason,
    TextBlock,
    ToolUseBlock,
    Usage,
)
from domain.errors import QuorumError
from domain.events.event import SCHEMA_VERSION, Event
from domain.events.report import CallRecord, RunReport
from domain.text.json_value import JsonObject, JsonValue

# The `type` by which the blocks of an answer, and the messages of a conversation, are distinguished.
BLOCK_TYPES: Mapping[type, str] = {
    UserMessage: "user",
    AssistantMessage: "assistant",
    ToolResults: "tool_results",
    TextBlock: "text",
    ToolUseBlock: "tool_use",
    ReasoningBlock: "reasoning",
    OpaqueBlock: "opaque",
}
_OTHER = "other: "
_STOP_WORDS = frozenset(kind.value for kind in StopKind)


def event_to_json(event: Event) -> JsonObject:
    """An event as a JSON object: `type`, the schema version `v`, and its fields."""
    return {"type": event.type, "v": SCHEMA_VERSION, **_fields_to_json(event)}


def usage_to_json(usage: Usage, cost_usd: Decimal | None) -> JsonObject:
    """The tokens of requests, with `cost_usd` where that is known."""
    cost: JsonObject = {} if cost_usd is None else {"cost_usd": float(cost_usd)}
    return {**_fields_to_json(usage), **cost}


def report_to_json(report: RunReport) -> JsonObject:
    """A report as the one object that every ending prints.

    `error` is there only when there is one, `usage.cost_usd` only where it is known, `provider_failed` only
    where it is true, `fallback_models` and `jobs` only where there
    are any.
    """
    shown: dict[str, JsonValue] = {
        "session_id": report.session_id,
        "status": report.status.value,
        "stop_reason": report.stop_reason,
        "text": report.text,
        "turns": report.turns,
        "usage": usage_to_json(report.usage, report.cost_usd),
        "calls": [_record_to_json(record) for record in report.calls],
    }
    if report.error is not None:
        shown["error"] = report.error
    if report.provider_failed:
        shown["provider_failed"] = True
    if report.fallback_models:
        shown["fallback_models"] = list(report.fallback_models)
    if report.jobs:
        shown["jobs"] = [_fields_to_json(job) for job in report.jobs]
    return shown


def parse_stop_reason(word: str) -> StopReason:
    """The reason to stop that is shown as this word."""
    if word.startswith(_OTHER):
        return StopReason(StopKind.OTHER, word.removeprefix(_OTHER))
    if word in _STOP_WORDS:
        return StopReason(StopKind(word))
    return StopReason(StopKind.OTHER, word)


def _stop_word(reason: StopReason) -> str:
    """One word; a provider's own that could be taken for one of ours says that it is none."""
    word = str(reason)
    foreign = reason.kind is StopKind.OTHER and reason.detail
    return f"{_OTHER}{word}" if foreign and (word in _STOP_WORDS or word.startswith(_OTHER)) else word


def _record_to_json(record: CallRecord) -> JsonObject:
    return {
        **_fields_to_json(record.context),
        "tool": record.tool,
        "outcome": record.outcome.value,
        "decision": record.decision.value,
        "quorum_results": [event_to_json(result) for result in record.quorum_results],
    }


def _encode_value(value: object) -> JsonValue:
    match value:
        case None | bool() | int() | float():
            return value
        case Decimal():
            return float(value)
        case Enum():
            return str(value.value)
        case str():
            return value
        case StopReason():
            return _stop_word(value)
        case ReviewPacket():
            return value.to_json()
        case RunReport():
            return report_to_json(value)
        case Mapping():
            return {str(key): _encode_value(item) for key, item in value.items()}
        case tuple() | list() | frozenset():
            return [_encode_value(item) for item in value]
        case _ if is_dataclass(value):
            return _fields_to_json(value)
        case _:
            raise QuorumError(f"an event holds a {type(value).__name__}, which has no JSON form")


def _fields_to_json(value: Any) -> dict[str, JsonValue]:
    tag = BLOCK_TYPES.get(type(value))
    shown: dict[str, JsonValue] = {"type": tag} if tag else {}
    for field in fields(value):
        if field.compare:  # what is no part of a value's identity, such as a call's controls, is not shown
            shown[field.name] = _encode_value(getattr(value, field.name))
    return shown
