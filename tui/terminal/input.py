"""What the terminal sends, made safe before Textual reads it."""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterable, Iterator

from textual import events
from textual._time import get_time
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.keys import Keys
from textual.message import Message

from quorum.tui.keys.keyboard_guard import mark_as_pasted
from quorum.tui.terminal.background_colour import BackgroundReplies
from quorum.tui.terminal.console import count_waiting_bytes
from quorum.tui.terminal.key_bursts import KeyBursts, read_plain_text

_ESC = "\x1b"
_ESC_SHOWN = "␛"
_BEGIN_SEQUENCES = ("[", "O")
_PATIENCE_SECS = 0.5
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*|O)\Z")
_LONGEST = 32  # of a sequence
# What a terminal tells of itself: an answer to a program that ended before it came is no key.
_REPLY = re.compile(r"\x1b\[[?>=][0-?]*[ -/]*(?<!\$)[@-~]")
# Whether it marks pastes is a mode (DECRQM): known, be it on or off, or not.
QUERY_MARKS = "\x1b[?2004$p"
_MARKS_PASTES = re.compile(r"\x1b\[\?2004;[123]\$y\Z")
_ALT_DIGIT = re.compile(r"\x1b[0-9]")


class TypedAhead(codecs.IncrementalDecoder):
    """Decodes what arrives. A byte that is not UTF-8, as a paste of anything may hold, becomes �.

    The first `ahead` bytes were typed before the app had the terminal, and read in lines: there Enter has
    become a line feed, which is another key. It becomes Enter again.
    """

    def __init__(self, errors: str = "replace", *, ahead: int = 0) -> None:
        super().__init__(errors)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._ahead = ahead

    def decode(self, data: bytes, final: bool = False) -> str:  # type: ignore[override]
        """The text of these bytes."""
        if self._ahead:
            early, late = data[: self._ahead], data[self._ahead :]
            self._ahead -= len(early)
            data = early.replace(b"\n", b"\r") + late
        return self._decoder.decode(data, final)


def make_decoders() -> Iterator[TypedAhead]:
    """One each time the app takes the terminal. Only what was typed before the first time was typed ahead: an
    Enter too many at the end of an editor, which had the terminal in between, must send nothing.
    """
    yield TypedAhead(ahead=_count_waiting_bytes())
    while True:
        yield TypedAhead(ahead=0)


def _count_waiting_bytes() -> int:
    """How much has been typed already."""
    try:
        terminal = 0 if sys.__stdin__ is None else sys.__stdin__.fileno()
        return count_waiting_bytes(terminal)
    except (OSError, ValueError):
        return 0


class TerminalKeys(XTermParser):
    """Textual's parser, but:

    - a paste is one paste, whatever is in it: Textual takes an escape in one for keys, and an Enter after it
      would send the prompt;
    - text that comes faster than it can be typed is a paste too, where the terminal is not known to mark them;
    - keys that come at once are known to have come together;
    - Esc and a later Enter are two keys, however soon after: only together they are Alt+Enter;
    - a sequence that comes in two pieces over a slow line is one;
    - a sequence that nobody knows is no key, and ends nothing;
    - Alt and a digit are that key: Textual takes them for what Option types on one keyboard of one maker;
    - what the terminal answers about its background is no key.
    """

    def __init__(self, debug: bool = False, background: BackgroundReplies | None = None) -> None:
        super().__init__(debug)
        self._background = background or BackgroundReplies()
        self._recent = ""
        self._paste: list[str] | None = None
        self._held = ""
        self._bursts = KeyBursts()

    @property
    def is_waiting(self) -> bool:
        """Whether time alone will tell more: characters are held back, or an Esc may begin a sequence."""
        return self._bursts.is_waiting or self._background.is_waiting or self._timeout_time is not None

    def tick(self) -> Iterable[Message]:
        """What time alone has made plain."""
        if released := self._background.release():
            yield from _mark_together([*self._parse_input(released)])
        if self._bursts.is_over(get_time()):
            yield from _mark_together([*self._release_held()])
        waited = self._timeout_time is not None
        yield from super().tick()
        if waited and self._timeout_time is None:
            self._recent = ""

    def feed(self, data: str) -> Iterable[Message]:
        """What these characters, which came at once, mean; none are the end."""
        if not data:
            return _mark_together([*self._parse_input(data)])
        typed, reports = self._background.extract(data)
        return [*_mark_together([*self._parse_input(typed)] if typed else []), *reports]

    def _parse_input(self, data: str) -> Iterator[Message]:
        if not data:
            yield from self._release_held()
            yield from super().feed("")
        while data:
            if self._paste is not None:
                before, mark, data = (self._held + data).partition(BRACKETED_PASTE_END)
                yield from self._collect_paste(before, whole=bool(mark))
            elif (at := (self._recent + data).find(BRACKETED_PASTE_START)) < 0:
                yield from self._read_keys_and_bursts(data)
                return
            else:
                end = at + len(BRACKETED_PASTE_START) - len(self._recent)
                yield from self._read_keys_and_bursts(data[:end])
                self._paste, self._recent, data = [], "", data[end:]
                self._bursts.are_pastes_marked = True

    def _read_keys_and_bursts(self, data: str) -> Iterator[Message]:
        at = 0
        while at < len(data):
            in_sequence = self._timeout_time is not None
            text = "" if in_sequence else read_plain_text(data, at)
            if not text:
                yield from self._release_held()
                text = data[at]
                yield from self._read_keys(text)
            elif not self._bursts.holds(text, get_time()):
                yield from self._read_keys(text)
            at += len(text)

    def _release_held(self) -> Iterator[Message]:
        """What was held back: a paste, and keys that came faster than fingers are: these answer no question."""
        if not self._bursts.is_waiting:
            return
        for pasted, typed in self._bursts.release():
            if pasted:
                yield events.Paste(pasted)
            keys = [*self._read_keys(typed)] if typed else []
            mark_as_pasted((key for key in keys if isinstance(key, events.Key)), is_behind_text=True)
            yield from keys

    def _collect_paste(self, text: str, *, whole: bool) -> Iterable[Message]:
        """Collect a piece of a paste, without what may be the beginning of its end, or tell of all of it."""
        assert self._paste is not None
        kept = 0 if whole else _measure_beginning(text)
        self._held = text[len(text) - kept :]
        self._paste.append(text[: len(text) - kept])
        if whole:
            yield events.Paste("".join(self._paste).replace("\0", "").replace(_ESC, _ESC_SHOWN))
            self._paste = None
            # Textual knows of the beginning, and emits nothing but an empty paste
            yield from (
                event for event in super().feed(BRACKETED_PASTE_END) if not isinstance(event, events.Paste)
            )

    def _read_keys(self, data: str) -> Iterable[Message]:
        if self._recent.endswith(_ESC) and not data.startswith(_BEGIN_SEQUENCES):
            yield from self.tick()
        yield from super().feed(data)
        self._recent = (self._recent + data)[-_LONGEST:]
        if _MARKS_PASTES.search(self._recent):
            self._bursts.are_pastes_marked = True
        if self._timeout_time is not None and _UNFINISHED.search(self._recent):
            self._timeout_time = get_time() + _PATIENCE_SECS

    def parse_mouse_code(self, code: str) -> Message | None:
        """What the mouse did; None in a terminal that tells of pixels but not how many it has."""
        try:
            return super().parse_mouse_code(code)
        except ZeroDivisionError:
            return None

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        if _ALT_DIGIT.fullmatch(sequence):
            return [events.Key(f"alt+{sequence[1]}", None)]
        try:
            keys = list(super()._sequence_to_key_events(sequence, alt))
        except (ValueError, OverflowError):
            keys = [events.Key(Keys.Ignore, sequence)]
        if _REPLY.fullmatch(sequence) or any(_is_half(key.character) for key in keys):
            keys = [events.Key(Keys.Ignore, sequence)]
        return keys


def _mark_together(messages: list[Message]) -> list[Message]:
    """The same, its keys known to have come together if there are several."""
    keys = [each for each in messages if isinstance(each, events.Key)]
    if len(keys) > 1:
        mark_as_pasted(keys)
    return messages


def _is_half(character: str | None) -> bool:
    """Whether it is half of a character, which no text can hold."""
    return character is not None and "\ud800" <= character <= "\udfff"


def _measure_beginning(text: str) -> int:
    """How much of the end of a paste's text may be the beginning of the mark after it."""
    lengths = range(min(len(BRACKETED_PASTE_END) - 1, len(text)), 0, -1)
    return next((length for length in lengths if text.endswith(BRACKETED_PASTE_END[:length])), 0)
