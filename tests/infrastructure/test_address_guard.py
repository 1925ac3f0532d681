from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.errors import ToolError
from quorum.infrastructure.address_guard import (
    AddressGuard,
    explain_refusal,
    is_own_address,
    parse_literal_address,
)
from quorum.infrastructure.tools.web.retrieval import find_port, normalise_host, parse_web_address
from tests.infrastructure.tools.web.web_server import Names

PUBLIC = "8.8.8.8"

REFUSED = (
    # loopback and this machine, in every spelling
    "http://127.0.0.1/",
    "http://127.8.9.10/",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://017700000001/",
    "http://0x7f000001/",
    "http://0x7F.1/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://0177.0.0.1/",
    "http://0177.0x1/",
    "http://127.0.0.1./",
    "http://0/",
    "http://0.0.0.0/",
    "http://127。0。0。1/",
    "http://１２７.0.0.1/",
    "http://%31%32%37.0.0.1/",
    "http://127%2e0%2e0%2e1/",
    "http://[::1]/",
    "http://[::]/",
    "http://[0:0:0:0:0:0:0:1]/",
    # an IPv4 address inside an IPv6 one
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[0:0:0:0:0:ffff:10.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[::a00:1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::8.8.8.8]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:808:808::1]/",
    "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "http://[2001:4860:4860::5efe:10.0.0.1]/",
    "http://[2001:4860:4860::200:5efe:10.0.0.1]/",
    # private, link-local, shared
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://3232235777/",
    "http://100.64.0.1/",
    "http://169.254.1.1/",
    "http://[fd00::1]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[2001:4860:4860::8888%25lo]/",
    "http://[fec0::1]/",
    # where clouds keep the credentials of a machine
    "http://169.254.169.254/latest/meta-data/",
    "http://0xa9fea9fe/",
    "http://2852039166/",
    "http://[fd00:ec2::254]/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://192.0.0.192/",
    "http://metadata.google.internal/",
    # multicast, reserved, documentation, benchmarks
    "http://224.0.0.1/",
    "http://239.255.255.250/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://192.0.2.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://198.18.0.1/",
    "http://192.88.99.1/",
    "http://[ff02::1]/",
    "http://[2001:db8::1]/",
    "http://[3fff::1]/",
    "http://[100::1]/",
    "http://[4000::1]/",
    "http://[5f00::1]/",
    # names of inner networks
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://a.localhost/",
    "http://printer.local/",
    "http://intranet/",
    "http://wiki.home.arpa/",
    "http://db.internal./",
    # no address and no name
    "http://1.2.3.4.5/",
    "http://256.1.1.1/",
    "http://4294967296/",
    "http://0x1ffffffff/",
    "http://1.16777216/",
    "http://08.1.1.1/",
    "http://name.0x/",
    "http://a..b/",
    "http://-a.org/",
    "http://a b.org/",
    f"http://{'a' * 64}.org/",
    f"http://{'a.' * 130}org/",
    "http://ⓛocalhost/",
    "http://exam\u00adple\u200b.org/",
    # addresses that parsers disagree about, or that hold more than an address
    "http://site.net\\@127.0.0.1/",
    "http://site.net@127.0.0.1/",
    "http://127.0.0.1#@site.net/",
    "http://user:password@site.net/",
    "http://site.net\t/",
    "http://site.net\r\nHost: x/",
    "http://site.net\x00/",
    "http://site.net:0/",
    "http://site.net:65536/",
    "http://site.net:80x/",
    "http://[::1/",
    "http:///etc/passwd",
    "http://",
    "//site.net/",
    "site.net",
    "",
    "file:///etc/passwd",
    "ftp://site.net/",
    "gopher://site.net:25/",
    "javascript:alert(1)",
    "data:text/plain,x",
    "http://site.net/" + "a" * 5000,
)

PASSING = {
    "http://1.1.1.1/": "1.1.1.1",
    "http://0x01010101/": "1.1.1.1",
    "http://1.1.1.1.:8080/": "1.1.1.1",
    "http://172.15.0.1/": "172.15.0.1",
    "http://172.32.0.1/": "172.32.0.1",
    "http://100.128.0.1/": "100.128.0.1",
    "https://[2606:4700:4700::1111]/": "2606:4700:4700::1111",
    "https://[64:ff9b::808:808]/": "64:ff9b::808:808",
    "https://site.net/a?b=c#d": PUBLIC,
    "https://SITE.net.": PUBLIC,
    "https://xn--mnchen-3ya.de/": PUBLIC,
    "https://münchen.de/": PUBLIC,
    "https://a_b.site.net:65535/": PUBLIC,
    "https://127.0.0.1.site.net/": PUBLIC,
    "https://localhost.site.net/": PUBLIC,
}


def addresses(url: str, names: Names) -> tuple[str, ...]:
    address = parse_web_address(url)
    found = asyncio.run(AddressGuard(names).resolve(normalise_host(address), find_port(address)))
    return tuple(map(str, found))


@pytest.mark.parametrize("url", REFUSED)
def test_what_is_not_a_public_address_is_refused_before_any_name_is_resolved(url: str):
    names = Names({}, [])

    with pytest.raises(ToolError):
        addresses(url, names)

    assert names.asked == []


@pytest.mark.parametrize(("url", "address"), PASSING.items())
def test_public_addresses_pass(url: str, address: str):
    hosts = ("site.net", "xn--mnchen-3ya.de", "a_b.site.net", "127.0.0.1.site.net", "localhost.site.net")
    names = Names({host: [[PUBLIC]] for host in hosts})

    assert addresses(url, names) == (address,)


@pytest.mark.parametrize("inner", ["10.1.2.3", "::1", "fe80::1%1", "::ffff:192.168.0.1", "169.254.169.254"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_address_of_a_name_that_is_not_public_refuses_them_all(inner: str, place: int):
    answers = [PUBLIC, "2606:4700:4700::1111"]
    answers.insert(place, inner)

    with pytest.raises(ToolError, match=r"site\.net \(.*\) is .*; only public addresses may be fetched"):
        addresses("http://site.net/", Names({"site.net": [answers]}))


def test_a_name_that_cannot_be_resolved_says_so():
    async def nothing(_host: str, _port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with pytest.raises(ToolError, match=r"site\.net cannot be resolved: Name or service not known"):
        asyncio.run(AddressGuard(nothing).resolve("site.net", 80))


def test_a_name_without_an_address_says_so():
    with pytest.raises(ToolError, match=r"site\.net has no address"):
        addresses("http://site.net/", Names({"site.net": [[]]}))


def test_a_public_address_that_this_machine_has_is_refused():
    guard = AddressGuard(Names({"site.net": [[PUBLIC]]}), is_own=lambda address: str(address) == PUBLIC)

    with pytest.raises(ToolError, match=r"site\.net \(8\.8\.8\.8\) is an address of this machine"):
        asyncio.run(guard.resolve("site.net", 80))


def test_the_addresses_of_this_machine_are_known():
    assert is_own_address(ip_address("127.0.0.1"))
    assert not is_own_address(ip_address(PUBLIC))
    assert not is_own_address(ip_address("2606:4700:4700::1111"))


def test_the_system_s_resolver_knows_this_machine_and_the_guard_refuses_it():
    async def under_a_public_name(_host: str, port: int) -> list[str]:
        found = await asyncio.get_running_loop().getaddrinfo("localhost", port, type=socket.SOCK_STREAM)
        return [str(address[0]) for *_, address in found]

    with pytest.raises(ToolError, match="a loopback address"):
        asyncio.run(AddressGuard(under_a_public_name).resolve("site.net", 80))


def spelled(number: int, way: str) -> str:
    return {"decimal": f"{number}", "octal": f"0{number:o}", "hexadecimal": f"0x{number:X}"}[way]


@given(
    number=st.integers(0, 2**32 - 1),
    ways=st.lists(st.sampled_from(["decimal", "octal", "hexadecimal"]), min_size=1, max_size=4),
)
def test_every_spelling_of_an_ipv4_address_is_that_address(number: int, ways: list[str]):
    heads = [number >> 8 * (3 - place) & 255 for place in range(len(ways) - 1)]
    last = number & (256 ** (5 - len(ways)) - 1)
    host = ".".join(spelled(part, way) for part, way in zip([*heads, last], ways, strict=True))

    assert parse_literal_address(host) == IPv4Address(number)


@given(
    host=st.lists(
        st.one_of(
            st.integers(0, 2**33).map(str),
            st.integers(0, 2**33).map(hex),
            st.integers(0, 2**33).map("0{:o}".format),
            st.sampled_from(["08", "0", "00", "255", "256", "1a"]),
        ),
        min_size=1,
        max_size=5,
    ).map(".".join)
)
def test_what_the_system_takes_for_an_address_is_taken_for_the_same(host: str):
    try:
        system: IPv4Address | None = IPv4Address(socket.inet_aton(host))
    except OSError:
        system = None

    try:
        ours = parse_literal_address(host)
    except ToolError:
        ours = None

    assert ours == system


@given(number=st.integers(0, 2**32 - 1))
def test_an_ipv4_address_is_judged_alike_inside_ipv6(number: int):
    plain = explain_refusal(IPv4Address(number))

    assert explain_refusal(IPv6Address(0xFFFF << 32 | number)) == plain
    assert explain_refusal(IPv6Address((0x64FF9B << 96) | number)) == plain


@pytest.mark.parametrize(
    "network", ["10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "192.168.0.0/16", "224.0.0.0/3"]
)
@given(data=st.data())
def test_no_address_of_an_inner_network_passes(network: str, data: st.DataObject):
    inner = IPv4Network(network)

    number = data.draw(st.integers(int(inner.network_address), int(inner.broadcast_address)))

    assert explain_refusal(IPv4Address(number)) is not None


@given(number=st.integers(0, 2**128 - 1))
def test_outside_the_public_part_of_ipv6_only_public_ipv4_addresses_pass(number: int):
    address = IPv6Address(number)
    carried = IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96")

    if address not in IPv6Network("2000::/3") and not any(address in network for network in carried):
        assert explain_refusal(address) is not None


@given(text=st.text(max_size=40))
def test_no_text_gets_past_the_guard_other_than_as_a_public_address_or_a_name(text: str):
    names = Names({}, [])
    names.answers = {}

    try:
        found = addresses(f"http://{text}/", names)
    except ToolError:
        return

    assert names.asked or all(explain_refusal(ip_address(address)) is None for address in found)
