"""The whole of what a tool printed, behind the part of it that is shown."""

from __future__ import annotations

from application.ports.storage import Spill
from domain.errors import BlobError, ToolError
from domain.text.output import Printed, Spilled


def store_whole(spill: Spill, told: Printed) -> Printed | Spilled:
    """The whole text, put into the store, behind what is told of it. Where it cannot be kept: that, and why.

    Blocks until it is safely on disk.
    """
    try:
        blob_id = spill.keep()
    except BlobError as error:
        return Printed(f"{told.text}\nthe whole output: {error}", told.styles)
    return Spilled(
        blob_id=blob_id,
        text=told.text,
        lines=spill.lines,
        size_bytes=spill.size_bytes,
        styles=told.styles,
    )


def error_with_whole(spill: Spill, error: ToolError) -> ToolError:
    """The same error behind the whole text, put into the store. Blocks like `store_whole`."""
    kept = store_whole(spill, Printed(str(error)))
    return ToolError(kept.text, output=kept if isinstance(kept, Spilled) else None)
