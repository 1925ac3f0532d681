from __future__ import annotations

import asyncio
import errno
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.application.background_jobs import BackgroundJobs
from quorum.application.calls.hook_chain import HookChain, HookRegistration, SessionHooks
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_runtime import ToolRuntime
from quorum.application.calls.tool_set import ToolSet
from quorum.application.event_bus import EventBus
from quorum.application.panel.panel_session import ConsensusChoice
from quorum.application.plan_service import PlanService
from quorum.application.ports.models import LlmExchange
from quorum.application.ports.people import Observer
from quorum.application.ports.subagents import BackgroundWork
from quorum.application.ports.tools import Tool
from quorum.application.session.agent_session import AgentSession, SessionModels
from quorum.application.session.rewind import Rewind
from quorum.application.session.session_record import SessionRecord
from quorum.application.session_folders import SessionFolders
from quorum.application.spend_limiter import MeteredGateway, SpendLimiter
from quorum.application.steering import PendingMessages
from quorum.application.subagents.plan_task_runner import PlanTaskRunner
from quorum.application.turn.attachments import Attachments
from quorum.application.turn.dialogue import ContextKeeper, Dialogue
from quorum.application.turn.run_agent import RunAgent, TurnParts
from quorum.application.turn.run_tally import RunTally
from quorum.application.turn.switchable_session import FallbackModels, ReasoningEfforts, SwitchableSession
from quorum.application.turn.tool_prefix import ToolPrefix
from quorum.application.turn.user_commands import UserCommandRunner
from quorum.application.view.wording import describe_ending
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.planners import Planner, plan_serializable
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.cost import Price, PriceTable, SpendCaps
from quorum.domain.conversation.history import AssistantMessage, Conversation, ToolResults, UserMessage
from quorum.domain.conversation.response import (
    END_TURN,
    MAX_TOKENS,
    PAUSE,
    REFUSAL,
    LlmResponse,
    OpaqueBlock,
    StopKind,
    StopReason,
    TextBlock,
    ToolUseBlock,
    Usage,
)
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import (
    OUT_OF_MEMORY,
    NothingToReview,
    ProgramChanged,
    ProviderError,
    ProviderErrorKind,
    QuorumError,
)
from quorum.domain.events.event import (
    BatchPlanned,
    ErrorOccurred,
    Event,
    ResponseCompleted,
    TextDelta,
    TurnFinished,
    UsageCounted,
)
from quorum.domain.events.masking import SecretMask
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.panel.panel_answer import Consensus
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import WorkspaceRoots
from quorum.domain.review.questions import DecisionLabel, NobodyThere, Reject, RejectAndInterrupt
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.settings import AgentTable
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import OutputLimits
from quorum.infrastructure.tools.json_schema import JsonSchema
from tests.support.builders import a_call, calls_response
from tests.support.examples import examples
from tests.support.fake_ledger import FakeLedger
from tests.support.fake_ports import (
    FakeFiles,
    FakePerson,
    FakeShell,
    FakeSurvivors,
    FakeTool,
    FakeWriter,
    RecordingObserver,
    World,
)
from tests.support.fake_providers import FakeProviders
from tests.support.fake_rules import FakeRules
from tests.support.fake_session import FakeSession, Step
from tests.support.records import no_record
from tests.support.reviews import a_review

READ: JsonObject = {"name": "read", "description": "Reads a cell.", "input_schema": {"type": "object"}}
OFFERED: tuple[JsonObject, ...] = (READ, {**READ, "name": "write"})
NOT_NEEDED: Any = None
DOWN = ProviderError("the provider is down", kind=ProviderErrorKind.SERVER)


class SlowEventStream(EventBus):
    """Every durable event takes a moment, as it does when it is written somewhere first."""

    async def record(self, event: Event) -> None:
        await super().record(event)
        await asyncio.sleep(0)

    async def announce(self, event: Event, *, urgent: bool = False) -> None:
        await super().announce(event, urgent=urgent)
        await asyncio.sleep(0)


class Bench:
    def __init__(
        self,
        *script: LlmResponse | QuorumError | Step,
        person: FakePerson | None = None,
        tool: Tool | None = None,
        limits: AgentTable | None = None,
        prices: Mapping[str, Price] | None = None,
        planner: Planner = plan_serializable,
        hooks: Sequence[HookRegistration] = (),
        opens: LlmExchange | None = None,
        observers: Sequence[Observer] = (),
        ledger: FakeLedger | None = None,
        past: Sequence[LedgerRecord] = (),
        caps: SpendCaps | None = None,
        fallbacks: Sequence[str] = (),
        background: Sequence[BackgroundWork] = (),
        record: SessionRecord | None = None,
        offered: Sequence[JsonObject] = OFFERED,
        is_attended: bool = True,
        context_keeper: ContextKeeper | None = None,
        mode: Mode = Mode.ASK,
    ) -> None:
        self.pauses: list[float] = []
        self.world = World()
        self.orphan_finder = FakeSurvivors()
        self.observer = RecordingObserver()
        self.ledger = ledger or FakeLedger()
        events = SlowEventStream([self.observer, *observers], ledger=ledger, past=past)
        self.conversation = Conversation(events.state.messages)
        chain = HookChain(hooks, events)
        self.providers = FakeProviders()
        self.session = FakeSession(
            list(script), conversation=self.conversation, shape=chain.on_message_send if hooks else None
        )
        self.providers.sessions["fake/model"] = opens or self.session
        self.person = person or FakePerson()
        self.limiter = SpendLimiter(
            caps or SpendCaps(), prices=PriceTable(prices or {}), approver=self.person, events=events
        )
        gateway = MeteredGateway(self.providers, self.limiter)

        self.efforts = ReasoningEfforts(
            {}, roles=("decision",), list_efforts=self.providers.list_efforts, chosen={}
        )
        self.way = SwitchableSession(
            gateway.open_exchange("fake/model"),
            open_exchange=gateway.open_exchange,
            fallbacks=FallbackModels(fallbacks, events),
        )
        tools = {t.definition.name: t for t in (tool or FakeTool("read", _ok), FakeWriter(self.world))}
        review = a_review(person=self.person, events=events, mode=mode)
        pending_messages = PendingMessages()
        self.shell = FakeShell()
        self.jobs = BackgroundJobs(
            events=events, outputs=Outputs(None, OutputLimits()), pending_messages=pending_messages
        )
        self.agent = RunAgent(
            TurnParts(
                session_id="session-1",
                dialogue=Dialogue(
                    session=self.way,
                    conversation=self.conversation,
                    tools=ToolPrefix(self.way, schemas=lambda: offered, events=events),
                    events=events,
                    prices=PriceTable(prices or {}),
                    pending_messages=pending_messages,
                    is_attended=lambda: is_attended,
                    sleep=self._pause,
                    context_keeper=context_keeper,
                ),
                hooks=chain,
                runtime=ToolRuntime(
                    hooks=chain,
                    outputs=Outputs(None, OutputLimits()),
                    tools=ToolSet(tools, JsonSchema()),
                    schema=JsonSchema(),
                    review=review,
                    events=events,
                    planner=planner,
                    cwd="/ws",
                ),
                review=review,
                events=events,
                limits=limits or AgentTable(),
                attachments=Attachments(NOT_NEEDED, NOT_NEEDED, hide=str),
            ),
            begin_turn=self.limiter.begin_turn,
        )
        plans = PlanService(events=events, kind=SessionKind.AGENT)
        self.front = AgentSession(
            self.agent,
            plan_tasks=PlanTaskRunner(plans, NOT_NEEDED, NOT_NEEDED),
            cwd="/ws",
            models=SessionModels(self.way, gateway=self.providers, events=events, efforts=self.efforts),
            context_manager=NOT_NEEDED,
            spending=self.limiter,
            review=review,
            rules=FakeRules(),
            rewind=Rewind(
                run=self.agent,
                events=events,
                keeper=NOT_NEEDED,
                contents=NOT_NEEDED,
                restorer=NOT_NEEDED,
                jobs=self.jobs,
            ),
            consensus=ConsensusChoice(Consensus(), events=events),
            files=FakeFiles(),
            folders=SessionFolders(WorkspaceRoots(("/work",)), check=NOT_NEEDED, events=events),
            user_commands=UserCommandRunner(
                shell=self.shell,
                events=events,
                outputs=Outputs(None, OutputLimits()),
                pending_messages=pending_messages,
            ),
            memory=NOT_NEEDED,
            custom_commands=NOT_NEEDED,
            skills=NOT_NEEDED,
            agents=NOT_NEEDED,
            tool_servers=NOT_NEEDED,
            jobs=self.jobs,
            plans=plans,
            outputs=Outputs(None, OutputLimits()),
            reviewed_files=NOT_NEEDED,
            inbox=NOT_NEEDED,
            record=record or no_record(),
            mask=SecretMask(),
            hooks=SessionHooks(hooks, events, "session-1", Path("/ws")),
            events=events,
            orphan_finder=self.orphan_finder,
            sandbox=self,
            background=background,
        )

    async def describe_former(self) -> tuple[str, ...]:
        """There is no sandbox of which anything holds."""
        return ()

    async def close(self) -> None:
        """There is no sandbox to close."""

    def paired(self) -> bool:
        """Whether every call is followed by its results, so that any provider accepts the next request."""
        return not self.conversation.open_calls

    async def next_prompt_works(self) -> bool:
        self.session.script[:] = [LlmResponse.from_text("again")]
        return (await self.agent.execute("next")).status is RunStatus.COMPLETED

    async def _pause(self, secs: float) -> None:
        self.pauses.append(secs)


async def _ok(arguments: JsonObject, context: ToolExecutionContext) -> str:
    return "contents"


def reads(*ids: str) -> LlmResponse:
    return calls_response(*(a_call("read", {"cell": "a"}, id_=id_) for id_ in ids))


def writes(id_: str, text: str = "x") -> LlmResponse:
    return calls_response(a_call("write", {"cell": "a", "text": text}, id_=id_))


def cut(text: str, *, stop: StopReason = MAX_TOKENS) -> LlmResponse:
    return LlmResponse(content=(TextBlock(text),), stop_reason=stop)


def outcomes(report: RunReport) -> list[Outcome]:
    return [record.outcome for record in report.calls]


@pytest.mark.requirement("E06")
async def test_an_answer_without_calls_completes() -> None:
    bench = Bench(LlmResponse.from_text("hello"))

    report = await bench.agent.execute("hi")

    assert (report.status, report.text, report.turns, report.exit_code) == (RunStatus.COMPLETED, "hello", 1, 0)
    assert bench.conversation.messages[0] == UserMessage("hi")


@pytest.mark.requirement("E06")
@pytest.mark.requirement("E08")
async def test_results_of_all_calls_go_back_in_one_request_and_the_answer_after_them_counts() -> None:
    bench = Bench(reads("a", "b"), LlmResponse.from_text("done"))

    report = await bench.agent.execute("go")

    assert len(bench.session.sent) == 2
    results = bench.session.sent[1].messages[-1]
    assert isinstance(results, ToolResults)
    assert [(r.tool_use_id, r.output) for r in results.results] == [("a", "contents"), ("b", "contents")]
    assert report.text == "done"
    assert [record.context.call_index for record in report.calls] == [0, 1]
    assert {record.context.turn_index for record in report.calls} == {0}


@pytest.mark.requirement("A04")
async def test_two_batches_never_share_an_id_and_the_ids_sort_by_time() -> None:
    bench = Bench(reads("a"), reads("b"), reads("c"), LlmResponse.from_text("done"))

    report = await bench.agent.execute("go")

    ids = [record.context.batch_id for record in report.calls]
    assert len(set(ids)) == 3
    assert ids == sorted(ids)
    assert [record.context.turn_index for record in report.calls] == [0, 1, 2]


@pytest.mark.requirement("E01")
async def test_text_that_looks_like_a_call_runs_nothing() -> None:
    bench = Bench(LlmResponse.from_text('{"tool": "write", "cell": "a", "text": "x"}'), offered=[READ])

    report = await bench.agent.execute("go")

    assert report.calls == ()
    assert bench.world.cells == {}


@pytest.mark.parametrize("stop", [MAX_TOKENS, REFUSAL, END_TURN, StopReason(StopKind.OTHER, "content_filter")])
async def test_a_call_of_a_cut_off_or_refused_answer_never_runs(stop: StopReason) -> None:
    half = LlmResponse(content=(ToolUseBlock(id="a", name="write", input={}),), stop_reason=stop)
    bench = Bench(half, half)

    report = await bench.agent.execute("go")

    assert report.calls == ()
    assert bench.world.log == []
    assert await bench.next_prompt_works()


@pytest.mark.requirement("E07")
async def test_at_the_turn_limit_open_calls_are_not_run_and_the_model_is_asked_once_without_tools() -> None:
    bench = Bench(
        reads("a"),
        reads("b"),
        reads("c"),
        LlmResponse.from_text("half way"),
        limits=AgentTable(max_tool_turns=2),
    )

    report = await bench.agent.execute("go")

    assert outcomes(report) == [Outcome.OK, Outcome.OK, Outcome.NOT_RUN]
    assert (report.status, report.stop_reason, report.exit_code) == (RunStatus.LIMIT, "max_tool_turns", 5)
    assert report.text == "half way"
    assert (report.turns, report.tool_turns) == (4, 2)
    assert "after 2 turns" in (describe_ending(report, "") or "")
    assert [sent.tool_choice for sent in bench.session.sent] == ["auto", "auto", "auto", "none"]
    assert bench.session.sent[-1].tools


async def test_taken_up_again_after_the_limit_a_turn_has_as_many_tool_turns_again() -> None:
    bench = Bench(
        reads("a"),
        reads("b"),
        LlmResponse.from_text("half way"),
        reads("c"),
        LlmResponse.from_text("all of it"),
        limits=AgentTable(max_tool_turns=1),
    )
    await bench.agent.execute("go")

    report = await bench.agent.retry()

    assert (report.status, report.text) == (RunStatus.COMPLETED, "all of it")
    asked = UserMessage("Continue with the task. You have 1 more round of tool calls.")
    assert bench.session.sent[3].messages[-1] == asked


async def test_calls_made_at_the_limit_all_the_same_are_not_run_either() -> None:
    bench = Bench(reads("a"), reads("b"), reads("c"), limits=AgentTable(max_tool_turns=1))

    report = await bench.agent.execute("go")

    assert outcomes(report) == [Outcome.OK, Outcome.NOT_RUN, Outcome.NOT_RUN]
    assert bench.paired()
    assert await bench.next_prompt_works()


@pytest.mark.requirement("E07")
async def test_many_calls_in_one_response_count_as_one_turn() -> None:
    bench = Bench(reads("a", "b", "c"), LlmResponse.from_text("done"), limits=AgentTable(max_tool_turns=1))

    report = await bench.agent.execute("go")

    assert report.status is RunStatus.COMPLETED


@pytest.mark.requirement("E06")
async def test_text_cut_by_the_token_limit_is_continued_and_joined() -> None:
    bench = Bench(cut("one "), cut("two "), LlmResponse.from_text("three"))

    report = await bench.agent.execute("count")

    assert report.status is RunStatus.COMPLETED
    assert report.text == "one two three"


async def test_text_that_is_cut_again_and_again_ends_at_the_limit() -> None:
    bench = Bench(*[cut(f"{n} ") for n in range(4)])

    report = await bench.agent.execute("count")

    assert (report.status, report.stop_reason, report.exit_code) == (RunStatus.LIMIT, "max_tokens", 5)
    assert report.text == "0 1 2 3 "


async def test_a_paused_answer_is_resumed_without_a_new_prompt() -> None:
    paused = LlmResponse(content=(OpaqueBlock(provider="fake", payload={"type": "server"}),), stop_reason=PAUSE)
    bench = Bench(paused, LlmResponse.from_text("done"))

    report = await bench.agent.execute("go")

    assert report.text == "done"
    assert [m for m in bench.conversation.messages if isinstance(m, UserMessage)] == [UserMessage("go")]


async def test_a_refusal_is_reported() -> None:
    report = await Bench(cut("I will not", stop=REFUSAL)).agent.execute("go")

    assert (report.status, report.stop_reason, report.exit_code) == (RunStatus.REFUSED, "refusal", 1)


async def test_a_failed_provider_ends_the_run_with_its_sentence_and_the_next_prompt_works() -> None:
    bench = Bench(reads("a"), DOWN)

    report = await bench.agent.execute("go")

    assert (report.status, report.exit_code, report.error) == (RunStatus.FAILED, 4, "the provider is down")
    assert [e.message for e in bench.observer.events if isinstance(e, ErrorOccurred)] == [
        "the provider is down"
    ]
    assert await bench.next_prompt_works()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), OUT_OF_MEMORY),
        (RuntimeError("can't start new thread"), OUT_OF_MEMORY),
        (SystemError("error return without exception set"), OUT_OF_MEMORY),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), OUT_OF_MEMORY),
        (ImportError("x.so: failed to map segment from shared object"), OUT_OF_MEMORY),
        (ProgramChanged("restart it"), "restart it"),
    ],
    ids=repr,
)
async def test_what_the_machine_refuses_ends_the_turn_with_a_sentence_and_the_next_prompt_works(
    error: Exception, said: str
) -> None:
    bench = Bench(error)  # type: ignore[arg-type]

    report = await bench.agent.execute("go")

    assert (report.status, report.exit_code, report.error) == (RunStatus.FAILED, 1, said)
    assert await bench.next_prompt_works()


async def test_that_there_is_nothing_to_review_is_no_failure_of_the_provider() -> None:
    report = await Bench(NothingToReview("no file differs")).agent.execute("review")

    assert (report.status, report.error, report.provider_failed) == (RunStatus.FAILED, "no file differs", False)


async def test_what_arrived_of_a_broken_stream_is_kept_and_reported() -> None:
    bench = Bench(Step(answer=DOWN, first=["half an "]))

    report = await bench.agent.execute("go")

    assert report.text == "half an "
    completed = bench.observer.of(ResponseCompleted)
    assert len(completed) == 1


async def test_a_withheld_call_makes_the_run_need_approval_though_the_model_answered() -> None:
    bench = Bench(writes("a"), LlmResponse.from_text("could not"), person=FakePerson(lambda _: NobodyThere()))

    report = await bench.agent.execute("go")

    assert (report.status, report.exit_code) == (RunStatus.NEEDS_APPROVAL, 3)
    assert report.calls[0].decision is DecisionLabel.NEEDS_APPROVAL


async def test_a_rejected_call_and_an_answer_complete_the_run() -> None:
    bench = Bench(writes("a"), LlmResponse.from_text("as you wish"), person=FakePerson(lambda _: Reject("no")))

    report = await bench.agent.execute("go")

    assert (report.status, report.exit_code) == (RunStatus.COMPLETED, 0)


async def test_three_identical_rejections_end_the_turn() -> None:
    bench = Bench(*[writes(str(n)) for n in range(5)], person=FakePerson(lambda _: Reject("no")))

    report = await bench.agent.execute("go")

    assert len(report.calls) == 3
    assert (report.status, report.exit_code) == (RunStatus.FAILED, 1)
    assert await bench.next_prompt_works()


async def test_rejections_of_different_calls_do_not_add_up() -> None:
    bench = Bench(
        *[writes(str(n), text=str(n)) for n in range(4)],
        LlmResponse.from_text("fine"),
        person=FakePerson(lambda _: Reject("no")),
    )

    assert (await bench.agent.execute("go")).status is RunStatus.COMPLETED


async def test_usage_adds_up_over_the_run() -> None:
    usage = Usage(input=10, output=5, cache_read=3)
    bench = Bench(replace(reads("a"), usage=usage), replace(LlmResponse.from_text("x"), usage=usage))

    report = await bench.agent.execute("go")

    assert report.usage == Usage(input=20, output=10, cache_read=6)


async def test_each_request_tells_its_cost_and_the_report_the_sum() -> None:
    price = Price(input=Decimal(2), output=Decimal(10), cache_read=Decimal("0.1"), cache_write=Decimal("2.5"))
    usage = Usage(input=10, output=5, cache_read=3)
    bench = Bench(
        replace(reads("a"), usage=usage),
        replace(LlmResponse.from_text("x"), usage=usage),
        prices={"fake/model": price},
    )

    report = await bench.agent.execute("go")

    events = [event.cost_usd for event in bench.observer.events if isinstance(event, UsageCounted)]
    assert events == [Decimal("0.0000703")] * 2
    assert report.cost_usd == Decimal("0.0001406")


async def test_without_a_known_price_only_tokens_are_reported() -> None:
    bench = Bench(replace(LlmResponse.from_text("x"), usage=Usage(input=10)))

    report = await bench.agent.execute("go")

    assert report.usage == Usage(input=10)
    assert report.cost_usd is None


async def test_deltas_are_shown_and_the_last_event_of_a_prompt_is_its_report() -> None:
    bench = Bench(LlmResponse.from_text("hello"))

    report = await bench.agent.execute("hi")

    assert [e.text for e in bench.observer.events if isinstance(e, TextDelta)] == ["hello"]
    assert bench.observer.events[-1] == TurnFinished(report=report)


# ------------------------------------------------------------------ interruption


async def test_interrupted_while_it_streams_the_text_is_kept_and_the_next_prompt_works() -> None:
    bench = Bench(Step(answer=reads("a"), first=["I will "], gate=asyncio.Event()))
    task = asyncio.create_task(bench.agent.execute("go"))
    await bench.session.waiting.wait()

    task.cancel()
    report = await task

    assert (report.status, report.exit_code, report.text) == (RunStatus.INTERRUPTED, 130, "I will ")
    assert task.cancelling() == 0
    last = bench.conversation.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert not last.response.has_tool_calls()
    assert await bench.next_prompt_works()


async def test_interrupted_while_tools_run_every_call_has_its_result() -> None:
    running = asyncio.Event()

    async def hang(arguments: JsonObject, context: ToolExecutionContext) -> str:
        if context.call_index == 0:
            return "quick"
        running.set()
        await asyncio.Event().wait()
        raise AssertionError

    bench = Bench(reads("a", "b"), tool=FakeTool("read", hang))
    task = asyncio.create_task(bench.agent.execute("go"))
    await running.wait()

    task.cancel()
    report = await task

    assert report.status is RunStatus.INTERRUPTED
    assert outcomes(report) == [Outcome.OK, Outcome.CANCELLED]
    assert bench.paired()
    assert await bench.next_prompt_works()


async def test_interrupting_from_the_dialog_ends_the_run_as_interrupted() -> None:
    bench = Bench(writes("a"), person=FakePerson(lambda _: RejectAndInterrupt()))

    report = await bench.agent.execute("go")

    assert report.status is RunStatus.INTERRUPTED
    assert report.calls[0].decision is DecisionLabel.REJECTED
    assert bench.world.cells == {}
    assert await bench.next_prompt_works()


async def test_interrupted_again_and_again_while_it_cleans_up_it_still_ends_with_a_legal_history() -> None:
    running = asyncio.Event()

    async def hang(arguments: JsonObject, context: ToolExecutionContext) -> str:
        running.set()
        await asyncio.Event().wait()
        raise AssertionError

    bench = Bench(reads("a", "b"), tool=FakeTool("read", hang))
    task = asyncio.create_task(bench.agent.execute("go"))
    await running.wait()
    while not task.done():
        task.cancel()
        await asyncio.sleep(0)

    assert task.result().status is RunStatus.INTERRUPTED
    assert bench.paired()
    assert await bench.next_prompt_works()


@given(st.integers(0, 120))
@examples(60)
async def test_cancelled_at_any_moment_the_history_stays_legal_and_the_next_prompt_works(moment: int) -> None:
    bench = Bench(reads("a", "b"), writes("c"), cut("more "), reads("d"), LlmResponse.from_text("done"))
    task = asyncio.create_task(bench.agent.execute("go"))
    for _ in range(moment):
        await asyncio.sleep(0)

    task.cancel()
    await asyncio.wait({task})

    assert bench.paired()
    assert await bench.next_prompt_works()
    planned = [e for e in bench.observer.events if isinstance(e, BatchPlanned)]
    ids = {lane.context.call_id for event in planned for lane in event.lanes}
    if not task.cancelled():
        assert ids <= {record.context.call_id for record in task.result().calls}


class AlwaysCompacts:
    """Finds room once after a refusal for length."""

    async def compact_if_full(self, model: str, upcoming: object) -> None:
        return

    def take_spent(self) -> list[tuple[Usage, Decimal | None]]:
        return []

    async def make_room(self, model: str, error: ProviderError) -> bool:
        return error.kind is ProviderErrorKind.TOO_LONG

    def find_known_window(self, model: str) -> int | None:
        return None

    def fits_window(self, model: str, upcoming: object) -> bool:
        return True

    async def compact_after(self, model: str, usage: Usage) -> None:
        return

    def explain_low_count(self, model: str, usage: Usage) -> str:
        return ""

    def answer_room(self, model: str) -> int | None:
        return None

    def fit_results(self, model: str, results: ToolResults) -> ToolResults:
        return results


class NeverFits(AlwaysCompacts):
    """Has no room for more."""

    def fits_window(self, model: str, upcoming: object) -> bool:
        return False


async def test_an_answer_whose_continuation_would_not_fit_ends_the_turn_with_what_was_said() -> None:
    bench = Bench(cut("half way"), context_keeper=NeverFits())

    report = await bench.agent.execute("go")

    assert (report.status, report.stop_reason, report.text) == (RunStatus.LIMIT, "max_tokens", "half way")
    assert len(bench.session.sent) == 1


async def test_a_last_request_that_was_too_long_forbids_calls_when_it_is_repeated_too() -> None:
    too_long = ProviderError("too long", kind=ProviderErrorKind.TOO_LONG)
    conversation = Conversation()
    session = FakeSession([reads("a"), too_long, LlmResponse.from_text("half way")], conversation=conversation)
    providers = FakeProviders()
    way = SwitchableSession(session, open_exchange=providers.open_exchange)
    events = EventBus([])
    dialogue = Dialogue(
        session=way,
        conversation=conversation,
        tools=ToolPrefix(way, schemas=lambda: [READ], events=events),
        events=events,
        prices=PriceTable({}),
        context_keeper=AlwaysCompacts(),
    )
    await dialogue.say("go", RunTally("s"))

    results = [ToolResultMessage(tool_use_id="a", tool_name="read", output="x")]
    await dialogue.give(results, RunTally("s"), tool_choice="none")

    assert [(sent.tool_choice, sent.tools) for sent in session.sent[1:]] == [("none", (READ,))] * 2


async def test_a_call_of_a_tool_that_the_request_did_not_offer_runs_nothing_and_asks_nobody() -> None:
    bench = Bench(writes("w"), LlmResponse.from_text("done"), offered=[READ])

    report = await bench.agent.execute("go")

    assert [record.outcome for record in report.calls] == [Outcome.ERROR]
    assert bench.world.log == []
    assert bench.person.requests == []


async def test_a_call_that_no_model_made_is_reviewed_recorded_and_followed_by_a_prompt() -> None:
    person = FakePerson()
    bench = Bench(person=person)
    written = {"cell": "a", "text": "x"}

    report = await bench.agent.call_tool("write", written, request="do it", conclude=lambda *end: f"{end}")

    assert (report.status, outcomes(report)) == (RunStatus.COMPLETED, [Outcome.OK])
    assert report.text == "(<Outcome.OK: 'ok'>, 'wrote x')"
    assert bench.world.cells == {"a": "x"}
    assert [request.packet.call.tool_name for request in person.requests] == ["write"]
    assert not bench.session.sent
    assert bench.paired()
    assert await bench.next_prompt_works()
    assert bench.session.sent[0].messages[0] == UserMessage("do it")


async def test_a_call_that_no_model_made_and_that_fails_is_concluded_as_failed() -> None:
    bench = Bench()

    report = await bench.agent.call_tool("none", {}, request="do it", conclude=lambda outcome, _: outcome)

    assert (report.text, outcomes(report)) == ("error", [Outcome.ERROR])
    assert bench.paired()
    assert await bench.next_prompt_works()
