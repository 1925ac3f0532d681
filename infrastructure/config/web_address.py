"""What counts as the address of a server in the settings."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_web_address(text: str) -> bool:
    """Whether it is an http or https address with a host, in printable ASCII; an empty text also counts."""
    try:
        parts = urlsplit(text)
        named = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return not text or (named and text.isascii() and text.isprintable() and " " not in text)
