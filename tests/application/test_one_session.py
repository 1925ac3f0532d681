"""Risky calls of several sessions in one workspace."""

from __future__ import annotations

import asyncio

from quorum.application.calls.batch_state import OneSession


async def test_calls_of_one_session_may_be_inside_together_and_those_of_another_wait() -> None:
    one = OneSession()
    other = one.open_another()
    await one.enter()
    await one.enter()
    waiting = asyncio.create_task(other.enter())
    await asyncio.sleep(0)
    one.leave()
    await asyncio.sleep(0)
    assert not waiting.done()
    one.leave()
    await waiting
    blocked = asyncio.create_task(one.enter())
    await asyncio.sleep(0)
    assert not blocked.done()
    other.leave()
    await blocked
    one.leave()


async def test_a_call_that_is_cancelled_while_it_waits_holds_nobody_up() -> None:
    one = OneSession()
    other, third = one.open_another(), one.open_another()
    await one.enter()
    waiting = asyncio.create_task(other.enter())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    one.leave()
    async with asyncio.timeout(60):
        await third.enter()
        third.leave()
        await other.enter()
        other.leave()
