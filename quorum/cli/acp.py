"""`quorum acp`: sessions in an editor."""

from __future__ import annotations

from pathlib import Path

from quorum.command_line import shared
from quorum.command_line.command import CliCommand
from quorum.command_line.options import StartOptions
from quorum.errors import UsageError


def _serve(options: StartOptions, _root: Path) -> int:
    """Serve the client on the standard streams; the exit code. Raises UsageError without the SDK."""
    from quorum.infrastructure.extras import is_installed, render_install_command
    from quorum.starting import explain_start_failures

    if not is_installed("acp"):
        raise UsageError(f"quorum acp needs a package that is not installed: {render_install_command('acp')}")
    if options.overrides.get("review.mode") == "staged":
        raise UsageError(
            "a layer is of a whole process, and an editor has several sessions in one: begin with another "
            "--mode, or work in a terminal with quorum --mode staged"
        )
    with explain_start_failures():
        from quorum.acp_agent.serving import serve_client
    return serve_client(options)


COMMAND = CliCommand(
    StartOptions,
    _serve,
    is_long_lived=True,
    details="The editor starts it: docs/acp.md says how, for Zed, JetBrains and Neovim.",
    arguments=(
        *shared.MODELS,
        shared.MODE,
        *shared.LIMITS,
        shared.FOLDERS,
        *shared.PLACES,
        shared.SAFE,
        shared.DEBUG,
    ),
    examples=(
        ("quorum acp", "as the command of an agent in the settings of the editor"),
        ("quorum acp --mode read-only", "its sessions begin in this review mode"),
    ),
)
