"""What is pasted into the prompt: made harmless, folded where it is long, and paths made into mentions."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

from quorum.domain.text.amounts import format_size
from quorum.domain.text.printable import make_printable

_MOST_LINES = 10
_MOST_BYTES = 2_000
_LABEL = re.compile(r"\[(?:image [^\[\]\n]+ \d+×\d+|PDF [^\[\]\n]+ [\d,.]+ [a-zA-Z]+)\]\Z")


def clean_paste(text: str) -> str:
    """The text with uniform line ends and no control characters but tabs; they become visible stand-ins."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "\t".join(make_printable(part) for part in text.split("\t"))


class Folds:
    """Long pieces of a prompt under short names such as `[pasted 120 lines #1]`."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._count = 0

    def fold(self, text: str) -> str:
        """What stands in the prompt for this text: the text itself, or a name if it is long."""
        lines = text.count("\n") + 1
        size = len(text.encode("utf-8", "surrogatepass"))
        if lines <= _MOST_LINES and size <= _MOST_BYTES:
            return text
        self._count += 1
        extent = f"{lines} lines" if lines > _MOST_LINES else format_size(size)
        name = f"[pasted {extent} #{self._count}]"
        self._texts[name] = text
        return name

    def expand(self, text: str) -> str:
        """The text with every name replaced by what it stands for; names inside pastes stay as they are."""
        if not self._texts:
            return text
        names = re.compile("|".join(re.escape(name) for name in self._texts))
        return names.sub(lambda match: self._texts[match[0]], text)

    def expand_at_end(self, before: str) -> str:
        """The name, or the label of an image or a PDF, that this text ends with; else empty. Of such a one a
        part is worth nothing."""
        if label := _LABEL.search(before):
            return label[0]
        return next((name for name in self._texts if before.endswith(name)), "")

    def clear(self) -> None:
        """Forget all of them; the count continues, so that no name ever means two things."""
        self._texts.clear()


_LONGEST = 16_384
_BEGINNINGS = ("/", "~/", "./", "../", "file://")


def mention_dropped(pasted: str, cwd: Path) -> str:
    """The mentions of what was dropped, and a blank after each; empty where it is not all below `cwd`.

    Terminals drop a path in quotes, with backslashes before its blanks, or as a `file:` address, and several in
    a row.
    """
    text = pasted.strip()
    if not text or "\n" in text or len(text) > _LONGEST:
        return ""
    for paths in ([text], _split_words(text)):
        found = [_make_relative(path, cwd) for path in paths]
        if found and all(found):
            from quorum.domain.text.mention import format_mention

            return "".join(f"{format_mention(path)} " for path in found)
    return ""


def _split_words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # an apostrophe, in what is no path then
        return []


def _make_relative(path: str, cwd: Path) -> str:
    """The path from `cwd` of something that is there; that of a folder ends with a slash. Else empty."""
    if not path.startswith(_BEGINNINGS) and "/" not in path:
        return ""  # a word that happens to be the name of a file
    if path.startswith("file://"):
        path = unquote(urlsplit(path).path, errors="surrogateescape")
    try:
        here = os.path.realpath(cwd)
        whole = os.path.join(here, os.path.expanduser(path))
        place = os.path.join(os.path.realpath(os.path.dirname(whole)), os.path.basename(whole))
        if os.path.isdir(place):
            place = os.path.join(os.path.realpath(place), "")
        elif not os.path.isfile(place):
            return ""
    except (OSError, ValueError):  # a name too long, a NUL
        return ""
    inside = os.path.join(here, "")
    return place.removeprefix(inside) if place.startswith(inside) else ""
