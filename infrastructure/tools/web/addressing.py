"""Web addresses as a model gives them: what may be asked for at all, before any name is resolved."""

from __future__ import annotations

import re

import httpx2

from domain.errors import ToolError

_LONGEST = 4096
# Parsers disagree about these, so no address with them is taken.
_AMBIGUOUS = re.compile(r"[\x00-\x20\x7f\\]")


def web_address(text: str, base: httpx2.URL | None = None) -> httpx2.URL:
    """The address that a text names, seen from `base` where it is relative; without its fragment.

    Raises ToolError for anything but http and https, and for credentials in it.
    """
    shown = text[:200]
    if len(text) > _LONGEST:
        raise ToolError(f"{shown}… is too long for a web address; the limit is {_LONGEST} characters")
    if _AMBIGUOUS.search(text):
        raise ToolError(f"{shown!r} holds blanks, control characters or backslashes; percent-encode them")
    try:
        url = (base.join(text) if base is not None else httpx2.URL(text)).copy_with(fragment=None)
    except (httpx2.InvalidURL, ValueError) as error:
        raise ToolError(f"{shown} is no web address: {error}") from error
    if url.scheme not in ("http", "https"):
        raise ToolError(f"{shown} is no web address; it must start with http:// or https://")
    if not url.raw_host:
        raise ToolError(f"{shown} names no host")
    if url.userinfo:
        raise ToolError("the address holds a user name or password; leave them out")
    if not 0 < port_of(url) < 65_536:
        raise ToolError(f"{shown} names a port that no server has; ports are 1 to 65535")
    return url


def host_of(url: httpx2.URL) -> str:
    """The host as it goes over the wire: lower case, IDNA-encoded, IPv6 without brackets."""
    return url.raw_host.decode("ascii")


def port_of(url: httpx2.URL) -> int:
    """The port, that of the scheme where none is named."""
    if url.port is not None:
        return url.port
    return 443 if url.scheme == "https" else 80
