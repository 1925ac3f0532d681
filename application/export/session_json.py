"""Sessions as JSON without secrets: one in a list, and one with all its records."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from quorum.domain.sessions.session_summary import LedgerRecord, SessionSummary
from quorum.domain.text.json_value import JsonValue


def mask_json(value: JsonValue, mask: Callable[[str], str]) -> JsonValue:
    """The data with every text of it masked, names included."""
    match value:
        case str():
            return mask(value)
        case Mapping():
            return {mask(name): mask_json(each, mask) for name, each in value.items()}
        case Sequence():
            return [mask_json(each, mask) for each in value]
        case _:
            return value


_JSON_VERSION = 1


def render_json(summary: SessionSummary, records: Sequence[LedgerRecord], mask: Callable[[str], str]) -> str:
    """Every record with its event, as the stream of a run prints it, in one object."""
    whole: dict[str, JsonValue] = {
        "type": "quorum_session",
        "v": _JSON_VERSION,
        "session": encode_summary(summary),
        "records": [_record(record) for record in records],
    }
    return encode_ascii_json(mask_json(whole, mask), indent=1) + "\n"


def encode_summary(summary: SessionSummary) -> dict[str, JsonValue]:
    """A session as an object of JSON. Times are milliseconds since 1970, UTC."""
    return {
        "id": summary.id,
        "title": summary.title,
        "cwd": summary.cwd,
        "model": summary.model,
        "started_ms": summary.started_ms,
        "updated_ms": summary.updated_ms,
        "turns": summary.turns,
        "records": summary.records,
        "cost_usd": None if summary.cost_usd is None else float(summary.cost_usd),
        "parent": summary.parent,
        "owner": summary.owner,
        "open_in": summary.open_in,
        "host": summary.host or None,
    }


def mask_lines(lines: str, mask: Callable[[str], str]) -> str:
    """JSON lines with every text of them masked."""
    return "".join(encode_ascii_json(mask_json(json.loads(line), mask)) + "\n" for line in lines.splitlines())


def encode_ascii_json(value: JsonValue, *, indent: int | None = None) -> str:
    """JSON in which every character that could act on a terminal is an escape; on one line without `indent`."""
    separators = (",", ":") if indent is None else None
    return json.dumps(value, indent=indent, separators=separators)


def _record(record: LedgerRecord) -> dict[str, JsonValue]:
    return {
        "seq": record.seq,
        "at_ms": record.at_ms,
        "redacted": record.redacted,
        "event": None if record.event is None else record.event.to_json(),
    }
