"""Port to the calls that a mode let run unasked and that the person judges afterwards."""

from __future__ import annotations

from typing import Protocol

from quorum.domain.review.unasked_calls import CallKind, ErrorFigures, SampledCall


class SampleStore(Protocol):
    """Keeps sampled calls of all sessions."""

    def count(self, kind: CallKind) -> ErrorFigures:
        """What was judged of the calls of a kind. Takes no time. Raises ConfigError where it cannot be read."""
        ...

    async def add(self, call: SampledCall) -> None:
        """Keep a call, unless it is kept. Raises ConfigError, and then nothing is changed."""
        ...

    async def list_waiting(self) -> tuple[SampledCall, ...]:
        """Those without a verdict, the oldest first. Raises ConfigError."""
        ...

    async def judge(self, call_id: str, *, is_right: bool) -> None:
        """Keep a verdict. Raises ConfigError, and then nothing is changed."""
        ...
