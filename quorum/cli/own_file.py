"""The file of settings that a command writes for the person."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from domain.errors import ConfigError
from infrastructure.config.account import list_writable_files
from infrastructure.config.config_file import ConfigFile
from infrastructure.config.loading import LoadedSettings
from quorum.cli.settings import load
from quorum.options import Options


def open_own_file(options: Options, root: Path, loaded: LoadedSettings) -> ConfigFile:
    """The file that is the person's own, or that --config names. Raises ConfigError where there is none."""
    if loaded.locations.named is None and loaded.locations.user is None:
        raise ConfigError("there is no home folder; name the file to write with --config")
    path = next(iter(list_writable_files(loaded.locations).values()))
    return ConfigFile(Path(path), partial(load, options, root, needs_project=False))
