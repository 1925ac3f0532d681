"""The start of `quorum acp`, before the SDK of the protocol is loaded."""

from __future__ import annotations

from infrastructure.extras import is_installed, render_install_command
from quorum.errors import UsageError
from quorum.options import Options
from quorum.starting import explain_start_failures


def start_server(options: Options) -> int:
    """Serve the client on the standard streams; the exit code. Raises UsageError without the SDK."""
    if not is_installed("acp"):
        raise UsageError(f"quorum acp needs a package that is not installed: {render_install_command('acp')}")
    with explain_start_failures():
        from quorum.acp_agent.serving import serve_client
    return serve_client(options)
