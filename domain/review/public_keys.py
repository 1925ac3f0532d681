"""Which key a public key of SSH is, however it is written.

Source: RFC 4253, section 6.6, and RFC 4251, section 5 (string, mpint); OpenSSH takes leading zeros as well.
"""

from __future__ import annotations

import base64
import binascii
import hashlib

_LENGTH_BYTES = 4
_OF_NUMBERS = ("ssh-rsa", "ssh-dss")
"""Keys whose parts are all numbers."""


def find_fingerprint(key: str) -> str:
    """The fingerprint of a line as `~/.ssh/*.pub` has it: the same for one key however its base64, its numbers
    and its comment are written. Empty where it is no public key, or a certificate of one."""
    words = key.split(maxsplit=2)
    if len(words) < 2 or "-cert-" in words[0]:
        return ""
    kind, text = words[0], words[1].rstrip("=")
    try:
        blob = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        return ""
    parts = _split_strings(blob)
    if len(parts) < 2 or parts[0] != kind.encode():
        return ""
    if kind in _OF_NUMBERS:
        parts = [parts[0], *map(_shorten_number, parts[1:])]
    whole = b"".join(len(part).to_bytes(_LENGTH_BYTES) + part for part in parts)
    return "SHA256:" + base64.b64encode(hashlib.sha256(whole).digest()).decode().rstrip("=")


def _split_strings(blob: bytes) -> list[bytes]:
    """The strings of which it is made, each with its length before it; none where that does not come out."""
    parts, at = [], 0
    while at < len(blob):
        begin = at + _LENGTH_BYTES
        at = begin + int.from_bytes(blob[at:begin])
        if at > len(blob) or begin > len(blob):
            return []
        parts.append(blob[begin:at])
    return parts


def _shorten_number(number: bytes) -> bytes:
    """The same number in the one form that the standard has for it."""
    short = number.lstrip(b"\0")
    return b"\0" + short if short[:1] >= b"\x80" else short
