"""The guard between a model and the network: a name becomes addresses once, and every one is checked."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

from quorum.domain.errors import ToolError

Address: TypeAlias = IPv4Address | IPv6Address

# Our own list rather than `is_global`, which differs between releases of Python.
_NOT_PUBLIC_4 = tuple(
    (IPv4Network(network), kind)
    for network, kind in (
        ("0.0.0.0/8", "an address of this machine"),
        ("10.0.0.0/8", "a private address"),
        ("100.64.0.0/10", "a shared address of a provider's inner network"),
        ("127.0.0.0/8", "a loopback address"),
        ("168.63.129.16/32", "a cloud's address for its own machines"),
        ("169.254.0.0/16", "a link-local address, where clouds keep the machine's credentials"),
        ("172.16.0.0/12", "a private address"),
        ("192.0.0.0/24", "a reserved address"),
        ("192.0.2.0/24", "an address for documentation"),
        ("192.88.99.0/24", "a 6to4 relay address"),
        ("192.168.0.0/16", "a private address"),
        ("198.18.0.0/15", "an address for benchmarks"),
        ("198.51.100.0/24", "an address for documentation"),
        ("203.0.113.0/24", "an address for documentation"),
        ("224.0.0.0/4", "a multicast address"),
        ("240.0.0.0/4", "a reserved address"),
    )
)
_NOT_PUBLIC_6 = tuple(
    (IPv6Network(network), kind)
    for network, kind in (
        ("::/128", "an address of this machine"),
        ("::1/128", "a loopback address"),
        ("::/96", "an IPv4-compatible address"),
        ("64:ff9b:1::/48", "a translated address of a private network"),
        ("2001::/32", "a Teredo address, which carries another address"),
        ("2001::/23", "a reserved address"),
        ("2001:db8::/32", "an address for documentation"),
        ("2002::/16", "a 6to4 address, which carries another address"),
        ("3fff::/20", "an address for documentation"),
        ("fc00::/7", "a private address"),
        ("fe80::/10", "a link-local address"),
        ("fec0::/10", "a site-local address"),
        ("ff00::/8", "a multicast address"),
    )
)
_PUBLIC_6 = IPv6Network("2000::/3")  # the only part of the address space given out for global unicast
_IPV4_MAPPED = IPv6Network("::ffff:0:0/96")
_TRANSLATED = IPv6Network("64:ff9b::/96")  # what a network without IPv4 (NAT64, DNS64) calls an IPv4 address
_TUNNEL_MARKS = (0x00005EFE, 0x02005EFE)  # ISATAP, in the upper half of the interface's part


def explain_refusal(address: Address) -> str | None:
    """What kind of address it is, in words, if it is not the public Internet's; None if it is."""
    if isinstance(address, IPv4Address):
        return next((kind for network, kind in _NOT_PUBLIC_4 if address in network), None)
    if address.scope_id is not None:
        return "an address with a zone"
    if address in _IPV4_MAPPED or address in _TRANSLATED:
        return explain_refusal(IPv4Address(int(address) & 0xFFFF_FFFF))
    for network, kind in _NOT_PUBLIC_6:
        if address in network:
            return kind
    if address not in _PUBLIC_6:
        return "a reserved address"
    if int(address) >> 32 & 0xFFFF_FFFF in _TUNNEL_MARKS:
        return "a tunnel address, which carries another address"
    return None


# Answers the addresses of a name and port, as text. Raises OSError where there are none.
Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)
_LONGEST_NAME = 253
# Names that never belong to a public host: RFC 6761, 6762, 7686, 8375, and ICANN's reserved `internal`.
_INNER_SUFFIXES = ("localhost", "local", "internal", "home.arpa", "onion", "test", "invalid", "example", "lan")
_NOBODYS = "192.0.2.1"


async def resolve_with_system(host: str, port: int) -> Sequence[str]:
    """The addresses that this machine's resolver knows for a name."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for _family, _type, _protocol, _name, address in found]


def is_own_address(address: Address) -> bool:
    """Whether this machine has that address: what listens here counts on a firewall that we stand behind."""
    return _can_bind(str(address)) and not _can_bind(_NOBODYS)


def _can_bind(address: str) -> bool:
    try:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


class AddressGuard:
    """Says which addresses a connection to a host may go to.

    The caller connects to one of the answered addresses itself and never resolves the name again: a second
    answer of the resolver, made to differ, has no effect.
    """

    def __init__(
        self,
        resolve: Resolver = resolve_with_system,
        *,
        is_own: Callable[[Address], bool] = is_own_address,
        allowed: frozenset[Address] = frozenset(),
    ) -> None:
        """`is_own` tells this machine's addresses; `allowed` are addresses that pass although not public."""
        self._resolve = resolve
        self._is_own = is_own
        self._allowed = allowed

    async def resolve(self, host: str, port: int) -> tuple[Address, ...]:
        """The addresses of a host, each one checked. `host` is as in a URL, IPv6 without brackets.

        Raises ToolError if the name cannot be resolved, is reserved for inner networks, or if any one of
        its addresses is not public.
        """
        literal = parse_literal_address(host)
        found = (literal,) if literal is not None else await self._resolve_name(require_public_name(host), port)
        for address in found:
            self._check(host, address)
        return found

    async def _resolve_name(self, name: str, port: int) -> tuple[Address, ...]:
        try:
            answers = await self._resolve(name, port)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ToolError(f"the name {name} cannot be resolved: {reason}; check its spelling") from error
        if not answers:
            raise ToolError(f"the name {name} has no address; check its spelling")
        return tuple(dict.fromkeys(ip_address(answer) for answer in answers))

    def _check(self, host: str, address: Address) -> None:
        if address in self._allowed:
            return
        kind = explain_refusal(address) or ("an address of this machine" if self._is_own(address) else None)
        if kind is not None:
            way = "" if host == str(address) else f" ({address})"
            raise ToolError(f"{host}{way} is {kind}; only public addresses may be fetched")


def parse_literal_address(host: str) -> Address | None:
    """The address that a host spells out, in any of the spellings that some resolver takes; None for a name.

    Raises ToolError for what looks like an address and is none.
    """
    if ":" in host:
        try:
            return IPv6Address(host)
        except ValueError as error:
            raise ToolError(f"{host} is not an IPv6 address") from error
    parts = host.removesuffix(".").split(".")
    if not _NUMBER.fullmatch(parts[-1]):
        return None
    numbers = [_parse_number(part) for part in parts]
    *heads, last = numbers if None not in numbers else [None]
    leading = [head for head in heads if head is not None and head < 256]
    if last is None or len(numbers) > 4 or len(leading) < len(heads) or last >= 256 ** (5 - len(numbers)):
        raise ToolError(f"{host} is not an IPv4 address")
    return IPv4Address(last + sum(head << 8 * (3 - place) for place, head in enumerate(leading)))


def require_public_name(host: str) -> str:
    """The host name without a trailing dot. Raises ToolError if it is none, or one of inner networks only."""
    name = host.removesuffix(".").lower()
    labels = name.split(".")
    if len(name) > _LONGEST_NAME or not all(map(_LABEL.fullmatch, labels)):
        raise ToolError(f"{host[:_LONGEST_NAME]} is not a host name")
    if len(labels) == 1 or any(f".{name}".endswith(f".{suffix}") for suffix in _INNER_SUFFIXES):
        raise ToolError(f"{name} is a name of inner networks; only public hosts may be fetched")
    return name


def _parse_number(text: str) -> int | None:
    """A part of an IPv4 address as C's inet_aton reads it: decimal, octal after 0, hexadecimal after 0x."""
    if not _NUMBER.fullmatch(text) or len(text) > 16 or not text.isascii():
        return None
    try:
        if text[:2].lower() == "0x":
            return int(text[2:] or "0", 16)
        return int(text, 8) if len(text) > 1 and text.startswith("0") else int(text)
    except ValueError:
        return None
