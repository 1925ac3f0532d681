from __future__ import annotations

from quorum.domain.calls.access import EXCLUSIVE
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events.calls import PlannedLane
from quorum.domain.events.event import BatchPlanned, CallFinished
from quorum.domain.review.guards import GuardSettings
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import Answer, Rule
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.sessions.session_summary import NewSession
from quorum.infrastructure.permissions.in_force import WorkspaceHistory
from tests.support.fake_ports import FakeTool
from tests.support.fake_storage import FakeStorage

FETCH = Rule.parse("web_fetch", Answer.ALLOW, "test")


async def _fail(*_given: object) -> str:
    raise AssertionError("a replay runs nothing")


def _history(storage: FakeStorage, most_calls: int = 100) -> WorkspaceHistory:
    tool = FakeTool("web_fetch", _fail, risk=RiskLevel.HIGH, access=lambda _: EXCLUSIVE)
    return WorkspaceHistory(
        storage,
        "/w",
        get_tools=lambda: {"web_fetch": tool},
        paths=PathPolicy(roots=("/w",)),
        guards=GuardSettings(),
        most_calls=most_calls,
    )


class _Session:
    """One that makes calls of a tool."""

    def __init__(self, storage: FakeStorage, cwd: str = "/w") -> None:
        opened = storage.open_session(NewSession(), cwd=cwd)
        assert opened.ledger is not None
        self._ledger, self._number = opened.ledger, 0

    async def call(self, url: str, decision: DecisionLabel) -> None:
        self._number += 1
        context = ToolExecutionContext(
            call_id=f"c{self._number}", batch_id="b", call_index=self._number, turn_index=0
        )
        lane = PlannedLane(
            context=context, tool="web_fetch", arguments={"url": url}, risk=RiskLevel.HIGH, follows=()
        )
        await self._ledger.append(BatchPlanned(batch_id="b", lanes=(lane,)))
        finished = CallFinished(
            context=context,
            tool="web_fetch",
            outcome=Outcome.OK,
            decision=decision,
            output="",
            duration_secs=0.0,
        )
        await self._ledger.append(finished)


async def test_calls_of_earlier_sessions_and_of_this_one_as_it_goes_on_are_replayed() -> None:
    storage = FakeStorage()
    await _Session(storage).call("https://a.example", DecisionLabel.REJECTED)
    await _Session(storage, "/elsewhere").call("https://b.example", DecisionLabel.REJECTED)
    now, history = _Session(storage), _history(storage)

    first = await history.replay((), [FETCH])
    await now.call("https://c.example", DecisionLabel.APPROVED)
    second = await history.replay((), [FETCH])

    assert [(group.then, group.examples) for group in first.groups] == [
        ("rejected", ("web_fetch url=https://a.example",))
    ]
    assert [(group.then, group.calls) for group in second.groups] == [("rejected", 1), ("approved", 1)]
    assert second.newest is None


async def test_only_the_newest_calls_are_looked_at() -> None:
    storage = FakeStorage()
    await _Session(storage).call("https://old.example", DecisionLabel.REJECTED)
    now = _Session(storage)
    for number in range(3):
        await now.call(f"https://{number}.example", DecisionLabel.APPROVED)

    replay = await _history(storage, most_calls=2).replay((), [FETCH])

    assert (replay.calls, replay.newest) == (2, 2)
    assert [group.examples for group in replay.groups] == [
        ("web_fetch url=https://2.example", "web_fetch url=https://1.example")
    ]
