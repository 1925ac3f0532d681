from __future__ import annotations

from ipaddress import ip_network

import pytest

from quorum.domain.shell.network_hosts import (
    BadHost,
    HostList,
    HostPattern,
    normalise_host,
    read_hosts,
    sort_entries,
)


@pytest.mark.parametrize(
    ("pattern", "host", "port", "is_covered"),
    [
        ("pypi.org", "pypi.org", 443, True),
        ("pypi.org", "pypi.org", 80, True),
        ("pypi.org", "pypi.org", 22, False),
        ("pypi.org", "files.pypi.org", 443, False),
        ("pypi.org", "notpypi.org", 443, False),
        ("pypi.org", "pypi.org.example.net", 443, False),
        ("PyPI.org.", "pypi.org", 443, True),
        ("*.example.org", "a.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "aexample.org", 443, False),
        ("example.org:8443", "example.org", 8443, True),
        ("example.org:8443", "example.org", 443, False),
        ("*.example.org:8443", "a.example.org", 8443, True),
    ],
)
def test_a_pattern_covers_the_host_and_port_that_it_names_and_no_other(
    pattern: str, host: str, port: int, is_covered: bool
) -> None:
    assert HostPattern.parse(pattern).covers(host, port) is is_covered


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a host"),
        ("*", "is not a host"),
        ("*.org", "wider than a host"),
        ("a.*.org", "is not a host"),
        ("https://pypi.org", "names no port"),
        ("user@pypi.org", "is not a host"),
        ("pypi.org/simple", "is not a host"),
        ("pypi..org", "is not a host"),
        ("pypi.org..", "is not a host"),
        ("pypi.org:0", "names no port"),
        ("pypi.org:65536", "names no port"),
        ("pypi.org:http", "names no port"),
        ("192.0.2.1", "is an address"),
        ("0x7f.1", "is an address"),
        ("2130706433", "is an address"),
        ("pypi.org\r\nx", "is not a host"),
        ("bücher.example", 'write it as "xn--bcher-kva.example"'),
    ],
)
def test_what_names_no_host_is_refused_with_what_to_write(text: str, said: str) -> None:
    with pytest.raises(BadHost, match=said):
        HostPattern.parse(text)


def test_names_are_compared_as_resolvers_compare_them() -> None:
    assert normalise_host("XN--Bcher-KVA.example.") == "xn--bcher-kva.example"


def test_what_is_withheld_is_not_reached_however_wide_the_rest_is() -> None:
    hosts = HostList(allowed=read_hosts("*.example.org"), withheld=read_hosts("bad.example.org"))

    assert hosts.find_pattern("good.example.org", 443) is not None
    assert hosts.find_pattern("bad.example.org", 443) is None


@pytest.mark.parametrize(
    ("wide", "narrow", "includes", "overlaps"),
    [
        ("pypi.org", "pypi.org", True, True),
        ("pypi.org", "pypi.org:443", True, True),
        ("pypi.org:443", "pypi.org", False, True),
        ("pypi.org", "pypi.org:22", False, False),
        ("*.a.org", "b.a.org", True, True),
        ("*.a.org", "*.b.a.org", True, True),
        ("*.a.org", "*.a.org", True, True),
        ("*.b.a.org", "*.a.org", False, True),
        ("*.a.org", "a.org", False, False),
        ("b.a.org", "*.a.org", False, True),
    ],
)
def test_patterns_are_compared_by_what_they_stand_for(
    wide: str, narrow: str, includes: bool, overlaps: bool
) -> None:
    one, other = HostPattern.parse(wide), HostPattern.parse(narrow)

    assert (one.includes(other), one.overlaps(other)) == (includes, overlaps)
    assert other.overlaps(one) is overlaps


def test_entries_of_the_settings_are_hosts_and_ranges_of_addresses() -> None:
    hosts, ranges = sort_entries(["pypi.org", "10.0.0.0/8", "192.0.2.7"])

    assert hosts == (HostPattern("pypi.org"),)
    assert ranges == (ip_network("10.0.0.0/8"), ip_network("192.0.2.7/32"))


def test_what_is_neither_is_refused() -> None:
    with pytest.raises(BadHost, match="neither a host nor a range"):
        sort_entries(["pypi.org/simple"])
