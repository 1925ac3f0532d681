"""The settings a command line asks for."""

from __future__ import annotations

import os
from pathlib import Path

from infrastructure.config.loading import LoadedSettings, load_settings
from infrastructure.config.model_choice import model_overrides
from tui.command_line import Options


def load(options: Options, root: Path) -> LoadedSettings:
    """Files, environment and options, the later ones first. Raises ConfigError."""
    return load_settings(
        cwd=root,
        environ=os.environ,
        config_file=options.config_file,
        overrides={**model_overrides(options.models), **options.overrides},
    )
