"""The third approval of a kind in a session: what the person is offered, and what counts as an approval."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_runtime import ToolBatch, ToolRuntime
from quorum.application.calls.tool_set import ToolSet
from quorum.application.event_bus import EventBus
from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.execution import Seal, SealedFile, ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolParameter
from quorum.domain.events.event import SessionRewound, TurnStarted
from quorum.domain.review.questions import (
    Approve,
    ApproveAlways,
    ApproveRest,
    Edit,
    Reject,
    ReviewAnswer,
    ReviewRequest,
    RuleScope,
)
from quorum.domain.review.rule_offers import judge_by_words
from quorum.domain.shell.command_line import ShellVerdict
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import OutputLimits
from quorum.infrastructure.execution.shell.parsing import parse
from quorum.infrastructure.tools.json_schema import JsonSchema
from tests.support.builders import a_call, a_context
from tests.support.fake_ports import FakePerson, FakeTool, RecordingObserver
from tests.support.past_sessions import records_of
from tests.support.reviews import a_review


async def _says_ok(arguments: JsonObject, context: ToolExecutionContext) -> str:
    return "ok"


class _Shell(FakeTool):
    """A command tool that runs nothing."""

    def __init__(self) -> None:
        flags = ("background", "outside_sandbox", "opens_git")
        super().__init__(
            "run_command",
            _says_ok,
            risk=RiskLevel.HIGH,
            access=lambda _: EXCLUSIVE,
            parameters=(
                ToolParameter(name="command", type="string", description="the text", required=True),
                *(ToolParameter(name=name, type="boolean", description="how it runs") for name in flags),
            ),
        )

    def find_command(self, arguments: JsonObject) -> str | None:
        return str(arguments["command"])

    async def judge(self, arguments: JsonObject) -> ShellVerdict:
        return judge_by_words(parse(str(arguments["command"])))


class _Editor(FakeTool):
    """A file tool that writes nothing."""

    def __init__(self) -> None:
        super().__init__(
            "edit_file",
            _says_ok,
            risk=RiskLevel.HIGH,
            access=lambda arguments: Access.of(writes=[str(arguments["path"])]),
            parameters=(ToolParameter(name="path", type="string", description="where", required=True),),
        )

    async def seal(self, arguments: JsonObject, projected: object) -> Seal:
        return Seal(cwd="/ws", files=(SealedFile(path=str(arguments["path"]), sha256=None),), diff="+a")


class _Session:
    """A session over fakes, which can be left and resumed from what is on its record."""

    def __init__(self, person: FakePerson | None = None, past: Sequence[RecordingObserver] = ()) -> None:
        self.person = person or FakePerson()
        self.observer = RecordingObserver()
        records = records_of(event for observer in past for event in observer.events)
        self.events = EventBus([self.observer], past=records)
        self._runtime = ToolRuntime(
            hooks=HookChain((), self.events),
            outputs=Outputs(None, OutputLimits()),
            tools=ToolSet({"run_command": _Shell(), "edit_file": _Editor()}, JsonSchema()),
            schema=JsonSchema(),
            review=a_review(
                person=self.person,
                events=self.events,
                root="/ws",
                allow=["run_command(read-only)"],
                read_command=parse,
            ),
            events=self.events,
            planner=lambda calls: {call.index: frozenset(range(call.index)) for call in calls},
            cwd="/ws",
        )
        self._batches = 0

    async def run(self, *commands: str, **more: object) -> None:
        """One batch of commands."""
        await self._run("run_command", [{"command": command, **more} for command in commands])

    async def edit(self, *paths: str) -> None:
        """One batch of edits."""
        await self._run("edit_file", [{"path": path} for path in paths])

    async def _run(self, tool: str, calls: Sequence[dict[str, object]]) -> None:
        self._batches += 1
        batch_id = f"batch-{self._batches}"
        await self._runtime.run(
            ToolBatch(
                id=batch_id,
                calls=tuple(
                    (a_context(index, batch_id=batch_id), a_call(tool, arguments, id_=f"call-{index}"))  # type: ignore[arg-type]
                    for index, arguments in enumerate(calls)
                ),
            )
        )

    @property
    def offered(self) -> tuple[str, ...] | None:
        """What was offered with the last question."""
        offer = self.person.requests[-1].offer
        return None if offer is None else offer.rules


async def test_the_third_question_of_a_kind_offers_the_rule_and_the_two_before_do_not() -> None:
    session = _Session()

    for command, offered in (
        ("git add a && git commit -m a", None),
        ("git commit -m b", None),
        ("git commit -m c && git status", ("run_command(git commit *)",)),
        ("make && git commit -m d", None),
    ):
        await session.run(command)
        assert session.offered == offered


async def test_the_offer_says_how_many_were_approved_and_what_else_its_rules_cover() -> None:
    session = _Session()

    await session.run("make test")
    await session.run("make lint")
    await session.run("make all")

    offer = session.person.requests[-1].offer
    assert offer is not None
    assert (offer.rules, offer.approvals) == (("run_command(make *)",), 2)
    assert offer.covers[:2] == ("make test", "make lint")


async def test_edits_of_one_folder_are_offered_the_folder() -> None:
    session = _Session()

    for path in ("/ws/src/a.py", "/ws/src/b.py", "/ws/src/c.py"):
        assert not session.person.requests or session.offered is None
        await session.edit(path)

    assert session.offered == ("write_file(src/**)",)


@pytest.mark.parametrize("path", ["/ws/.git/config", "/ws/.env"])
async def test_a_protected_or_sensitive_path_is_never_offered(path: str) -> None:
    session = _Session()

    for _ in range(4):
        await session.edit(path)

    assert [request.offer for request in session.person.requests] == [None] * 4


@pytest.mark.parametrize("command", ["rm -rf build", "npm publish", "python -c x", "make > x", "$(make)"])
async def test_what_a_guard_objects_to_or_cannot_be_taken_apart_is_never_offered(command: str) -> None:
    session = _Session()

    for _ in range(4):
        await session.run(command)

    assert [request.offer for request in session.person.requests] == [None] * 4


@pytest.mark.parametrize("more", [{"background": True}, {"outside_sandbox": True}, {"opens_git": True}])
async def test_an_approval_of_an_unusual_run_does_not_count(more: dict[str, object]) -> None:
    session = _Session()

    await session.run("make test", **more)
    await session.run("make test", **more)
    await session.run("make test")

    assert session.offered is None


async def test_a_rejected_call_does_not_count_and_an_edited_one_counts_as_it_ran() -> None:
    answers: list[ReviewAnswer | None] = [Reject(), Reject(), Edit({"command": "make test"}), None, None, None]

    def answer(request: ReviewRequest) -> ReviewAnswer:
        return answers.pop(0) or Approve(request.packet.digest)

    session = _Session(FakePerson(answer))

    await session.run("make test")
    await session.run("make test")
    await session.run("./other")
    await session.run("make test")
    assert session.offered is None
    await session.run("make test")

    assert session.offered == ("run_command(make test)",)


async def test_calls_approved_together_with_one_before_them_count() -> None:
    session = _Session(
        FakePerson(lambda r: ApproveRest((r.packet.digest, *(later.digest for later in r.following))))
    )

    await session.run("make test", "make test")
    assert len(session.person.requests) == 1
    await session.run("make test")

    assert session.offered == ("run_command(make test)",)


async def test_the_count_survives_a_resume_and_forgets_turns_that_were_taken_back() -> None:
    session = _Session()
    await session.events.record(TurnStarted(prompt="one"))
    await session.run("make test")
    await session.events.record(TurnStarted(prompt="two"))
    await session.run("make test")

    resumed = _Session(past=[session.observer])
    await resumed.run("make test")
    assert resumed.offered == ("run_command(make test)",)

    await session.events.record(SessionRewound(turn=1, conversation=True, files=True))
    rewound = _Session(past=[session.observer])
    await rewound.run("make test")
    assert rewound.offered is None


async def test_nothing_is_offered_where_nobody_is_there_to_choose() -> None:
    person = FakePerson()
    person.is_there = False
    session = _Session(person)

    for _ in range(4):
        await session.run("make test")

    assert [request.offer for request in person.requests] == [None] * 4


async def test_rules_that_were_taken_let_the_next_call_run_unasked() -> None:
    def answer(request: ReviewRequest) -> ReviewAnswer:
        digest, offer = request.packet.digest, request.offer
        return Approve(digest) if offer is None else ApproveAlways(digest, offer.rules, RuleScope.SESSION)

    session = _Session(FakePerson(answer))

    for number in range(5):
        await session.run(f"git add {number} && git commit -m {number}")

    assert len(session.person.requests) == 3
