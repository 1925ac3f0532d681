"""What happened before a session was opened, shown in pieces: keys are handled in between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from domain.events.event import Event
    from tui.agent.port import RecordPort
    from tui.panel.side_panel import SidePanel
    from tui.transcript.layout.view import TranscriptView

_PIECE_SECS = 0.008
_LOOK_AT_THE_TIME_AFTER = 16


async def replay_into(record: RecordPort, transcript: TranscriptView, panel: SidePanel) -> None:
    """Apply the events of a record, oldest first. Nothing is drawn before the end, and nothing stays alive.

    Where the record is in use, another process may be at work on the last turn. Where the times of the events
    are not known, none are made up.
    """
    past, past_at = record.past, record.past_at
    if not past:
        return
    await asyncio.to_thread(transcript.warm_up)
    from application.view.endings import PROCESS_ENDED, RECORD_ENDS

    transcript.begin_past()
    began = time.perf_counter()
    # What happened before goes by the clock that continues now, so that waiting across processes has a length.
    ahead = time.monotonic() - time.time()
    moments = [at_ms / 1000 + ahead for at_ms in past_at] if len(past_at) == len(past) else [None] * len(past)
    for number, (event, at) in enumerate(zip(past, moments, strict=True)):
        transcript.apply(event, at)
        if number % _LOOK_AT_THE_TIME_AFTER == 0 and time.perf_counter() - began > _PIECE_SECS:
            await asyncio.sleep(0)
            began = time.perf_counter()
    transcript.end_past(RECORD_ENDS if record.in_use else PROCESS_ENDED)
    panel.show(transcript.session_view)


def describe_last_ending(past: Sequence[Event]) -> str:
    """How the last turn of a record ended, in a word; empty where there is none that counts."""
    from domain.events.event import SessionRedone, SessionRewound, TurnFinished, TurnStarted

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
