"""Commands that the person types: run at once, recorded, visible to the model with the next request."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import given
from hypothesis import strategies as st

from quorum.application.calls.outputs import Outputs
from quorum.application.event_bus import EventBus
from quorum.application.steering import PendingMessages
from quorum.application.turn.user_commands import UserCommandRunner
from quorum.domain.calls.command_end import CommandRun
from quorum.domain.calls.execution import Orphan, Outcome
from quorum.domain.conversation.history import Message, UserMessage
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import LedgerError
from quorum.domain.events.event import (
    Event,
    MessageAdded,
    ReviewRequested,
    SessionResumed,
    UserCommandFinished,
    UserCommandProgressed,
    UserCommandStarted,
)
from quorum.domain.events.report import RunStatus
from quorum.domain.sessions.replay import replay_state
from quorum.domain.text.output import OutputLimits
from tests.application.test_run_agent import Bench, reads, writes
from tests.application.test_session_resume import records_of, up_to
from tests.application.test_steering import assert_legal_wherever_killed
from tests.support.examples import examples
from tests.support.fake_ledger import FakeLedger
from tests.support.fake_ports import FakePerson
from tests.support.fake_session import Step

NOTE = """\
The person ran a command of their own in the workspace, not you: git status
Its exit code was 0.
It printed, each line of it behind a bar:
| printed"""


def a_bench(*script: LlmResponse | Step, **more: object) -> Bench:
    return Bench(*script, ledger=FakeLedger("session-1"), **more)  # type: ignore[arg-type]


def finished(bench: Bench) -> UserCommandFinished:
    (event,) = [e for e in bench.ledger.events if isinstance(e, UserCommandFinished)]
    return event


def notes(messages: tuple[Message, ...]) -> list[str]:
    return [m.text for m in messages if isinstance(m, UserMessage) and m.text.startswith("The person ran")]


async def test_it_runs_at_once_and_the_model_reads_of_it_before_the_next_prompt() -> None:
    bench = a_bench(LlmResponse.from_text("I see"))

    await bench.front.user_commands.run("git status", visible_to_model=True)
    await bench.agent.execute("and now")

    assert bench.shell.ran == ["git status"]
    assert bench.session.sent[0].messages == (UserMessage(NOTE), UserMessage("and now"))
    assert (finished(bench).outcome, finished(bench).exit_code, finished(bench).output) == (
        Outcome.OK,
        0,
        "printed\n",
    )
    shown = bench.observer.of(UserCommandStarted, UserCommandProgressed, UserCommandFinished)
    assert [type(event) for event in shown] == [UserCommandStarted, UserCommandProgressed, UserCommandFinished]


async def test_a_layer_is_held_for_as_long_as_one_runs() -> None:
    bench, held = a_bench(), list[bool]()

    @contextmanager
    def hold() -> Iterator[None]:
        held.append(True)
        yield
        held.append(False)

    runner = UserCommandRunner(
        shell=bench.shell,
        events=EventBus((), ledger=FakeLedger()),
        outputs=Outputs(None, OutputLimits()),
        pending_messages=PendingMessages(),
        hold=hold,
    )
    bench.shell.may_end.clear()
    running = asyncio.create_task(runner.run("make", visible_to_model=False))
    await bench.shell.began.wait()
    assert held == [True]
    bench.shell.may_end.set()
    await running

    assert held == [True, False]


async def test_what_is_kept_from_the_model_is_on_record_and_in_no_request() -> None:
    bench = a_bench(LlmResponse.from_text("hello"))

    await bench.front.user_commands.run("git status", visible_to_model=False)
    await bench.agent.execute("hi")

    assert finished(bench).note is None
    assert bench.session.sent[0].messages == (UserMessage("hi"),)


async def test_run_beside_a_turn_it_is_reported_with_the_results_of_the_present_calls() -> None:
    gate = asyncio.Event()
    bench = a_bench(Step(answer=reads("a"), gate=gate), LlmResponse.from_text("I see"))
    turn = asyncio.create_task(bench.agent.execute("go"))
    await bench.session.waiting.wait()
    await bench.front.user_commands.run("git status", visible_to_model=True)
    gate.set()

    assert (await turn).status is RunStatus.COMPLETED
    assert bench.session.sent[1].messages[-1] == UserMessage(NOTE)
    assert_legal_wherever_killed(bench)


async def test_taking_a_turn_back_leaves_what_was_run_before_it_known() -> None:
    bench = a_bench(LlmResponse.from_text("one"))
    await bench.front.user_commands.run("git status", visible_to_model=True)
    await bench.agent.execute("go")

    (turn,) = replay_state(records_of(bench.ledger)).turns
    assert notes(turn.before.messages) == [NOTE]


async def test_while_a_review_waits_nothing_comes_between_calls_and_results() -> None:
    bench = a_bench(writes("one"), LlmResponse.from_text("written"))

    async def ask(request: object) -> object:
        await bench.front.user_commands.run("git status", visible_to_model=True)
        from quorum.domain.review.questions import Approve

        return Approve(request.packet.digest)  # type: ignore[attr-defined]

    bench = a_bench(writes("one"), LlmResponse.from_text("written"), person=FakePerson(ask))  # type: ignore[arg-type]
    assert (await bench.agent.execute("go")).status is RunStatus.COMPLETED
    assert notes(bench.session.sent[1].messages[-1:]) == [NOTE]
    assert_legal_wherever_killed(bench)


async def test_cancelled_it_ends_with_what_was_printed_and_the_model_reads_so() -> None:
    bench = a_bench()
    bench.shell.may_end.clear()
    running = asyncio.create_task(bench.front.user_commands.run("make", visible_to_model=True))
    await bench.shell.began.wait()
    running.cancel()
    await running

    assert (finished(bench).outcome, finished(bench).output) == (Outcome.CANCELLED, "so far")
    assert "The person stopped it before its end." in (finished(bench).note or "")


async def test_one_that_fails_and_one_that_cannot_start_say_so() -> None:
    bench = a_bench()
    bench.shell.ends = CommandRun(exit_code=2, remarks=("vim needs a terminal",))
    await bench.front.user_commands.run("vim", visible_to_model=True)
    end = finished(bench)
    assert (end.outcome, end.exit_code, end.remarks) == (Outcome.ERROR, 2, ("vim needs a terminal",))
    assert (end.note or "").endswith("Its exit code was 2. vim needs a terminal\nIt printed nothing.")

    other = a_bench()
    other.shell.ends = CommandRun(failure="no such folder")
    await other.front.user_commands.run("ls", visible_to_model=True)
    assert finished(other).outcome is Outcome.NOT_RUN
    assert finished(other).remarks == ("it could not be started: no such folder",)


class Refusing(FakeLedger):
    """Has no room for what begins."""

    async def append(self, event: Event, *, urgent: bool = False, may_wait: bool = False) -> None:
        await super().append(event, urgent=urgent, may_wait=may_wait)
        if isinstance(event, UserCommandStarted):
            raise LedgerError("the disk is full")


async def test_what_cannot_be_put_on_record_is_not_run() -> None:
    bench = Bench(LlmResponse.from_text("hello"), ledger=Refusing("session-1"))
    await bench.front.user_commands.run("rm -rf build", visible_to_model=True)
    await bench.agent.execute("hi")

    assert bench.shell.ran == []
    assert finished(bench).outcome is Outcome.NOT_RUN
    assert bench.session.sent[0].messages == (UserMessage("hi"),)


async def test_one_that_ran_when_the_process_died_is_unknown_reported_once_and_never_run_again() -> None:
    first = a_bench()
    await first.front.open()
    await first.front.user_commands.run("make deploy", visible_to_model=True)
    dead = up_to(first.ledger, UserCommandStarted)
    (started,) = [r.event for r in dead if isinstance(r.event, UserCommandStarted)]

    again = a_bench(LlmResponse.from_text("I look"), past=dead)
    again.orphan_finder.alive[started.command_id] = (Orphan(pid=7, command="make"),)
    await again.front.open()
    (resumed,) = [e for e in again.ledger.events if isinstance(e, SessionResumed)]
    assert any("`make deploy`" in reported and "not run again" in reported for reported in resumed.told)
    assert any("process 7 (make)" in reported for reported in resumed.told)
    assert finished(again).outcome is Outcome.UNKNOWN
    await again.agent.execute("go on")
    assert "its end and its output are not known" in notes(again.session.sent[0].messages)[0]
    assert again.shell.ran == []

    records = [*dead, *records_of(again.ledger)]
    third = a_bench(LlmResponse.from_text("fine"), past=records)
    await third.front.open()
    await third.agent.execute("more")
    assert len(notes(third.session.sent[0].messages)) == 1


async def test_a_process_that_dies_before_the_model_read_it_leaves_that_to_the_next() -> None:
    first = a_bench()
    await first.front.open()
    await first.front.user_commands.run("git status", visible_to_model=True)

    again = a_bench(LlmResponse.from_text("I see"), past=records_of(first.ledger))
    await again.front.open()
    await again.agent.execute("go on")
    assert notes(again.session.sent[0].messages) == [NOTE]
    added = [e for e in again.ledger.events if isinstance(e, MessageAdded) and e.command_id is not None]
    assert len(added) == 1


async def test_a_long_output_is_kept_within_bounds_for_the_model() -> None:
    bench = a_bench(LlmResponse.from_text("I see"))
    bench.shell.ends = CommandRun(output="x" * 20_000, exit_code=0)
    await bench.front.user_commands.run("cat big", visible_to_model=True)
    assert finished(bench).output == "x" * 20_000  # no store here: losing it would be worse


@examples(60)
@given(
    runs=st.lists(st.integers(0, 40), max_size=2),
    ends=st.integers(0, 40),
    stop_at=st.none() | st.integers(1, 50),
)
def test_beside_a_turn_that_may_be_interrupted_each_is_reported_exactly_once_and_every_history_is_legal(
    runs: list[int], ends: int, stop_at: int | None
) -> None:
    async def scene() -> None:
        bench = a_bench(reads("a"), reads("b", "c"), LlmResponse.from_text("done"))
        bench.shell.may_end.clear()
        turn = asyncio.create_task(bench.agent.execute("go"))
        commands: list[asyncio.Task[None]] = []
        for tick in range(51):
            for _ in range(runs.count(tick)):
                commands.append(
                    asyncio.create_task(bench.front.user_commands.run("git status", visible_to_model=True))
                )
            if tick == ends:
                bench.shell.may_end.set()
            if tick == stop_at:
                turn.cancel()
            await asyncio.sleep(0)
        await asyncio.gather(turn, *commands)
        assert await bench.next_prompt_works()
        assert notes(bench.conversation.messages) == [NOTE] * len(commands)
        assert_legal_wherever_killed(bench)

    asyncio.run(scene())


async def test_where_a_review_is_still_open_after_a_crash_it_is_reported_with_the_results_of_its_calls() -> (
    None
):
    first = a_bench(writes("one"), LlmResponse.from_text("written"))
    await first.front.open()
    await first.agent.execute("go")
    dead = up_to(first.ledger, ReviewRequested)
    second = a_bench(past=dead)
    await second.front.user_commands.run("git status", visible_to_model=True)
    dead = (*dead, *records_of(second.ledger))

    again = a_bench(LlmResponse.from_text("written"), past=dead)
    await again.front.open()
    assert (await again.agent.resume_pending()).status is RunStatus.COMPLETED
    assert notes(again.session.sent[0].messages[-1:]) == [NOTE]
    state = replay_state([*dead, *records_of(again.ledger)])
    assert state.messages == again.conversation.messages
    assert state.mended == ()
