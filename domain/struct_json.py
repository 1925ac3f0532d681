"""Structs as JSON values and back, with a clear place for what does not fit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, TypeVar, cast

from msgspec import Struct, ValidationError, convert, to_builtins

from quorum.domain.errors import QuorumError
from quorum.domain.text.json_text import name_json_type
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.pattern import compile_once

_S = TypeVar("_S", bound=Struct)
# Two threads that look at a type for the first time at once end the process: msgspec 0.22 does not expect it.
_DECODING = Lock()
_PROBLEM = r"(?s)(?P<what>.*?)(?: - at `\$(?:\.(?P<place>.*)|(?P<items>\[.*))`)?"
_MISSING = r"Object missing required field `(.+)`"
_MISMATCH = r"Expected `(.+)`, got `(.+)`"
_JSON_TYPES = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "decimal": "an amount",
    "bool": "a boolean",
    "array": "an array",
    "object": "an object",
    "null": "null",
}


class Unfit(Exception):
    """A value is not what its place asks for. `path` leads to it, from the outside inwards."""

    def __init__(self, problem: str, *path: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path

    def __str__(self) -> str:
        return f"{'.'.join(self.path)}: {self.problem}" if self.path else self.problem


class Coded(Protocol):
    """A value whose JSON form is none of its fields."""

    def to_json(self) -> JsonValue:
        """Its JSON form."""
        ...

    @classmethod
    def from_json(cls, value: JsonValue) -> Self:
        """The inverse of `to_json`. Raises ValueError."""
        ...


if TYPE_CHECKING:
    Amount: TypeAlias = Decimal
else:

    class Amount(Decimal):
        """An amount whose JSON form is a number: it carries up to 15 digits exactly."""

        @classmethod
        def from_json(cls, value: JsonValue) -> Amount:
            """The amount, to the digits that were written. Raises ValueError."""
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"expected an amount, found {name_json_type(value)}")
            try:
                number = float(value)
            except OverflowError:
                raise ValueError("the number is too large") from None
            if not isfinite(number):
                raise ValueError("expected an amount, found no finite number")
            return cls(repr(number))


def struct_to_json(value: Struct) -> dict[str, JsonValue]:
    """The fields of a struct as a JSON object, after the `type` of a tagged one."""
    found = to_builtins(value, builtin_types=(Decimal,), enc_hook=_encode)
    return cast("dict[str, JsonValue]", _simplify(found))


def decode_struct(kind: type[_S], value: JsonObject) -> _S:
    """The struct that `struct_to_json` made this of; what is missing takes its default, and keys that are not
    known are passed over. Raises Unfit."""
    try:
        with _DECODING:
            return convert(value, kind, dec_hook=lambda wanted, found: wanted.from_json(found))
    except ValidationError as problem:
        raise _explain(str(problem)) from None
    except UnicodeEncodeError:  # msgspec looks up keys and words as UTF-8
        raise Unfit("a key or a word holds half of a surrogate pair") from None


def _encode(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    if isinstance(value, Amount):
        return float(value)
    if hasattr(value, "to_json"):  # to ask whether it is `Coded` takes ten times as long
        return cast("Coded", value).to_json()
    raise QuorumError(f"an event holds a {type(value).__name__}, which has no JSON form")


_SIMPLE = frozenset((str, int, bool, type(None)))


def _simplify(value: Any) -> JsonValue:
    """The value with arrays as lists and amounts as numbers."""
    kind = type(value)
    if kind is dict:
        return {key: item if type(item) in _SIMPLE else _simplify(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [item if type(item) in _SIMPLE else _simplify(item) for item in value]
    return float(value) if kind is Decimal else value


def check_version(value: JsonObject, key: str, *, newest: int, place: tuple[str, ...] = ()) -> None:
    """Raises Unfit, at this key, where something was written by a version later than the newest known."""
    version = value.get(key)
    if isinstance(version, bool) or not isinstance(version, int):
        raise Unfit(f"expected a whole number, found {name_json_type(version)}", *place, key)
    if version > newest:
        raise Unfit(f"it is {version}, and this program knows {newest}", *place, key)


def _explain(problem: str) -> Unfit:
    """What msgspec says is wrong, as a problem and its place."""
    found = compile_once(_PROBLEM).fullmatch(problem)
    what, place, items = found.groups() if found else (problem, None, None)
    path = re.findall(r"[^.\[\]]+", place or items or "")
    if missing := compile_once(_MISSING).fullmatch(what):
        what, path = "it is missing", [*path, missing[1]]
    elif mismatch := compile_once(_MISMATCH).fullmatch(what):
        wanted = " or ".join(_JSON_TYPES.get(each, each) for each in mismatch[1].split(" | "))
        what = f"expected {wanted}, found {_JSON_TYPES.get(mismatch[2], mismatch[2])}"
    return Unfit(what[:1].lower() + what[1:], *path)
