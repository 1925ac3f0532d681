"""Terminal sequences in a text: what a terminal acts on and does not show, and what they hide of a text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

# A control character as JSON writes it, also where that JSON is itself a text of JSON.
_ESCAPED = r"\\{1,8}u00"
_ESCAPED_ESC = rf"{_ESCAPED}1[bB]"
# What `quorum.domain.text.printable` takes out before a text is drawn, and characters that are printed over;
# and the same in JSON, which whoever reads it may print. None of them goes over the end of a line.
_UNSEEN = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n\x90\x98\x9d-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]+[0-~]"
    r"|\x1b[0-Z\\^-~]"
    r"|[^\n\x08\x1b]\x08"
    rf"|(?:{_ESCAPED_ESC}\[|{_ESCAPED}9[bB])[0-?]*[ !#-/]*[@-~]"
    rf"|(?:{_ESCAPED_ESC}[\]PX^_]|{_ESCAPED}9[08dDeEfF])[^\x07\x1b\n\\\"]*"
    rf"(?:{_ESCAPED}(?:07|9[cC])|(?P<depth>\\{{1,8}})u001[bB](?P=depth){{2}})"  # a backslash is escaped too
    rf"|{_ESCAPED_ESC}[ !#-/]+[0-\[\]-~]"
    rf"|{_ESCAPED_ESC}[0-Z^-~]"
)
_UNFINISHED = re.compile(
    r"(?:\x1b[ -/]*|(?:\x1b\[|\x9b)[0-?]*[ -/]*"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n\x90\x98\x9d-\x9f]*\x1b?"
    r"|\\{1,8}(?:u(?:0(?:0[019]?)?)?)?"
    rf"|(?:{_ESCAPED_ESC}\[?|{_ESCAPED}9[bB])[0-?]*[ !#-/]*"
    rf"|(?:{_ESCAPED_ESC}[\]PX^_]|{_ESCAPED}9[08dDeEfF])[^\x07\x1b\n\\\"]*"
    r"(?:\\{1,8}(?:u(?:0(?:0(?:0|1[bB]?\\*|9)?)?)?)?)?)\Z"
)
_BEGUN = re.compile(r"\\(?:u(?:0(?:0[19]?)?)?)?\Z")
_LONGEST_BEGUN = 5
_LONGEST = 256
_PIECE = 1 << 18  # characters
_ESCAPED_BEGINNINGS = ("u001b", "u001B", "u009")
_BEGINNINGS = "\x08\x1b\x90\x98\x9b\x9d\x9e\x9f"


class SeenText:
    """A text without its terminal sequences, and the way back: `place` is where a character stood before."""

    def __init__(self, text: str) -> None:
        pieces: list[str] = []
        self._starts, self._shifts = [0], [0]
        end = length = 0
        for match in _iterate_sequences(text):
            pieces.append(text[end : match.start()])
            length += match.start() - end
            end = match.end()
            self._starts.append(length)
            self._shifts.append(end - length)
        pieces.append(text[end:])
        self.text = "".join(pieces)

    def locate(self, seen: int) -> int:
        """The place in the whole text of the character at this place of what is seen."""
        return seen + self._shifts[bisect_right(self._starts, seen) - 1]


def _iterate_sequences(text: str) -> Iterator[re.Match[str]]:
    """All sequences, looked for some lines at a time: meanwhile no other thread of Python continues."""
    place = 0
    while place < len(text):
        end = text.find("\n", place + _PIECE)
        end = len(text) if end < 0 else end
        yield from _UNSEEN.finditer(text, place, end)
        place = end


def holds_sequences(text: str) -> bool:
    """Whether a text may hold terminal sequences; usually it does not, and that check is fast."""
    if "\\u00" in text and any(map(text.__contains__, _ESCAPED_BEGINNINGS)):
        return True
    return not (text.isascii() and "\x1b" not in text and "\x08" not in text) and (
        any(map(text.__contains__, _BEGINNINGS))
    )


def has_sequences_in_bytes(content: bytes) -> bool:
    """The same of a text that is given in UTF-8, with whatever is none in it replaced."""
    if b"\\u00" in content and any(beginning.encode() in content for beginning in _ESCAPED_BEGINNINGS):
        return True
    if b"\x1b" in content or b"\x08" in content:
        return True
    return b"\xc2" in content and any(beginning.encode() in content for beginning in _BEGINNINGS)


def may_begin_sequence(text: str) -> bool:
    """Whether at the end of a text that still grows an escaped control character may have begun."""
    return (
        "\\" in text[-_LONGEST_BEGUN:] and _BEGUN.search(text, max(0, len(text) - _LONGEST_BEGUN)) is not None
    )


def find_unfinished_sequence(text: str) -> int:
    """Where, at the end of a text that still grows, a terminal sequence has begun; else the text's length."""
    match = _UNFINISHED.search(text, max(0, len(text) - _LONGEST))
    if match is not None and match[0].startswith("\\"):
        # The backslashes in front may still belong to the sequence before.
        begun = match.start()
        for unseen in _iterate_sequences(text):
            if unseen.start() < begun < unseen.end():
                match = _UNFINISHED.search(text, unseen.end())
    return len(text) if match is None else match.start()
