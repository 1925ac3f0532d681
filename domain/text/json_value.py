"""The type of JSON data, as it travels in arguments, schemas and events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
else:
    JsonValue = Any  # structs that hold one are read by their types, and a recursive one does not resolve

JsonObject: TypeAlias = Mapping[str, JsonValue]
