from __future__ import annotations

import pytest

from quorum.infrastructure.execution.network.proxy_request import BadRequest, parse_request


def a_head(*lines: str) -> bytes:
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


@pytest.mark.parametrize(
    ("authority", "host", "port"),
    [
        ("pypi.org:443", "pypi.org", 443),
        ("PyPI.ORG.:443", "pypi.org", 443),
        ("xn--bcher-kva.example:8443", "xn--bcher-kva.example", 8443),
        ("127.0.0.1:80", "127.0.0.1", 80),
        ("0x7f.1:80", "127.0.0.1", 80),
        ("2130706433:80", "127.0.0.1", 80),
        ("[::1]:80", "::1", 80),
    ],
)
def test_a_tunnel_names_its_host_in_one_form(authority: str, host: str, port: int) -> None:
    target = parse_request(a_head(f"CONNECT {authority} HTTP/1.1", "Host: elsewhere.example")).target

    assert (target.host, target.port) == (host, port)


@pytest.mark.parametrize(
    "authority",
    [
        "pypi.org",
        "pypi.org:",
        "pypi.org:0",
        "pypi.org:65536",
        "pypi.org:443:80",
        "me@pypi.org:443",
        "pypi.org%2eexample.net:443",
        "pypi.org\\@example.net:443",
        "pypi..org:443",
        "b\xfccher.example:443",
        "1.2.3.4.5:443",
        "[pypi.org]:443",
        "https://pypi.org:443",
        "",
    ],
)
def test_a_tunnel_to_what_may_be_read_in_two_ways_is_refused(authority: str) -> None:
    with pytest.raises(BadRequest):
        parse_request(a_head(f"CONNECT {authority} HTTP/1.1"))


def test_a_plain_request_is_passed_on_as_one_to_its_host() -> None:
    request = parse_request(
        a_head(
            "POST http://Example.org/a?b HTTP/1.1",
            "Host: example.org:80",
            "Proxy-Authorization: Basic x",
            "Connection: keep-alive, X-Own",
            "X-Own: 1",
            "Accept: */*",
            "Content-Length: 3",
        )
    )

    assert request.target.authority == "example.org:80"
    assert request.body_bytes == 3
    assert request.head == (
        b"POST /a?b HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\n"
        b"Content-Length: 3\r\nConnection: close\r\n\r\n"
    )


@pytest.mark.parametrize(
    "lines",
    [
        ("GET /a HTTP/1.1", "Host: example.org"),
        ("GET https://example.org/ HTTP/1.1", "Host: example.org"),
        ("GET ftp://example.org/ HTTP/1.1", "Host: example.org"),
        ("GET http://example.org/ HTTP/1.1", "Host: example.net"),
        ("GET http://example.org/ HTTP/1.1", "Host: example.org:8080"),
        ("GET http://example.org/ HTTP/1.1", "Host: example.org", "Host: example.org"),
        ("GET http://example.org/ HTTP/1.1", "Host: example.org", "host: example.net"),
        ("GET http://me@example.org/ HTTP/1.1", "Host: example.org"),
        ("GET http://example.org\\.example.net/ HTTP/1.1", "Host: example.org"),
        ("GET  http://example.org/ HTTP/1.1", "Host: example.org"),
        ("GET http://example.org/\tx HTTP/1.1", "Host: example.org"),
        ("GET http://example.org/ HTTP/1.1", "Host : example.org"),
        ("GET http://example.org/ HTTP/1.1", " Host: example.org"),
        ("GET http://example.org/ HTTP/1.1", "X: a\nHost: example.net"),
        ("GET http://example.org/ HTTP/1.1", "X: a\rHost: example.net"),
        ("GET http://example.org/ HTTP/1.1", "X: a\0"),
        ("GET http://example.org/ HTTP/2", "Host: example.org"),
        ("GET http://example.org/", "Host: example.org"),
        ("POST http://example.org/ HTTP/1.1", "Transfer-Encoding: chunked"),
        ("POST http://example.org/ HTTP/1.1", "Content-Length: 3", "Content-Length: 4"),
        ("POST http://example.org/ HTTP/1.1", "Content-Length: +3"),
        ("POST http://example.org/ HTTP/1.1", "Content-Length: 3, 3"),
    ],
)
def test_a_plain_request_that_two_readers_may_read_differently_is_refused(lines: tuple[str, ...]) -> None:
    with pytest.raises(BadRequest):
        parse_request(a_head(*lines))
