"""Events read back from their JSON form.

What is missing takes its default, so that what an older version wrote can be read; keys that are not known are
passed over. Everything else that does not fit is an error: a record is never guessed at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from quorum.domain.errors import UnreadableEvent
from quorum.domain.events.event import Event
from quorum.domain.fact import SCHEMA_VERSION
from quorum.domain.struct_json import Unfit, check_version
from quorum.domain.text.json_value import JsonObject

_KINDS: Mapping[str, type[Event]] = {kind.type: kind for kind in get_args(Event)}


def event_from_json(value: JsonObject) -> Event:
    """The event whose `to_json` made this, but for what JSON leaves out: controls, projected content.

    Raises UnreadableEvent, which names the type and the field: for a type that is not known, a newer version of
    the schema, a field that is missing or of the wrong kind.
    """
    type_ = value.get("type")
    if not isinstance(type_, str):
        raise UnreadableEvent("an event without a type cannot be read")
    kind = _KINDS.get(type_)
    if kind is None:
        raise UnreadableEvent(
            f"an event of the unknown type {type_!r} cannot be read; a newer version may know it"
        )
    try:
        check_version(value, "v", newest=SCHEMA_VERSION)
        return kind.from_json(value)
    except Unfit as problem:
        raise UnreadableEvent(f"an event of the type {type_} cannot be read: {problem}") from None
