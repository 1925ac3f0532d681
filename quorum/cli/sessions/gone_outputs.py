"""Long outputs of a session that were stored apart from its records, and are not there any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quorum.domain.errors import BlobError
from quorum.domain.events.event import JobEnded, OutputStored, UserCommandFinished
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.text.amounts import format_amount

if TYPE_CHECKING:
    from quorum.application.ports.storage import BlobStore

STORED_TYPES = (JobEnded.type, OutputStored.type, UserCommandFinished.type)


async def describe_gone_outputs(records: Sequence[LedgerRecord], outputs: BlobStore | None) -> tuple[str, ...]:
    """What is to be said of them, in a sentence; nothing where all are there."""
    stored = [
        record.event.blob_id
        for record in records
        if isinstance(record.event, JobEnded | OutputStored | UserCommandFinished) and record.event.blob_id
    ]
    if outputs is None:
        return ()
    try:
        gone = [each for each in dict.fromkeys(stored) if not await outputs.exists(each)]
    except BlobError as error:
        return (f"whether its outputs that were stored apart are still there cannot be told: {error}",)
    if not gone:
        return ()
    amount = format_amount(len(gone), "output")
    return (f"of {amount} stored apart nothing is left but what its records hold: {', '.join(gone[:3])}",)
