"""Decisions about large calls are made beside the event loop, and hold for the mode and rules in force."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from quorum.application.review.review import Review
from quorum.domain.calls.access import Access
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.review.mode import Mode
from quorum.domain.review.permission_rules import Answer, Subject
from tests.infrastructure.test_container import a_container


def a_write(content: object) -> Subject:
    arguments = {"path": "a.py", "content": content}
    return Subject(tool="write_file", risk=RiskLevel.HIGH, access=Access(), arguments=arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "in_thread"),
    [("x" * 1000, False), ("x" * 20_000, True), (["word"] * 20_000, True), ({"x" * 20_000: 1}, True)],
)
async def test_large_calls_are_decided_in_a_thread_and_small_ones_at_once(
    content: object, in_thread: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = a_container(tmp_path).review()
    threads: list[int] = []
    decide = Review.decide
    monkeypatch.setattr(
        Review, "decide", lambda *args, **more: threads.append(threading.get_ident()) or decide(*args, **more)
    )

    decision = await review.decide_off_loop(a_write(content))

    assert decision.answer is Answer.ASK
    assert (threads[0] != threading.get_ident()) is in_thread


async def test_a_mode_that_is_chosen_while_a_large_call_is_decided_about_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = a_container(tmp_path).review()
    await review.set_mode(Mode.AUTO)
    begun, released = threading.Event(), threading.Event()
    decide = Review.decide

    def slowly(*args: object, **more: object) -> object:
        decision = decide(*args)  # type: ignore[arg-type]
        begun.set()
        released.wait(60)
        return decision

    monkeypatch.setattr(Review, "decide", slowly)
    deciding = asyncio.create_task(review.decide_off_loop(a_write("x" * 20_000)))
    await asyncio.to_thread(begun.wait, 10)
    await review.set_mode(Mode.READ_ONLY)
    released.set()

    assert (await deciding).answer is Answer.DENY
