"""What the tools share that have a subagent work: how long its report is, and what a stop by the person is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from quorum.application.calls.approval import Interrupted, Withheld
from quorum.application.ports.subagents import SubagentStopped
from quorum.domain.review.questions import DecisionLabel

INLINE_BYTES = 16_000
"""A report stays in the conversation whole up to this length: it is what remains of a whole conversation."""
SUMMARY_BYTES = 8_000


@contextmanager
def end_turn_when_stopped() -> Iterator[None]:
    """Raises Interrupted where the person stopped the turn from a question about a call of the subagent."""
    try:
        yield
    except SubagentStopped as stop:
        raise Interrupted(Withheld(DecisionLabel.REJECTED, f"{stop}. [user_rejected]")) from stop
