"""Where the server listens, and what it takes to be reached from other machines."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from quorum.errors import UsageError
from quorum.serve.access import VARIABLE, find_password, forget_password
from quorum.serve.endpoint import EndpointOptions, WebEndpoint, open_endpoint

PASSWORD = "correct horse battery"


def opened(**options: object) -> WebEndpoint:
    """An endpoint of which only what it says is looked at."""
    endpoint = open_endpoint(EndpointOptions(**{"port": 0, **options}))
    endpoint.socket.close()
    return endpoint


def test_without_an_address_it_is_loopback_under_a_name_of_this_run() -> None:
    first, second = open_endpoint(EndpointOptions(port=0)), open_endpoint(EndpointOptions(port=0))
    with first.socket, second.socket:
        assert first.socket.getsockname()[0] == "127.0.0.1"
        assert first.names != second.names
        assert first.names[0].endswith(".localhost")
        assert first.hosts == {f"{first.names[0]}:{first.port}"}
        assert first.origins == {f"http://{first.names[0]}:{first.port}"}


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2", "localhost", "::1", "[::1]"])
def test_an_address_of_loopback_needs_neither_tls_nor_a_password(address: str) -> None:
    if ":" in address and not socket.has_ipv6:
        pytest.skip("there is no IPv6 here")
    assert opened(address=address).is_loopback


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"address": "0.0.0.0"}, "--tls-cert"),
        ({"address": "192.0.2.7"}, "--tls-cert"),
        ({"address": "::"}, "--tls-cert"),
        ({"address": "0.0.0.0", "tls_cert": Path("c"), "tls_key": Path("k")}, "--host-name"),
        ({"address": "192.0.2.7", "tls_cert": Path("c"), "tls_key": Path("k")}, "without a passphrase"),
        ({"tls_cert": Path("c")}, "go together"),
        ({"address": "example.org"}, "no IP address"),
        ({"address": "1.2.3"}, "no IP address"),
    ],
    ids=str,
)
def test_what_cannot_be_served_is_said_with_the_remedy(options: dict[str, object], expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        opened(**options)


def test_a_port_in_use_is_named() -> None:
    with open_endpoint(EndpointOptions(port=0)).socket as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} .*--port 0"):
            opened(port=port)


@pytest.mark.long
def test_a_password_comes_from_a_file_that_nobody_else_may_open(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(f"{PASSWORD}\n", encoding="utf-8")
    file.chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        find_password(file, {})

    file.chmod(0o600)
    found = find_password(file, {})
    assert found.matches(PASSWORD)
    assert not found.matches(PASSWORD + "\n")
    assert PASSWORD not in str(vars(found))


def test_a_password_of_the_environment_reaches_no_child() -> None:
    environment = {VARIABLE: PASSWORD}

    assert find_password(None, environment).matches(PASSWORD)
    forget_password(environment)
    assert environment == {}


@pytest.mark.parametrize("password", ["short", "x" * 2000, "elevenchars"])
def test_a_password_that_is_too_short_or_too_long_is_refused(password: str) -> None:
    with pytest.raises(UsageError, match="12 to 1024 characters"):
        find_password(None, {VARIABLE: password})


def test_a_password_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        find_password(tmp_path / "nowhere", dict(os.environ))
