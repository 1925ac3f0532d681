from __future__ import annotations

import ssl

import pytest

from quorum.infrastructure.execution.network.host_proxy import BadHello, find_server_name


def a_hello(name: str | None) -> bytes:
    """What the TLS library of this interpreter sends first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    connection = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        connection.do_handshake()
    return outgoing.read()


def test_the_name_in_a_real_hello_is_found_once_it_is_whole() -> None:
    hello = a_hello("pypi.org")

    assert find_server_name(hello) == (True, "pypi.org")
    assert {find_server_name(hello[:end]) for end in range(len(hello))} == {(False, None)}


def test_a_hello_without_a_name_has_none() -> None:
    assert find_server_name(a_hello(None)) == (True, None)


def test_a_hello_in_several_records_is_put_together() -> None:
    message = a_hello("pypi.org")[5:]
    records = b"".join(
        b"\x16\x03\x01" + len(part).to_bytes(2, "big") + part
        for part in (message[place : place + 40] for place in range(0, len(message), 40))
    )

    assert find_server_name(records) == (True, "pypi.org")


def _change(hello: bytes, before: bytes, after: bytes) -> bytes:
    assert hello.count(before) == 1
    return hello.replace(before, after)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        b"SSH-2.0-x\r\n",
        b"\x16\x02\x00\x00\x05\x01\x00\x00\x01\x00",
        b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00",
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
        b"\x16\x03\x01\x00\x04\x01\xff\xff\xff",
        b"\x16\x03\x01\x00\x00",
        _change(a_hello("pypi.org"), b"\x00\x08pypi.org", b"\x00\x09pypi.org"),
        _change(a_hello("pypi.org"), b"pypi.org", b"pypi.or\xff"),
    ],
    ids=range(9),  # a hello has random bytes
)
def test_what_is_no_hello_is_told(data: bytes) -> None:
    with pytest.raises(BadHello):
        find_server_name(data)
