"""Which addresses a login may lead to."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from quorum.domain.errors import LoginError
from quorum.domain.text.printable import make_printable

_LONGEST = 8_000


def require_safe_address(address: str, server_url: str) -> None:
    """Raise LoginError unless the address is https, or http on the loopback of a server that is there, too.

    A server elsewhere may not lead to this machine or to the network it stands in: whoever runs it would have
    quorum, or the person's browser, ask there.
    """
    shown = make_printable(address, newlines=False)[:200]
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        host = ""
    if not host or not address.isascii() or not address.isprintable() or len(address) > _LONGEST:
        raise LoginError(f"the server names what is not a web address for the login: {shown}")
    if parts.username is not None or parts.password is not None:
        raise LoginError(f"the address for the login holds a user name, which hides where it leads: {shown}")
    is_here = is_local(host)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_here):
        raise LoginError(f"the address for the login is not https: {shown}")
    if is_here and not is_local(urlsplit(server_url).hostname or ""):
        raise LoginError(
            f"a server elsewhere names an address of this machine or network for the login: {shown}"
        )


def is_local(host: str) -> bool:
    """Whether a host is this machine, or an address that no public server has. Names are not looked up."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return not ipaddress.ip_address(name).is_global
    except ValueError:
        return name.isdigit() or name.startswith("0x")  # a form of an IPv4 address that browsers take
