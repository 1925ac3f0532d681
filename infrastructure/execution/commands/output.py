"""What a command prints, as plain text of bounded size with its styles, also shown while it runs.

Of a running command only the last lines are shown.
"""

from __future__ import annotations

import asyncio
import codecs
import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from quorum.domain.text.output import Printed, StyleChange, Styles, keep_active_styles, shift_styles
from quorum.domain.text.pattern import compile_once

_PIECE_CHARS = 4096


class RecentText:
    """Keeps about the last `limit` characters; places are counted in characters from the text's beginning.

    `start` is the first place that is kept, and `end` the end of the text.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pieces: deque[str] = deque()
        self.start = 0
        self.end = 0

    def append(self, text: str) -> None:
        """Add text to the end."""
        if not text:
            return
        if self._pieces and len(self._pieces[-1]) + len(text) <= _PIECE_CHARS:
            self._pieces[-1] += text  # few pieces, however often a little is printed
        else:
            self._pieces.append(text)
        self.end += len(text)
        while self.end - self.start - len(self._pieces[0]) >= self._limit:
            self.start += len(self._pieces.popleft())
        if self.end - self.start > 2 * self._limit:  # one piece alone is longer
            self._pieces[0] = self._pieces[0][-self._limit :]
            self.start = self.end - sum(map(len, self._pieces))

    def read_between(self, begin: int, end: int) -> str:
        """The text from one place to another, as far as it is kept."""
        found: list[str] = []
        place = self.start
        for piece in self._pieces:
            if place >= end:
                break
            if place + len(piece) > begin:
                found.append(piece[max(0, begin - place) : end - place])
            place += len(piece)
        return "".join(found)


_MOST_CHANGES = 2000  # at each end: what changes more often is hardly read, and must fit into the record
_MOST_IN_FORCE = 16

_PLAIN = bytes([0x09, 0x0A, *range(0x20, 0x7F)])
_PAYLOAD = (
    "[^\x07\x0f\x1b\x90\x98\x9b-\x9f\n]*"  # without what could begin the next sequence: matching stays linear
)
_ESCAPE = (
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    f"|(?:\x1b\\]|\x9d){_PAYLOAD}(?:\x07|\x1b\\\\|\x9c)"  # OSC: titles, links, clipboard
    f"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f]){_PAYLOAD}(?:\x1b\\\\|\x9c)"  # DCS, SOS, PM, APC
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*(?=[\x1b\x90\x98\x9b\x9d-\x9f])"  # begun, and given up for another
    f"|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f]){_PAYLOAD}(?=\x1b[^\\\\]|[\x90\x98\x9b\x9d-\x9f])"
    "|\x1b[ -/]*(?=[\x1b\x90\x98\x9b\x9d-\x9f])"
    "|\x1b[ -/]+[0-~]"  # character sets
    "|\x1b[0-OQ-WYZ`-~\\\\]"
)
_UNFINISHED = (
    f"(?:\x1b[ -/]*|(?:\x1b\\[|\x9b)[0-?]*[ -/]*|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f]){_PAYLOAD}\x1b?)\\Z"
)
_SGR = "(?:\x1b\\[|\x9b)((?:[0-9]{0,3}[;:]){0,15}[0-9]{0,3})m"
# Stands where the style changes, while a line can still be redrawn. What programs print of it is dropped.
_CHANGE = "\x0f"
_CONTROLS = dict.fromkeys((*range(0x08), 0x0B, 0x0C, 0x0E, *range(0x10, 0x20), *range(0x7F, 0xA0)))
_BACKSPACE = "\x08"
_LINE_CHARS = 16384
_ESCAPE_CHARS = 4096


class TerminalText:
    """Turns a terminal's byte stream into text, piece by piece.

    UTF-8 with replacement; escape sequences and control characters dropped, also where a piece ends inside
    one, but what sets a style is kept beside the text; a line redrawn after a carriage return keeps its last
    state. Holds one line at most, and a line longer than 16,384 characters is let go of unfinished.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._line = ""
        self._changes: deque[str] = deque()  # what each mark in the line stands for

    @property
    def line(self) -> Printed:
        """The line that is not finished yet, as it looks now."""
        return _apply_styles(self._line.rstrip("\r"), iter(self._changes))

    def feed(self, data: bytes, *, final: bool = False) -> Printed:
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
            settled, self._line = settled + self._line.rstrip("\r"), ""
        return _apply_styles(settled, iter(self._changes.popleft, None))

    def _clean(self, text: str) -> str:
        text = compile_once(_ESCAPE).sub(self._without, text.replace(_CHANGE, ""))
        unfinished = compile_once(_UNFINISHED).search(text, max(0, len(text) - _ESCAPE_CHARS))
        if unfinished:
            text, self._held = text[: unfinished.start()], text[unfinished.start() :]
        lines = (self._line + text.translate(_CONTROLS)).split("\n")
        if lines[-1].rstrip(_CHANGE).endswith("\r"):  # what comes next begins the line anew
            return "\n".join(map(_fold, lines)) + "\r"
        return "\n".join(map(_fold, lines))

    def _without(self, sequence: re.Match[str]) -> str:
        if (style := compile_once(_SGR).fullmatch(sequence[0])) is None:
            return ""
        self._changes.append(style[1])
        return _CHANGE


def _apply_styles(text: str, changes: Iterator[str]) -> Printed:
    """The text without the marks in it, each of which stands for the next of the changes."""
    if _CHANGE not in text:
        return Printed(text)
    first, *others = text.split(_CHANGE)
    pieces, styles, place = [first], [], len(first)
    for other in others:
        styles.append(StyleChange(place, next(changes)))
        pieces.append(other)
        place += len(other)
    return Printed("".join(pieces), tuple(styles))


def _fold(line: str) -> str:
    """The last state of a line that carriage returns and backspaces have redrawn; every mark of it stays."""
    if "\r" in line:
        states = line.split("\r")
        last = max((place for place, state in enumerate(states) if state.strip(_CHANGE)), default=0)
        before, after = "".join(states[:last]), "".join(states[last + 1 :])
        line = _CHANGE * before.count(_CHANGE) + states[last] + _CHANGE * after.count(_CHANGE)
    return _apply_backspaces(line) if _BACKSPACE in line else line


def _apply_backspaces(line: str) -> str:
    """What is left of a line with backspaces in it."""
    kept: list[str] = []
    marks = [0]  # before all, and after each that is kept
    for character in line:
        match character:
            case "\x0f":
                marks[-1] += 1
            case "\x08":
                if kept:
                    kept.pop()
                    after = marks.pop()
                    marks[-1] += after
            case _:
                kept.append(character)
                marks.append(0)
    return "".join(character + _CHANGE * count for character, count in zip(["", *kept], marks, strict=True))


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

    def join(self) -> str:
        """All of it, or the head and the tail with a line between that counts the bytes left out."""
        return "".join(self.split())

    def split(self) -> tuple[str, str, str]:
        """The same in parts: head, line between and tail; or all of it, and nothing else."""
        tail = b"".join(self._tail)
        if len(self._head) + len(tail) == self._total and len(tail) <= self._tail_limit:
            return (bytes(self._head) + tail).decode(), "", ""
        head = self._head.decode(errors="ignore").encode()
        tail = tail[max(0, len(tail) - self._tail_limit) :].decode(errors="ignore").encode()
        left_out = self._total - len(head) - len(tail)
        return head.decode(), f"\n… {left_out} bytes left out …\n", tail.decode()

    def read_end(self, limit: int) -> str:
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


class BoundedText(HeadAndTail):
    """Text of which head and tail are kept within `limit` bytes; once it is more, `overflow` gets all of it."""

    def __init__(self, limit: int, overflow: Overflow | None = None) -> None:
        super().__init__(limit)
        self._overflow = overflow
        self.overflows = False

    def append(self, text: str) -> None:
        """Add text to the end."""
        if self._overflow is not None:
            if not self.overflows and not self.has_room_for(text):
                self.overflows = True
                self._overflow.write(self.join())
            if self.overflows:
                self._overflow.write(text)
        super().append(text)

    def overflow_now(self) -> None:
        """Give `overflow` what there is, though it would be kept: less than that is going to be shown."""
        if self._overflow is not None and not self.overflows:
            self.overflows = True
            self._overflow.write(self.join())


class CommandOutput:
    """All that a command prints, kept within `limit` bytes however much it is.

    Once it is more, `overflow` gets all of it, from the beginning on.
    """

    def __init__(self, limit: int, overflow: Overflow | None = None) -> None:
        self._terminal = TerminalText()
        self._kept = BoundedText(limit, overflow)
        self._track = StyleTrack(limit)
        self._recent: RecentText | None = None

    @property
    def overflows(self) -> bool:
        """Whether there was more than is kept."""
        return self._kept.overflows

    def overflow_now(self) -> None:
        """Give `overflow` what there is, though it would be kept: less than that is going to be shown."""
        self._kept.overflow_now()

    def feed(self, data: bytes) -> None:
        self._add(self._terminal.feed(data))

    def keep_recent(self, limit: int) -> RecentText:
        """The last `limit` characters of finished lines from now on, to be read from any place in them."""
        self._recent = RecentText(limit)
        return self._recent

    @property
    def so_far(self) -> Printed:
        """What is kept of the finished lines, within the limit; more may come."""
        return self._build_kept_text()

    @property
    def unfinished_line(self) -> str:
        """The line that has no end yet, as it looks now."""
        return self._terminal.line.text

    def close(self) -> Printed:
        """The whole text, within the limit, without the newlines at its end. Nothing may be fed afterwards."""
        self._add(self._terminal.feed(b"", final=True))
        return self._build_kept_text()

    def _build_kept_text(self) -> Printed:
        head, between, tail = self._kept.split()
        printed = Printed(head, self._track.select_first(len(head)))
        if between:
            printed = _strip_final_newlines(printed)
            last = shift_styles(self._track.select_last(len(tail)), len(head + between))
            printed = Printed(head + between + tail, (*printed.styles, *last))
        return _strip_final_newlines(printed)

    def read_last_lines(self, count: int, limit: int) -> Printed:
        """The last lines as they look now, at most `limit` characters of them."""
        settled, line = self._kept.read_end(4 * limit), self._terminal.line
        styles = (*self._track.select_last(len(settled)), *shift_styles(line.styles, len(settled)))
        whole = _strip_final_newlines(Printed(settled + line.text, styles))
        shown = "\n".join(whole.text[-limit:].split("\n")[-count:])
        start = len(whole.text) - len(shown)
        carried = keep_active_styles([each for each in whole.styles if each.at < start])
        within = shift_styles(tuple(each for each in whole.styles if each.at >= start), -start)
        return Printed(shown, (*(StyleChange(0, each.sgr) for each in carried), *within))

    def _add(self, piece: Printed) -> None:
        self._kept.append(piece.text)
        if self._recent is not None:
            self._recent.append(piece.text)
        self._track.append(piece.text, piece.styles)


def _strip_final_newlines(printed: Printed) -> Printed:
    """Without the newlines at its end; nothing is styled after it."""
    text = printed.text.rstrip("\n")
    styles = tuple(each for each in printed.styles if each.at < len(text))
    return Printed(text, (*styles, StyleChange(len(text), "")) if keep_active_styles(styles) else styles)


class StyleTrack:
    """Follows a text of which the first and the last `reach` characters matter in the end, and no others."""

    def __init__(self, reach: int) -> None:
        self._reach = reach
        self._head: list[StyleChange] = []
        self._tail: deque[StyleChange] = deque()
        self._before_tail: list[StyleChange] = []
        self._length = 0

    def append(self, text: str, styles: Styles) -> None:
        """More text, styled so."""
        for change in shift_styles(styles, self._length):
            if change.at <= self._reach and len(self._head) <= _MOST_CHANGES:
                # after the last that is kept nothing is styled, rather than all like that one
                self._head.append(change if len(self._head) < _MOST_CHANGES else StyleChange(change.at, ""))
            self._tail.append(change)
            if len(self._tail) > _MOST_CHANGES:
                self._let_go()
        self._length += len(text)
        while self._tail and self._tail[0].at < self._length - self._reach:
            self._let_go()

    def select_first(self, length: int) -> Styles:
        """Of the first so many characters."""
        return tuple(each for each in self._head if each.at < length)

    def select_last(self, length: int) -> Styles:
        """Of the last so many characters, as places in these."""
        start = self._length - length
        carried = [*self._before_tail, *(each for each in self._tail if each.at < start)]
        return (
            *(StyleChange(0, each.sgr) for each in keep_active_styles(carried)[-_MOST_IN_FORCE:]),
            *shift_styles(tuple(each for each in self._tail if each.at >= start), -start),
        )

    def _let_go(self) -> None:
        self._before_tail.append(self._tail.popleft())
        if len(self._before_tail) > _MOST_IN_FORCE:
            self._before_tail = list(keep_active_styles(self._before_tail)[-_MOST_IN_FORCE:])


_EVERY_SECS = 0.1
_LINES = 10
_CHARS = 2000


class LiveOutput:
    """Takes a command's output and reports its last lines, ten times a second at most.

    Each report is the whole of what is to be seen now: it replaces the one before.
    """

    def __init__(self, output: CommandOutput, report: Callable[[Printed], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._output = output
        self._report = report
        self._reported = Printed("")
        self._next_at = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None

    def follow(self, report: Callable[[Printed], None]) -> None:
        """From now on this gets the reports, and at once what there is to see."""
        self._report, self._reported = report, Printed("")
        if self._timer is None:
            self._timer = self._loop.call_at(self._next_at, self._show)

    def feed(self, data: bytes) -> None:
        self._output.feed(data)
        if self._timer is None:
            self._timer = self._loop.call_at(self._next_at, self._show)

    def close(self) -> None:
        """Show at once what is not shown yet; nothing is reported afterwards."""
        if self._timer is not None:
            self._timer.cancel()
            self._show()

    def _show(self) -> None:
        self._timer = None
        self._next_at = self._loop.time() + _EVERY_SECS
        lines = self._output.read_last_lines(_LINES, _CHARS)
        if lines.text and lines != self._reported:
            self._reported = lines
            self._report(lines)
