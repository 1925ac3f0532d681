from __future__ import annotations

from pathlib import Path

import pytest

from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_runtime import ToolBatch, ToolRuntime
from quorum.application.calls.tool_set import ToolSet
from quorum.application.event_bus import EventBus
from quorum.application.review.review import UnaskedSampling
from quorum.domain.calls.planners import plan_serializable
from quorum.domain.events.event import ErrorOccurred
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import NobodyThere, ReviewAnswer, ReviewRequest
from quorum.domain.review.requested_scope import RequestedScope
from quorum.domain.review.unasked_calls import CallKind
from quorum.domain.text.output import OutputLimits
from quorum.infrastructure.permissions.sample_file import SampleFile
from quorum.infrastructure.tools.json_schema import JsonSchema
from tests.support.builders import a_call, a_context
from tests.support.fake_gateway import ballot
from tests.support.fake_ledger import FakeLedger
from tests.support.fake_ports import FakePerson, FakeWriter, RecordingObserver, World
from tests.support.reviews import a_review


class _Session:
    """A runtime with one writing tool, whose calls without a question are all sampled into a file."""

    def __init__(
        self,
        folder: Path,
        mode: Mode,
        *,
        share: float = 1.0,
        max_error: float = 0.1,
        ledger: FakeLedger | None = None,
        **rules: list[str],
    ) -> None:
        self.file = SampleFile(folder / "calls.jsonl")
        self.world, self.seen = World(), RecordingObserver()
        self.person = FakePerson(self._answer)
        events = EventBus([self.seen], ledger=ledger)
        self.review = a_review(
            person=self.person,
            events=events,
            mode=mode,
            votes={f"p/{n}": [ballot("approve", "fine")] * 5 for n in range(2)},
            sampling=UnaskedSampling(store=self.file, session_id="s", share=share, max_error=max_error),
            **rules,
        )
        tool = FakeWriter(self.world)
        self._runtime = ToolRuntime(
            hooks=HookChain((), events),
            outputs=Outputs(None, OutputLimits()),
            tools=ToolSet({tool.definition.name: tool}, JsonSchema()),
            schema=JsonSchema(),
            review=self.review,
            events=events,
            planner=plan_serializable,
            cwd="/ws",
        )

    def _answer(self, _request: ReviewRequest) -> ReviewAnswer:
        return NobodyThere()

    async def write(self, number: int) -> str:
        """The decision about a call that writes."""
        call = a_call("write", {"cell": "x", "text": str(number)}, id_=f"call-{number}")
        batch = f"batch-{number}"
        context = a_context(call_id=f"call-{number}", batch_id=batch)
        ran = await self._runtime.run(
            ToolBatch(id=batch, calls=((context, call),), scope=RequestedScope(task="write"))
        )
        (record,) = ran.records
        return record.decision.value

    def judge(self, *verdicts: bool) -> None:
        """Judge the calls that wait, in their order."""
        waiting = [call for call in self.file.read_calls() if call.is_right is None]
        for call, is_right in zip(waiting, verdicts, strict=True):
            self.file.keep_verdict(call.id, is_right=is_right)


@pytest.mark.parametrize("mode", [Mode.AUTO, Mode.QUORUM])
async def test_calls_that_the_mode_lets_run_are_kept_for_a_verdict(tmp_path: Path, mode: Mode) -> None:
    session = _Session(tmp_path, mode)

    assert await session.write(1) == "allowed"

    (kept,) = session.file.read_calls()
    assert (kept.id, kept.mode, kept.is_right) == ("s/batch-1/call-1", mode, None)
    assert kept.text.startswith("write")
    assert kept.change == "None -> 1"


async def test_what_a_rule_allows_and_what_is_out_of_the_sample_is_not_kept(tmp_path: Path) -> None:
    by_rule = _Session(tmp_path, Mode.AUTO, allow=["write"])
    assert await by_rule.write(1) == "allowed"

    out_of_sample = _Session(tmp_path, Mode.AUTO, share=0.0)
    assert await out_of_sample.write(2) == "allowed"

    assert out_of_sample.file.read_calls() == ()


async def test_a_call_whose_start_cannot_be_recorded_is_not_in_the_sample(tmp_path: Path) -> None:
    ledger = FakeLedger()
    ledger.trouble = "the disk is full"
    session = _Session(tmp_path, Mode.AUTO, ledger=ledger)

    await session.write(1)

    assert session.world.cells == {}
    assert session.file.read_calls() == ()


@pytest.mark.parametrize("mode", [Mode.AUTO, Mode.QUORUM])
async def test_where_too_many_were_wrong_the_mode_asks_about_calls_of_the_kind(
    tmp_path: Path, mode: Mode
) -> None:
    session = _Session(tmp_path, mode)
    for number in range(3):
        assert await session.write(number) == "allowed"
    session.judge(True, True, False)

    assert await session.write(3) == "needs_approval"

    (request,) = session.person.requests
    assert any(
        reason.startswith(f"the mode {mode} was wrong about 1 of 3 judged other calls")
        for reason in request.reasons
    )
    assert session.world.cells == {"x": "2"}
    assert session.review.list_asked() == (CallKind.OTHERS,)


async def test_right_verdicts_lower_the_bound_until_the_mode_lets_calls_run_again(tmp_path: Path) -> None:
    session = _Session(tmp_path, Mode.AUTO, max_error=0.9)
    for number in range(2):
        await session.write(number)
    session.judge(True, False)
    assert await session.write(2) == "needs_approval"

    await _Session(tmp_path, Mode.AUTO, max_error=1.0).write(3)
    session.judge(True)

    assert await session.write(4) == "allowed"


async def test_no_wrong_verdict_means_no_question_and_a_bound_that_says_how_little_is_known(
    tmp_path: Path,
) -> None:
    session = _Session(tmp_path, Mode.AUTO)
    assert session.review.describe_error_shortly() == ""
    await session.write(1)
    session.judge(True)

    assert await session.write(2) == "allowed"
    assert session.review.describe_error_shortly() == "≤ 95 % of other calls wrong (95 %, n = 1)"
    assert session.review.list_asked() == ()
    assert session.review.describe_error() == (
        "commands: none judged",
        "edits: none judged",
        "other calls: ≤ 95 % wrong (95 %, n = 1); 1 wait for your verdict",
    )


async def test_figures_that_cannot_be_read_lead_to_a_question(tmp_path: Path) -> None:
    session = _Session(tmp_path, Mode.AUTO)
    (tmp_path / "calls.jsonl").write_text("{\n")

    assert await session.write(1) == "needs_approval"
    (request,) = session.person.requests
    assert "calls.jsonl:1" in request.reasons[0]
    assert session.review.describe_error_shortly() == "error not known"
    assert session.review.list_asked() == tuple(CallKind)


async def test_a_call_that_cannot_be_kept_is_reported(tmp_path: Path) -> None:
    (tmp_path / "calls.jsonl.lock").mkdir()
    session = _Session(tmp_path, Mode.AUTO)

    assert await session.write(1) == "allowed"

    (error,) = session.seen.of(ErrorOccurred)
    assert isinstance(error, ErrorOccurred)
    assert error.message.startswith("a call is missing in the sample: ")


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.ACCEPT_EDITS, Mode.READ_ONLY])
async def test_other_modes_sample_nothing(tmp_path: Path, mode: Mode) -> None:
    session = _Session(tmp_path, mode)
    await session.write(1)

    assert session.file.read_calls() == ()
    assert session.review.describe_error_shortly() == ""
