"""Plain values read from JSON, and where they stand when they are not what their place asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TypeVar

from domain.text.json_text import kind_of
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


def at(name: str, decode: Callable[[JsonValue], _T], value: JsonValue) -> _T:
    """What the decoder makes of a value; where that is unfit, this is the name of its place."""
    try:
        return decode(value)
    except Unfit as problem:
        problem.path.append(name)
        raise


def int_of(value: JsonValue) -> int:
    """A whole number. Raises Unfit."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unfit(type_mismatch("a whole number", value))
    return value


def check_version(value: JsonObject, key: str, *, newest: int) -> None:
    """Raises Unfit, at this key, where something was written by a version later than the newest known."""
    version = at(key, int_of, value.get(key))
    if version > newest:
        raise Unfit(f"it is {version}, and this program knows {newest}", key)


def str_of(value: JsonValue) -> str:
    """A string. Raises Unfit."""
    if not isinstance(value, str):
        raise Unfit(type_mismatch("a string", value))
    return value


def bool_of(value: JsonValue) -> bool:
    """A boolean. Raises Unfit."""
    if not isinstance(value, bool):
        raise Unfit(type_mismatch("a boolean", value))
    return value


def float_of(value: JsonValue) -> float:
    """A number. Raises Unfit."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unfit(type_mismatch("a number", value))
    try:
        return float(value)
    except OverflowError:
        raise Unfit("the number is too large") from None


def decimal_of(value: JsonValue) -> Decimal:
    """An amount, to the digits that were written; a JSON number carries up to 15 exactly. Raises Unfit."""
    number = Decimal(repr(float_of(value)))
    if not number.is_finite():
        raise Unfit("expected an amount, found no number")
    return number


def object_of(value: JsonValue) -> JsonObject:
    """An object. Raises Unfit."""
    if not isinstance(value, Mapping):
        raise Unfit(type_mismatch("an object", value))
    return value


def type_mismatch(what: str, found: JsonValue) -> str:
    """The words for a value of another kind than its place asks for."""
    return f"expected {what}, found {kind_of(found)}"
