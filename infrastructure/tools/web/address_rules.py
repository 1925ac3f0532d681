"""Which network addresses are the public Internet's: a pure decision on the number, however it was spelled."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TypeAlias

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
