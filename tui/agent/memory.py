"""Lines for an instruction file, as the person types them."""

from __future__ import annotations

MEMORY_MARK = "# "
"""What a prompt of one line begins with that is added to an instruction file. `#12` is a prompt, and so is a
Markdown text, which has more than one line."""


def parse_memory(text: str) -> str | None:
    """The line that a prompt is meant as, or None. It may be empty: nothing stands after the mark."""
    if not text.startswith(MEMORY_MARK) or len(text.splitlines()) > 1:
        return None
    return text.removeprefix(MEMORY_MARK).strip()
