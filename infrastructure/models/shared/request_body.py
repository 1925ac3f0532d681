"""The body of a request as JSON."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from domain.text.json_value import JsonValue


def encode_body(body: Mapping[str, JsonValue]) -> bytes:
    """The body, in UTF-8 and without spaces; NaN and infinities, which JSON does not have, are null.

    Each request carries the whole conversation. Python's own encoder, which the SDKs use, takes 6 ms of the
    event loop for a megabyte of it, msgspec less than one. Raises UnicodeEncodeError for half a surrogate pair.
    """
    return msgspec.json.encode(body)
