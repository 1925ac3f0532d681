"""The sequence by which a terminal takes a text into its clipboard."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping

_CHUNK = 200
"""Characters in one string for GNU screen, which some versions of it cut off after 256."""


def build_clipboard_sequence(text: str, environ: Mapping[str, str]) -> str:
    """OSC 52 with this text; inside GNU screen, which would draw it, in strings that it hands on unread."""
    encoded = b64encode(text.encode("utf-8", "replace")).decode("ascii")
    if not is_inside_screen(environ):
        return f"\x1b]52;c;{encoded}\a"
    chunks = (encoded[at : at + _CHUNK] for at in range(0, len(encoded), _CHUNK))
    pieces = ["\x1b]52;c;", *chunks, "\a"]
    return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)


def is_inside_screen(environ: Mapping[str, str]) -> bool:
    """Whether GNU screen is what draws. Where it may as well be tmux it is taken for screen: what is meant for
    that tmux drops unseen."""
    term = environ.get("TERM", "")
    if term.startswith("tmux"):
        return False
    return bool(environ.get("STY")) or (term.startswith("screen") and not environ.get("TMUX"))
