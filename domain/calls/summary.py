"""What the model sees of an output that is kept aside: a header that names it, and a few of its lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import assert_never

from domain.text.json_text import describe_value, extent_of, key_text, kind_of, opening, pretty, size_of
from domain.text.json_value import JsonObject, JsonValue
from domain.text.output import (
    Content,
    Inline,
    OutputLimits,
    Printed,
    Spilled,
    Stored,
    Structured,
    Text,
    ToolOutput,
)
from domain.text.styles import Styles

_HEAD_ENTRIES = 2
# What stands around both ends of a text, in bytes at most, and what its hint offers at a time.
_ENDS_FRAME = 160
_PAGE_LINES, _PAGE_CHARS = 100, 4000
_CUT = "…"
# Bytes of a line that are worth showing. Before lines get shorter than this, some are left out.
_SHORTEST = 24


def is_long(text: str, limit_bytes: int) -> bool:
    """Whether a text has more than `limit_bytes` bytes of UTF-8."""
    return len(text) > limit_bytes or size_of(text) > limit_bytes


def line_count(text: str) -> int:
    """How many lines a text has. Only a newline ends a line, and one at the very end begins no other."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def header_of(content: Content, blob_id: str) -> str:
    """The line that names a stored output: `[blob:<id>]`, its kind and its extent."""
    match content:
        case Text(text):
            return f"[blob:{blob_id}] text | {line_count(text)} lines"
        case Structured(value):
            extent = extent_of(value)
            return f"[blob:{blob_id}] json_{kind_of(value)}" + (f" | {extent}" if extent else "")
        case _:
            assert_never(content)


def summary_of(content: Content, blob_id: str, limits: OutputLimits) -> str:
    """The header and what stands at both ends of a text, or what a JSON value is made of.

    At most `limits.summary_bytes` bytes, unless the header alone is longer: it is always whole. Where there
    is too much, lines are cut, which a … shows; the end of a text is kept before its beginning.
    """
    header = header_of(content, blob_id)
    if isinstance(content, Text) and (limits.head_lines is None or limits.tail_lines is None):
        return f"{header}\n{both_ends(content.text, limits.summary_bytes - size_of(header) - 1)}"
    sections = _sections(content, limits)
    room = limits.summary_bytes - size_of(header)
    shown: list[str] = []
    # The last section is served first; those before it may keep back half of the room, but no more than
    # what shows each of their lines.
    while sections:
        section = sections.pop()
        kept_back = min(sum(_least(other) for other in sections), room // 2)
        lines = _fit(section, max(room - kept_back, min(room, _least(section))))
        room -= _cost(lines)
        shown = [*lines, *shown]
    return "\n".join([header, *shown])


def both_ends(text: str, room: int) -> str:
    """A text in at most `room` bytes: all of it where it fits, else as many whole lines of both ends as fit.

    The end gets more room than the beginning. A line that is itself too long is cut, which a … shows. Between
    the two stands how `inspect` shows what is left out.
    """
    text = _replace_lone_surrogates(text)
    data = text.encode()
    if len(data) <= room:
        return text
    if room <= 2 * _ENDS_FRAME:  # no room to say where the rest is
        return _CUT + data[len(data) - max(0, room - size_of(_CUT)) :].decode(errors="ignore")
    room -= _ENDS_FRAME
    head = _whole_lines_of_start(data[: room * 2 // 5].decode(errors="ignore"))
    tail = _whole_lines_of_end(data[len(data) - room * 3 // 5 :].decode(errors="ignore"))
    following = head.count("\n") + 1
    cut = not head.endswith("\n")
    hint = (
        f"chars:{len(head) + 1}-{len(head) + _PAGE_CHARS}"
        if cut
        else f"lines:{following}-{following + _PAGE_LINES - 1}"
    )
    shown = f"{head}{_CUT}" if cut else head.removesuffix("\n")
    return "\n".join(
        ["── head ──", shown, f"{_CUT} left out here; inspect shows it: {hint} {_CUT}", "── tail ──", tail]
    )


def _whole_lines_of_start(start: str) -> str:
    """The beginning of a text without a line that is cut, unless that would be more than half of it."""
    end = start.rfind("\n") + 1
    return start[:end] if end > len(start) // 2 else start


def _whole_lines_of_end(end: str) -> str:
    begin = end.find("\n") + 1
    return (end[begin:] if 0 < begin <= len(end) // 2 else f"{_CUT}{end}").removesuffix("\n")


def text_of(output: str | ToolOutput) -> str:
    """The whole output as text, as hooks see it and a run without a store keeps it."""
    match output:
        case str():
            return output
        case Inline(text) | Printed(text) | Spilled(text=text):
            return text
        case Stored(content):
            return content.text if isinstance(content, Text) else pretty(content.value)
        case _:
            assert_never(output)


def styles_of(output: str | ToolOutput) -> Styles:
    """How the text of an output is styled, where its tool knows."""
    return output.styles if isinstance(output, Printed | Spilled) else ()


def schema_lines(first: JsonValue) -> list[str]:
    """What the elements of an array look like, judging by the first: its keys with their types, or its type."""
    if isinstance(first, Mapping) and first:
        return [f"{key_text(key)}: {kind_of(value)}" for key, value in first.items()]
    return [kind_of(first)]


def key_lines(value: JsonObject) -> list[str]:
    """What an object is made of: each key with the type and extent of its value."""
    return [f"{key_text(key)}: {describe_value(item)}" for key, item in value.items()]


@dataclass(frozen=True, slots=True)
class _Section:
    """Lines under a rule. Where there is no room for all of them, the first are kept, or the last."""

    title: str
    lines: Sequence[str]
    keeps_last: bool = False

    @property
    def rule(self) -> str:
        return f"── {self.title} ──"


def _sections(content: Content, limits: OutputLimits) -> list[_Section]:
    cap = limits.summary_bytes
    match content:
        case Text(text):
            total = line_count(text)
            head = _first_lines(text, limits.head_lines or 0, cap)
            tail = _last_lines(text, min(limits.tail_lines or 0, total - len(head)), cap)
            sections = [_Section("head", head), _Section("tail", tail, keeps_last=True)]
        case Structured(value):
            sections = _parts(value, cap)
        case _:
            assert_never(content)
    return [section for section in sections if section.lines]


def _parts(value: JsonValue, cap: int) -> list[_Section]:
    match value:
        case Mapping():
            return [_Section("keys", [_replace_lone_surrogates(line) for line in key_lines(value)])]
        case Sequence() if not isinstance(value, str):
            schema = [_replace_lone_surrogates(line) for first in value[:1] for line in schema_lines(first)]
            head = [_entry(item, cap) for item in value[:_HEAD_ENTRIES]]
            return [_Section("schema", schema), _Section("head", head)]
        case _:
            return [_Section("head", [_entry(value, cap)])]


def _entry(value: JsonValue, cap: int) -> str:
    text, is_whole = opening(value, cap)
    return _replace_lone_surrogates(text if is_whole else text + _CUT)


def _first_lines(text: str, count: int, cap: int) -> list[str]:
    """The first lines, each read no further than one character past `cap`."""
    lines: list[str] = []
    start = 0
    while len(lines) < count and start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        lines.append(_line(text[start : min(end, start + cap + 1)]))
        start = end + 1
    return lines


def _last_lines(text: str, count: int, cap: int) -> list[str]:
    lines: list[str] = []
    end = len(text) - text.endswith("\n")
    while len(lines) < count:
        start = text.rfind("\n", 0, end) + 1
        lines.append(_line(text[start : min(end, start + cap + 1)]))
        end = start - 1
    return lines[::-1]


def _line(text: str) -> str:
    return _replace_lone_surrogates(text.removesuffix("\r"))


def _replace_lone_surrogates(text: str) -> str:
    """The text without halves of surrogate pairs, which no encoding can carry."""
    return text.encode("utf-8", "replace").decode()


def _fit(section: _Section, room: int) -> list[str]:
    """The rule and its lines within `room` bytes, newlines included; nothing where not even one line fits."""
    room -= size_of(section.rule) + 1
    lines = list(section.lines[::-1] if section.keeps_last else section.lines)
    marks: list[str] = []
    if _least_of(lines) > room:
        marks = [_CUT]
        room -= _cost(marks)
        ends = accumulate(_least_of([line]) for line in lines)
        lines = lines[: sum(1 for _ in takewhile(lambda end: end <= room, ends))]
    if not lines:
        return []
    width = _width(lines, room)
    fitted = [*(_cut(line, width) for line in lines), *marks]
    return [section.rule, *(fitted[::-1] if section.keeps_last else fitted)]


def _width(lines: Sequence[str], room: int) -> int:
    """The greatest width in bytes at which lines are cut so that all fit; short ones leave theirs to others."""
    room -= len(lines)
    sizes = sorted(map(size_of, lines))
    for place, size in enumerate(sizes):
        share = room // (len(sizes) - place)
        if size > share:
            return share
        room -= size
    return sizes[-1]


def _cut(line: str, width: int) -> str:
    data = line.encode()
    if len(data) <= width:
        return line
    return data[: width - size_of(_CUT)].decode(errors="ignore") + _CUT


def _least(section: _Section) -> int:
    return size_of(section.rule) + 1 + _least_of(section.lines)


def _least_of(lines: Sequence[str]) -> int:
    return sum(min(size_of(line), _SHORTEST) + 1 for line in lines)


def _cost(lines: Sequence[str]) -> int:
    return sum(size_of(line) + 1 for line in lines)
