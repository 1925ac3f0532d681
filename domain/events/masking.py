"""Hides secrets in texts, JSON and events: known values exactly, and what looks like a secret by its shape.

Of a text that arrives in pieces, none is shown before it is known not to be part of a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.conversation.response import OpaqueBlock, ReasoningBlock, StopReason
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
from quorum.domain.secrets.known import LONGEST, KnownSecrets, NamedSecret, find_hideable_parts, find_unfinished
from quorum.domain.secrets.patterns import (
    MASK,
    SecretSpan,
    find_pattern_spans,
    looks_random,
    name_assigned_secret,
    render_mask,
)
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.printable import (
    SeenText,
    find_unfinished_sequence,
    has_sequences_in_bytes,
    holds_sequences,
    may_begin_sequence,
)

_T = TypeVar("_T")
_Way: TypeAlias = "Callable[[SecretMask, Any, Callable[[str], str]], object]"
_WAYS: dict[type, _Way | None] = {}  # of each class that was met, for a session holds many thousand values
_REMEMBERED_CHARS = 200  # of a text that is looked up before it is looked through
_MOST_REMEMBERED = 1_024
_UNFIT = re.compile(r"[^\w.:/@ -]+")
# Ids lead from one record to another, digests say of which bytes, styles are numbers; none holds a secret. What
# a packet was made of, and the contents that its call writes, are in no record.
_LEFT = frozenset(
    {"session_id", "call_id", "batch_id", "id", "native_id", "tool_use_id", "blob_id", "digest", "plan_digest",
     "sha256", "former_sha256", "manifest", "command_id", "note_id", "job_id", "of_call", "panel_id",
     "subagent_id", "tree", "output_sha256", "timestamp", "styles", "original", "projected"}
)  # fmt: skip


class MaskedPacket(ReviewPacket, frozen=True, kw_only=True):
    """A packet of which something is hidden. Its digest is still that of the real bytes: they are what runs.

    `original` is the packet as it is, for a person who asks to see it; None where only this one was recorded.
    """

    sealed_digest: str
    original: ReviewPacket | None = None

    def __repr__(self) -> str:
        return f"MaskedPacket(sealed_digest={self.sealed_digest!r})"  # the original holds what is hidden

    @property
    def digest(self) -> str:
        """The digest of what would run."""
        return self.sealed_digest


class SecretMask:
    """Implements the port `Mask`. The same secret is always hidden by the same word, `[secret:NAME]`.

    A known value is named as it was learnt, any other by its kind. What was hidden once is left as it is.
    """

    def __init__(self, known: KnownSecrets | None = None, *, is_for_review: bool = False) -> None:
        self._known = known if known is not None else KnownSecrets()
        self._is_for_review = is_for_review

    @property
    def in_review(self) -> SecretMask:
        """The same mask, as the person looks through it who approves a call: of what somebody else could have
        made look like a secret, only what looks random is hidden."""
        return SecretMask(self._known, is_for_review=True)

    def learn(self, name: str, value: str) -> bool:
        """Hide this value from now on, under this name; whether that is news. Safe to call from any thread.

        Values of fewer than 8 characters are not hidden.
        """
        return self.learn_all([NamedSecret(name, value)])

    def learn_all(self, secrets: Iterable[NamedSecret]) -> bool:
        """Hide all these from now on; whether any of them is news."""
        return self._known.add(one._replace(name=_UNFIT.sub("-", one.name)[:80] or "value") for one in secrets)

    def list_values(self, name: str) -> tuple[str, ...]:
        """What the word `[secret:NAME]` may stand for, of what is known."""
        return self._known.list_forms_named(name)

    def mask_text(self, text: str) -> str:
        """The text without its secrets; the very same object where it holds none.

        Names, paths and the like are in one event after another: they are looked through once.
        """
        if len(text) > _REMEMBERED_CHARS or self._is_for_review:
            return hide_spans(text, self.find_spans(text))
        clear = self._known.clear_texts
        if text in clear:
            return text
        if spans := self.find_spans(text):
            return hide_spans(text, spans)
        if len(clear) >= _MOST_REMEMBERED:
            clear.clear()
        clear.add(text)
        return text

    def mask_known(self, text: str) -> str:
        """The text without known values; what only looks like a secret stays."""
        return hide_spans(text, _find_with_and_without_sequences(text, self._find_spans))

    def may_hold_known(self, content: bytes) -> bool:
        """Whether `exact` might hide something of a text, given in UTF-8, with whatever is none in it replaced:
        usually not, and that check is fast."""
        return self._known.may_be_in(content) or has_sequences_in_bytes(content)

    def mask_json(self, value: JsonValue) -> JsonValue:
        """The value with no secret in any of its texts; the very same object where it holds none."""
        return self._hide(value, self.mask_text)

    def mask_event(self, event: Event) -> Event:
        """The event with no secret in any of its texts; the very same object where it holds none."""
        return self._hide(event, self.mask_text)

    def mask_known_in_event(self, event: Event) -> Event:
        """The event without known values; the very same object where it holds none."""
        return self._hide(event, self.mask_known)

    def mask_packet(self, packet: ReviewPacket) -> ReviewPacket:
        """The packet as it may be drawn, its digest unchanged; the very same object where nothing is hidden."""
        mask = self.in_review
        shown = mask._hide(packet, mask.mask_text)
        if shown is packet:
            return packet
        return MaskedPacket(
            call=shown.call,
            context=shown.context,
            seal=shown.seal,
            asked_by=shown.asked_by,
            sealed_digest=packet.digest,
            original=packet,
        )

    def is_free_of_secrets(self, packet: ReviewPacket) -> bool:
        """Whether nothing of a packet is hidden where it is recorded."""
        return self._hide(packet, self.mask_text) is packet

    def mask_diff(self, diff: str) -> str:
        """The diff without its secrets, each of its lines still there with its sign."""
        spans = [one for span in self.find_spans(diff) for one in _split_span_by_line(diff, span, 1)]
        return hide_spans(diff, spans)

    def mask_lines(self, text: str) -> str:
        """The text without its secrets, each of its lines still there; the very same object where it holds
        none."""
        return hide_spans(
            text, [one for span in self.find_spans(text) for one in _split_span_by_line(text, span, 0)]
        )

    def find_spans(self, text: str) -> list[SecretSpan]:
        """Where secrets stand, in order, none over another, also those that terminal sequences take apart."""
        return _find_with_and_without_sequences(text, self._find_all_spans)

    def _find_spans(self, text: str) -> list[SecretSpan]:
        return self._known.find_spans(text, in_review=self._is_for_review)

    def _find_all_spans(self, text: str) -> list[SecretSpan]:
        found = find_pattern_spans(text)
        if self._is_for_review:
            found = [part for span in found for part in find_hideable_parts(text, span)]
        return _merge_overlapping([*self._find_spans(text), *found])

    def scan(self, text: str) -> tuple[list[SecretSpan], int]:
        """The spans of a text that still grows, and where, at its end, something begins that more text could
        make a secret; its length where nothing does. Before it, up to three characters of a known value may
        stand."""
        if not (holds_sequences(text) or may_begin_sequence(text)):
            return self._scan(text)
        begun = find_unfinished_sequence(text)  # it may stand inside of a secret
        seen = SeenText(text[:begun])
        _, place = self._scan(seen.text)
        return self.find_spans(text), begun if place == len(seen.text) else seen.locate(place)

    def _scan(self, text: str) -> tuple[list[SecretSpan], int]:
        patterns, place = find_pattern_spans(text), find_unfinished(text)
        if not self._known.touches(text):
            return _merge_overlapping(patterns), place
        return _merge_overlapping([*self._known.find_spans(text), *patterns]), min(
            place, self._known.find_unfinished(text)
        )

    def cut_head(self, text: str) -> SecretSpan | None:
        """The end of a known value with which a text begins that was cut from a longer one."""
        return self._known.cut_head(text)

    def _hide(self, value: _T, hide: Callable[[str], str]) -> _T:
        hiding: Any = self._hide_value(value, hide)
        result: _T = hiding
        return result

    def _hide_value(self, value: object, hide: Callable[[str], str]) -> object:
        kind = type(value)
        if kind is str:
            return hide(cast("str", value))
        hide_in = _WAYS[kind] if kind in _WAYS else _find_way(kind)
        return value if hide_in is None else hide_in(self, value, hide)

    def _hide_in_payload(self, text: str) -> str:
        return self.mask_text(text) if any(map(str.isspace, text)) else self.mask_known(text)

    def _hide_in_sequence(self, value: Any, hide: Callable[[str], str]) -> object:
        items = [self._hide_value(item, hide) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return type(value)(items)

    def _hide_in_mapping(self, value: Mapping[Any, Any], hide: Callable[[str], str]) -> object:
        items = {key: self._hide_in_field(key, item, hide) for key, item in value.items()}
        named = {hide(key) if type(key) is str else key: item for key, item in items.items()}
        if all(items[key] is item for key, item in value.items()) and named.keys() == value.keys():
            return value
        return named

    def _hide_in_field(self, key: object, item: object, hide: Callable[[str], str]) -> object:
        hiding = self._hide_value(item, hide)
        if hiding is item and hide == self.mask_text and isinstance(key, str) and isinstance(item, str):
            word = name_assigned_secret(key, item)
            if word is None or (self._is_for_review and not looks_random(item)):
                return hiding
            return render_mask(word)
        return hiding

    def _hide_in_block(
        self, block: ReasoningBlock | OpaqueBlock, _hide: Callable[[str], str]
    ) -> ReasoningBlock | OpaqueBlock:
        """What goes back to the provider may be signed or encrypted, which by chance looks like anything: there
        only known values are hidden. What can be read, with blanks in it, is text like any other."""
        payload: JsonObject = self._hide(block.payload, self._hide_in_payload)
        if isinstance(block, ReasoningBlock) and (text := self.mask_text(block.text)) is not block.text:
            return replace(block, payload=payload, text=text)
        return block if payload is block.payload else replace(block, payload=payload)

    def _hide_in_stop_reason(self, value: StopReason, hide: Callable[[str], str]) -> StopReason:
        detail = value.detail and hide(value.detail)
        return value if detail is value.detail else StopReason(value.kind, detail)

    def _hide_in_fields(self, value: Struct, hide: Callable[[str], str]) -> object:
        changed: dict[str, object] = {}
        for name in value.__struct_fields__:
            if name in _LEFT:
                continue
            old = getattr(value, name)
            new = self.mask_diff(old) if name == "diff" and old else self._hide_value(old, hide)
            if new is not old:
                changed[name] = new
        if "output" in changed and hasattr(value, "styles"):
            changed["styles"] = ()  # they count the characters of the text as it was
        return replace(value, **changed) if changed else value


def _find_way(kind: type[Any]) -> _Way | None:
    """How secrets are hidden in values of this class; None where they hold no text."""
    way: _Way | None = None
    if issubclass(kind, tuple | list | frozenset):
        way = SecretMask._hide_in_sequence
    elif issubclass(kind, Mapping):
        way = SecretMask._hide_in_mapping
    elif issubclass(kind, ReasoningBlock | OpaqueBlock):
        way = SecretMask._hide_in_block
    elif issubclass(kind, StopReason):
        way = SecretMask._hide_in_stop_reason
    elif issubclass(kind, Struct):
        way = SecretMask._hide_in_fields
    _WAYS[kind] = way
    return way


def hide_spans(text: str, spans: list[SecretSpan]) -> str:
    """The text with a word in the place of each span; the spans stand in order, none over another."""
    if not spans:
        return text
    pieces: list[str] = []
    end = 0
    for span in spans:
        pieces += [text[end : span.start], render_mask(span.word)]
        end = span.end
    return "".join([*pieces, text[end:]])


def holds_mask(value: JsonValue) -> bool:
    """Whether something is hidden in a value that was recorded, such as the packet of a review.

    A packet that holds a mask is not what was reviewed, and no answer to it can count: its digest differs too.
    """
    match value:
        case str():
            return MASK.search(value) is not None
        case Mapping():
            return any(holds_mask(key) or holds_mask(item) for key, item in value.items())
        case list() | tuple():
            return any(map(holds_mask, value))
        case _:
            return False


def _find_with_and_without_sequences(text: str, find: Callable[[str], list[SecretSpan]]) -> list[SecretSpan]:
    """What is found in a text as it is, and as it reads without its terminal sequences: a program that draws it
    takes them out, and what they take apart is whole then."""
    if not holds_sequences(text):
        return find(text)
    seen = SeenText(text)
    parted = [
        SecretSpan(seen.locate(span.start), seen.locate(span.end - 1) + 1, span.word)
        for span in find(seen.text)
    ]
    return _merge_overlapping([*parted, *find(text)])


def _split_span_by_line(text: str, span: SecretSpan, signs: int) -> Iterator[SecretSpan]:
    """The parts of a span in each of its lines, without the `signs` characters that begin the line."""
    start = span.start
    while (end := text.find("\n", start, span.end)) >= 0:
        if start < end:
            yield SecretSpan(start, end, span.word)
        start = end + 1 + signs
    if start < span.end:
        yield SecretSpan(start, span.end, span.word)


def _merge_overlapping(spans: list[SecretSpan]) -> list[SecretSpan]:
    """The spans in order; those over one another are one, named as the one that came first."""
    if len(spans) < 2:
        return spans
    rank = {span: place for place, span in reversed(list(enumerate(spans)))}
    apart: list[SecretSpan] = []
    for span in sorted(spans):
        if apart and span.start < apart[-1].end:
            last = apart.pop()
            first = min(last, span, key=lambda each: rank.get(each, len(spans)))
            span = SecretSpan(last.start, max(last.end, span.end), first.word)
            rank.setdefault(span, rank.get(first, len(spans)))
        apart.append(span)
    return apart


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
