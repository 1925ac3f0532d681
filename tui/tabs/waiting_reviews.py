"""Whether an app that loses its terminal can leave its reviews open on the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quorum.tui.tabs.tabs import Tab


def wait_for_reviews_alone(tabs: Sequence[Tab]) -> bool:
    """Whether a review waits for the person, and nothing else is at work in any tab.

    Such reviews are recorded. A process that ends at once leaves them open, as one that is killed does: a
    session that is resumed asks again, and `quorum inbox` answers them. What else is at work is stopped in
    order instead, so that its end is recorded.
    """
    chats = [(tab, tab.chat) for tab in tabs]
    busy = [tab for tab, chat in chats if chat.turns.running or chat.turns.own.running or chat.jobs.running]
    return bool(busy) and all(_waits_for_review_alone(tab) for tab in busy)


def _waits_for_review_alone(tab: Tab) -> bool:
    from quorum.application.view.entries import Phase

    chat, session = tab.chat, tab.chat.current.session
    if session is None or not session.agent.record.outlives or not chat.questions.asking:
        return False
    if chat.turns.own.running or chat.jobs.running:
        return False
    present = chat.transcript.session_view.present
    batch = present.open_batch
    is_asked = batch is not None and any(call.phase is Phase.REVIEWED for call in batch.calls)
    return is_asked and not present.running
