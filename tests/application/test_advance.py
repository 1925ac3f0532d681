"""A session is advanced, whatever became of it before, until its turn ends or a review is all that is left."""

from __future__ import annotations

import asyncio

import pytest

from quorum.application.ports.people import ReviewQuestion
from quorum.application.review.approvers import DeferringApprover
from quorum.application.session.advance import Advanced, Ended, LeftOpen, SessionAdvance
from quorum.domain.calls.execution import Seal
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ConversationError
from quorum.domain.events.event import CallFinished, ReviewDecided, TurnFinished, TurnStarted
from quorum.domain.events.report import RunStatus
from quorum.domain.replacing import replace
from quorum.domain.review.questions import Approve, NobodyThere, ReviewAnswer, ReviewRequest
from tests.application.test_run_agent import Bench, writes
from tests.application.test_session_resume import records_of, up_to
from tests.support.builders import a_call, a_context, calls_response
from tests.support.fake_ledger import FakeLedger
from tests.support.fake_ports import FakePerson, FakeTool, RecordingObserver
from tests.support.review_contexts import a_review_context


class Process:
    """A process that has the session, with what an earlier one left on the ledger."""

    def __init__(
        self,
        *script: LlmResponse,
        ledger: FakeLedger,
        tool: FakeTool | None = None,
        answer: ReviewAnswer | None = None,
    ) -> None:
        self.advance = SessionAdvance(RecordingObserver())
        self.asked = asyncio.Event()

        async def review(request: ReviewRequest) -> ReviewAnswer:
            self.asked.set()
            return answer or await self.advance.reviews.ask(ReviewQuestion(request, a_review_context()))

        self.bench = Bench(
            *script,
            ledger=ledger,
            past=records_of(ledger),
            observers=[self.advance],
            person=FakePerson(review),
            tool=tool,
        )

    async def run(self, prompt: str = "") -> Advanced:
        await self.bench.front.open()
        return await self.advance.advance(self.bench.front, prompt)


def count(ledger: FakeLedger, kind: type) -> int:
    return sum(isinstance(event, kind) for event in ledger.events)


async def test_a_turn_without_a_review_comes_to_its_end() -> None:
    ledger = FakeLedger("session-1")

    advanced = await Process(LlmResponse.from_text("done"), ledger=ledger).run("go")

    assert isinstance(advanced, Ended)
    assert (advanced.report.status, advanced.report.text) == (RunStatus.COMPLETED, "done")


async def test_a_review_is_left_open_and_the_next_process_goes_on_with_its_answer() -> None:
    ledger = FakeLedger("session-1")
    first = await Process(writes("w"), ledger=ledger).run("go")
    assert isinstance(first, LeftOpen)
    assert count(ledger, ReviewDecided) == count(ledger, TurnFinished) == 0

    again = await Process(ledger=ledger).run()  # nobody has answered yet
    assert again == first

    process = Process(LlmResponse.from_text("done"), ledger=ledger, answer=Approve(first.digests[0]))
    last = await process.run()

    assert isinstance(last, Ended)
    assert last.report.status is RunStatus.COMPLETED
    assert process.bench.world.cells == {"a": "x"}
    assert count(ledger, CallFinished) == 1


async def test_a_review_is_left_open_only_once_no_other_call_runs() -> None:
    ledger, may_end = FakeLedger("session-1"), asyncio.Event()

    async def read_slowly(*_: object) -> str:
        await may_end.wait()
        return "read"

    reader = FakeTool("read", read_slowly)
    both = calls_response(
        a_call("read", {"cell": "b"}, id_="r"), a_call("write", {"cell": "a", "text": "x"}, id_="w")
    )
    process = Process(both, ledger=ledger, tool=reader)
    running = asyncio.ensure_future(process.run("go"))
    await process.asked.wait()
    for _ in range(50):
        await asyncio.sleep(0)
    assert not running.done()

    may_end.set()
    advanced = await running

    assert isinstance(advanced, LeftOpen)
    assert count(ledger, CallFinished) == 1


async def test_a_turn_that_a_killed_process_began_is_taken_up_without_its_prompt() -> None:
    ledger = FakeLedger("session-1")
    await Process(LlmResponse.from_text("done"), ledger=ledger).run("go")
    dead = FakeLedger("session-1")
    dead.events.extend(record.event for record in up_to(ledger, TurnStarted) if record.event is not None)

    with pytest.raises(ConversationError, match="advance it without a prompt"):
        await Process(ledger=dead).run("something else")
    advanced = await Process(LlmResponse.from_text("done"), ledger=dead).run()

    assert isinstance(advanced, Ended)
    assert advanced.report.text == "done"


async def test_a_session_whose_turn_has_ended_is_not_run_again() -> None:
    ledger = FakeLedger("session-1")
    await Process(LlmResponse.from_text("done"), ledger=ledger).run("go")

    with pytest.raises(ConversationError, match="has no turn that is not finished"):
        await Process(ledger=ledger).run()


async def test_an_interruption_ends_the_turn_and_its_review() -> None:
    ledger = FakeLedger("session-1")
    calls = asyncio.Event()

    async def hang(*_: object) -> str:
        calls.set()
        await asyncio.Event().wait()
        return ""

    both = calls_response(
        a_call("read", {"cell": "b"}, id_="r"), a_call("write", {"cell": "a", "text": "x"}, id_="w")
    )
    running = asyncio.ensure_future(Process(both, ledger=ledger, tool=FakeTool("read", hang)).run("go"))
    await calls.wait()
    running.cancel()

    advanced = await running

    assert isinstance(advanced, Ended)
    assert advanced.report.status is RunStatus.INTERRUPTED
    assert count(ledger, TurnFinished) == 1


@pytest.mark.parametrize("kind", ["of a subagent", "about a secret"])
async def test_a_review_that_no_later_process_could_ask_again_is_withheld(kind: str) -> None:
    packet = ReviewPacket(call=a_call("write"), context=a_context(), seal=Seal(cwd="/ws"))
    is_recorded_whole = True
    if kind == "of a subagent":
        packet = replace(packet, asked_by="explore")
    else:
        is_recorded_whole = False
    approver = DeferringApprover()

    request = ReviewRequest(packet=packet, reasons=(), batch_size=1, is_recorded_whole=is_recorded_whole)
    answer = await approver.ask(ReviewQuestion(request, a_review_context()))

    assert answer == NobodyThere()
    assert approver.waiting == ()
