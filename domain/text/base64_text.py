"""Base64 as programs write it."""

from __future__ import annotations

from base64 import b64decode

_STANDARD_ALPHABET = str.maketrans("-_", "+/")


def decode_base64(data: str) -> bytes:
    """Either alphabet, with line ends, without padding, or as a `data:` address. Raises ValueError."""
    if data.startswith("data:"):
        data = data.partition(",")[2]
    data = "".join(data.split()).translate(_STANDARD_ALPHABET).rstrip("=")
    return b64decode(data + "=" * (-len(data) % 4), validate=True)
