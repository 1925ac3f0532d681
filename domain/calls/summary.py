"""What the model sees of an output that is kept aside: a header that names it, and a few of its lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, takewhile
from typing import assert_never

from msgspec import Struct

from quorum.domain.text.json_text import (
    count_utf8_bytes,
    describe_extent,
    describe_value,
    encode_beginning,
    format_json,
    name_json_type,
    quote_key,
)
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.output import (
    Content,
    Inline,
    OutputLimits,
    Printed,
    Spilled,
    Stored,
    Structured,
    Styles,
    Text,
    ToolOutput,
)

_HEAD_ENTRIES = 2
# What stands around both ends of a text, in bytes at most, and what its hint offers at a time.
_ENDS_FRAME = 160
_PAGE_LINES, _PAGE_CHARS = 100, 4000
_CUT = "…"
# Bytes of a line that are worth showing. Before lines get shorter than this, some are left out.
_SHORTEST = 24


def is_long(text: str, limit_bytes: int) -> bool:
    """Whether a text has more than `limit_bytes` bytes of UTF-8."""
    return len(text) > limit_bytes or count_utf8_bytes(text) > limit_bytes


def count_lines(text: str) -> int:
    """Count the lines of a text. Only a newline ends a line, and one at the very end begins no other."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def render_header(content: Content, blob_id: str) -> str:
    """The line that names a stored output: `[blob:<id>]`, its kind and its extent."""
    match content:
        case Text(text):
            return f"[blob:{blob_id}] text | {count_lines(text)} lines"
        case Structured(value):
            return f"[blob:{blob_id}] {describe_structure(value)}"
        case _:
            assert_never(content)


def describe_structure(value: JsonValue) -> str:
    """Name the kind and the extent of a JSON value, as in a header: `json_array | 30 entries`."""
    extent = describe_extent(value)
    return f"json_{name_json_type(value)}" + (f" | {extent}" if extent else "")


def summarise_content(content: Content, blob_id: str, limits: OutputLimits) -> str:
    """Return the header and both ends of a text, or the structure of a JSON value.

    At most `limits.summary_bytes` bytes, unless the header alone is longer: it is always whole. Where there
    is too much, lines are cut, which a … shows; the end of a text is kept before its beginning.
    """
    header = render_header(content, blob_id)
    if isinstance(content, Text) and (limits.head_lines is None or limits.tail_lines is None):
        return f"{header}\n{keep_both_ends(content.text, limits.summary_bytes - count_utf8_bytes(header) - 1)}"
    sections = _list_sections(content, limits)
    room = limits.summary_bytes - count_utf8_bytes(header)
    shown: list[str] = []
    # The last section is served first; those before it may keep back half of the room, but no more than
    # what shows each of their lines.
    while sections:
        section = sections.pop()
        kept_back = min(sum(_compute_least_cost(other) for other in sections), room // 2)
        lines = _fit(section, max(room - kept_back, min(room, _compute_least_cost(section))))
        room -= _compute_cost(lines)
        shown = [*lines, *shown]
    return "\n".join([header, *shown])


def keep_both_ends(text: str, room: int) -> str:
    """Return at most `room` bytes of a text: all of it if it fits, else whole lines of both ends.

    The end gets more room than the beginning. A line that is itself too long is cut, which a … shows. Between
    the two stands how `inspect` shows what is left out.
    """
    text = _replace_lone_surrogates(text)
    data = text.encode()
    if len(data) <= room:
        return text
    if room <= 2 * _ENDS_FRAME:  # no room to say where the rest is
        return _CUT + data[len(data) - max(0, room - count_utf8_bytes(_CUT)) :].decode(errors="ignore")
    room -= _ENDS_FRAME
    head = _keep_whole_lines_of_start(data[: room * 2 // 5].decode(errors="ignore"))
    tail = _keep_whole_lines_of_end(data[len(data) - room * 3 // 5 :].decode(errors="ignore"))
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


def _keep_whole_lines_of_start(start: str) -> str:
    """The beginning of a text without a line that is cut, unless that would be more than half of it."""
    end = start.rfind("\n") + 1
    return start[:end] if end > len(start) // 2 else start


def _keep_whole_lines_of_end(end: str) -> str:
    begin = end.find("\n") + 1
    return (end[begin:] if 0 < begin <= len(end) // 2 else f"{_CUT}{end}").removesuffix("\n")


def extract_text(output: str | ToolOutput) -> str:
    """The whole output as text, as hooks see it and a run without a store keeps it.

    The summary of JSON stands before it: its tool may say there what the JSON does not.
    """
    match output:
        case str():
            return output
        case Inline(text) | Printed(text) | Spilled(text=text):
            return text
        case Stored(Structured(value), summary) if summary:
            return f"{summary}\n\n{format_json(value)}"
        case Structured(value) | Stored(Structured(value)):
            return format_json(value)
        case Stored(Text(text)):
            return text
        case _:
            raise AssertionError("content is text or JSON")


def extract_styles(output: str | ToolOutput) -> Styles:
    """How the text of an output is styled, where its tool knows."""
    return output.styles if isinstance(output, Printed | Spilled) else ()


def extract_exit_code(output: str | ToolOutput) -> int | None:
    """The exit code of the command whose whole result this is; None for any other output, and where a signal
    ended it."""
    return output.exit_code if isinstance(output, Printed | Spilled) else None


def describe_schema(first: JsonValue) -> list[str]:
    """Describe the elements of an array by the first one: its keys with their types, or its type."""
    if isinstance(first, Mapping) and first:
        return [f"{quote_key(key)}: {name_json_type(value)}" for key, value in first.items()]
    return [name_json_type(first)]


def describe_keys(value: JsonObject) -> list[str]:
    """Describe an object: each key with the type and extent of its value."""
    return [f"{quote_key(key)}: {describe_value(item)}" for key, item in value.items()]


class _SummarySection(Struct, frozen=True):
    """Lines under a rule. Where there is no room for all of them, the first are kept, or the last."""

    title: str
    lines: Sequence[str]
    keeps_last: bool = False

    @property
    def rule(self) -> str:
        return f"── {self.title} ──"


def _list_sections(content: Content, limits: OutputLimits) -> list[_SummarySection]:
    cap = limits.summary_bytes
    match content:
        case Text(text):
            total = count_lines(text)
            head = _read_first_lines(text, limits.head_lines or 0, cap)
            tail = _read_last_lines(text, min(limits.tail_lines or 0, total - len(head)), cap)
            sections = [_SummarySection("head", head), _SummarySection("tail", tail, keeps_last=True)]
        case Structured(value):
            sections = _list_parts(value, cap)
        case _:
            assert_never(content)
    return [section for section in sections if section.lines]


def _list_parts(value: JsonValue, cap: int) -> list[_SummarySection]:
    match value:
        case Mapping():
            return [_SummarySection("keys", [_replace_lone_surrogates(line) for line in describe_keys(value)])]
        case Sequence() if not isinstance(value, str):
            schema = [_replace_lone_surrogates(line) for first in value[:1] for line in describe_schema(first)]
            head = [_format_entry(item, cap) for item in value[:_HEAD_ENTRIES]]
            return [_SummarySection("schema", schema), _SummarySection("head", head)]
        case _:
            return [_SummarySection("head", [_format_entry(value, cap)])]


def _format_entry(value: JsonValue, cap: int) -> str:
    text, is_whole = encode_beginning(value, cap)
    return _replace_lone_surrogates(text if is_whole else text + _CUT)


def _read_first_lines(text: str, count: int, cap: int) -> list[str]:
    """The first lines, each read no further than one character past `cap`."""
    lines: list[str] = []
    start = 0
    while len(lines) < count and start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        lines.append(_format_line(text[start : min(end, start + cap + 1)]))
        start = end + 1
    return lines


def _read_last_lines(text: str, count: int, cap: int) -> list[str]:
    lines: list[str] = []
    end = len(text) - text.endswith("\n")
    while len(lines) < count:
        start = text.rfind("\n", 0, end) + 1
        lines.append(_format_line(text[start : min(end, start + cap + 1)]))
        end = start - 1
    return lines[::-1]


def _format_line(text: str) -> str:
    return _replace_lone_surrogates(text.removesuffix("\r"))


def _replace_lone_surrogates(text: str) -> str:
    """The text without halves of surrogate pairs, which no encoding can carry."""
    return text.encode("utf-8", "replace").decode()


def _fit(section: _SummarySection, room: int) -> list[str]:
    """The rule and its lines within `room` bytes, newlines included; nothing where not even one line fits."""
    room -= count_utf8_bytes(section.rule) + 1
    lines = list(section.lines[::-1] if section.keeps_last else section.lines)
    marks: list[str] = []
    if _measure_shortest(lines) > room:
        marks = [_CUT]
        room -= _compute_cost(marks)
        ends = accumulate(_measure_shortest([line]) for line in lines)
        lines = lines[: sum(1 for _ in takewhile(lambda end: end <= room, ends))]
    if not lines:
        return []
    width = _compute_width(lines, room)
    fitted = [*(_cut(line, width) for line in lines), *marks]
    return [section.rule, *(fitted[::-1] if section.keeps_last else fitted)]


def _compute_width(lines: Sequence[str], room: int) -> int:
    """The greatest width in bytes at which lines are cut so that all fit; short ones leave theirs to others."""
    room -= len(lines)
    sizes = sorted(map(count_utf8_bytes, lines))
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
    return data[: width - count_utf8_bytes(_CUT)].decode(errors="ignore") + _CUT


def _compute_least_cost(section: _SummarySection) -> int:
    return count_utf8_bytes(section.rule) + 1 + _measure_shortest(section.lines)


def _measure_shortest(lines: Sequence[str]) -> int:
    return sum(min(count_utf8_bytes(line), _SHORTEST) + 1 for line in lines)


def _compute_cost(lines: Sequence[str]) -> int:
    return sum(count_utf8_bytes(line) + 1 for line in lines)
