"""The check of what is on record: whether anything was changed, moved or taken out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorum.cli.errors import complain
from quorum.cli.session_store import SessionStore
from quorum.options import SessionsOptions

if TYPE_CHECKING:
    from domain.sessions.past_session import Verification

_ANCHOR = (
    "That the last records of a session were cut off cannot be seen from what is left: note its head down "
    "elsewhere, and compare."
)


async def verify(wish: SessionsOptions, store: SessionStore) -> bool:
    """Whether every record of these sessions fits; what was found is printed."""
    sessions = await store.chosen(everywhere=True) if wish.all else [await store.named(wish.session)]
    holds = True
    for session in sessions:
        checked = await store.archive.verify(session.id)
        print("\n".join(_told(checked)))
        holds = holds and checked.holds
    complain([_ANCHOR if sessions else store.nothing(everywhere=True)])
    return holds


def _told(checked: Verification) -> list[str]:
    count = f"{checked.records:,} record{'' if checked.records == 1 else 's'}"
    if not checked.holds:
        found = f"{checked.session_id}: BROKEN at record {checked.broken_at} of {count}: {checked.reason}"
    elif checked.records:
        found = f"{checked.session_id}: {count}, every one fits; head {checked.head}"
    else:
        found = f"{checked.session_id}: {count}"
    lines = [found]
    recorded = [place for place in checked.redacted if place not in checked.unrecorded]
    if recorded:
        places, last = ", ".join(map(str, recorded)), checked.redaction_head
        lines.append(f"  something was taken out on purpose of: {places}; last redaction {last}")
    if checked.unrecorded:
        places = ", ".join(map(str, checked.unrecorded))
        lines.append(
            f"  redacted without a record of it: {places}; an earlier version did so, or somebody replaced them"
        )
    return lines
