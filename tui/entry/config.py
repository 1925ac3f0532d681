"""`quorum config`: what the settings are, where they come from, and whether they hold."""

from __future__ import annotations

import os
from pathlib import Path

from infrastructure.config.paths import locate, user_file
from infrastructure.config.reference import write_reference
from infrastructure.config.report import check, config_path, show
from tui.command_line import Options
from tui.entry.complaints import UsageError
from tui.entry.settings import load


def print_config(options: Options, root: Path) -> int:
    """Do what is asked about the settings; always 0. Raises ConfigError, and UsageError without a home."""
    match options.action:
        case "path":
            print(config_path(locate(cwd=root, environ=os.environ, config_file=options.config_file)))
        case "init":
            target = options.config_file or user_file(os.environ)
            if target is None:
                raise UsageError("there is no home folder; name the file to write with --config")
            print(f"wrote {write_reference(target)}")
        case "check":
            print(check(load(options, root), os.environ))
        case _:
            print(show(load(options, root)))
    return 0
