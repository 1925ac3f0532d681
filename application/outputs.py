"""What becomes of a tool's output on its way into the conversation."""

from __future__ import annotations

from dataclasses import dataclass

from application.ports import BlobStore, LineSource
from domain.errors import BlobError
from domain.output import Inline, OutputLimits, Spilled, Stored, Text, ToolOutput
from domain.summary import is_long, summary_of, text_of
from domain.tool import ToolDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An output as the conversation gets it. `blob_id` is set where the whole is kept aside."""

    text: str
    blob_id: str | None = None
    size_bytes: int = 0
    trouble: str | None = None


class Outputs:
    """Promotes long outputs to stored ones. Without a store everything stays in the conversation."""

    def __init__(self, store: BlobStore | None, limits: OutputLimits) -> None:
        self._store = store
        self._limits = limits
        self._kept: set[str] = set()

    def refers_to(self, blob_id: str) -> bool:
        """Whether this conversation was told of that stored output."""
        return blob_id in self._kept

    def open_lines(self, blob_id: str) -> LineSource:
        """The lines of a stored output, for a person to read. Raises BlobError."""
        if self._store is None:
            raise BlobError("outputs are not kept aside: tools.output.store is off")
        return self._store.open_lines(blob_id)

    async def keep(self, output: str | ToolOutput, definition: ToolDefinition) -> Kept:
        """The output for the conversation: itself when short, else a summary of what is stored."""
        promoted = self._promoted(output, definition)
        if isinstance(promoted, Inline):
            return Kept(text=promoted.text)
        if isinstance(promoted, Spilled):
            return self._keep_spilled(promoted)
        if self._store is None:
            return Kept(text=text_of(promoted))
        try:
            blob_id = await self._store.store(promoted.content)
        except BlobError as error:  # losing the output would be worse than a long conversation
            return Kept(text=text_of(promoted), trouble=f"an output could not be stored: {error}")
        self._kept.add(blob_id)
        summary = promoted.summary or summary_of(promoted.content, blob_id, self._limits)
        if f"[blob:{blob_id}]" not in summary:
            summary = f"[blob:{blob_id}] {summary}"
        return Kept(text=summary, blob_id=blob_id, size_bytes=len(text_of(promoted).encode("utf-8", "replace")))

    def _keep_spilled(self, output: Spilled) -> Kept:
        self._kept.add(output.blob_id)
        _, _, shown = summary_of(Text(output.text), output.blob_id, self._limits).partition("\n")
        text = f"[blob:{output.blob_id}] text | {output.lines} lines\n{shown}"
        return Kept(text=text, blob_id=output.blob_id, size_bytes=output.size_bytes)

    def _promoted(self, output: str | ToolOutput, definition: ToolDefinition) -> ToolOutput:
        match output:
            case str():
                limit = definition.inline_bytes
                limit = self._limits.inline_bytes if limit is None else limit
                return Stored(Text(output)) if is_long(output, limit) else Inline(output)
            case Inline() | Stored() | Spilled():
                return output
