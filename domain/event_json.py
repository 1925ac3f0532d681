"""The stable JSON form of events and reports: what `stream-json` prints and a record keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

from domain.errors import QuorumError
from domain.events import SCHEMA_VERSION, Event
from domain.json_value import JsonObject, JsonValue
from domain.packet import ReviewPacket
from domain.report import CallRecord, RunReport
from domain.response import OpaqueBlock, ReasoningBlock, StopReason, TextBlock, ToolUseBlock

# The `type` by which the blocks of an answer are told apart.
BLOCK_TYPES: Mapping[type, str] = {
    TextBlock: "text",
    ToolUseBlock: "tool_use",
    ReasoningBlock: "reasoning",
    OpaqueBlock: "opaque",
}


def event_to_json(event: Event) -> JsonObject:
    """An event as a JSON object: `type`, the schema version `v`, and its fields."""
    return {"type": event.type, "v": SCHEMA_VERSION, **_fields_to_json(event)}


def report_to_json(report: RunReport) -> JsonObject:
    """A report as the one object that every ending prints.

    `error` is there only when there is one, `usage.cost_usd` only where it is known.
    """
    usage = _fields_to_json(report.usage)
    if report.cost_usd is not None:
        usage["cost_usd"] = float(report.cost_usd)
    shown: dict[str, JsonValue] = {
        "session_id": report.session_id,
        "status": report.status.value,
        "stop_reason": report.stop_reason,
        "text": report.text,
        "turns": report.turns,
        "usage": usage,
        "calls": [_record_to_json(record) for record in report.calls],
    }
    if report.error is not None:
        shown["error"] = report.error
    return shown


def _record_to_json(record: CallRecord) -> JsonObject:
    return {
        **_fields_to_json(record.context),
        "tool": record.tool,
        "outcome": record.outcome.value,
        "decision": record.decision.value,
    }


def _to_json(value: object) -> JsonValue:
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
            return str(value)
        case ReviewPacket():
            packet: JsonValue = json.loads(value.canonical())
            return packet
        case RunReport():
            return report_to_json(value)
        case Mapping():
            return {str(key): _to_json(item) for key, item in value.items()}
        case tuple() | list() | frozenset():
            return [_to_json(item) for item in value]
        case _ if is_dataclass(value):
            return _fields_to_json(value)
        case _:
            raise QuorumError(f"an event holds a {type(value).__name__}, which has no JSON form")


def _fields_to_json(value: Any) -> dict[str, JsonValue]:
    tag = BLOCK_TYPES.get(type(value))
    shown: dict[str, JsonValue] = {"type": tag} if tag else {}
    for field in fields(value):
        if field.compare:  # what is no part of a value's identity, such as a call's controls, is not shown
            shown[field.name] = _to_json(getattr(value, field.name))
    return shown
