"""What sets off texts that are data from what a model is told to do."""

from __future__ import annotations

_WITHHELD = "[…]"


def render_fenced(name: str, mark: str, text: str) -> str:
    """A text between two lines that begin and end it.

    These lines carry a mark: the id of a panel, or the digest of a packet. Models that were asked before have
    read it, and what they wrote may be the text: so that none can end the fence, the mark is taken out of it.
    """
    return f"<<<{name} {mark}\n{text.replace(mark, _WITHHELD)}\n{name} {mark}>>>"
