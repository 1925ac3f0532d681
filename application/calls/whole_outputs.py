"""The whole of what a tool printed, behind the part of it that is shown."""

from __future__ import annotations

from quorum.application.ports.storage import Spill
from quorum.domain.errors import BlobError, ToolError
from quorum.domain.text.output import Printed, Spilled


def store_whole(spill: Spill, printed: Printed) -> Printed | Spilled:
    """The whole text, put into the store, after its description. Where it cannot be kept: that, and why.

    Blocks until it is safely on disk.
    """
    try:
        blob_id = spill.keep()
    except BlobError as error:
        return Printed(f"{printed.text}\nthe whole output: {error}", printed.styles)
    return Spilled(
        blob_id=blob_id,
        text=printed.text,
        lines=spill.lines,
        size_bytes=spill.size_bytes,
        styles=printed.styles,
    )


def attach_whole_output(spill: Spill, error: ToolError) -> ToolError:
    """The same error behind the whole text, put into the store. Blocks like `store_whole`."""
    kept = store_whole(spill, Printed(str(error)))
    return ToolError(kept.text, output=kept if isinstance(kept, Spilled) else None)
