"""Where the server listens, and by which addresses a browser may name it."""

from __future__ import annotations

import ipaddress
import secrets
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from quorum.errors import UsageError

_LOOPBACK = "127.0.0.1"
_NAME_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class WebEndpoint:
    """A listening socket with the names that requests may carry in their Host header, the first one preferred.

    `tls` is None for plain HTTP, which there is on loopback only.
    """

    socket: socket.socket
    names: tuple[str, ...]
    tls: ssl.SSLContext | None
    is_loopback: bool

    @property
    def port(self) -> int:
        port: int = self.socket.getsockname()[1]
        return port

    @property
    def scheme(self) -> str:
        """http or https."""
        return "http" if self.tls is None else "https"

    @property
    def hosts(self) -> frozenset[str]:
        """All values of a Host header that are served."""
        usual = 80 if self.tls is None else 443
        with_port = {f"{name}:{self.port}" for name in self.names}
        return frozenset(with_port | (set(self.names) if self.port == usual else set()))

    @property
    def origins(self) -> frozenset[str]:
        """The origins of the pages that are served, as browsers write them."""
        return frozenset(f"{self.scheme}://{host}" for host in self.hosts)

    @property
    def url(self) -> str:
        """The address to open, with a slash at its end."""
        return f"{self.scheme}://{self.names[0]}:{self.port}/"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointOptions:
    """Where to listen. An empty `address` is loopback under a name of its own."""

    address: str = ""
    port: int = 0
    host_names: tuple[str, ...] = ()
    tls_cert: Path | None = None
    tls_key: Path | None = None


def open_endpoint(options: EndpointOptions) -> WebEndpoint:
    """Listen where the command line says. Raises UsageError, one sentence with the remedy.

    Without an address it is loopback under a name of this run that nobody can guess: browsers send a cookie
    to every port of a host, so that under a plain 127.0.0.1 each other local server would get ours.
    """
    address = _read_address(options.address or _LOOPBACK)
    if not address.is_loopback and (problem := _explain_open_address(options, address)):
        raise UsageError(problem)
    if (options.tls_cert is None) != (options.tls_key is None):
        raise UsageError("--tls-cert and --tls-key go together: the certificate, and its private key")
    tls = _load_tls(options)
    return WebEndpoint(
        socket=_listen(address, options.port),
        names=_list_names(options, address),
        tls=tls,
        is_loopback=address.is_loopback,
    )


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _read_address(text: str) -> _Address:
    try:
        return ipaddress.ip_address(_LOOPBACK if text == "localhost" else text.strip("[]"))
    except ValueError as error:
        raise UsageError(
            f"--address {text} is no IP address; name one of this machine, and with --host-name the name "
            "that browsers use for it"
        ) from error


def _explain_open_address(options: EndpointOptions, address: _Address) -> str:
    if options.tls_cert is None or options.tls_key is None:
        return (
            f"{address} can be reached from other machines, so it is served with TLS only: give --tls-cert "
            "FILE and --tls-key FILE, or leave out --address"
        )
    if address.is_unspecified and not options.host_names:
        return (
            f"{address} stands for every address of this machine; say with --host-name which name or address "
            "browsers use, because requests for another one are refused"
        )
    return ""


def _list_names(options: EndpointOptions, address: _Address) -> tuple[str, ...]:
    if options.host_names:
        return tuple(name.lower() for name in options.host_names)
    if not options.address:
        return (f"quorum-{secrets.token_hex(_NAME_BYTES)}.localhost",)
    shown = f"[{address}]" if address.version == 6 else str(address)
    return (shown, "localhost") if address.is_loopback else (shown,)


def _load_tls(options: EndpointOptions) -> ssl.SSLContext | None:
    if options.tls_cert is None or options.tls_key is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(options.tls_cert, options.tls_key, password=_refuse_passphrase)
    except OSError as error:  # ssl.SSLError is one
        why = error.strerror or str(error)
        raise UsageError(
            f"{options.tls_cert} and {options.tls_key} cannot be used for TLS ({why}); name a certificate and "
            "its private key, both in PEM and without a passphrase"
        ) from error
    return context


def _refuse_passphrase() -> bytes:
    return b""


def _listen(address: _Address, port: int) -> socket.socket:
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((str(address), port))
        listening.listen(64)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise UsageError(
            f"cannot listen at {address}, port {port} ({error.strerror}); choose another with --port, or "
            "any free one with --port 0"
        ) from error
    return listening
