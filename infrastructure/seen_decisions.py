"""Which waiting decisions somebody has opened: whoever would be told next is told later."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from quorum.infrastructure.config.paths import locate_state_folder

_FOLDER = "seen-decisions"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_KEPT_SECS = 24 * 60 * 60


class SeenDecisions:
    """Keeps them for a day, for the processes of this person on this machine. What cannot be kept or read
    counts as not seen: more people are told then. Blocks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, digest: str) -> None:
        """Somebody looks at the decision of this digest now."""
        if not _DIGEST.fullmatch(digest):
            return
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for each in self._folder.iterdir():
                if time.time() - each.stat().st_mtime > _KEPT_SECS:
                    each.unlink()
            (self._folder / digest).touch(mode=0o600)

    def find_age_secs(self, digest: str) -> float:
        """How long ago somebody opened it last; infinitely long where nobody has."""
        try:
            return max(0.0, time.time() - (self._folder / digest).stat().st_mtime)
        except OSError:
            return math.inf


def open_seen_decisions(environ: Mapping[str, str] = os.environ) -> SeenDecisions | None:
    """Those of this person; None where there is no home folder."""
    state = locate_state_folder(environ)
    return SeenDecisions(state / _FOLDER) if state is not None else None
