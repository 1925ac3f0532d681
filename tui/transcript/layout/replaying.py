"""Events of a record shown in a transcript, in pieces: keys are handled in between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quorum.domain.events.event import Event
    from quorum.tui.transcript.layout.view import TranscriptView

_PIECE_SECS = 0.008
_LOOK_AT_THE_TIME_AFTER = 16


async def replay_events(
    past: Sequence[Event], past_at: Sequence[int], transcript: TranscriptView, *, cut: str
) -> None:
    """Apply these events, which happened at these times in milliseconds. A turn without an end is shown as
    `cut`. Where the times are not known, none are made up.
    """
    await asyncio.to_thread(transcript.warm_up)
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
    transcript.end_past(cut)
