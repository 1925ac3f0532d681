"""Which hosts a command reaches that has no network of its own: by name and port, as settings and rules list
them.

`pypi.org` stands for its ports 80 and 443, `*.example.org` for every host below that name, `example.org:8443`
for one port. A name is compared as the resolver sees it: in lower case, in ASCII, without the dot at its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import TypeAlias

from msgspec import Struct

from quorum.domain.text.pattern import compile_once

HOST_RULE = "network"
"""In the place of a tool in rules: what such a rule speaks of are hosts."""
PROXY_PORT = 27_121
"""At which port of its own loopback a command finds the proxy that lets it reach hosts."""
USUAL_PORTS = frozenset({80, 443})
AddressRange: TypeAlias = IPv4Network | IPv6Network
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
# Resolvers take such a name for an address.
_NUMBER = r"[0-9]+|0x[0-9a-f]*"
_LONGEST_NAME = 253
_MOST_PORT = 65_535
_PORT = r"[0-9]{1,5}"
_EXAMPLE = 'write a name such as "pypi.org", "*.example.org" or "example.org:8443"'


class BadHost(ValueError):
    """The text names no host; the message says what is wrong with it."""


class HostPattern(Struct, frozen=True):
    """A host, or with `is_wide` every host below `name`. `port` None stands for the usual ones."""

    name: str
    port: int | None = None
    is_wide: bool = False

    @classmethod
    def parse(cls, text: str) -> HostPattern:
        """Read `NAME`, `*.NAME`, each of them with or without `:PORT`. Raises BadHost."""
        host, colon, port = text.strip().partition(":")
        if colon and not (compile_once(_PORT).fullmatch(port) and 0 < int(port) <= _MOST_PORT):
            raise BadHost(f"{text!r} names no port: {_EXAMPLE}")
        is_wide = host.startswith("*.")
        name = normalise_host(host[2:] if is_wide else host)
        if is_wide and "." not in name:
            raise BadHost(f"{text!r} is wider than a host: {_EXAMPLE}")
        return cls(name, int(port) if colon else None, is_wide)

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{'*.' if self.is_wide else ''}{self.name}{'' if self.port is None else f':{self.port}'}"

    def covers(self, host: str, port: int) -> bool:
        """Whether it stands for this port of a host, whose name is normalised."""
        if port != self.port and not (self.port is None and port in USUAL_PORTS):
            return False
        return host.endswith(f".{self.name}") if self.is_wide else host == self.name

    def includes(self, other: HostPattern) -> bool:
        """Whether it stands for all that the other one does."""
        if self.port != other.port and not (self.port is None and other.port in USUAL_PORTS):
            return False
        if self.is_wide:
            return other.name.endswith(f".{self.name}") or (other.is_wide and other.name == self.name)
        return not other.is_wide and other.name == self.name

    def overlaps(self, other: HostPattern) -> bool:
        """Whether both stand for one port of a host."""
        ports = USUAL_PORTS if self.port is None else {self.port}
        if not ports & (USUAL_PORTS if other.port is None else {other.port}):
            return False
        if self.is_wide and other.is_wide:
            return f".{self.name}".endswith(f".{other.name}") or f".{other.name}".endswith(f".{self.name}")
        wide, narrow = (self, other) if self.is_wide else (other, self)
        return narrow.name.endswith(f".{wide.name}") if wide.is_wide else narrow.name == wide.name


class HostList(Struct, frozen=True, kw_only=True):
    """The hosts that a command reaches: those `allowed` and not `withheld`. A name leads to public addresses
    only, and to those `ranges`, whose addresses may also be asked for as they are."""

    allowed: tuple[HostPattern, ...] = ()
    withheld: tuple[HostPattern, ...] = ()
    ranges: tuple[AddressRange, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """What is allowed, in order."""
        return (*sorted({each.text for each in self.allowed}), *map(str, self.ranges))

    def find_pattern(self, host: str, port: int) -> HostPattern | None:
        """What lets a command reach a host; None where nothing does."""
        if any(each.covers(host, port) for each in self.withheld):
            return None
        return next((each for each in self.allowed if each.covers(host, port)), None)

    def is_in_range(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in each for each in self.ranges)


class AskedHost(Struct, frozen=True):
    """A host that a command asked for, `refusal` says why it did not reach it and is empty where it did."""

    host: str
    port: int
    refusal: str = ""

    @property
    def name(self) -> str:
        """The host, with a port that is not usual."""
        return self.host if self.port in USUAL_PORTS else f"{self.host}:{self.port}"


def normalise_host(host: str) -> str:
    """The name as resolvers compare it. Raises BadHost for what is none, and for an address."""
    if not host.isascii():
        raise BadHost(f"{host[:_LONGEST_NAME]!r} has characters outside ASCII: {_spell_in_ascii(host)}")
    name = host.lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > _LONGEST_NAME or not all(map(compile_once(_LABEL).fullmatch, labels)):
        raise BadHost(f"{host[:_LONGEST_NAME]!r} is not a host: {_EXAMPLE}")
    if compile_once(_NUMBER).fullmatch(labels[-1]):
        raise BadHost(f"{host!r} is an address and not a name")
    return name


def is_host(text: str) -> bool:
    """Whether a text names a host, or those below a name."""
    try:
        HostPattern.parse(text)
    except BadHost:
        return False
    return True


def _spell_in_ascii(host: str) -> str:
    try:
        return f'write it as "{host.encode("idna").decode("ascii")}"'
    except UnicodeError:
        return _EXAMPLE


def read_hosts(text: str) -> tuple[HostPattern, ...]:
    """The hosts of a text in which commas part them. Raises BadHost."""
    return tuple(dict.fromkeys(HostPattern.parse(each) for each in text.split(",")))


def write_hosts(hosts: Iterable[str]) -> str:
    """The same as text."""
    return ", ".join(hosts)


def read_entry(text: str) -> HostPattern | AddressRange:
    """An entry of the settings: a host, or addresses that names may lead to as well. Raises BadHost."""
    try:
        return ip_network(text.strip())
    except ValueError:
        pass
    if "/" in text:
        raise BadHost(
            f"{text!r} is neither a host nor a range of addresses: leave out what stands before and behind the "
            'name of a host; a range is written as "10.0.0.0/8"'
        )
    return HostPattern.parse(text)


def sort_entries(entries: Sequence[str]) -> tuple[tuple[HostPattern, ...], tuple[AddressRange, ...]]:
    """The hosts and the ranges of addresses among the entries of the settings. Raises BadHost."""
    found = [read_entry(each) for each in entries]
    return (
        tuple(each for each in found if isinstance(each, HostPattern)),
        tuple(each for each in found if not isinstance(each, HostPattern)),
    )
