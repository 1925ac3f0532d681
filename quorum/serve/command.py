"""`quorum serve`: what the command line asks for is checked, then the server runs until a signal ends it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from infrastructure.extras import is_installed, render_install_command
from quorum.errors import UsageError, complain
from quorum.options import Options

if TYPE_CHECKING:
    from quorum.serve.server import Site

_PACKAGES = ("aiohttp", "textual_serve")
_EXTRA = "serve"


def serve(options: Options, root: Path) -> int:
    """Serve until a signal; the exit code is that of the signal. Raises UsageError."""
    if not all(map(is_installed, _PACKAGES)):
        raise UsageError(
            f"the packages that serve a browser are not installed: {render_install_command(_EXTRA)}"
        )
    from quorum.serve.endpoint import open_endpoint
    from quorum.serve.password import find_password, forget_password
    from quorum.serve.server import run_server

    endpoint = open_endpoint(options.serve)
    try:
        password = None if endpoint.is_loopback else find_password(options.serve.password_file, os.environ)
        forget_password(os.environ)
        if endpoint.is_loopback and options.serve.password_file is not None:
            raise UsageError("--password-file goes with --address: on this machine the printed link is used")
        site, announce = _build_site(options, root, endpoint.url)
        return run_server(endpoint, site, password, announce)
    finally:
        endpoint.socket.close()


def _build_site(options: Options, root: Path, url: str) -> tuple[Site, tuple[str, ...]]:
    """What is served, and what is said of it beside the link."""
    from quorum.serve.sites import build_app_site, build_approvals_site

    wanted = options.serve
    if wanted.socket is None:
        about = (f"Pending reviews are at {url}approvals.",) if wanted.approvals else ()
        return build_app_site(options, root, url), (*about, "Ctrl+C ends the server and the sessions in it.")
    from quorum.cli.rpc import read_token

    token = read_token(wanted.token) if wanted.token is not None else None
    if token is None:
        complain(["without --token-fd reviews can be rejected on the page, and not approved"])
    elif not token:
        raise UsageError("--token-fd gave no token; start quorum with --listen-approve first")
    return build_approvals_site(wanted.socket, token), ("Ctrl+C ends the server.",)
