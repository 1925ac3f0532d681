"""Plain values read from JSON, and where they stand when they are not what their place asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TypeVar

from domain.text.json_text import name_json_type
from domain.text.json_value import JsonObject, JsonValue

_T = TypeVar("_T")


class Unfit(Exception):
    """A value is not what its place asks for. `path` leads to it, from the inside outwards."""

    def __init__(self, problem: str, *path: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = list(path)

    def __str__(self) -> str:
        place = ".".join(reversed(self.path))
        return f"{place}: {self.problem}" if place else self.problem


def decode_field(name: str, decode: Callable[[JsonValue], _T], value: JsonValue) -> _T:
    """What the decoder makes of a value; where that is unfit, this is the name of its place."""
    try:
        return decode(value)
    except Unfit as problem:
        problem.path.append(name)
        raise


def decode_int(value: JsonValue) -> int:
    """A whole number. Raises Unfit."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unfit(describe_type_mismatch("a whole number", value))
    return value


def check_version(value: JsonObject, key: str, *, newest: int) -> None:
    """Raises Unfit, at this key, where something was written by a version later than the newest known."""
    version = decode_field(key, decode_int, value.get(key))
    if version > newest:
        raise Unfit(f"it is {version}, and this program knows {newest}", key)


def decode_str(value: JsonValue) -> str:
    """A string. Raises Unfit."""
    if not isinstance(value, str):
        raise Unfit(describe_type_mismatch("a string", value))
    return value


def decode_bool(value: JsonValue) -> bool:
    """A boolean. Raises Unfit."""
    if not isinstance(value, bool):
        raise Unfit(describe_type_mismatch("a boolean", value))
    return value


def decode_float(value: JsonValue) -> float:
    """A number. Raises Unfit."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unfit(describe_type_mismatch("a number", value))
    try:
        return float(value)
    except OverflowError:
        raise Unfit("the number is too large") from None


def decode_decimal(value: JsonValue) -> Decimal:
    """An amount, to the digits that were written; a JSON number carries up to 15 exactly. Raises Unfit."""
    number = Decimal(repr(decode_float(value)))
    if not number.is_finite():
        raise Unfit("expected an amount, found no number")
    return number


def decode_object(value: JsonValue) -> JsonObject:
    """An object. Raises Unfit."""
    if type(value) is not dict and not isinstance(value, Mapping):  # the first costs a tenth of the second
        raise Unfit(describe_type_mismatch("an object", value))
    return value


def describe_type_mismatch(what: str, found: JsonValue) -> str:
    """The words for a value of another kind than its place asks for."""
    return f"expected {what}, found {name_json_type(found)}"
