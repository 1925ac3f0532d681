"""The hash that links the entries of a chain."""

from __future__ import annotations

import hashlib

NO_LINK = bytes(32)
"""What stands for the link before the first entry of a chain."""


def hash_fields(*fields: str | bytes) -> bytes:
    """The SHA-256 of fields, each with its length before it: no two lists of fields have the same bytes."""
    pieces: list[bytes] = []
    for field in fields:
        data = field.encode("utf-8", "surrogatepass") if isinstance(field, str) else field
        pieces += (len(data).to_bytes(8, "big"), data)
    return hashlib.sha256(b"".join(pieces)).digest()
