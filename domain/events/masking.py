"""Hides secrets in texts, JSON and events: known values exactly, and what looks like a secret by its shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.conversation.response import OpaqueBlock, ReasoningBlock, StopReason
from quorum.domain.events.event import Event
from quorum.domain.secrets.forms import looks_random
from quorum.domain.secrets.in_review import find_hideable_parts
from quorum.domain.secrets.known import KnownSecrets, NamedSecret
from quorum.domain.secrets.patterns import (
    MASK,
    SecretSpan,
    find_pattern_spans,
    name_assigned_secret,
    render_mask,
)
from quorum.domain.secrets.unfinished import find_unfinished
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.terminal_sequences import (
    SeenText,
    find_unfinished_sequence,
    has_sequences_in_bytes,
    holds_sequences,
    may_begin_sequence,
)

_T = TypeVar("_T")
_Way: TypeAlias = "Callable[[SecretMask, Any, Callable[[str], str]], object]"
_WAYS: dict[type, _Way | None] = {}  # of each class that was met, for a session holds many thousand values
_UNFIT = re.compile(r"[^\w.:/@ -]+")
# Ids lead from one record to another, digests say of which bytes, styles are numbers; none holds a secret. What
# a packet was made of, and the contents that its call writes, are in no record.
_LEFT = frozenset(
    {"session_id", "call_id", "batch_id", "id", "native_id", "tool_use_id", "blob_id", "digest", "plan_digest",
     "sha256", "former_sha256", "manifest", "command_id", "note_id", "job_id", "of_call", "panel_id",
     "subagent_id", "timestamp", "styles", "original", "projected"}
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
        """The text without its secrets; the very same object where it holds none."""
        return hide_spans(text, self.find_spans(text))

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
