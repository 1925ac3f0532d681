"""Files of images and PDFs as the person names them: mentioned in a prompt, or dropped into it as a path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from quorum.domain.text.mention import find_mentions, looks_like_attachment

_LONGEST_PATH = 4096


def find_dropped_attachment(pasted: str) -> str | None:
    """The whole path of the image or PDF that was dropped into the terminal or pasted as a path; else None.

    Terminals drop a path in quotes, with backslashes before its blanks, or as a `file:` address. One that is
    relative starts where the program was started.
    """
    text = pasted.strip()
    if not text or "\n" in text or len(text) > _LONGEST_PATH or not looks_like_attachment(text.strip("'\"")):
        return None
    if text[0] in "'\"" and text[-1] == text[0]:
        candidates = [text[1:-1]]
    elif text.startswith("file://"):
        candidates = [unquote(urlsplit(text).path)]
    else:
        candidates = [text, re.sub(r"\\(.)", r"\1", text)]
    here = Path.cwd()
    return next((str(here / Path(path).expanduser()) for path in candidates if _is_file(path, here)), None)


def find_mentioned_attachments(text: str, cwd: Path) -> tuple[str, ...]:
    """The paths of the images and PDFs that a prompt mentions, each once, in order.

    What is not a file is left out: it may be a wish that one be made.
    """
    paths = dict.fromkeys(path for path in find_mentions(text) if looks_like_attachment(path))
    return tuple(path for path in paths if _is_file(path, cwd))


def append_labels(text: str, labels: Iterable[str]) -> str:
    """The prompt with these labels below it, but for those that stand in it already."""
    missing = [label for label in dict.fromkeys(labels) if label not in text]
    return "\n".join([text, *missing])


def _is_file(path: str, cwd: Path) -> bool:
    try:
        return (cwd / Path(path).expanduser()).is_file()
    except (OSError, RuntimeError, ValueError):  # a name too long, a home not known, a NUL
        return False
