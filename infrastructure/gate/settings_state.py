"""Whether the settings that a call is decided by are still what they were."""

from __future__ import annotations

import os
from pathlib import Path

from infrastructure.config.paths import locate, locate_state_folder
from infrastructure.permissions.rule_file import FILE_NAME as RULES
from infrastructure.trust.trust_file import FILE_NAME as TRUST


def read_settings_state(root: Path, config_file: Path | None) -> tuple[object, ...]:
    """The marks of all files that settings and rules come from: equal as long as none of them changed. Blocks.

    Raises ConfigError for a variable that names no file.
    """
    places = locate(cwd=root, environ=os.environ, config_file=config_file)
    files = [places.named, places.user, *places.project_search]
    files += [places.user.with_name(RULES)] if places.user is not None else []
    state = locate_state_folder(os.environ)
    files += [state / TRUST] if state is not None else []
    return tuple(_read_mark(file) for file in files if file is not None)


def _read_mark(file: Path) -> tuple[object, ...]:
    try:
        found = os.stat(file)
    except OSError as error:
        return (str(file), error.errno)
    return (str(file), found.st_ino, found.st_mtime_ns, found.st_size)
