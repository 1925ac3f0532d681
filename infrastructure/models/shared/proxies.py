"""The proxy that the environment puts between this machine and a server: for the sentences about it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy without name and password, and the environment variable that names it."""

    address: str
    variable: str


def proxy_for(address: str) -> Proxy | None:
    """The proxy through which this address is reached, or None where it is reached directly."""
    target = urlsplit(address)
    known = getproxies()
    scheme = next((scheme for scheme in (target.scheme, "all") if known.get(scheme)), None)
    if scheme is None or not target.hostname or proxy_bypass(target.hostname):
        return None
    given = known[scheme]
    parts = urlsplit(given if "://" in given else f"http://{given}")
    return Proxy(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", f"{scheme.upper()}_PROXY")
