"""People elsewhere are told that a decision waits, one after another, until it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from quorum.application.ports.people import PersonAnswer, Question, ReviewQuestion
from quorum.application.review.approvers import DeferringApprover, NonInteractiveApprover
from quorum.application.review.pushing import Push, PushingApprover, PushMessage
from quorum.domain.calls.execution import Seal
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.errors import PushFailed
from quorum.domain.review.questions import Approve, NobodyThere, ReviewRequest
from tests.support.builders import a_call, a_context
from tests.support.review_contexts import a_review_context

SECRET = "pass-hunter2"


def about(number: int) -> ReviewQuestion:
    call = a_call("run_command", {"command": f"deploy --key {SECRET} {number}"})
    packet = ReviewPacket(call=call, context=a_context(), seal=Seal(cwd="/w"))
    return ReviewQuestion(ReviewRequest(packet=packet, reasons=(SECRET,), batch_size=1), a_review_context())


class Person:
    """Answers once it is told to."""

    is_there = True

    def __init__(self) -> None:
        self.answers = asyncio.Event()

    async def ask(self, question: Question) -> PersonAnswer:
        assert isinstance(question, ReviewQuestion)
        await self.answers.wait()
        return Approve(question.request.packet.digest)


class Phones:
    """Those who are told, and what."""

    def __init__(self) -> None:
        self.told: list[tuple[str, PushMessage]] = []
        self.complaints: list[str] = []
        self.news = asyncio.Event()

    def phone(self, name: str, after_secs: float, every_secs: float = 0.0, *, fails: bool = False) -> Push:
        async def send(message: PushMessage) -> None:
            self.told.append((name, message))
            self.news.set()
            if fails:
                raise PushFailed("no route")

        return Push(name=name, after_secs=after_secs, every_secs=every_secs, send=send)

    async def complain(self, message: str) -> None:
        self.complaints.append(message)

    def in_front_of(
        self, person: object, *pushes: Push, seen: Callable[[str], Awaitable[float]] | None = None
    ) -> PushingApprover:
        return PushingApprover(
            person, pushes, session_id="s", folder="shop", complain=self.complain, find_seen_age=seen
        )

    async def until(self, count: int) -> None:
        while len(self.told) < count:
            self.news.clear()
            await self.news.wait()


async def run_while(asking: Awaitable[PersonAnswer], then: Callable[[], Awaitable[None]]) -> PersonAnswer:
    task = asyncio.ensure_future(asking)
    await then()
    return await task


async def test_the_next_one_is_told_only_while_nobody_answers() -> None:
    phones, person = Phones(), Person()
    approver = phones.in_front_of(person, phones.phone("late", 3_600), phones.phone("first", 0))

    async def then() -> None:
        await phones.until(1)
        person.answers.set()

    question = about(1)
    assert await run_while(approver.ask(question), then) == Approve(question.request.packet.digest)
    assert [name for name, _ in phones.told] == ["first"]

    escalating = Phones()
    both = escalating.in_front_of(Person(), escalating.phone("b", 0.001), escalating.phone("a", 0))
    asking = asyncio.ensure_future(both.ask(question))
    await escalating.until(2)
    asking.cancel()
    assert [name for name, _ in escalating.told] == ["a", "b"]


async def test_a_message_holds_no_argument_and_no_reason() -> None:
    phones = Phones()
    approver = phones.in_front_of(DeferringApprover(), phones.phone("one", 60))
    asking = asyncio.ensure_future(approver.ask(about(1)))
    await phones.until(1)
    asking.cancel()

    (_, message) = phones.told[0]
    digest = about(1).request.packet.digest
    assert message.text == f"run in shop waits for your answer ({digest[:16]})."
    assert SECRET not in repr(message)


async def test_one_message_tells_of_all_that_waits_and_what_comes_later_has_its_own() -> None:
    phones = Phones()
    approver = phones.in_front_of(Person(), phones.phone("one", 0, every_secs=0.001))
    asking = [asyncio.ensure_future(approver.ask(about(number))) for number in range(3)]
    await phones.until(1)
    asking.append(asyncio.ensure_future(approver.ask(about(4))))
    await phones.until(2)
    for each in asking:
        each.cancel()
    await asyncio.wait(asking)

    assert [message.waiting for _, message in phones.told] == [3, 4]
    assert "waits for your answer, and 2 more (" in phones.told[0][1].text


async def test_where_nothing_waits_nobody_is_told() -> None:
    phones = Phones()

    assert (
        await phones.in_front_of(NonInteractiveApprover(), phones.phone("one", 0)).ask(about(1))
        == NobodyThere()
    )
    assert phones.told == []


async def test_a_review_that_is_left_open_is_told_at_once_although_the_process_ends() -> None:
    phones, sent = Phones(), []

    async def send_slowly(message: PushMessage) -> None:
        phones.told.append(("slow", message))
        phones.news.set()
        await asyncio.sleep(0)
        sent.append(message)

    slow = Push(name="slow", after_secs=60, every_secs=30, send=send_slowly)
    asking = asyncio.ensure_future(phones.in_front_of(DeferringApprover(), slow).ask(about(1)))
    await phones.until(1)
    asking.cancel()
    await asyncio.wait((asking,))

    assert len(sent) == 1


async def test_an_answer_waits_for_no_message_that_is_under_way() -> None:
    phones, person, sending = Phones(), Person(), asyncio.Event()

    async def send_without_end(_message: PushMessage) -> None:
        sending.set()
        await asyncio.Event().wait()

    hanging = Push(name="hanging", after_secs=0, every_secs=0, send=send_without_end)
    asking = asyncio.ensure_future(phones.in_front_of(person, hanging).ask(about(1)))
    await sending.wait()
    person.answers.set()

    async with asyncio.timeout(60):
        assert await asking == Approve(about(1).request.packet.digest)


async def test_whoever_stops_the_turn_over_a_message_that_hangs_stops_it() -> None:
    phones, sending = Phones(), asyncio.Event()

    async def send_without_end(_message: PushMessage) -> None:
        sending.set()
        await asyncio.Event().wait()

    hanging = Push(name="hanging", after_secs=0, every_secs=0, send=send_without_end)
    asking = asyncio.ensure_future(phones.in_front_of(DeferringApprover(), hanging).ask(about(1)))
    await sending.wait()
    asking.cancel()
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait((asking,), timeout=60)

    assert asking.cancelled()


async def test_one_that_cannot_be_told_is_named_once_and_the_next_one_is_told() -> None:
    phones = Phones()
    bad, good = phones.phone("bad", 0, fails=True), phones.phone("good", 0)
    approver = phones.in_front_of(Person(), bad, good)
    for _ in range(2):
        count = len(phones.told) + 2
        asking = asyncio.ensure_future(approver.ask(about(1)))
        await phones.until(count)
        asking.cancel()
        await asyncio.wait((asking,))

    assert phones.complaints == ["nobody was told that a decision waits, by bad: no route"]


async def test_a_message_that_was_not_taken_has_told_of_nothing_else_that_waits() -> None:
    phones = Phones()
    failing = phones.phone("bad", 0, every_secs=0.001, fails=True)
    approver = phones.in_front_of(Person(), failing)
    asking = [asyncio.ensure_future(approver.ask(about(number))) for number in range(2)]

    async with asyncio.timeout(60):
        await phones.until(2)
    for each in asking:
        each.cancel()

    assert len({message.digest for _, message in phones.told}) == 2


async def test_whoever_has_opened_it_gets_as_long_again_before_the_next_one_is_told() -> None:
    phones, looks = Phones(), []

    async def find_age(digest: str) -> float:
        looks.append(digest)
        return 0.0 if len(looks) < 3 else 3_600.0

    both = phones.in_front_of(Person(), phones.phone("a", 0), phones.phone("b", 0.001), seen=find_age)
    asking = asyncio.ensure_future(both.ask(about(1)))
    await phones.until(2)
    asking.cancel()

    assert [name for name, _ in phones.told] == ["a", "b"]
    assert len(looks) == 3  # twice for the second, who is told only once it is long ago
    assert set(looks) == {about(1).request.packet.digest}
