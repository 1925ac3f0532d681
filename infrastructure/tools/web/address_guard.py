"""The guard between a model and the network: a name becomes addresses once, and every one is checked."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TypeAlias

from quorum.domain.errors import ToolError
from quorum.infrastructure.tools.web.address_rules import Address, explain_refusal

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
