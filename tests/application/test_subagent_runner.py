"""Running subagents: several at the same time, each with its own end, whatever fails or is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from decimal import Decimal

import pytest

from quorum.application.event_bus import EventBus
from quorum.application.ports.people import Observer
from quorum.application.ports.subagents import SubagentStopped
from quorum.application.subagents.subagent_runner import LinkedLedger, SubagentProgress, SubagentRunner
from quorum.domain.calls.effects import Effects
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.conversation.response import Usage
from quorum.domain.errors import LedgerError, LostConnection, ProviderError, ProviderErrorKind
from quorum.domain.events.event import (
    CallStarted,
    EffectsObserved,
    FilesKept,
    SubagentFinished,
    SubagentProgressed,
    SubagentStarted,
    TextDelta,
    UsageCounted,
)
from quorum.domain.events.report import RunStatus
from quorum.domain.events.subagents import SubagentOutcome
from quorum.domain.subagents.subagent_task import SubagentTask
from tests.support.builders import a_context
from tests.support.fake_ledger import FakeLedger
from tests.support.fake_ports import RecordingObserver

SPENT = (Usage(input=3), Decimal("0.5"))
DONE = SubagentOutcome(status=RunStatus.COMPLETED, text="done")


class FakeSubagent:
    """Ends as told once its gate opens; cancelled, it is interrupted."""

    def __init__(self, observer: Observer, end: SubagentOutcome, gate: asyncio.Event | None) -> None:
        self._observer = observer
        self._end = end
        self._gate = gate
        self.began = asyncio.Event()
        self.is_closed = False

    async def run(self, prompt: str) -> SubagentOutcome:
        self._observer.notify(TextDelta(text=prompt))
        self.began.set()
        try:
            if self._gate is not None:
                await self._gate.wait()
        except asyncio.CancelledError:
            return SubagentOutcome(status=RunStatus.INTERRUPTED, text="")
        return self._end

    def take_spent(self) -> list[tuple[Usage, Decimal | None]]:
        return [SPENT]

    async def aclose(self) -> None:
        self.is_closed = True


class FakeSessions:
    """Opens subagents by their prompts. An error in the place of an end keeps one from being opened."""

    def __init__(self, ends: Mapping[str, SubagentOutcome | Exception] = {}) -> None:
        self.ends = ends
        self.gates: dict[str, asyncio.Event] = {}
        self.opened: dict[str, FakeSubagent] = {}
        self.opening = asyncio.Event()
        self.may_open = asyncio.Event()
        self.may_open.set()

    def choose_model(self, task: SubagentTask) -> str:
        return task.model or "p/m"

    async def open(
        self, task: SubagentTask, session_id: str, context: ToolExecutionContext, observer: Observer
    ) -> FakeSubagent:
        self.opening.set()
        await self.may_open.wait()
        end = self.ends.get(task.prompt, DONE)
        if isinstance(end, Exception):
            raise end
        self.opened[task.prompt] = FakeSubagent(observer, end, self.gates.get(task.prompt))
        return self.opened[task.prompt]

    async def all_run(self, count: int) -> None:
        async with asyncio.timeout(5):
            while len(self.opened) < count:  # noqa: ASYNC110 - opening a session is not told
                await asyncio.sleep(0)
            for each in self.opened.values():
                await each.began.wait()


class Rig:
    def __init__(self, sessions: FakeSessions, *, most: int = 8) -> None:
        self.seen = RecordingObserver()
        self.sessions = sessions
        self.events = EventBus([self.seen])
        self.runner = SubagentRunner("owner", sessions=lambda: sessions, events=self.events, most=most)

    def start(self, prompt: str, index: int = 0) -> asyncio.Task[SubagentOutcome]:
        return asyncio.create_task(self.runner.run(SubagentTask(prompt=prompt), a_context(index)))

    @property
    def ends(self) -> dict[str, RunStatus]:
        return {e.subagent_id: e.outcome.status for e in self.seen.events if isinstance(e, SubagentFinished)}

    @property
    def ids(self) -> list[str]:
        return [e.subagent_id for e in self.seen.events if isinstance(e, SubagentStarted)]


async def test_subagents_work_at_the_same_time_and_each_ends_when_it_is_done() -> None:
    sessions = FakeSessions({"a": SubagentOutcome(status=RunStatus.COMPLETED, text="from a")})
    sessions.gates = {name: asyncio.Event() for name in "abc"}
    rig = Rig(sessions)
    tasks = {name: rig.start(name, index) for index, name in enumerate("abc")}
    await sessions.all_run(3)
    assert rig.ids == ["owner-t1", "owner-t2", "owner-t3"]
    for name in "cab":
        sessions.gates[name].set()
        await tasks[name]
    assert list(rig.ends) == ["owner-t3", "owner-t1", "owner-t2"]
    assert (await tasks["a"]).text == "from a"
    assert rig.runner.take_spent() == [SPENT] * 3
    assert rig.runner.take_spent() == []
    assert all(each.is_closed for each in sessions.opened.values())


@pytest.mark.parametrize("error", [LostConnection("away"), MemoryError(), KeyError("x")], ids=repr)
async def test_an_error_that_is_not_the_subagents_alone_is_raised_once_its_end_is_recorded(
    error: Exception,
) -> None:
    rig = Rig(FakeSessions({"a": error}))

    with pytest.raises(type(error)):
        await rig.start("a")

    assert rig.ends == {"owner-t1": RunStatus.FAILED}


async def test_more_than_there_is_room_for_wait_for_their_turn() -> None:
    sessions = FakeSessions()
    sessions.gates = {name: asyncio.Event() for name in "abc"}
    rig = Rig(sessions, most=2)
    tasks = [rig.start(name, index) for index, name in enumerate("abc")]
    await sessions.all_run(2)
    assert set(sessions.opened) == {"a", "b"}
    sessions.gates["b"].set()
    await sessions.all_run(3)
    for gate in sessions.gates.values():
        gate.set()
    assert [each.text for each in await asyncio.gather(*tasks)] == ["done"] * 3


@pytest.mark.parametrize("down", ["one", "all"])
async def test_a_subagent_that_fails_is_an_outcome_of_its_own(down: str) -> None:
    failed = SubagentOutcome(status=RunStatus.FAILED, text="", error="down")
    no_key = ProviderError("no key", kind=ProviderErrorKind.CONFIGURATION)
    ends = {"a": no_key} if down == "one" else {"a": no_key, "b": failed, "c": LedgerError("full")}
    rig = Rig(FakeSessions(ends))
    outcomes = await asyncio.gather(*(rig.start(name, index) for index, name in enumerate("abc")))
    statuses = [each.status for each in outcomes]
    if down == "one":
        assert statuses == [RunStatus.FAILED, RunStatus.COMPLETED, RunStatus.COMPLETED]
    else:
        assert statuses == [RunStatus.FAILED] * 3
        assert [each.error for each in outcomes] == ["no key", "down", "full"]
    assert len(rig.ends) == 3, "each end is recorded"


async def test_a_cancelled_task_ends_its_subagent_first_and_its_end_is_on_record() -> None:
    sessions = FakeSessions()
    sessions.gates = {"a": asyncio.Event(), "b": asyncio.Event()}
    rig = Rig(sessions)
    tasks = [rig.start("a"), rig.start("b", 1)]
    await sessions.all_run(2)
    tasks[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    assert rig.ends == {"owner-t1": RunStatus.INTERRUPTED}
    assert sessions.opened["a"].is_closed
    sessions.gates["b"].set()
    assert (await tasks[1]).text == "done", "its sibling goes on"


async def test_a_task_that_is_cancelled_before_its_session_is_open_or_while_it_waits_ends_too() -> None:
    sessions = FakeSessions()
    sessions.may_open.clear()
    rig = Rig(sessions, most=1)
    opening, waiting = rig.start("a"), rig.start("b", 1)
    await sessions.opening.wait()
    for task in (waiting, opening):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert rig.ends == {"owner-t1": RunStatus.INTERRUPTED}
    sessions.may_open.set()
    assert (await rig.start("c", 2)).text == "done", "the place is free again"


async def test_a_person_who_stops_the_turn_from_a_question_of_a_subagent_stops_the_call() -> None:
    stopped = SubagentOutcome(status=RunStatus.INTERRUPTED, text="")
    rig = Rig(FakeSessions({"a": stopped}))
    with pytest.raises(SubagentStopped):
        await rig.start("a")
    assert rig.ends == {"owner-t1": RunStatus.INTERRUPTED}


async def test_what_happens_in_its_session_reaches_the_observers_with_its_name() -> None:
    rig = Rig(FakeSessions())
    await rig.start("say this")
    (progressed,) = (e for e in rig.seen.events if isinstance(e, SubagentProgressed))
    assert progressed.subagent_id == "owner-t1"
    assert progressed.event == {"type": "text_delta", "v": 1, "text": "say this"}


async def test_the_owner_has_on_record_what_a_subagent_does_to_files_and_spends() -> None:
    seen = RecordingObserver()
    own, context = FakeLedger(), a_context(4)
    ledger = LinkedLedger(own, EventBus([seen]), context)
    usage = UsageCounted(model="p/m", usage=Usage(input=1), cost_usd=None)
    inner = a_context(0, call_id="inner", batch_id="other")
    kept = FilesKept(context=inner, manifest="m", files=1, complete=True)
    effects = EffectsObserved(context=inner, effects=Effects(changes=(), complete=True))
    for event in (kept, TextDelta(text="x"), effects, usage):
        await ledger.append(event)
    assert [type(event) for event in seen.events] == [FilesKept, EffectsObserved, UsageCounted]
    assert [e.context for e in seen.events if isinstance(e, FilesKept | EffectsObserved)] == [context, context]


def test_progress_says_what_runs_what_was_used_and_who_is_waited_for() -> None:
    progress = SubagentProgress()
    assert progress.sentence == "thinks · 0 answers · 0 tokens"
    progress.apply(CallStarted(context=a_context(0), tool="read_file", arguments={"path": "src/a.py"}))
    assert progress.doing == "read_file src/a.py"
    progress.apply(CallStarted(context=a_context(1), tool="grep_search", arguments={"pattern": "x y"}))
    assert progress.doing == "grep_search x y (and 1 more)"
    progress.apply(UsageCounted(model="p/m", usage=Usage(input=1200, output=30), cost_usd=Decimal("0.02")))
    assert progress.amounts == "0 answers · 1,230 tokens · $0.02"
    progress.apply(TextDelta(text="one\ntw"))
    progress.apply(TextDelta(text="o"))
    assert list(progress.lines) == ["one", "two"]
