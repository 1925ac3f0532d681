"""Long runs of blanks, which would push what follows them out of sight."""

from __future__ import annotations

import re

_MOST = 80
_LONG_RUN = re.compile(rf"[^\S\n]{{{_MOST + 1},}}")


def collapse_blanks(text: str) -> str:
    """The text with every run of more than 80 blanks replaced by how many they are."""
    return _LONG_RUN.sub(lambda run: f"⟨{len(run[0]):,} blanks⟩", text)
