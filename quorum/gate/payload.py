"""What a caller sends, read strictly: one bounded JSON object that all readers understand alike."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import BinaryIO, NoReturn, TypeVar

from quorum.domain.text.json_value import JsonObject, JsonValue

MOST_BYTES = 4 << 20

_Kind = TypeVar("_Kind", str, bool, int)
_NAMES: Mapping[type, str] = {str: "a text", bool: "true or false", int: "a whole number"}


class BadPayload(Exception):
    """What was sent cannot be understood. The text says why; `event` is the one to answer, as far as known."""

    def __init__(self, message: str, event: str = "") -> None:
        super().__init__(message)
        self.event = event


def read_payload(stream: BinaryIO) -> bytes:
    """All that a stream holds. Raises BadPayload where that is more than a call may have."""
    content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise BadPayload(f"the call is larger than {MOST_BYTES >> 20} MB, too large to be reviewed")
    return content


def parse_payload(content: bytes) -> JsonObject:
    """The one JSON object. Raises BadPayload."""
    if len(content) > MOST_BYTES:
        raise BadPayload(f"the call is larger than {MOST_BYTES >> 20} MB, too large to be reviewed")
    try:
        value = json.loads(
            content.decode("utf-8-sig"), object_pairs_hook=_require_unique_keys, parse_constant=_refuse_constant
        )
    except UnicodeDecodeError as error:
        raise BadPayload(f"the call is not UTF-8: byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise BadPayload(f"the call is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadPayload("the call is not a JSON object")
    return value


def _require_unique_keys(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def require_fields(given: JsonObject, known: Collection[str], what: str) -> None:
    """Raises BadPayload for a field that is not among the known ones."""
    if strange := sorted(set(given).difference(known)):
        raise BadPayload(f"{what} has the field {strange[0][:100]!r}, of which nothing is known here")


def require_object(given: JsonObject, name: str) -> JsonObject:
    """The object of that name. Raises BadPayload."""
    value = given.get(name)
    if not isinstance(value, Mapping):
        raise BadPayload(f"{name} is missing or no object")
    return value


def require(given: JsonObject, name: str, kind: type[_Kind]) -> _Kind:
    """The value of that name. Raises BadPayload where it is missing or of another type."""
    value = read_optional(given, name, kind)
    if value is None:
        raise BadPayload(f"{name} is missing")
    return value


def read_optional(given: JsonObject, name: str, kind: type[_Kind]) -> _Kind | None:
    """The value of that name, None where there is none. Raises BadPayload for one of another type."""
    value = given.get(name)
    if value is None:
        return None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise BadPayload(f"{name} is not {_NAMES[kind]}")
    return value


def require_absolute(path: str, name: str) -> str:
    """The path, if it is absolute. Raises BadPayload."""
    if not path.startswith("/") or "\0" in path:
        raise BadPayload(f"{name} is not an absolute path")
    return path
