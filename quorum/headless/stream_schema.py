"""The JSON Schema of `--output stream-json`, made from the types of the events.

Run as `python -m quorum.headless.stream_schema`. A field of a kind that it does not know raises here, so that
no event goes out undescribed.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import fields as list_struct_fields

from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.conversation.response import StopReason, Usage
from quorum.domain.events.event import Event, SessionFinished
from quorum.domain.events.report import CallRecord, RunReport
from quorum.domain.fact import SCHEMA_VERSION
from quorum.domain.struct_json import Amount
from quorum.domain.text.json_value import JsonValue

Schema: TypeAlias = dict[str, JsonValue]

_SIMPLE: Mapping[object, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    Decimal: "number",
    Amount: "number",
    str: "string",
    NoneType: "null",
}

_MAY_NOT_APPLY = frozenset({"error", "provider_failed", "fallback_models", "jobs"})


def build_stream_schema() -> Schema:
    """The schema of one line of the stream: exactly one of the events, distinguished by `type`."""
    definitions = _Definitions()
    lines: list[JsonValue] = [definitions.define_event(event) for event in get_args(Event)]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"quorum stream-json, version {SCHEMA_VERSION}",
        "description": "One line of `quorum run --output stream-json`.",
        "oneOf": lines,
        "$defs": dict(sorted(definitions.known.items())),
    }


class _Definitions:
    """Collects the named types under their class names and answers references to them."""

    def __init__(self) -> None:
        self.known: Schema = {}

    def define_event(self, event: type[Event]) -> Schema:
        """A reference to the form in which an event is printed."""
        body = self._report() if event is SessionFinished else self._build_fields(event)
        return self._define_object(
            event, {"type": {"const": event.type}, "v": {"const": SCHEMA_VERSION}, **body}
        )

    def define(self, hint: object) -> Schema:
        """The schema of a field's type. Raises TypeError for one that has no JSON form."""
        if hint in _SIMPLE:
            return {"type": _SIMPLE[hint]}
        if hint is StopReason:
            return {"type": "string", "description": _describe(StopReason)}
        if hint is Any:
            return {}
        if isinstance(hint, type):
            return self._define_class(hint)
        return self._build_generic(hint)

    def _define_class(self, kind: type) -> Schema:
        if kind.__name__ in self.known:
            return _build_reference(kind)
        if issubclass(kind, Enum):
            self.known[kind.__name__] = {
                "description": _describe(kind),
                "enum": [member.value for member in kind],
            }
            return _build_reference(kind)
        if kind is ReviewPacket:
            return self._define_object(kind, self._build_packet())
        if kind is RunReport:
            return self._define_object(kind, self._report())
        if issubclass(kind, Struct):
            return self._define_object(kind, self._build_fields(kind))
        raise TypeError(f"an event holds a {kind.__name__}, which has no JSON Schema")

    def _build_generic(self, hint: object) -> Schema:
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType):
            shown = [self.define(argument) for argument in arguments if argument is not UnsetType]
            return {"anyOf": [*shown]} if len(shown) > 1 else shown[0]
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin is tuple and arguments[1:] == (...,):
            return {"type": "array", "items": self.define(arguments[0])}
        if origin is Mapping and arguments[0] is str:
            values = self.define(arguments[1])
            return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
        raise TypeError(f"an event holds a {hint}, which has no JSON Schema")

    def _build_fields(self, kind: type[Struct]) -> Schema:
        """The fields as `to_json` shows them, after the tag of what has one."""
        tag = kind.__struct_config__.tag
        hints = get_type_hints(kind)
        shown: Schema = {name: self.define(hints[name]) for name in kind.__struct_fields__}
        return {"type": {"const": tag}, **shown} if tag else shown

    def _report(self) -> Schema:
        """The object of `--output json`."""
        hints = get_type_hints(RunReport)
        plain = ("session_id", "status", "stop_reason", "text", "turns")
        return {
            **{name: self.define(hints[name]) for name in plain},
            "usage": self._define_usage(),
            "calls": {"type": "array", "items": self._define_object(CallRecord, self._record())},
            "error": {"type": "string"},
            "provider_failed": {"const": True},
            "fallback_models": self.define(hints["fallback_models"]),
            "jobs": self.define(hints["jobs"]),
        }

    def _define_usage(self) -> Schema:
        """The tokens of a report, and beside them what they cost where that is known."""
        tokens = self._build_fields(Usage)
        return {
            "description": f"{_describe(Usage)} `cost_usd` is there only where the price is known.",
            "type": "object",
            "properties": {**tokens, "cost_usd": self.define(Decimal)},
            "required": list(tokens),
        }

    def _record(self) -> Schema:
        """What became of a call: the fields of its context stand beside the others."""
        own = self._build_fields(CallRecord)
        del own["context"]
        return {**self._build_fields(ToolExecutionContext), **own}

    def _build_packet(self) -> Schema:
        """The canonical form of a packet, whose digest is what an approval approves."""
        hints = get_type_hints(Seal)
        measured = ("cwd", "files", "folders", "diff", "executables", "environment", "unsealed", "sandbox")
        return {
            "asked_by": {"type": "string"},
            "version": {"const": 1},
            "tool": {"type": "string"},
            "arguments": {"type": "object"},
            "context": self.define(ToolExecutionContext),
            **{name: self.define(hints[name]) for name in measured},
        }

    def _define_object(self, kind: type, properties: Schema) -> Schema:
        """Define an object. All its properties are there, but for those of a report that may not apply, and
        defaults that its class leaves out."""
        reported = kind in (RunReport, SessionFinished)
        omitted = _list_omitted(kind)
        self.known[kind.__name__] = {
            "description": _describe(kind),
            "type": "object",
            "properties": properties,
            "required": [
                name
                for name in properties
                if not (reported and name in _MAY_NOT_APPLY)
                and not (kind is ReviewPacket and name in ("asked_by", "folders"))
                and name not in omitted
            ],
        }
        return _build_reference(kind)


def _list_omitted(kind: type) -> set[str]:
    if not issubclass(kind, Struct):
        return set()
    optional = [field for field in list_struct_fields(kind) if not field.required]
    omits = kind.__struct_config__.omit_defaults
    return {field.name for field in optional if omits or field.default is UNSET}


def _build_reference(kind: type) -> Schema:
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _describe(kind: type) -> str:
    return inspect.getdoc(kind) or ""


def main() -> None:
    """Print the schema as it is published."""
    json.dump(build_stream_schema(), sys.stdout, ensure_ascii=False, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
