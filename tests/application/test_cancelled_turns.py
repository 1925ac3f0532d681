"""Wherever a turn is cancelled, its conversation, its events and its totals agree."""

from __future__ import annotations

import asyncio

import pytest

from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import (
    LlmResponse,
    StopKind,
    StopReason,
    TextBlock,
    ToolUseBlock,
    Usage,
)
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import ResponseCompleted, UsageCounted
from quorum.domain.replacing import replace
from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.session_summary import LedgerRecord
from tests.application.test_run_agent import Bench, reads
from tests.support.fake_session import Step

_LIMIT = StopReason(StopKind.MAX_TOKENS)
_UNFINISHED = ToolUseBlock(id="x", name="write", input={}, parse_error="it is cut")


def make_bench() -> Bench:
    """A turn with calls, an answer that is cut off, a call that is, and an answer that breaks off."""
    return Bench(
        replace(reads("a"), usage=Usage(input=5, output=1)),
        Step(answer=replace(LlmResponse.from_text("part one"), stop_reason=_LIMIT, usage=Usage(output=3))),
        LlmResponse(
            content=(TextBlock("begin"), _UNFINISHED), stop_reason=_LIMIT, model="m", usage=Usage(output=10)
        ),
        replace(reads("b"), usage=Usage(output=7)),
        Step(
            answer=ProviderError("it broke", kind=ProviderErrorKind.SERVER, partial=True),
            first=("half", " done"),
        ),
        Step(answer=ProviderError("it broke", kind=ProviderErrorKind.SERVER, partial=True), first=("more",)),
    )


@pytest.mark.long(after=4)
@pytest.mark.parametrize("steps", [12, 24, 36, 72, *range(1, 72, 3)])  # it takes some sixty
async def test_a_turn_that_is_cancelled_after_any_step_leaves_all_in_agreement(steps: int) -> None:
    bench = make_bench()
    turn = asyncio.create_task(bench.agent.execute("go"))
    for _ in range(steps):
        await asyncio.sleep(0)
    turn.cancel()
    report = await turn

    recorded = (LedgerRecord(seq=n, at_ms=n, event=each) for n, each in enumerate(bench.observer.events))
    assert replay_state(recorded).messages == bench.conversation.messages
    assert not bench.conversation.open_calls
    assert bench.conversation.messages.count(UserMessage("go")) == 1
    assert len(bench.observer.of(ResponseCompleted)) == report.turns
    counted = sum(event.usage.output for event in bench.observer.of(UsageCounted))
    assert counted == report.usage.output
