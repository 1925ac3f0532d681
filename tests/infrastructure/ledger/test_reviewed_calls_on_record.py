"""What another process finds on the record while a reviewed call is decided about, and while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_runtime import BatchResult, ToolBatch, ToolRuntime
from quorum.application.calls.tool_set import ToolSet
from quorum.application.event_bus import EventBus
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.planners import plan_serializable
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events.event import Event, VoteCast
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import Approve, ReviewAnswer, ReviewRequest
from quorum.domain.review.requested_scope import RequestedScope
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import OutputLimits
from quorum.infrastructure.store.ledger.opening import Database
from quorum.infrastructure.store.sql import writer
from quorum.infrastructure.tools.json_schema import JsonSchema
from tests.infrastructure.ledger.ledger_bench import begun, started
from tests.support.builders import a_call, a_context
from tests.support.fake_gateway import ballot
from tests.support.fake_ports import FakePerson, FakeTool
from tests.support.fake_session import Step
from tests.support.reviews import a_review
from tests.support.rewind_rig import RewindRig


class _Votes:
    """An observer that knows when so many votes are on record."""

    def __init__(self, number: int) -> None:
        self._left = number
        self.recorded = asyncio.Event()

    def notify(self, event: Event) -> None:
        self._left -= isinstance(event, VoteCast)
        if self._left == 0:
            self.recorded.set()


class _Bench:
    """A tool that writes a file, reviewed by two models, on a record that another connection reads."""

    def __init__(self, database: Database, reading: Database, root: Path, mode: Mode) -> None:
        self.session = begun(database)
        self.votes, self.gate = _Votes(2), asyncio.Event()
        self.found: Sequence[str] = ()
        self.found_by_person: Sequence[str] = ()
        self.file = root / "made"
        self._reading = reading
        self.events = events = EventBus([self.votes], ledger=self.session.ledger)
        self.person = FakePerson(self._answer)
        tool = FakeTool("write", self._write, risk=RiskLevel.HIGH, access=self._access)
        self._runtime = ToolRuntime(
            hooks=HookChain((), events),
            outputs=Outputs(None, OutputLimits()),
            tools=ToolSet({"write": tool}, JsonSchema()),
            schema=JsonSchema(),
            review=a_review(
                person=self.person,
                events=events,
                mode=mode,
                root=str(root),
                votes={f"p/{number}": [Step(answer=ballot("approve"), gate=self.gate)] for number in range(2)},
            ),
            events=events,
            keeper=RewindRig(root).keeper,
            planner=plan_serializable,
            cwd=str(root),
        )

    async def run(self) -> BatchResult:
        await self.events.announce(started(self.session.session_id))
        call = (a_context(0), a_call("write", {"cell": "x"}, id_="call-0"))
        return await self._runtime.run(
            ToolBatch(id="batch-1", calls=(call,), scope=RequestedScope(task="write it"))
        )

    async def read(self) -> list[str]:
        records = await self._reading.archive.read(self.session.session_id)
        return [record.event.type for record in records if record.event is not None]

    def _access(self, _arguments: JsonObject) -> Access:
        return Access.of(writes=[str(self.file)])

    async def _write(self, _arguments: JsonObject, _context: ToolExecutionContext) -> str:
        self.found = await self.read()
        self.file.write_text("made")
        return "made"

    async def _answer(self, request: ReviewRequest) -> ReviewAnswer:
        self.gate.set()
        await self.votes.recorded.wait()
        self.found_by_person = await self.read()
        return Approve(request.packet.digest)


async def test_all_that_let_a_call_run_is_on_record_before_it_runs_in_one_transaction_and_in_order(
    opened, tmp_path, monkeypatch
):
    monkeypatch.setattr(writer, "_GATHERING_SECS", 600.0)
    bench = _Bench(opened(), opened(), tmp_path, Mode.QUORUM)
    commits: list[int] = []
    commit = writer.Writer._commit

    def count(self: writer.Writer) -> None:
        commits.append(len(self._backlog))
        commit(self)

    monkeypatch.setattr(writer.Writer, "_commit", count)
    bench.gate.set()
    await bench.run()

    reviewed = ["usage_counted", "vote_cast", "usage_counted", "vote_cast", "quorum_result", "review_decided"]
    assert list(bench.found) == ["session_started", "batch_planned", *reviewed, "files_kept", "call_started"]
    assert commits == [1, 9]
    assert bench.person.requests == []

    await bench.session.ledger.aclose()
    after = (await bench.read())[len(bench.found) :]
    assert after == ["effects_observed", "call_finished"]


async def test_votes_that_come_while_a_person_decides_are_on_record_before_the_answer(opened, tmp_path):
    bench = _Bench(opened(), opened(), tmp_path, Mode.ASK)
    async with asyncio.timeout(60):
        await bench.run()

    assert len(bench.person.requests) == 1
    assert sorted(bench.found_by_person[-4:]) == ["usage_counted", "usage_counted", "vote_cast", "vote_cast"]
    await bench.session.ledger.aclose()
