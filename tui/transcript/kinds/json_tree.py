"""JSON as a tree: objects and arrays can be folded one by one, and deep ones are at first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

from rich.style import Style

from quorum.application.view.entries import Call, Kept
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.printable import make_printable
from quorum.tui.transcript.cells.lines import build_strip, fit_text
from quorum.tui.transcript.cells.palette import TERMINAL, Palette
from quorum.tui.transcript.kinds import plain
from quorum.tui.transcript.kinds.plain import Part, Run, wrap_runs

TELLS: frozenset[str] = frozenset()

_OPEN_AT_FIRST = 60
_DEEPEST = 64
_MOST_ENTRIES = 400
_LONGEST_STRING = 600
_HEAD = 2_000
_PREVIEW = 60
_MOST_SHOWN_WHOLE = 300
_LONGEST_WRITTEN = 1_200


def find_json(text: str) -> tuple[str, JsonValue] | None:
    """What stands before the JSON of an output, and its object or array; None where there is none."""
    head, rest = "", text.lstrip()
    if rest[:1] not in ("{", "["):
        # Answers of the web have lines about them above what was got.
        head, gap, rest = text[:_HEAD].partition("\n\n")
        rest = text[len(head) + len(gap) :].lstrip() if gap else ""
        if rest[:1] not in ("{", "["):
            return None
    value = _decode(rest)
    return None if value is None else (head, value)


@lru_cache(maxsize=4)
def _decode(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def summarise(call: Call, output: Kept) -> str:
    """How much there is at the top."""
    found = _find_value(output)
    return _render_extent(found[1]) if found is not None else plain.summarise(call, output)


def draw_folded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """All of a short value, and else its outline on one line."""
    part = Part()
    if (found := _find_value(output)) is not None:
        if (whole := _render_whole(output, found[1])) is not None:
            part.add(wrap_runs([(make_printable(whole, newlines=False), palette.muted)], width))
            return part
        part.add(
            [
                build_strip(
                    (
                        fit_text(make_printable(_render_short(found[1], width), newlines=False), width),
                        palette.muted,
                    )
                )
            ]
        )
    return part


def draw_unfolded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """The tree, down to where it becomes too much; a click on a line with a mark opens or folds it."""
    found = _find_value(output)
    if found is None:
        return plain.draw_unfolded(call, output, width, palette)
    head, value = found
    part = Part()
    for line in head.split("\n") if head else ():
        part.add(wrap_runs([(make_printable(line, newlines=False), palette.muted)], width))
    depth = _choose_depth(value, _OPEN_AT_FIRST)
    rows = _render_rows(value, "$", "", 0, depth, call.toggled, palette)
    if not all(part.add(wrap_runs(runs, width, lead, hang), key) for lead, hang, runs, key in rows):
        part.rest = "more of it"
    return part


def _find_value(output: Kept) -> tuple[str, JsonValue] | None:
    return find_json(output.head) if not output.tail else None


_Row = tuple[list[Run], str, list[Run], str | None]


def _render_rows(
    value: JsonValue, key: str, name: str, level: int, depth: int, toggled: AbstractSet[str], palette: Palette
) -> Iterator[_Row]:
    """A value and what it holds. `key` is its place, from the top; a toggled one is not as its depth says."""
    label: list[Run] = [(f"{make_printable(name, newlines=False)}: ", palette.accent)] if name else []
    indent = "  " * min(level, 12)
    children = _list_children(value)
    if not children:
        text, style = _render_scalar(value, palette)
        yield [(f"{indent}  ", Style())], f"{indent}  ", [*label, (text, style)], None
        return
    is_open = (level < depth) != (key in toggled) and level < _DEEPEST
    mark: list[Run] = [(f"{indent}{'▾' if is_open else '▸'} ", palette.muted)]
    preview = (
        _render_extent(value)
        if is_open
        else fit_text(make_printable(_render_short(value, _PREVIEW), newlines=False), _PREVIEW)
    )
    yield mark, f"{indent}  ", [*label, (preview, palette.muted)], key
    if not is_open:
        return
    for child_name, child in children[:_MOST_ENTRIES]:
        yield from _render_rows(child, f"{key}.{child_name}", child_name, level + 1, depth, toggled, palette)
    if (left := len(children) - _MOST_ENTRIES) > 0:
        yield [(f"{indent}    ", Style())], f"{indent}    ", [(f"… {left:,} more", palette.muted)], None


def _list_children(value: JsonValue) -> Sequence[tuple[str, JsonValue]]:
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [(str(place), child) for place, child in enumerate(value)]
    return ()


def _choose_depth(value: JsonValue, lines: int) -> int:
    """How many levels can be open such that about so many lines are drawn; at least one."""
    level, count, depth = [value], 0, 0
    while level and depth < _DEEPEST:
        below = [child for each in level for _, child in _list_children(each)[: lines + 1]]
        count += len(below)
        if depth and count > lines:
            break
        level, depth = below, depth + 1
    return depth


def _render_scalar(value: JsonValue, palette: Palette) -> tuple[str, Style]:
    match value:
        case str():
            text = make_printable(json.dumps(value[:_LONGEST_STRING], ensure_ascii=False), newlines=False)
            left = len(value) - _LONGEST_STRING
            return (f"{text}… {format_amount(left, 'character')} more" if left > 0 else text), palette.ok
        case bool() | None:
            return json.dumps(value), palette.warning
        case int() | float():
            return fit_text(_render_number(value), _LONGEST_STRING), palette.inline_code
        case _:
            return ("{}" if isinstance(value, Mapping) else "[]"), palette.muted


def _render_number(value: float) -> str:
    try:
        return json.dumps(value)
    except ValueError:  # more digits than Python writes
        return "a very long number"


def _render_extent(value: JsonValue) -> str:
    if isinstance(value, Mapping):
        return "{" + format_amount(len(value), "key") + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{len(value):,} entr{'y' if len(value) == 1 else 'ies'}]"
    return ""


def _render_whole(output: Kept, value: JsonValue) -> str | None:
    """The value as compact JSON; None where that is more than is read at a glance."""
    if len(output.head) > _LONGEST_WRITTEN:
        return None
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return text if len(text) <= _MOST_SHOWN_WHOLE else None


def _render_short(value: JsonValue, room: int) -> str:
    """The keys of an object, the first entry of an array."""
    brackets = 0
    while not isinstance(value, Mapping | str) and (children := _list_children(value)) and brackets < _DEEPEST:
        value, brackets = children[0][1], brackets + 1
    if isinstance(value, Mapping):
        preview = "{ " + ", ".join(key[:room] for key in list(value)[:room]) + " }"
    else:
        preview = (
            _render_scalar(value[:room] if isinstance(value, str) else value, TERMINAL)[0] if brackets else ""
        )
    return "[" * brackets + preview + "]" * brackets
