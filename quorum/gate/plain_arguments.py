"""The options of `quorum gate` as settings of agents have them; every other form is left to the parser."""

from __future__ import annotations

import os
from typing import NamedTuple

DIALECTS = ("claude", "codex", "copilot", "cursor", "gemini", "kimi", "opencode", "qwen", "vibe", "quorum")
USUAL_SECS = 55
_MOST_SECS = 86_400


class PlainArguments(NamedTuple):
    """Whose call it is, and within what time; `tui` is the socket of a quorum that runs, if it is named."""

    dialect: str
    secs: int
    tui: str = ""


def read_folder() -> str:
    """The folder of this process, which the caller has chosen; empty where it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def read_plain(arguments: list[str], known: tuple[str, ...]) -> PlainArguments | None:
    """The options, each at most once, with its value as a word of its own; None for all else."""
    words = dict(zip(arguments[1::2], arguments[2::2], strict=False))
    if arguments[:1] != ["gate"] or len(arguments) % 2 == 0 or len(words) * 2 + 1 != len(arguments):
        return None
    secs = words.get("--timeout", str(USUAL_SECS))
    if "--dialect" not in words or not set(words) <= set(known) or words["--dialect"] not in DIALECTS:
        return None
    if not (secs.isascii() and secs.isdecimal()) or not 0 < int(secs) <= _MOST_SECS:
        return None
    return PlainArguments(words["--dialect"], int(secs), words.get("--tui", ""))
