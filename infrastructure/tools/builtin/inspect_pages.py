"""Pages of a stored output: as much as there is room for, and how to continue from there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from quorum.domain.calls.summary import count_lines, describe_keys, describe_schema
from quorum.domain.errors import ToolError
from quorum.domain.text.json_text import count_utf8_bytes, describe_value, encode_beginning, quote_key
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.tools.builtin.inspect_selector import add_article, shorten_piece

MOST_BYTES = 8000
_LONGEST_LINE = 1500


def render_text_page(whole: str, first: int, last: int | None, prefix: str) -> list[str]:
    """Numbered lines, as many as there is room for, and a note that says how to continue.

    `prefix` is what a selector must begin with to mean this text. Raises ToolError past the end.
    """
    total = count_lines(whole)
    if first > total and last is not None:
        raise ToolError(f"lines:{first}-{last} is past the end: this is {describe_text_offer(whole, prefix)}")
    wanted = total if last is None else min(last, total)
    lines = (
        f"{number:>6}\t{_cut_line(line, place, prefix)}"
        for number, (place, line) in enumerate(_iterate_lines(whole, first), start=first)
    )
    shown = _take_within(lines, wanted - first + 1, MOST_BYTES)
    end = first + len(shown) - 1
    if end < wanted:
        shown.append(f"[lines {first}-{end} of {total}; continue with {prefix}lines:{end + 1}-{wanted}]")
    elif (first, end) != (1, total):
        shown.append(f"[lines {first}-{end} of {total}]")
    return shown


def render_characters_page(whole: str, first: int, last: int, prefix: str) -> list[str]:
    """Characters, as many as there is room for, and how to continue. Raises ToolError past the end."""
    total = len(whole)
    if first > total:
        extent = f"it has {total} characters: use {prefix}chars:1-{total}" if total else "it is empty"
        raise ToolError(f"chars:{first}-{last} is past the end of the text: {extent}")
    wanted = min(last, total)
    page = whole[first - 1 : min(wanted, first - 1 + MOST_BYTES)]
    shown = page.encode("utf-8", "replace")[:MOST_BYTES].decode(errors="ignore")
    end = first - 1 + len(shown)
    more = f"; continue with {prefix}chars:{end + 1}-{wanted}" if end < wanted else ""
    return [shown, f"[characters {first}-{end} of {total}{more}]"]


def render_entries_page(
    value: Sequence[JsonValue], start: int, end: int, prefix: str, *, room: int = MOST_BYTES
) -> list[str]:
    """Entries of an array as compact JSON, one a line, and how to continue. Raises ToolError past the end."""
    total = len(value)
    if start >= total:
        raise ToolError(f"slice:{start}..{end} is past the end: this is {describe_offer(value, prefix)}")
    wanted = min(end, total)
    path = prefix.strip() + "." if prefix else "key:"
    entries = (f"[{place}] {_cut_entry(value[place], f'{path}{place}')}" for place in range(start, wanted))
    shown = _take_within(entries, wanted - start, room)
    reached = start + len(shown)
    if reached < wanted:
        shown.append(
            f"[entries {start}..{reached} of {total}; continue with {prefix}slice:{reached}..{wanted}]"
        )
    elif (start, reached) != (0, total):
        shown.append(f"[entries {start}..{reached} of {total}]")
    return shown


def render_array_beginning(value: Sequence[JsonValue], prefix: str) -> list[str]:
    """What the first entry of an array is made of, and the first entries."""
    schema = describe_schema(value[0])
    listed = _take_within(map(shorten_piece, schema), len(schema), MOST_BYTES // 4)
    if len(listed) < len(schema):
        listed.append(f"[{len(schema) - len(listed)} more keys are not listed]")
    entries = render_entries_page(value, 0, len(value), prefix, room=MOST_BYTES // 2)
    return ["── schema ──", *listed, "── head ──", *entries]


def render_keys_page(value: JsonObject, prefix: str) -> list[str]:
    """The keys of an object with what they hold, and how to see one of them."""
    path = prefix.strip() + "." if prefix else "key:"
    shown = _take_within((shorten_piece(line) for line in describe_keys(value)), len(value), MOST_BYTES // 2)
    more = f"; {len(value) - len(shown)} more keys are not listed" if len(shown) < len(value) else ""
    return ["── keys ──", *shown, f"[{path}NAME shows one of them{more}]"]


def _take_within(lines: Iterator[str], count: int, room: int) -> list[str]:
    """The first `count` lines, fewer where they would take more than `room` bytes, but at least one."""
    shown: list[str] = []
    for line in islice(lines, count):
        room -= count_utf8_bytes(line) + 1
        if shown and room < 0:
            break
        shown.append(line)
    return shown


def _iterate_lines(whole: str, first: int) -> Iterator[tuple[int, str]]:
    """Each line from that one on, and where it begins."""
    start = 0
    for _ in range(first - 1):
        start = whole.index("\n", start) + 1
    while start < len(whole):
        end = whole.find("\n", start)
        end = len(whole) if end < 0 else end
        yield start, whole[start:end].removesuffix("\r")
        start = end + 1


def _cut_line(line: str, place: int, prefix: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    rest = f"{prefix}chars:{place + _LONGEST_LINE + 1}-{place + len(line)}"
    return f"{line[:_LONGEST_LINE]} … [line cut: {rest} shows the rest]"


def _cut_entry(value: JsonValue, selector: str) -> str:
    entry, is_whole = encode_beginning(value, _LONGEST_LINE)
    return entry if is_whole else f"{entry} … [entry cut: {selector} shows what is in it]"


def describe_offer(value: JsonValue, prefix: str) -> str:
    """What a value is, and which selectors fit it where any do."""
    path = prefix.strip() + "." if prefix else "key:"
    match value:
        case str():
            return describe_text_offer(value, prefix)
        case Mapping() if value:
            return f"an object of {len(value)} keys: use {path}{shorten_piece(quote_key(next(iter(value))))}"
        case Sequence() if value:
            return f"an array of {len(value)} entries: use {prefix}slice:0..{len(value)} or {path}0"
        case _:
            return add_article(describe_value(value))


def describe_text_offer(whole: str, prefix: str = "") -> str:
    """What a text is, and the selector that shows it."""
    total = count_lines(whole)
    return f"text of {total} lines: use {prefix}lines:1-{total}" if total else "an empty text"
