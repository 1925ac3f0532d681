"""`quorum serve`: the app in a browser, and a page of pending reviews."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.command_line import shared
from quorum.command_line.command import ArgumentGroup, CliCommand, argument, flag
from quorum.command_line.options import SessionOptions
from quorum.command_line.values import parse_descriptor, refuse_value
from quorum.errors import UsageError, complain

if TYPE_CHECKING:
    from quorum.serve.server import Site

_PACKAGES = ("aiohttp", "cryptography", "textual_serve")
_EXTRA = "serve"
_USUAL_PORT, _HIGHEST_PORT = 8765, 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions(SessionOptions):
    """What `quorum serve` shows, and where. An empty `address` is loopback under a name of its own.

    `approvals`: the page of pending reviews is served too; `socket` is that of a quorum that listens, whose
    reviews alone it shows then, and `token` the descriptor from which the token for approving is read.
    """

    address: str = ""
    port: int = _USUAL_PORT
    host_names: tuple[str, ...] = ()
    tls_cert: Path | None = None
    tls_key: Path | None = None
    password_file: Path | None = None
    approvals: bool = False
    socket: Path | None = None
    token: int | None = None

    def find_conflict(self) -> str:
        """Which options do not go together, in a sentence; empty where all do."""
        if self.socket is not None and not self.approvals:
            return "--socket goes with --approvals"
        if self.token is not None and self.socket is None:
            return "--token-fd goes with --socket"
        return ""


def _parse_port(text: str) -> int:
    if not text.isdecimal() or int(text) > _HIGHEST_PORT:
        raise refuse_value(f"{text!r} is no port from 0 to {_HIGHEST_PORT}")
    return int(text)


def _serve(options: ServeOptions, root: Path) -> int:
    """Serve until a signal; the exit code is that of the signal. Raises UsageError."""
    from quorum.infrastructure.extras import is_installed, render_install_command

    if not all(map(is_installed, _PACKAGES)):
        raise UsageError(
            f"the packages that serve a browser are not installed: {render_install_command(_EXTRA)}"
        )
    from quorum.serve.access import find_password, forget_password
    from quorum.serve.endpoint import EndpointOptions, open_endpoint
    from quorum.serve.server import run_server

    endpoint = open_endpoint(
        EndpointOptions(
            address=options.address,
            port=options.port,
            host_names=options.host_names,
            tls_cert=options.tls_cert,
            tls_key=options.tls_key,
        )
    )
    try:
        password = None if endpoint.is_loopback else find_password(options.password_file, os.environ)
        forget_password(os.environ)
        if endpoint.is_loopback and options.password_file is not None:
            raise UsageError("--password-file goes with --address: on this machine the printed link is used")
        site, announce = _build_site(options, root, endpoint.url)
        return run_server(endpoint, site, password, announce)
    finally:
        endpoint.socket.close()


def _build_site(options: ServeOptions, root: Path, url: str) -> tuple[Site, tuple[str, ...]]:
    """What is served, and what is said of it beside the link."""
    from quorum.infrastructure.staging.entering import find_obstacle
    from quorum.rpc.client import read_token
    from quorum.serve.sites import build_app_site, build_approvals_site

    if options.socket is None:
        if options.overrides.get("review.mode") == "staged" and (why := find_obstacle(root, os.environ)):
            raise UsageError(f"no layer can be had: {why}; work in a worktree, or in another mode")
        about = (f"Pending reviews are at {url}approvals.",) if options.approvals else ()
        site = build_app_site(options, root, url, approvals=options.approvals)
        return site, (*about, "Ctrl+C ends the server and the sessions in it.")
    token = read_token(options.token) if options.token is not None else None
    if token is None:
        complain(["without --token-fd reviews can be rejected on the page, and not approved"])
    elif not token:
        raise UsageError("--token-fd gave no token; start quorum with --listen-approve first")
    return build_approvals_site(options.socket, token, url), ("Ctrl+C ends the server.",)


_LISTENING = ArgumentGroup(
    (
        argument("--port", metavar="PORT", type=_parse_port, help="default 8765; 0: any free one"),
        argument("--address", metavar="IP", help="default: loopback, under a name of its own"),
        argument(
            "--host-name",
            dest="host_names",
            metavar="NAME",
            action="append",
            help="a name by which browsers reach it; requests by another are refused; repeat for more",
        ),
        argument("--tls-cert", metavar="FILE", type=Path, help="the certificate, in PEM"),
        argument("--tls-key", metavar="FILE", type=Path, help="its private key, in PEM"),
        argument(
            "--password-file", metavar="FILE", type=Path, help="with --address: read the password from here"
        ),
    ),
    title="where it listens",
    description="see docs/browser.md",
)
_REVIEWS = ArgumentGroup(
    (
        flag("--approvals", help="serve the page of pending reviews as well"),
        argument(
            "--socket",
            metavar="SOCKET",
            type=Path,
            help="with --approvals: those of the quorum that listens here, and no app",
        ),
        argument(
            "--token-fd",
            dest="token",
            metavar="FD",
            type=parse_descriptor,
            help="with --socket: read the token of --listen-approve from here; without it one can only reject",
        ),
    ),
    title="pending reviews",
)
COMMAND = CliCommand(
    ServeOptions,
    _serve,
    is_long_lived=True,
    details="It listens on this machine only, and the link that it prints works once.",
    arguments=(
        _LISTENING,
        _REVIEWS,
        shared.CONTINUED,
        *shared.MODELS,
        shared.MODE,
        *shared.LIMITS,
        *shared.PLACES,
    ),
    examples=(
        ("quorum serve", "print a link that opens the app of this folder"),
        ("quorum serve --continue --port 0", "the latest session of this folder, at any free port"),
        ("quorum serve --approvals", "with a page of pending reviews, at /approvals"),
        ("quorum serve --address 192.0.2.7 --tls-cert c.pem --tls-key k.pem", "for other machines; asks"),
    ),
)
