"""JSON data without secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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
