"""inspect: a page of an output that was kept aside, chosen by a selector.

A page shows as much as there is room for, and how to continue from there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias, assert_never

from msgspec import Struct

from quorum.application.ports.storage import BlobStore
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.summary import count_lines, describe_keys, describe_schema, render_header
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import OutputKind, ToolTraits
from quorum.domain.errors import BlobError, ToolError
from quorum.domain.text.json_text import count_utf8_bytes, describe_value, encode_beginning, quote_key
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.output import Content, Structured, Text
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.tools.builtin.parts import require_text

if TYPE_CHECKING:
    from quorum.infrastructure.tools.builtin.parts import ToolParts


_SHOWN_CHARS = 200
_SHOWN_KEYS = 20
_PAGE = re.compile(r"(?:(lines|chars):([0-9]{1,12})-([0-9]{1,12})|(slice):([0-9]{1,12})\.\.([0-9]{1,12}))")
_NARROWED = rf"(?s)key:(.*?)(?:\s+({_PAGE.pattern}))?"
_FORMS = (
    "use lines:20-50 for lines of text or chars:1-2000 for characters of it (from 1, the last included), "
    "slice:3..8 for entries of an array (from 0, the last left out), key:results or key:results.0.name for a "
    "part of JSON, or a key and a page of it: key:results slice:3..8"
)


class Lines(Struct, frozen=True):
    """Lines of a text, counted from 1, the last included."""

    first: int
    last: int


class Slice(Struct, frozen=True):
    """Entries of an array, counted from 0, the last left out."""

    start: int
    end: int


class Characters(Struct, frozen=True):
    """Characters of a text, counted from 1, the last included; for lines too long for a page."""

    first: int
    last: int


Page: TypeAlias = Lines | Slice | Characters


class Selector(Struct, frozen=True):
    """A part of a JSON value by its path, and a page of that; None stands for the whole."""

    path: str | None = None
    page: Page | None = None


def parse_selector(selector: str) -> Selector:
    """What a selector means; an empty one asks for the whole. Raises ToolError."""
    selector = selector.strip()
    if not selector:
        return Selector()
    if page := _PAGE.fullmatch(selector):
        return Selector(None, _parse_page(page))
    narrowed = compile_once(_NARROWED).fullmatch(selector)
    if narrowed is None or not narrowed[1]:
        raise ToolError(f"selector {shorten_piece(ascii(selector))} is not understood: {_FORMS}")
    return Selector(narrowed[1], _parse_page(_PAGE.fullmatch(narrowed[2])) if narrowed[2] else None)


def _parse_page(match: re.Match[str] | None) -> Page:
    assert match is not None
    unit = match[1] or match[4]
    first, last = int(match[2] or match[5]), int(match[3] or match[6])
    if unit == "slice":
        if first >= last:
            raise ToolError(f"{match[0]} holds no entry: the end is left out and must be past the start")
        return Slice(first, last)
    if not 1 <= first <= last:
        raise ToolError(f"{match[0]} is empty: {unit} count from 1, and the last comes second")
    return Lines(first, last) if unit == "lines" else Characters(first, last)


def select_path(value: JsonValue, path: str) -> JsonValue:
    """The part of a value at a dotted path of keys and indices. Raises ToolError that says what there is.

    A key that holds dots itself is found too: the longest that fits is taken.
    """
    names = path.split(".")
    place = 0
    while place < len(names):
        above = shorten_piece(".".join(names[:place])) if place else "the output"
        match value:
            case Mapping():
                value, place = _select_in_object(value, names, place, above)
            case Sequence() if not isinstance(value, str):
                value, place = _select_in_array(value, names[place], above), place + 1
            case _:
                raise ToolError(f"{above} is {add_article(describe_value(value))}, in which there are no keys")
    return value


def _select_in_object(
    value: Mapping[str, JsonValue], names: Sequence[str], place: int, above: str
) -> tuple[JsonValue, int]:
    for end in range(len(names), place, -1):
        key = ".".join(names[place:end])
        if key in value:
            return value[key], end
    keys = ", ".join(shorten_piece(quote_key(key)) for key in list(value)[:_SHOWN_KEYS]) or "none"
    more = f" and {len(value) - _SHOWN_KEYS} more" if len(value) > _SHOWN_KEYS else ""
    raise ToolError(f"{above} has no key {shorten_piece(quote_key(names[place]))}: its keys are {keys}{more}")


def _select_in_array(value: Sequence[JsonValue], name: str, above: str) -> JsonValue:
    if not value:
        raise ToolError(f"{above} is an empty array")
    allowed = f"its entries are 0 to {len(value) - 1}"
    if not re.fullmatch("[0-9]{1,12}", name):
        raise ToolError(f"{above} is an array, and {shorten_piece(quote_key(name))} is not an index: {allowed}")
    if int(name) >= len(value):
        raise ToolError(f"{above} has no entry {name}: {allowed}")
    return value[int(name)]


def shorten_piece(text: str) -> str:
    """A piece of a call or an output that is short enough to stand in a sentence."""
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"


def add_article(kind: str) -> str:
    """What a value is, as it stands in a sentence."""
    if kind == "null":
        return kind
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


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
        f"{number}\t{_cut_line(line, place, prefix)}"
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


# Far above what a call can return: a page of a stored output is never stored itself.
_INLINE_BYTES = 1 << 20

TRAITS = ToolTraits(
    verb="inspect",
    telling=("selector",),
    wording={"blob_id": ""},
    output=OutputKind.SOURCE,
    kind="read",
    is_always_given=True,
)


def build(parts: ToolParts) -> Inspect | None:
    """The tool; none where no output can be kept."""
    return Inspect(parts.outputs.store, parts.outputs.refers_to) if parts.outputs.store is not None else None


class Inspect:
    """Shows a stored output piece by piece. Opens only what this conversation refers to."""

    def __init__(self, store: BlobStore, known: Callable[[str], bool]) -> None:
        self._store = store
        self._known = known
        self.definition = ToolDefinition(
            name="inspect",
            description=(
                "Read more of a long output of which only a summary was given; the summary begins with "
                f"[blob:ID]. Shows at most {MOST_BYTES // 1000} kB at a time; without a selector its beginning."
            ),
            parameters=(
                ToolParameter(
                    name="blob_id",
                    type="string",
                    description="The ID after [blob: in its summary.",
                    required=True,
                ),
                ToolParameter(
                    name="selector",
                    type="string",
                    description=(
                        "lines:20-50 or chars:1-2000 of text (from 1, the last included); slice:3..8 of a JSON "
                        "array (from 0, the last left out); key:results.0.name for a part of JSON, or for a "
                        "page of it key:results slice:3..8."
                    ),
                ),
            ),
            risk=RiskLevel.LOW,
            access=lambda _arguments: Access(),
            inline_bytes=_INLINE_BYTES,
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """The page as text. Raises ToolError that names what would work."""
        blob_id = (
            require_text(arguments, "blob_id").strip().removeprefix("[").removeprefix("blob:").removesuffix("]")
        )
        selector = parse_selector(require_text(arguments, "selector", ""))
        if not self._known(blob_id):
            raise ToolError(
                f"this conversation has no stored output {shorten_piece(ascii(blob_id))}: "
                "use an id that a [blob:…] line of a result gave; a result without such a line is whole"
            )
        try:
            content = await self._store.load(blob_id)
        except BlobError as error:
            raise ToolError(str(error)) from error
        shown = await run_in_thread(
            lambda _stop: _render_selection(content, blob_id, selector), context.controls
        )
        # Halves of surrogate pairs can be kept, but no request can carry them.
        return shown.encode("utf-8", "replace").decode()


def _render_selection(content: Content, blob_id: str, selector: Selector) -> str:
    header = render_header(content, blob_id)
    match content:
        case Text(whole):
            if selector.path is not None:
                raise ToolError(f"key: needs JSON, and this output is {describe_text_offer(whole)}")
            if selector.page is not None:
                return _render_part(whole, selector.page, "", "the output")
            return "\n".join(
                [f"{header} | {count_utf8_bytes(whole)} bytes", *render_text_page(whole, 1, None, "")]
            )
        case Structured(value):
            if selector.path is not None:
                value = select_path(value, selector.path)
                header = f"key:{shorten_piece(selector.path)} {describe_value(value)}"
            prefix = "" if selector.path is None else f"key:{selector.path} "
            if selector.page is not None:
                return _render_part(value, selector.page, prefix, prefix.strip() or "the output")
            return "\n".join([header, *_render_beginning(value, prefix)])
        case _:
            assert_never(content)


def _render_part(value: JsonValue, page: Page, prefix: str, name: str) -> str:
    """A page of a text or of an array. Raises ToolError for anything else, and past the end."""
    match page:
        case Lines() | Characters():
            if not isinstance(value, str):
                unit = "lines" if isinstance(page, Lines) else "chars"
                raise ToolError(f"{unit}: needs text, and {name} is {describe_offer(value, prefix)}")
            if isinstance(page, Characters):
                return "\n".join(render_characters_page(value, page.first, page.last, prefix))
            return "\n".join(render_text_page(value, page.first, page.last, prefix))
        case Slice(start, end):
            if isinstance(value, str) or not isinstance(value, Sequence):
                raise ToolError(f"slice: needs an array, and {name} is {describe_offer(value, prefix)}")
            return "\n".join(render_entries_page(value, start, end, prefix))
        case _:
            assert_never(page)


def _render_beginning(value: JsonValue, prefix: str) -> list[str]:
    """All of a JSON value where it is short; else what it is made of and how it begins."""
    whole, is_whole = encode_beginning(value, MOST_BYTES // 4, indent=2)
    match value:
        case _ if is_whole:
            return [whole]
        case str():
            return render_text_page(value, 1, None, prefix)
        case Mapping():
            return render_keys_page(value, prefix)
        case Sequence():
            return render_array_beginning(value, prefix)
        case _:
            return [whole + "…"]
