"""Decoders of JSON, made once for each type from its hints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from domain.calls.packet import ReviewPacket
from domain.conversation.response import StopReason
from domain.events.json_form import BLOCK_TYPES, parse_stop_reason
from domain.events.report import CallRecord, RunReport
from domain.text.decoding import (
    Unfit,
    check_version,
    decode_bool,
    decode_decimal,
    decode_field,
    decode_float,
    decode_int,
    decode_object,
    decode_str,
    describe_type_mismatch,
)
from domain.text.json_value import JsonObject, JsonValue

Decoder: TypeAlias = Callable[[JsonValue], object]


class AnyJsonObject:
    """Stands for a JSON object of no particular form."""


class AnyJsonValue:
    """Stands for any JSON value."""


# Recursive aliases do not resolve, and need not: whatever JSON holds is taken as it is.
JSON_ALIASES = {"JsonObject": AnyJsonObject, "JsonValue": AnyJsonValue}


@cache
def build_decoder(hint: object) -> Decoder:
    """What reads a value of this type; it raises Unfit. Raises TypeError for a type that has no JSON form."""
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if isinstance(hint, type):
        return _build_class_decoder(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _build_union_decoder(arguments)
    if origin is Literal:
        return _build_choice_decoder({value: value for value in arguments})
    if origin is tuple and arguments[1:] == (...,):
        return _list_decoder(build_decoder(arguments[0]))
    if origin is Mapping and arguments[0] is str:
        return _build_mapping_decoder(build_decoder(arguments[1]))
    raise TypeError(f"a {hint} has no JSON form")


# ---------------------------------------------------------------- values of values


def _list_decoder(item: Decoder) -> Decoder:
    def decode(value: JsonValue) -> object:
        if not isinstance(value, list | tuple):
            raise Unfit(describe_type_mismatch("an array", value))
        decoded: list[object] = []
        try:
            for one in value:
                decoded.append(item(one))
        except Unfit as problem:
            problem.path.append(str(len(decoded)))
            raise
        return tuple(decoded)

    return decode


def _build_mapping_decoder(item: Decoder) -> Decoder:
    def decode(value: JsonValue) -> object:
        return {key: decode_field(key, item, one) for key, one in decode_object(value).items()}

    return decode


def _build_choice_decoder(choices: Mapping[str, object]) -> Decoder:
    def decode(value: JsonValue) -> object:
        try:
            return choices[decode_str(value)]
        except KeyError:
            raise Unfit(f"{value!r} is none of {', '.join(choices)}") from None

    return decode


def _build_union_decoder(members: tuple[object, ...]) -> Decoder:
    """The tag says which dataclass it is; of what else there is, the first that fits is meant."""
    tagged = {BLOCK_TYPES[m]: build_decoder(m) for m in members if isinstance(m, type) and m in BLOCK_TYPES}
    others = [build_decoder(m) for m in members if m not in BLOCK_TYPES and m is not NoneType]
    optional = NoneType in members

    def decode(value: JsonValue) -> object:
        if value is None and optional:
            return None
        if tagged and (type(value) is dict or isinstance(value, Mapping)):
            tag = value.get("type")
            if not isinstance(tag, str) or tag not in tagged:
                raise Unfit(f"{tag!r} is none of {', '.join(tagged)}", "type")
            return tagged[tag](value)
        return _decode_first_fitting(others, value)

    return decode


def _decode_first_fitting(decoders: list[Decoder], value: JsonValue) -> object:
    problem = Unfit(describe_type_mismatch("an object", value))
    for decode in decoders:
        try:
            return decode(value)
        except Unfit as unfit:
            problem = unfit
    raise problem


# ---------------------------------------------------------------- classes


def _build_class_decoder(kind: type) -> Decoder:
    if issubclass(kind, Enum):
        return _build_choice_decoder({str(member.value): member for member in kind})
    if not is_dataclass(kind):
        raise TypeError(f"a {kind.__name__} has no JSON form")
    hints = get_type_hints(kind, localns=JSON_ALIASES)
    shown = [field for field in fields(kind) if field.compare]
    parts = [(field.name, build_decoder(hints[field.name]), _is_required(field)) for field in shown]
    form = _FORMS.get(kind)

    def decode(found: JsonValue) -> object:
        value = decode_object(found) if form is None else form(decode_object(found))
        given: dict[str, object] = {}
        for name, part, required in parts:
            if name in value:
                try:
                    given[name] = part(value[name])
                except Unfit as problem:
                    problem.path.append(name)
                    raise
            elif required:
                raise Unfit("it is missing", name)
        return kind(**given)

    return decode


def _is_required(field: Field[object]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _decode_stop_reason(value: JsonValue) -> StopReason:
    return parse_stop_reason(decode_str(value))


# ---------------------------------------------------------------- objects of another form than their class


def _read_packet_fields(packet: JsonObject) -> JsonObject:
    """A packet's canonical form as the fields of its class; digest and canonical form stay what they were."""
    check_version(packet, "version", newest=1)
    context = decode_field("context", decode_object, packet.get("context"))
    called = {
        "native_id": context.get("call_id"),
        "arguments": packet.get("arguments"),
        "tool_name": packet.get("tool"),
    }
    return {"call": called, "context": context, "seal": packet, "asked_by": packet.get("asked_by", "")}


def _report_fields(report: JsonObject) -> JsonObject:
    """A report as every ending prints it: there the cost stands among the tokens."""
    usage = decode_field("usage", decode_object, report.get("usage", {}))
    return {**report, "usage": usage, "cost_usd": usage.get("cost_usd")}


def _record_fields(record: JsonObject) -> JsonObject:
    """A report's record of a call: there the fields of its context stand beside the others."""
    return {**record, "context": record}


_FORMS: Mapping[type, Callable[[JsonObject], JsonObject]] = {
    ReviewPacket: _read_packet_fields,
    RunReport: _report_fields,
    CallRecord: _record_fields,
}
_SIMPLE: Mapping[object, Decoder] = {
    str: decode_str,
    int: decode_int,
    bool: decode_bool,
    float: decode_float,
    Decimal: decode_decimal,
    StopReason: _decode_stop_reason,
    AnyJsonObject: decode_object,
    AnyJsonValue: lambda value: value,
}
