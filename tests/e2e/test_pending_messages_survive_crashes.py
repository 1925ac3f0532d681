"""What the person sent is in the next request or comes back to be edited, wherever the process died."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from quorum.application.ports.storage import Ledger
from quorum.application.session.agent_session import AgentSession
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.events.event import Event, MessageAdded, PromptsQueued, SessionRewound, TurnStarted
from quorum.domain.review.questions import Approve, ReviewAnswer, ReviewRequest
from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.sessions.trust import TrustQuestion
from quorum.infrastructure.container import Container
from quorum.tui.agent.turns import QueuedTask, Turns
from tests.application.test_run_agent import Bench
from tests.support.builders import calls_response
from tests.support.fake_ledger import FakeLedger
from tests.support.fake_ports import FakePerson
from tests.support.real_session import LedgerThat, SessionStage, says, write
from tests.support.session_parts import change_ledger


class Front:
    """Drives the turns of a session as the screen does; `draft` is what came back to be edited."""

    def __init__(self) -> None:
        self.draft: list[str] = []
        self._changed = asyncio.Event()
        self.turns = Turns(
            on_change=self._changed.set,
            on_end=lambda _secs: self._changed.set(),
            on_failure=pytest.fail,
            give_back=lambda text: self.draft.append(text),
        )

    async def idle(self) -> None:
        async with asyncio.timeout(120):
            while self.turns.busy:
                self._changed.clear()
                await self._changed.wait()

    def send_draft(self) -> None:
        text = "\n".join(self.draft)
        self.draft.clear()
        self.turns.submit(text)


async def a_working_day(folder: Path) -> list[Event]:
    """All that is recorded of a session with everything that the person can do with their words."""
    events: list[Event] = []
    front = Front()
    turns = front.turns

    async def meddle(request: ReviewRequest) -> ReviewAnswer:
        number = len(person.requests)
        turns.submit(f"queued {number}")
        turns.submit(f"edited {number}")
        turns.submit(f"back {turns.take_back()}")
        turns.steer(f"steered {number}")
        turns.submit(f"moved {number}")
        turns.steer()
        if number == 2:
            turns.interrupt()
            await asyncio.Event().wait()
        return Approve(request.packet.digest)

    def adjust(container: Container) -> None:
        change_ledger(container, lambda ledger: LedgerThat(ledger, after=events.append))

    person = FakePerson(meddle)
    async with SessionStage(folder).opened(person=person, adjust=adjust) as session:
        serving = asyncio.create_task(turns.serve(session.agent))
        session.script[:] = [
            calls_response(write("a.txt", "a")),
            says("word " * 40_000),
            *(says("done") for _ in range(2)),
        ]
        turns.submit("first")
        await front.idle()

        session.script[:] = [says("a summary")]
        await turns.perform(QueuedTask("compacting", lambda agent: _compact(agent)))

        past = session.last

        async def rewind(agent: AgentSession) -> None:
            await agent.rewind.rewind_to(past.number, conversation=True, plan=None, overwrite=frozenset())

        await turns.perform(QueuedTask("rewinding", rewind))
        turns.note_returned(past.prompt)
        front.draft.append(past.prompt)

        session.script[:] = [calls_response(write("b.txt", "b"))]
        front.send_draft()
        await front.idle()

        session.script[:] = [says("done")]
        front.send_draft()
        await front.idle()
        assert not session.script
        serving.cancel()
        await asyncio.wait({serving})
    return events


async def _compact(agent: AgentSession) -> None:
    await agent.context.compact("")


def accepted(events: list[Event]) -> set[str]:
    """What the person has sent by then, as far as it is recorded and they have not taken it back since."""
    turns: list[set[str]] = []
    words: set[str] = set()
    for event in events:
        match event:
            case TurnStarted(prompt=prompt):
                turns.append({prompt} if prompt else set())
            case MessageAdded(message=UserMessage(text), steers=True):
                turns[-1].add(text)
                words.discard(text)
            case PromptsQueued(prompts=prompts):
                words = set(prompts)
            case SessionRewound(turn=number):
                (prompt,) = (turn for turn in turns[number])
                turns[number:] = [set() for _ in turns[number:]]
                words.add(prompt)
            case _:
                pass
    return {line for said in (*turns, words) for text in said for line in text.split("\n") if line}


async def by_prompt(bench: Bench) -> None:
    await bench.agent.execute("next")


async def by_going_on(bench: Bench) -> None:
    if bench.conversation.messages or bench.front.rewind.turns:
        await bench.agent.retry()


async def by_prompt_after_files_were_given_back(bench: Bench) -> None:
    await bench.agent.queue_note("I have given these files back")
    await bench.agent.execute("next")


@pytest.mark.long
@pytest.mark.parametrize("continue_turn", [by_prompt, by_going_on, by_prompt_after_files_were_given_back])
async def test_wherever_the_record_ends_no_word_is_lost(
    continue_turn: Callable[[Bench], object], tmp_path: Path
) -> None:
    events = await a_working_day(tmp_path)
    words = accepted(events)
    assert {"first", "queued 1", "steered 1", "back edited 1", "moved 1", "queued 2", "moved 2"} <= words

    for end in range(1, len(events) + 1):
        past = tuple(LedgerRecord(seq=seq, at_ms=seq, event=event) for seq, event in enumerate(events[:end]))
        bench = Bench(*[LlmResponse.from_text("ok")] * 3, ledger=FakeLedger("session-1"), past=past)
        await bench.front.open()
        if bench.agent.has_pending:
            await bench.agent.resume_pending()
        result = continue_turn(bench)
        assert asyncio.iscoroutine(result)
        await result

        sent = bench.session.sent[-1].messages if bench.session.sent else ()
        said = "\n".join(message.text for message in sent if isinstance(message, UserMessage))
        waiting = "\n".join(bench.agent.unsent)
        lost = {word for word in accepted(events[:end]) if word not in said and word not in waiting}
        assert not lost, f"after {end} events, the last a {events[end - 1].type}: {lost}"


class HesitatingApprover(FakePerson):
    """Never answers whether something is to be trusted, or refuses it."""

    def __init__(self, *, refuses: bool = False) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self._refuses = refuses

    async def trust(self, question: TrustQuestion) -> bool:
        self.asked.set()
        if not self._refuses:
            await asyncio.Event().wait()
        return False


class SlowLedger(LedgerThat):
    """Takes its time over what waits in line, as one on a busy disk: until the person is asked, or nothing else
    has been going on for long."""

    def __init__(self, ledger: Ledger, asked: asyncio.Event) -> None:
        super().__init__(ledger)
        self._asked = asked

    async def append(self, event: Event, *, urgent: bool = False, may_wait: bool = False) -> None:
        if isinstance(event, PromptsQueued):
            with suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await self._asked.wait()
            assert not self._asked.is_set(), "asked before what waits was recorded"
        await super().append(event, urgent=urgent, may_wait=may_wait)


def a_command_file(stage: SessionStage) -> None:
    folder = stage.root / ".claude/commands"
    folder.mkdir(parents=True)
    (folder / "fix.md").write_text("Fix issue $1.")


async def test_a_custom_command_that_was_waiting_for_trust_comes_back_to_be_edited(tmp_path: Path) -> None:
    stage, front, person = SessionStage(tmp_path), Front(), HesitatingApprover()
    a_command_file(stage)
    async with stage.opened(
        person=person, adjust=lambda it: change_ledger(it, lambda ledger: SlowLedger(ledger, person.asked))
    ) as session:
        await session.turn(prompt="zero")
        serving = asyncio.create_task(front.turns.serve(session.agent))
        front.turns.submit("/fix 12")
        async with asyncio.timeout(120):
            await person.asked.wait()
        # what a process that is killed here has recorded
        state = replay_state(await session.agent.record.archive.read(session.agent.session_id))
        serving.cancel()
        await asyncio.wait({serving})
    assert state.unsent == ("/fix 12",)
    assert [turn.prompt for turn in state.turns] == ["zero"]

    again = Front()
    async with stage.opened() as session:
        serving = asyncio.create_task(again.turns.serve(session.agent))
        await asyncio.sleep(0)
        assert again.draft == ["/fix 12"]
        serving.cancel()
        await asyncio.wait({serving})


async def test_a_custom_command_that_was_refused_waits_no_more(tmp_path: Path) -> None:
    stage, person = SessionStage(tmp_path), HesitatingApprover(refuses=True)
    failure: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    a_command_file(stage)
    turns = Turns(
        on_change=lambda: None, on_end=lambda _secs: None, on_failure=failure.set_result, give_back=pytest.fail
    )
    async with stage.opened(person=person) as session:
        await session.turn(prompt="zero")
        serving = asyncio.create_task(turns.serve(session.agent))
        turns.submit("/fix 12")
        async with asyncio.timeout(120):
            why = await failure
        assert session.agent.run.unsent == ()
        serving.cancel()
        await asyncio.wait({serving})
    assert "is not trusted" in why


async def test_what_a_dead_process_had_not_sent_comes_back_to_be_edited_and_leaves_with_what_is_sent_then(
    tmp_path: Path,
) -> None:
    stage = SessionStage(tmp_path)
    async with stage.opened() as session:
        session.agent.run.queue(["one", "two"])
        await session.turn(prompt="zero")
    front = Front()
    async with stage.opened() as session:
        assert session.agent.run.unsent == ("one", "two")
        serving = asyncio.create_task(front.turns.serve(session.agent))
        await asyncio.sleep(0)
        assert front.draft == ["one\ntwo"]
        session.script[:] = [says("done")]
        front.turns.submit("one, and then two")
        await front.idle()
        serving.cancel()
        await asyncio.wait({serving})
        state = replay_state(await session.agent.record.archive.read(session.agent.session_id))
        assert session.agent.run.unsent == state.unsent == ()
