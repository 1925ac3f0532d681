"""What would run: the full command, the full diff, or all arguments of a call, as rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from hashlib import sha256

from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool_traits import find_traits
from quorum.tui.screens.review.text.objections import Quotes, find_in_diff, find_in_lines
from quorum.tui.screens.review.text.plan import draw_plan, find_plan
from quorum.tui.screens.review.text.title import says_all
from quorum.tui.transcript.kinds.diff import parse_lines, render_diff
from quorum.tui.transcript.kinds.rows import (
    Line,
    LineKind,
    Row,
    Span,
    clean_line,
    fold,
    place_spans,
)

_TEXTS = ("content", "old_text", "new_text")
_BINARY = re.compile(r"binary: ([0-9]+) → ([0-9]+) bytes\n?")


def render_substance(
    packet: ReviewPacket, width: int, quotes: Quotes = (), *, spoken: bool = False
) -> list[Row]:
    """What would run, in full, nothing where the title says it; what the quotes say word for word is marked
    as objected to. `spoken`: words stand for signs."""
    if (plan := find_plan(packet)) is not None:
        return fold(draw_plan(plan, quotes), width)
    if (diff := packet.seal.diff) is not None:
        if not diff:
            return fold([Line("", "the file's text stays as it is", LineKind.QUIET)], width)
        if sizes := _BINARY.fullmatch(diff):
            return fold(_render_binary(packet, int(sizes[1]), int(sizes[2])), width)
        path = next((file.path for file in packet.seal.files), "")
        objected = find_in_diff(quotes, parse_lines(diff)) if quotes else None
        return render_diff(diff, width, path=path, objected=objected, spoken=spoken)
    command = find_command(packet)
    commands = find_traits(packet.call.tool_name).find_commands(packet.call.arguments)
    if command is not None or commands:
        texts = [text.split("\n") for text in (commands if command is None else (command,))]
        lines_of_commands = [line for lines in texts for line in lines]
        marks = find_in_lines(quotes, lines_of_commands)
        heads = [head for lines in texts for head in ("$ ", *["  "] * (len(lines) - 1))]
        return fold(map(_render_command_line, heads, lines_of_commands, marks), width)
    if says_all(packet):
        return []
    if not packet.call.arguments:
        return fold([Line("", "no arguments", LineKind.QUIET)], width)
    text = json.dumps(packet.call.arguments, ensure_ascii=False, indent=2).split("\n")
    return fold(map(partial(_build_plain_line, ""), text, find_in_lines(quotes, text)), width)


def find_first_objection(rows: list[Row]) -> int | None:
    """The first row in which something is objected to."""
    return next((n for n, row in enumerate(rows) if any(part.is_objected for part in row)), None)


def find_command(packet: ReviewPacket) -> str | None:
    """The command a packet would run, or None where it is no command."""
    return find_traits(packet.call.tool_name).find_command(packet.call.arguments)


def _render_command_line(head: str, text: str, marks: tuple[Span, ...]) -> Line:
    return Line(head, clean_line(text), LineKind.STRONG, objected=place_spans(marks, text, clean_line))


def _build_plain_line(head: str, text: str, marks: tuple[Span, ...]) -> Line:
    return Line(head, clean_line(text), objected=place_spans(marks, text, clean_line))


# -- files that are no text -----------------------------------------------------------------------------------


def _render_binary(packet: ReviewPacket, before: int, after: int) -> Iterator[Line]:
    texts = {name: text for name in _TEXTS if isinstance(text := packet.call.arguments.get(name), str)}
    what = (
        "sizes and hashes of the file, and the texts of the call"
        if texts
        else "only sizes and hashes can be shown"
    )
    yield Line("", f"not text: {what}", LineKind.WARNING)
    for file in packet.seal.files[:1]:
        yield Line("", "")
        known = "no file" if file.sha256 is None else f"{before:,} bytes  SHA-256 {file.sha256}"
        yield Line("before  ", known)
        content = packet.seal.projected.get(file.path)
        hashed = "" if content is None else f"  SHA-256 {sha256(content).hexdigest()}"
        yield Line("after   ", f"{after:,} bytes{hashed}")
    for name, text in texts.items():
        yield Line("", "")
        yield Line("", f"{name}:", LineKind.STRONG)
        yield from (Line("  ", clean_line(line), is_code=True) for line in text.split("\n"))
