"""What becomes of a tool's output on its way into the conversation."""

from __future__ import annotations

import json
from dataclasses import dataclass

from domain.summary import is_long, summary_of

from application.ports import BlobStore
from domain.errors import BlobError
from domain.output import Content, Inline, OutputLimits, Stored, Structured, Text, ToolOutput
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

    async def keep(self, output: str | ToolOutput, definition: ToolDefinition) -> Kept:
        """The output for the conversation: itself when short, else a summary of what is stored."""
        promoted = self._promoted(output, definition)
        if isinstance(promoted, Inline):
            return Kept(text=promoted.text)
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

    def _promoted(self, output: str | ToolOutput, definition: ToolDefinition) -> ToolOutput:
        match output:
            case str():
                limit = definition.inline_bytes or self._limits.inline_bytes
                return Stored(Text(output)) if is_long(output, limit) else Inline(output)
            case Inline() | Stored():
                return output


def text_of(output: str | ToolOutput) -> str:
    """The whole output as text."""
    match output:
        case str():
            return output
        case Inline(text):
            return text
        case Stored(content):
            return _content_text(content)


def _content_text(content: Content) -> str:
    match content:
        case Text(text):
            return text
        case Structured(value):
            return json.dumps(value, ensure_ascii=False, indent=2)
