"""`quorum acp`: sessions in an editor."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from quorum.command_line import shared
from quorum.command_line.command import CliCommand, argument
from quorum.command_line.options import StartOptions
from quorum.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpOptions(StartOptions):
    """`layer_of`: all is done in a layer over the folder, in that in which this session worked last; empty: in
    any. None: in the folders themselves, and a session in the mode `staged` gets a process of its own."""

    layer_of: str | None = None


def _serve(options: AcpOptions, root: Path) -> int:
    """Serve the client on the standard streams; the exit code. Raises UsageError without the SDK, and where a
    layer is wanted and there can be none."""
    from quorum.infrastructure.extras import is_installed, render_install_command
    from quorum.starting import enter_layer, explain_start_failures

    if not is_installed("acp"):
        raise UsageError(f"quorum acp needs a package that is not installed: {render_install_command('acp')}")
    if options.layer_of is not None:
        enter_layer(root, options.layer_of)
    with explain_start_failures():
        from quorum.acp_agent.serving import serve_client
    return serve_client(options)


COMMAND = CliCommand(
    AcpOptions,
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
        argument("--layer-of", metavar="ID", help=""),
    ),
    examples=(
        ("quorum acp", "as the command of an agent in the settings of the editor"),
        ("quorum acp --mode read-only", "its sessions begin in this review mode"),
    ),
)
