"""Events read back from their JSON form: the inverse of `domain.events.json_form`.

What is missing takes its default, so that what an older version wrote can be read; keys that are not known are
passed over. Everything else that does not fit is an error: a record is never guessed at.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import cast, get_args

from domain.errors import UnreadableEvent
from domain.events.decoders import Decoder, build_decoder
from domain.events.event import SCHEMA_VERSION, Event
from domain.text.decoding import Unfit, check_version
from domain.text.json_value import JsonObject


def event_from_json(value: JsonObject) -> Event:
    """The event that `event_to_json` made this of, but for what JSON leaves out: controls, projected content.

    Raises UnreadableEvent, which names the type and the field: for a type that is not known, a newer version of
    the schema, a field that is missing or of the wrong kind.
    """
    type_ = value.get("type")
    if not isinstance(type_, str):
        raise UnreadableEvent("an event without a type cannot be read")
    decode = _build_decoders().get(type_)
    if decode is None:
        raise UnreadableEvent(
            f"an event of the unknown type {type_!r} cannot be read; a newer version may know it"
        )
    try:
        check_version(value, "v", newest=SCHEMA_VERSION)
        return cast("Event", decode(value))
    except Unfit as problem:
        raise UnreadableEvent(f"an event of the type {type_} cannot be read: {problem}") from None


@cache
def _build_decoders() -> Mapping[str, Decoder]:
    """One decoder for each type of event, made when the first event is read."""
    return {event.type: build_decoder(event) for event in get_args(Event)}
