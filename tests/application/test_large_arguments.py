"""What goes through the arguments of a large call does so beside the event loop, up to the record."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from quorum.application.review.rule_book import RuleBook
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import ToolDefinition
from quorum.domain.events.event import BatchPlanned, CallFinished, CallStarted, MessageAdded, ReviewRequested
from quorum.domain.events.masking import SecretMask
from quorum.domain.review.questions import Approve, Edit, ReviewAnswer, ReviewRequest
from quorum.infrastructure.tools.json_schema import JsonSchema
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.real_session import SessionStage, write

LARGE = "a line of some text\n" * 2_000
STEPS: tuple[tuple[Any, str], ...] = (
    (JsonSchema, "find_problems"),
    (ToolDefinition, "determine_access"),
    (RuleBook, "note"),
    (ReviewPacket, "to_canonical_json"),
    (SecretMask, "mask_event"),
    (SecretMask, "mask_packet"),
    (CallStarted, "to_json"),
)


@contextmanager
def threads_of_steps(about: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[bool]]]:
    """By step, and for each time it was done about this text, whether that was in the event loop's thread."""
    seen: dict[str, list[bool]] = {}
    loop_thread = threading.get_ident()

    def spied(name: str, step: Callable[..., object]) -> Callable[..., object]:
        def spy(*given: object, **named: object) -> object:
            if about in str(given):
                seen.setdefault(name, []).append(threading.get_ident() == loop_thread)
            return step(*given, **named)

        return spy

    with monkeypatch.context() as patched:
        for owner, name in STEPS:
            patched.setattr(owner, name, spied(name, getattr(owner, name)))
        yield seen


async def test_what_goes_through_large_arguments_does_so_in_a_thread_and_digests_them_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with SessionStage(tmp_path).opened() as session:
        with threads_of_steps("a line of some text", monkeypatch) as seen:
            await session.turn(write("a.txt", LARGE))
        await session.check()

    assert (tmp_path / "work/a.txt").read_text() == LARGE
    assert seen.keys() == {name for _, name in STEPS}
    assert not any(on_loop for name in seen for on_loop in seen[name]), seen
    assert len(seen["to_canonical_json"]) == 1


async def test_what_goes_through_small_arguments_does_so_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with SessionStage(tmp_path).opened() as session:
        with threads_of_steps("a short text", monkeypatch) as seen:
            await session.turn(write("a.txt", "a short text"))

    assert not any(seen.pop("to_json"))  # the ledger has a thread of its own, whatever the size
    assert seen.keys() == {name for _, name in STEPS} - {"to_json"}
    assert all(on_loop for name in seen for on_loop in seen[name]), seen


async def test_the_events_of_a_large_call_come_in_their_order(tmp_path: Path) -> None:
    observer = RecordingObserver()
    async with SessionStage(tmp_path).opened(observer=observer) as session:
        await session.turn([write("small.txt", "x"), write("large.txt", LARGE), write("last.txt", "y")])
        archive, session_id = session.agent.record.archive, session.agent.session_id
        recorded = [record.event for record in await archive.read(session_id)]

    kinds = (BatchPlanned, ReviewRequested, CallStarted, CallFinished, MessageAdded)
    events = [event for event in observer.events if isinstance(event, kinds)]
    assert events == [event for event in recorded if isinstance(event, kinds)]
    of_calls = (ReviewRequested, CallStarted, CallFinished)
    assert [(type(event), event.context.call_index) for event in events if isinstance(event, of_calls)] == [
        (kind, index) for index in range(3) for kind in of_calls
    ]


async def test_an_edit_to_large_arguments_is_sealed_anew_under_another_digest(tmp_path: Path) -> None:
    def edit_once(request: ReviewRequest) -> ReviewAnswer:
        if len(person.requests) == 1:
            return Edit({**request.packet.call.arguments, "content": f"{LARGE}and another"})
        return Approve(request.packet.digest)

    person = FakePerson(edit_once)
    async with SessionStage(tmp_path).opened(person=person) as session:
        await session.turn(write("a.txt", LARGE))

    first, second = (request.packet for request in person.requests)
    assert first.digest != second.digest
    assert (tmp_path / "work/a.txt").read_text() == f"{LARGE}and another"
