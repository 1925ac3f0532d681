"""Hides secrets in texts that arrive in pieces: no piece of one is shown before it is known to be one."""

from __future__ import annotations

from typing import TypeAlias

from msgspec.structs import replace

from quorum.domain.events.event import (
    AnswerProgressed,
    CallProgressed,
    CallQueued,
    Event,
    JobProgressed,
    ReasoningDelta,
    RetryScheduled,
    TextDelta,
    ToolCallDelta,
    UserCommandProgressed,
)
from quorum.domain.events.masking import SecretMask, hide_spans
from quorum.domain.secrets.known import LONGEST
from quorum.domain.secrets.patterns import SecretSpan
from quorum.domain.text.terminal_sequences import SeenText, holds_sequences

_Delta: TypeAlias = TextDelta | ReasoningDelta | ToolCallDelta
_Progress: TypeAlias = CallProgressed | UserCommandProgressed | JobProgressed | AnswerProgressed
_CONTEXT = 64  # of what was shown: a name or an address in front of a secret
_LONGEST_CONTEXT = 4096  # with the terminal sequences in it
_SHORT = 512  # characters held back; where there are more, not every piece is a reason to look at them again
_ENDLESS = SecretSpan(0, 0, "endless")
_ENDS = frozenset(" \t\r\n\"'`,;<>")


class MaskedText:
    """One text that arrives in pieces and leaves masked.

    Held back is only an end that could become a secret: usually nothing, never more than 16,384 characters,
    and what would be longer is left out up to the next blank. Of a known value up to three characters may be
    shown before it is recognised.
    """

    def __init__(self, mask: SecretMask) -> None:
        self._mask = mask
        self._shown = ""
        self._held = ""
        self._enough = 0
        self._skipping = False

    def push(self, piece: str) -> str:
        """Take the next piece; what may be shown by now, the very same object where that is just this piece."""
        if self._skipping and not (piece := self._skip_secret(piece)):
            return ""
        if len(self._held) + len(piece) < self._enough and _ENDS.isdisjoint(piece):
            self._held += piece
            return ""
        before, text = len(self._shown), self._shown + self._held + piece
        spans, place = self._mask.scan(text)
        place = max(place, before)
        for span in spans:
            if span.start < place < span.end:
                place = max(span.start, before)
        if len(text) - place > LONGEST:
            return self._skip(text, before, place)
        if not self._held and place == len(text) and not any(span.end > before for span in spans):
            self._shown = _cut_context(text)
            return piece
        self._held = text[place:]
        self._enough = 2 * len(self._held) if len(self._held) > _SHORT else 0
        return self._show(text[:place], before, spans)

    def flush(self) -> str:
        """The text has ended: what was held back, masked."""
        before, text = len(self._shown), self._shown + self._held
        self._held, self._enough, self._skipping = "", 0, False
        return self._show(text, before, self._mask.find_spans(text))

    def _show(self, text: str, before: int, spans: list[SecretSpan]) -> str:
        """What is new in the text; a secret that begins in what was shown is hidden from there on."""
        self._shown = _cut_context(text)
        new = [
            SecretSpan(max(span.start, before) - before, span.end - before, span.word)
            for span in spans
            if before < span.end <= len(text)
        ]
        return hide_spans(text[before:], new)

    def _skip(self, text: str, before: int, place: int) -> str:
        """What could be a secret has no end: hide it all, up to a character that ends it."""
        spans = [span for span in self._mask.find_spans(text[:place]) if span.end <= place]
        shown = self._show(text[:place], before, spans) + hide_spans("", [_ENDLESS])
        rest = text[place:]
        self._held, self._enough, self._skipping = "", 0, True
        end = next((at for at, character in enumerate(rest) if at > LONGEST and character in _ENDS), None)
        return shown if end is None else shown + self.push(rest[end:])

    def _skip_secret(self, piece: str) -> str:
        end = next((at for at, character in enumerate(piece) if character in _ENDS), None)
        if end is None:
            return ""
        self._skipping, self._shown = False, ""
        return piece[end:]


class StreamMask:
    """Masks the events that are only shown, in the order in which they happen.

    The pieces of an answer are one text each: what is said, what is thought, and each call's arguments. What
    was held back of one leaves before anything else happens, but for the progress and the waiting of calls.
    """

    def __init__(self, mask: SecretMask) -> None:
        self._mask = mask
        self._last: _Delta | None = None
        self._text = MaskedText(mask)

    def push(self, event: Event) -> tuple[Event, ...]:
        """Take an event; those that may be shown now, the very same where nothing had to be hidden."""
        match event:
            case TextDelta() | ReasoningDelta() | ToolCallDelta():
                event = self._mask_tool_name(event)
                earlier = self._change_to(event)
                text = _get_text(event)
                shown = self._text.push(text)
                self._last = event
                if shown is text:
                    return (*earlier, event)
                if shown or (isinstance(event, ToolCallDelta) and event.name is not None):
                    return (*earlier, _replace_text(event, shown))
                return earlier
            case CallProgressed() | UserCommandProgressed() | JobProgressed() | AnswerProgressed():
                return (self._mask_progress(event),)
            case CallQueued() | RetryScheduled():
                return (self._mask.mask_event(event),)
            case _:
                return (*self.flush(), self._mask.mask_event(event))

    def flush(self) -> tuple[Event, ...]:
        """The answer has ended: what was held back of it."""
        last, self._last = self._last, None
        rest = self._text.flush()
        self._text = MaskedText(self._mask)
        if last is None or not rest:
            return ()
        if isinstance(last, ToolCallDelta):
            last = replace(last, id=None, name=None)
        return (_replace_text(last, rest),)

    def _mask_tool_name(self, event: _Delta) -> _Delta:
        """The same with its tool's name masked, which arrives whole."""
        if not isinstance(event, ToolCallDelta) or event.name is None:
            return event
        name = self._mask.mask_text(event.name)
        return event if name is event.name else replace(event, name=name)

    def _change_to(self, event: _Delta) -> tuple[Event, ...]:
        """What was held back of another text than this event's."""
        last = self._last
        is_same = type(last) is type(event) and getattr(last, "index", None) == getattr(event, "index", None)
        return () if last is None or is_same else self.flush()

    def _mask_progress(self, event: _Progress) -> _Progress:
        """Each report is all that is to be seen now, cut at both ends wherever it is."""
        text = event.text
        spans, place = self._mask.scan(text)
        if not any(span.start == 0 for span in spans) and (head := self._mask.cut_head(text)) is not None:
            spans = [head, *(span for span in spans if span.start >= head.end)]
        if place < len(text) and not any(span.start <= place < span.end for span in spans):
            spans = [*(span for span in spans if span.end <= place), SecretSpan(place, len(text), "")]
        shown = hide_spans(text, spans)
        if shown is text:
            return event
        shown = shown.removesuffix("[secret:]")
        return (
            replace(event, text=shown)
            if isinstance(event, AnswerProgressed)
            else replace(event, text=shown, styles=())
        )


def _cut_context(text: str) -> str:
    """The end of a text, so much that so many characters can be seen: sequences may stand between the beginning
    of a secret and the rest of it."""
    if not holds_sequences(text):
        return text[-_CONTEXT:]
    seen = SeenText(text)
    return text[seen.locate(max(0, len(seen.text) - _CONTEXT)) :][-_LONGEST_CONTEXT:]


def _get_text(event: _Delta) -> str:
    return event.arguments_delta if isinstance(event, ToolCallDelta) else event.text


def _replace_text(event: _Delta, text: str) -> _Delta:
    if isinstance(event, ToolCallDelta):
        return replace(event, arguments_delta=text)
    return replace(event, text=text)
