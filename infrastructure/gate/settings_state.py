"""Whether the settings that a call is decided by are still what they were."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from quorum.infrastructure.config.paths import locate, locate_state_folder
from quorum.infrastructure.config.policy_file import POLICY_PLACE
from quorum.infrastructure.permissions.rule_file import FILE_NAME as RULES
from quorum.infrastructure.trust.decisions import FILE_NAME as TRUST

_MOST_BYTES = 1 << 20


def read_settings_state(root: Path, config_file: Path | None) -> tuple[object, ...]:
    """The marks of all files that settings and rules come from: equal as long as none of them changed. Blocks.

    Raises ConfigError for a variable that names no file.
    """
    places = locate(cwd=root, environ=os.environ, config_file=config_file)
    files = [places.named, places.user, *places.project_search]
    files += [places.user.with_name(RULES)] if places.user is not None else []
    state = locate_state_folder(os.environ)
    files += [state / TRUST] if state is not None else []
    files.append(POLICY_PLACE.file)
    return tuple(_read_mark(file) for file in files if file is not None)


def _read_mark(file: Path) -> tuple[object, ...]:
    """What a file is, and what it holds: a change within one tick of the clock leaves its times."""
    try:
        found = os.stat(file)
        held = file.read_bytes() if stat.S_ISREG(found.st_mode) and found.st_size <= _MOST_BYTES else b""
    except OSError as error:
        return (str(file), error.errno)
    return (str(file), found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, held)
