"""What else there is to know of a call: why it is asked, where it would run, what it touches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from domain.calls.packet import ReviewPacket
from domain.events.masking import MaskedPacket
from domain.review.questions import ReviewRequest
from domain.text.ages import with_tilde
from tui.screens.review.earlier import Earlier
from tui.screens.review.text.changes import changes
from tui.screens.review.text.objections import Quotes, in_lines
from tui.screens.review.text.rows import (
    Line,
    LineKind,
    Row,
    Span,
    StyledPart,
    clean_line,
    digest_in_short,
    fold,
    place_spans,
)
from tui.screens.review.text.substance import command_of, substance

_SAID_BY_DIFF = frozenset({"path", "content", "old_text", "new_text", "edits", "patch"})
_LABEL_CELLS = 14
_HIDDEN = "secrets are drawn as [secret:NAME]; what runs, and its digest, hold them as they are"


class Facts(NamedTuple):
    """Lines with their labels. `arguments` are part of what is approved; the `pressing` ones are to be seen
    even where there is little room.
    """

    pressing: list[Line]
    others: list[Line]
    arguments: list[Line]


class _Fact(NamedTuple):
    label: str
    text: str
    kind: LineKind = LineKind.PLAIN
    spans: tuple[Span, ...] = ()


def facts(request: ReviewRequest, earlier: Earlier, *, full_digest: bool = False, quotes: Quotes = ()) -> Facts:
    """Everything about a call that what would run does not show."""
    packet, seal = request.packet, request.packet.seal
    pressing = [*_explain_repetition(request, earlier)]
    pressing += [_Fact("asks because", reason) for reason in request.reasons]
    if isinstance(packet, MaskedPacket):
        pressing.append(_Fact("hidden", _HIDDEN, LineKind.WARNING))
    if command_of(packet) is not None and packet.call.arguments.get("background") is True:
        pressing.append(_Fact("background", _background(packet), LineKind.WARNING))
    if seal.unsealed:
        pressing.append(_Fact("not sealed", seal.unsealed, LineKind.WARNING))
    arguments = [_Fact("with", text, spans=in_lines(quotes, [text])[0]) for text in _other_arguments(packet)]
    others = [_Fact("touches", f"{with_tilde(f.path)}  {_hash(f.sha256)}") for f in seal.files]
    others += [_Fact("runs", program) for program in seal.executables]
    others.append(_Fact("in", with_tilde(seal.cwd)))
    others += [
        _Fact("environment", f"{name} removed" if value is None else f"{name}={value}")
        for name, value in seal.environment.items()
    ]
    if seal.sandbox is not None:
        others.append(_Fact("sandbox", seal.sandbox))
    if full_digest:
        others.append(_Fact("packet", packet.digest))
    return Facts(list(_with_labels(pressing)), list(_with_labels(others)), list(_with_labels(arguments)))


def _background(packet: ReviewPacket) -> str:
    limit = packet.call.arguments.get("timeout_secs")
    within = "" if limit is None else f", {limit} s at most"
    return f"it stays running when its call has ended{within}: until it ends, is stopped, or the session ends"


def _hash(sha256: str | None) -> str:
    return "new file" if sha256 is None else f"sha {digest_in_short(sha256)}"


def _explain_repetition(request: ReviewRequest, earlier: Earlier) -> Iterator[_Fact]:
    if request.stale:
        changed = changes(earlier.approved, request.packet) if earlier.approved is not None else ()
        for change in changed:
            yield _Fact("asked again", f"changed since you approved: {change}", LineKind.WARNING)
        if not changed:
            text = "what was approved is no longer what would run; this is how it stands now"
            yield _Fact("asked again", text, LineKind.WARNING)
    if earlier.is_edited:
        yield _Fact("your edit", "these are other bytes than those voted on: your word alone decides")


def _with_labels(labelled: Iterable[_Fact]) -> Iterator[Line]:
    before = ""
    for label, text, kind, spans in labelled:
        head = f"{'' if label == before else label:<{_LABEL_CELLS}}"
        yield Line(head, clean_line(text), kind, spans=place_spans(spans, text, clean_line))
        before = label


def _other_arguments(packet: ReviewPacket) -> Iterator[str]:
    """Arguments that neither diff nor command shows."""
    said: frozenset[str]
    if packet.seal.diff:
        said = _SAID_BY_DIFF
    elif command_of(packet) is not None:
        said = frozenset({"command"})
    elif packet.seal.diff is None:
        return
    else:
        said = frozenset()
    for name, value in packet.call.arguments.items():
        if name not in said:
            yield f"{name} = {json.dumps(value, ensure_ascii=False)}"


def list_calls(request: ReviewRequest, width: int) -> list[Row]:
    """This call and the following ones, each with its digest and in full."""
    count = 1 + len(request.following)
    intro = (
        f"These {count} run as they are sealed now, each at its turn; one that differs by then is asked again."
    )
    rows = fold([Line("", intro, LineKind.PLAIN)], width)
    for packet in (request.packet, *request.following):
        place = f"call {packet.context.call_index + 1} of {request.batch_size}"
        title = f"{place} · {clean_line(packet.call.tool_name)} · packet {digest_in_short(packet.digest)}"
        rows += [(), *fold([Line("", title, LineKind.STRONG)], width)]
        rows += [(StyledPart("  ", LineKind.PLAIN), *row) for row in substance(packet, width - 2)]
    return rows
