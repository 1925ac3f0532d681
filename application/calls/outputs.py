"""What becomes of a tool's output on its way into the conversation: shown whole, or in part and kept aside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from msgspec import Struct

from quorum.application.ports.storage import BlobStore, LineSource, Spill
from quorum.domain.calls.summary import extract_text, is_long, keep_both_ends, summarise_content
from quorum.domain.calls.tool import ToolDefinition
from quorum.domain.errors import BlobError, ToolError
from quorum.domain.replacing import replace
from quorum.domain.text.json_text import count_utf8_bytes
from quorum.domain.text.output import (
    Inline,
    OutputLimits,
    Printed,
    Spilled,
    Stored,
    Structured,
    Text,
    ToolOutput,
)
from quorum.domain.text.pattern import compile_once


def store_whole(spill: Spill, printed: Printed) -> Printed | Spilled:
    """The whole text, put into the store, after its description. Where it cannot be kept: that, and why.

    Blocks until it is safely on disk.
    """
    try:
        blob_id = spill.keep()
    except BlobError as error:
        return replace(printed, text=f"{printed.text}\nthe whole output: {error}")
    return Spilled(
        blob_id=blob_id,
        text=printed.text,
        lines=spill.lines,
        size_bytes=spill.size_bytes,
        styles=printed.styles,
        exit_code=printed.exit_code,
    )


def attach_whole_output(spill: Spill, error: ToolError) -> ToolError:
    """The same error behind the whole text, put into the store. Blocks like `store_whole`."""
    kept = store_whole(spill, Printed(str(error)))
    return ToolError(kept.text, output=kept if isinstance(kept, Spilled) else None)


_REFERENCE = r"\[blob:(?P<id>[0-9a-f-]+)\][^\n]*"


class KeptOutput(Struct, frozen=True, kw_only=True):
    """An output as the conversation gets it. `blob_id` is set where the whole is kept aside."""

    text: str
    blob_id: str | None = None
    size_bytes: int = 0
    trouble: str | None = None


class Outputs:
    """Promotes long outputs to stored ones. Without a store everything stays in the conversation.

    `kept` are the ids that the conversation refers to already.
    """

    def __init__(
        self, store: BlobStore | None, limits: OutputLimits, kept: Collection[str] = frozenset()
    ) -> None:
        self._store = store
        self._limits = limits
        self._kept = set(kept)

    @property
    def store(self) -> BlobStore | None:
        return self._store

    @property
    def open_spill(self) -> Callable[[], Spill] | None:
        """Opens what takes a long output as it is made; None where none are kept."""
        return self._store.open_spill if self._store is not None else None

    def refers_to(self, blob_id: str) -> bool:
        """Whether this conversation knows that stored output."""
        return blob_id in self._kept

    async def open_lines(self, blob_id: str) -> LineSource:
        """The lines of a stored output, for a person to read; fetched, where another machine kept it.

        Raises BlobError.
        """
        if self._store is None:
            raise BlobError("outputs are not kept aside: tools.output.store is off")
        return await asyncio.to_thread(self._store.open_lines, blob_id)

    async def keep(self, output: str | ToolOutput, definition: ToolDefinition | None) -> KeptOutput:
        """The output for the conversation: itself when short, else a summary of what is stored."""
        if definition is None:
            return await self.keep_within(output)
        return await self.keep_within(
            output, inline_bytes=definition.inline_bytes, summary_bytes=definition.summary_bytes
        )

    async def keep_within(
        self, output: str | ToolOutput, *, inline_bytes: int | None = None, summary_bytes: int | None = None
    ) -> KeptOutput:
        """The same for text that no tool gave; None: as long as the settings allow."""
        limits = self._limits.override(inline_bytes=inline_bytes, summary_bytes=summary_bytes)
        promoted = _promote(output, limits.inline_bytes)
        if isinstance(promoted, Inline):
            return KeptOutput(text=promoted.text)
        if isinstance(promoted, Spilled):
            return self._keep_spilled(promoted, limits)
        if self._store is None:
            return KeptOutput(text=extract_text(promoted))
        try:
            blob_id = await self._store.store(promoted.content)
        except BlobError as error:  # losing the output would be worse than a long conversation
            return KeptOutput(text=extract_text(promoted), trouble=f"an output could not be stored: {error}")
        self._kept.add(blob_id)
        return KeptOutput(
            text=_compose_summary(promoted, blob_id, limits),
            blob_id=blob_id,
            size_bytes=len(extract_text(Stored(promoted.content)).encode("utf-8", "replace")),
        )

    async def set_aside(self, text: str, most_bytes: int) -> KeptOutput | None:
        """What may stand for an output that is in the conversation already: its summary, or as much of both
        its ends as `most_bytes` allow, and where the whole is kept. None where it cannot be kept.
        """
        if (known := compile_once(_REFERENCE).match(text)) and known["id"] in self._kept:
            return KeptOutput(text=f"{known[0]} | left out here to make room; inspect shows it again")
        if self._store is None:
            return None
        try:
            blob_id = await self._store.store(Text(text))
        except BlobError:
            return None
        self._kept.add(blob_id)
        limits = self._limits
        if most_bytes > limits.summary_bytes:
            limits = limits.override(inline_bytes=None, summary_bytes=most_bytes)
        return KeptOutput(
            text=summarise_content(Text(text), blob_id, limits),
            blob_id=blob_id,
            size_bytes=count_utf8_bytes(text),
        )

    def _keep_spilled(self, output: Spilled, limits: OutputLimits) -> KeptOutput:
        self._kept.add(output.blob_id)
        _, _, shown = summarise_content(Text(output.text), output.blob_id, limits).partition("\n")
        text = f"[blob:{output.blob_id}] text | {output.lines} lines\n{shown}"
        return KeptOutput(text=text, blob_id=output.blob_id, size_bytes=output.size_bytes)


def _compose_summary(stored: Stored, blob_id: str, limits: OutputLimits) -> str:
    """The summary that the tool gave, within the limit and behind the id; else one of the content."""
    if not stored.summary:
        return summarise_content(stored.content, blob_id, limits)
    reference = f"[blob:{blob_id}]"
    given = stored.summary if reference in stored.summary else f"{reference} {stored.summary}"
    if not is_long(given, limits.summary_bytes):
        return given
    return (
        f"{reference} {keep_both_ends(stored.summary, limits.summary_bytes - count_utf8_bytes(reference) - 1)}"
    )


def _promote(output: str | ToolOutput, inline_bytes: int) -> Inline | Stored | Spilled:
    match output:
        case str() | Printed():
            text = extract_text(output)
            return Stored(Text(text)) if is_long(text, inline_bytes) else Inline(text)
        case Structured():
            text = extract_text(output)
            return Stored(output) if is_long(text, inline_bytes) else Inline(text)
        case Inline() | Stored() | Spilled():
            return output
