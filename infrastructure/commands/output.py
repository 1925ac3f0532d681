"""What a command prints, as plain text of bounded size."""

from __future__ import annotations

import codecs
import re
from collections import deque
from typing import Protocol

_PLAIN = bytes([0x09, 0x0A, *range(0x20, 0x7F)])
_PAYLOAD = (
    "[^\x07\x1b\x90\x98\x9b-\x9f\n]*"  # without what could begin the next sequence: matching stays linear
)
_ESCAPE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    f"|(?:\x1b\\]|\x9d){_PAYLOAD}(?:\x07|\x1b\\\\|\x9c)"  # OSC: titles, links, clipboard
    f"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f]){_PAYLOAD}(?:\x1b\\\\|\x9c)"  # DCS, SOS, PM, APC
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*(?=[\x1b\x90\x98\x9b\x9d-\x9f])"  # begun, and given up for another
    f"|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f]){_PAYLOAD}(?=\x1b[^\\\\]|[\x90\x98\x9b\x9d-\x9f])"
    "|\x1b[ -/]*(?=[\x1b\x90\x98\x9b\x9d-\x9f])"
    "|\x1b[ -/]+[0-~]"  # character sets
    "|\x1b[0-OQ-WYZ`-~\\\\]"  # two characters
)
_UNFINISHED = re.compile(
    f"(?:\x1b[ -/]*|(?:\x1b\\[|\x9b)[0-?]*[ -/]*|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f]){_PAYLOAD}\x1b?)\\Z"
)
_CONTROLS = dict.fromkeys((*range(0x08), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0)))
_BACKSPACE = "\x08"
_LINE_CHARS = 16384
_ESCAPE_CHARS = 4096


class TerminalText:
    """Turns a terminal's byte stream into text, piece by piece.

    UTF-8 with replacement; escape sequences and control characters dropped, also where a piece ends inside
    one; a line redrawn after a carriage return keeps its last state. Holds one line at most, and a line
    longer than 16,384 characters is let go of unfinished.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._line = ""

    @property
    def line(self) -> str:
        """The line that is not finished yet, as it looks now."""
        return self._line.rstrip("\r")

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """Take bytes; the text that can no longer change. `final` gives the rest as well."""
        plain = not self._held and not data.translate(None, _PLAIN)
        text = self._held + self._decoder.decode(data, final)
        self._held = ""
        if plain and "\r" not in self._line:
            settled, newline, self._line = (self._line + text).rpartition("\n")
        else:
            settled, newline, self._line = self._clean(text).rpartition("\n")
        settled += newline
        if final or len(self._line) > _LINE_CHARS:
            settled, self._line = settled + self.line, ""
        return settled

    def _clean(self, text: str) -> str:
        text = _ESCAPE.sub("", text)
        unfinished = _UNFINISHED.search(text, max(0, len(text) - _ESCAPE_CHARS))
        if unfinished:
            text, self._held = text[: unfinished.start()], text[unfinished.start() :]
        lines = (self._line + text.translate(_CONTROLS)).split("\n")
        if lines[-1].endswith("\r"):
            return "\n".join(map(_fold, lines)) + "\r"
        return "\n".join(map(_fold, lines))


def _fold(line: str) -> str:
    """The last state of a line that carriage returns and backspaces have redrawn."""
    if "\r" in line:
        line = next((state for state in reversed(line.split("\r")) if state), "")
    if _BACKSPACE in line:
        kept: list[str] = []
        for character in line:
            if character != _BACKSPACE:
                kept.append(character)
            elif kept:
                kept.pop()
        return "".join(kept)
    return line


class HeadAndTail:
    """Text of which no more than `limit` bytes (UTF-8) are kept: half from its start, half from its end."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit - limit // 2
        self._tail_limit = limit // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._total = 0

    def append(self, text: str) -> None:
        """Add text to the end."""
        data = text.encode("utf-8", "replace")
        self._total += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail.append(data)
            self._tail_bytes += len(data)
            while self._tail_bytes - len(self._tail[0]) >= self._tail_limit:
                self._tail_bytes -= len(self._tail.popleft())

    def has_room_for(self, text: str) -> bool:
        """Whether all of it would still be kept with this text at its end."""
        return self._total + len(text.encode("utf-8", "replace")) <= self._head_limit + self._tail_limit

    def text(self) -> str:
        """All of it, or the head and the tail with a line between that counts the bytes left out."""
        tail = b"".join(self._tail)
        if len(self._head) + len(tail) == self._total and len(tail) <= self._tail_limit:
            return (bytes(self._head) + tail).decode()
        head = self._head.decode(errors="ignore").encode()
        tail = tail[max(0, len(tail) - self._tail_limit) :].decode(errors="ignore").encode()
        left_out = self._total - len(head) - len(tail)
        return f"{head.decode()}\n… {left_out} bytes left out …\n{tail.decode()}"

    def end(self, limit: int) -> str:
        """The last `limit` bytes at most, fewer where what came before them is left out."""
        tail = b"".join(self._tail)
        is_whole = len(self._head) + len(tail) == self._total
        kept = bytes(self._head[-limit:]) + tail if is_whole else tail
        return kept[-limit:].decode(errors="ignore")


class Overflow(Protocol):
    """Takes the whole text once it is longer than what is kept."""

    def write(self, text: str) -> None:
        """Add text to the end."""
        ...


class CommandOutput:
    """All that a command prints, kept within `limit` bytes however much it is.

    Once it is more, `overflow` gets all of it, from the beginning on.
    """

    def __init__(self, limit: int, overflow: Overflow | None = None) -> None:
        self._terminal = TerminalText()
        self._kept = HeadAndTail(limit)
        self._overflow = overflow
        self.overflows = False

    def feed(self, data: bytes) -> None:
        """Take what was printed."""
        self._add(self._terminal.feed(data))

    def close(self) -> str:
        """The whole text, within the limit, without the newlines at its end. Nothing may be fed afterwards."""
        self._add(self._terminal.feed(b"", final=True))
        return self._kept.text().rstrip("\n")

    def last_lines(self, count: int, limit: int) -> str:
        """The last lines as they look now, at most `limit` characters of them."""
        text = (self._kept.end(4 * limit) + self._terminal.line).rstrip("\n")
        return "\n".join(text[-limit:].split("\n")[-count:])

    def _add(self, text: str) -> None:
        if self._overflow is not None:
            if not self.overflows and not self._kept.has_room_for(text):
                self.overflows = True
                self._overflow.write(self._kept.text())
            if self.overflows:
                self._overflow.write(text)
        self._kept.append(text)
