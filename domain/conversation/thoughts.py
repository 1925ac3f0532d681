"""Thoughts that a model writes into its text, between the tags that models are trained with."""

from __future__ import annotations

import re

from quorum.domain.text.printable import has_visible_text

_THOUGHTS = re.compile(
    r"(?:\s*<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z))+", re.DOTALL | re.IGNORECASE
)


def says_anything(text: str) -> bool:
    """Whether a text holds a character that can be seen, behind thoughts at its beginning."""
    found = _THOUGHTS.match(text)
    return has_visible_text(text[found.end() :] if found is not None else text)
