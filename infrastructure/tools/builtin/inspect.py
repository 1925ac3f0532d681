"""inspect: a page of an output that was kept aside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, assert_never

from quorum.application.ports.storage import BlobStore
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.summary import render_header
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import OutputKind, ToolTraits
from quorum.domain.errors import BlobError, ToolError
from quorum.domain.text.json_text import count_utf8_bytes, describe_value, encode_beginning
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.output import Content, Structured, Text
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.tools.builtin.arguments import require_text
from quorum.infrastructure.tools.builtin.inspect_pages import (
    MOST_BYTES,
    describe_offer,
    describe_text_offer,
    render_array_beginning,
    render_characters_page,
    render_entries_page,
    render_keys_page,
    render_text_page,
)
from quorum.infrastructure.tools.builtin.inspect_selector import (
    Characters,
    Lines,
    Page,
    Selector,
    Slice,
    parse_selector,
    select_path,
    shorten_piece,
)

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

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
    return Inspect(parts.store, parts.outputs.refers_to) if parts.store is not None else None


class Inspect:
    """Shows a stored output piece by piece. Opens only what this conversation refers to."""

    def __init__(self, store: BlobStore, known: Callable[[str], bool]) -> None:
        self._store = store
        self._known = known
        self.definition = ToolDefinition(
            name="inspect",
            description=(
                "Read more of a long output of which only a summary was given; the summary begins with "
                f"[blob:ID]. Shows at most {MOST_BYTES // 1000} kB at a time and says how to continue. "
                "Without a selector: what it is, and its beginning."
            ),
            parameters=(
                ToolParameter(
                    name="blob_id",
                    type="string",
                    description="The id that stands after [blob: in the summary.",
                    required=True,
                ),
                ToolParameter(
                    name="selector",
                    type="string",
                    description=(
                        "lines:20-50 for lines of text or chars:1-2000 for characters of it (from 1, the last "
                        "included); slice:3..8 for entries of a JSON array (from 0, the last left out); "
                        "key:results or key:results.0.name for a part of JSON. A key may be followed by a page "
                        "of it: key:results slice:3..8."
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
                "use an id that a [blob:…] line of a result gave"
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
