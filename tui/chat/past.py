"""What happened before a session was opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quorum.tui.transcript.layout.view import replay_events

if TYPE_CHECKING:
    from quorum.application.session.session_record import SessionRecord
    from quorum.domain.events.event import Event
    from quorum.tui.side_panel.side_panel import SidePanel
    from quorum.tui.transcript.layout.view import TranscriptView


async def replay_into(record: SessionRecord, transcript: TranscriptView, panel: SidePanel) -> None:
    """Apply the events of a record, oldest first. Nothing is drawn before the end, and nothing stays alive.

    Where the record is in use, another process may be at work on the last turn.
    """
    if not record.past:
        return
    from quorum.application.view.wording import PROCESS_ENDED, RECORD_ENDS

    cut = RECORD_ENDS if record.in_use else PROCESS_ENDED
    await replay_events(record.past, record.past_at, transcript, cut=cut)
    panel.show(transcript.session_view)


def describe_last_ending(past: Sequence[Event]) -> str:
    """How the last turn of a record ended, in a word; empty where there is none that counts."""
    from quorum.domain.events.event import SessionRedone, SessionRewound, TurnFinished, TurnStarted

    ending = ""
    undone: list[str] = []  # what it was before each undo that may be redone
    for event in past:
        match event:
            case TurnFinished(report=report):
                ending = report.status.value
            case TurnStarted():
                undone.clear()
                ending = "interrupted"  # until it ends: its process may have ended before
            case SessionRewound(conversation=True):
                undone.append(ending)
                ending = ""
            case SessionRedone(turns=turns) if turns and undone:
                ending = undone.pop()
            case _:
                continue
    return ending
