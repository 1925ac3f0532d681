"""`quorum version`: the version, as `quorum --version` prints it."""

from __future__ import annotations

from pathlib import Path

from quorum.command_line.command import CliCommand
from quorum.command_line.options import StandaloneOptions
from quorum.command_line.shared import PLACES
from quorum.version import __version__


def _print_version(_options: StandaloneOptions, _root: Path) -> int:
    print(f"quorum {__version__}")
    return 0


COMMAND = CliCommand(StandaloneOptions, _print_version, arguments=PLACES)
