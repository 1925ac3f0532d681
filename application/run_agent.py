"""RunAgent: one prompt from the person, through the model and its tools, to an honest ending."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from application.cancellation import absorb_cancellation, to_its_end
from application.event_stream import EventStream
from application.hook_chain import HookChain
from application.placed_calls import batch_of, not_run
from application.ports import LineSource, ToolChoice
from application.review import Review
from application.run_tally import RunTally
from application.stream_events import event_of
from application.switchable_session import GO_ON, SwitchableSession
from application.tool_runtime import ToolBatch, ToolRuntime
from domain.conversation import AssistantMessage
from domain.cost import PriceTable
from domain.errors import ConversationError, HookAborted, ProviderError, RequestSkipped
from domain.events import (
    ErrorOccurred,
    ModelChanged,
    ResponseCompleted,
    SessionFinished,
    SessionStarted,
    TurnFinished,
    TurnStarted,
    UsageCounted,
)
from domain.hook import ContinueWithMessages
from domain.json_value import JsonObject
from domain.mode import Mode
from domain.report import RunReport
from domain.response import LlmResponse, StopKind, ToolUseBlock
from domain.stream import StreamEvent
from domain.tool import ToolCall, ToolResultMessage

_CONTINUE = "Your answer was cut off by the output limit. Go on exactly where you stopped."
_LIMIT = "not run: the limit of {limit} tool turns is reached. Say where things stand and what is left to do."
_INTERRUPTED = "interrupted before it ran"
# A prompt such as "yes, do that" means something only with those before it.
_PROMPTS_TOLD = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLimits:
    """Bounds of one run.

    `max_tool_turns` counts responses whose calls were executed, however many calls each had;
    `max_continuations` bounds how often a cut-off text is continued and a paused answer resumed;
    after `max_identical_rejections` rejections of the same call the turn ends; hooks at the turn's end
    may make it go on `max_turn_end_retries` times.
    """

    max_tool_turns: int = 10
    max_continuations: int = 3
    max_identical_rejections: int = 3
    max_turn_end_retries: int = 3


class RunAgent:
    """A session of prompts. `execute` and `go_on` are called one at a time, all else at any time."""

    def __init__(
        self,
        *,
        session_id: str,
        cwd: str,
        session: SwitchableSession,
        runtime: ToolRuntime,
        review: Review,
        schemas: Sequence[JsonObject],
        events: EventStream,
        hooks: HookChain,
        limits: AgentLimits,
        prices: PriceTable,
    ) -> None:
        self._hooks = hooks
        self.session_id = session_id
        self._cwd = cwd
        self._conversation = session.conversation
        self._session = session
        self._runtime = runtime
        self._review = review
        self._schemas = tuple(schemas)
        self._events = events
        self._limits = limits
        self._prices = prices
        self._responses = 0
        self._prompts: deque[str] = deque(maxlen=_PROMPTS_TOLD)
        self._last_kept: LlmResponse | None = None
        self._unsaid: str | None = None
        self._choosing = asyncio.Lock()

    @property
    def model(self) -> str:
        """The full name of the model chosen, "provider/model"."""
        return self._session.model

    async def set_model(self, model: str) -> None:
        """Choose another model; it holds from the next request on, and for one that waits to be repeated.

        Raises ProviderError(CONFIGURATION), and leaves all as it was, where it cannot be had.
        """
        async with self._choosing:
            if model != self.model:
                session = await self._session.open(model)
                await self._events.record(ModelChanged(model=session.model))
                self._session.switch(session)

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of the providers there are."""
        return self._session.providers

    async def list_models(self, provider: str) -> tuple[str, ...]:
        """The models a provider lists, each as "provider/model". Raises ProviderError."""
        return await self._session.list_models(provider)

    @property
    def mode(self) -> Mode:
        """The review mode in force."""
        return self._review.mode

    async def set_mode(self, mode: Mode) -> None:
        """Choose another review mode; it holds for every decision from now on."""
        await self._review.set_mode(mode)

    def open_output(self, blob_id: str) -> LineSource:
        """The lines of a stored output, read as they are needed. Raises BlobError."""
        return self._runtime.outputs.open_lines(blob_id)

    async def open(self) -> None:
        """Announce the session."""
        await self._events.record(
            SessionStarted(session_id=self.session_id, model=self.model, mode=self.mode, cwd=self._cwd)
        )

    async def close(self, report: RunReport) -> None:
        """Announce the session's end, with the report of its last run."""
        await self._events.record(SessionFinished(report=report))

    async def execute(self, prompt: str) -> RunReport:
        """Answer one prompt. Every ending is a report: a failed provider and a cancellation of this task too.

        Whatever the ending, the conversation is left with a result for every call, ready for the next prompt.
        """
        self._prompts.append(prompt)
        return await self._turn(prompt, prompt)

    async def go_on(self) -> RunReport:
        """Take up a turn that failed or was interrupted where the conversation stands. Ends as `execute` does.

        Raises ConversationError where there is nothing to go on from.
        """
        messages = self._conversation.messages
        if not messages and self._unsaid is None:
            raise ConversationError("there is nothing to go on from: nothing was said yet")
        broke_off = bool(messages) and isinstance(messages[-1], AssistantMessage)
        return await self._turn("", self._unsaid or (GO_ON if broke_off else None))

    async def _turn(self, prompt: str, content: str | None) -> RunReport:
        tally, before = RunTally(self.session_id), len(self._conversation.messages)
        try:
            await self._events.record(TurnStarted(prompt=prompt))
            await self._converse(content, tally)
        except ProviderError as error:
            tally.fail(str(error))
        except (HookAborted, RequestSkipped) as stop:
            tally.give_up(str(stop))
        except asyncio.CancelledError:
            absorb_cancellation()
            tally.interrupt()
        self._unsaid = content if len(self._conversation.messages) == before else None
        return await to_its_end(self._conclude(tally))

    async def _conclude(self, tally: RunTally) -> RunReport:
        if tally.broke_off:
            await self._keep_partial_answer(tally)
        self._close_open_calls(tally)
        for usage, cost in self._review.take_spent():
            tally.add_spent(usage, cost)
        report = tally.report()
        if report.error is not None:
            await self._events.record(ErrorOccurred(message=report.error))
        await self._events.record(TurnFinished(report=report))
        return report

    # ---------------------------------------------------------------- the loop

    async def _converse(self, content: str | None, tally: RunTally) -> None:
        response: LlmResponse | None = await self._send(content, tally)
        tool_turns = continuations = retries = 0
        while response is not None:
            match response.stop_reason.kind:
                case StopKind.TOOL_USE if response.has_tool_calls():
                    if tool_turns >= self._limits.max_tool_turns:
                        await self._stop_at_limit(response, tally)
                        return
                    tool_turns += 1
                    response = await self._run_calls(response.tool_calls(), tally)
                case StopKind.PAUSE if continuations < self._limits.max_continuations:
                    continuations += 1
                    response = await self._send(None, tally)
                case StopKind.MAX_TOKENS if continuations < self._limits.max_continuations and not _holds_calls(
                    response
                ):
                    continuations += 1
                    response = await self._send(_CONTINUE, tally, continues=True)
                case StopKind.MAX_TOKENS | StopKind.PAUSE:
                    tally.limit(str(response.stop_reason))
                    return
                case StopKind.REFUSAL:
                    tally.refuse()
                    return
                case StopKind.END_TURN | StopKind.TOOL_USE | StopKind.OTHER:
                    more = await self._more_from_hooks(retries)
                    retries += 1
                    response = await self._send(more, tally) if more is not None else None

    async def _run_calls(self, calls: Sequence[ToolCall], tally: RunTally) -> LlmResponse | None:
        """Run the calls and send their results. None when the turn ends with them instead."""
        result = await self._runtime.run(self._batch_of(calls))
        tally.add_calls(result.records, calls)
        if result.aborted is not None:
            tally.give_up(result.aborted)
        elif result.interrupted:
            tally.interrupt()
        elif tally.rejected_alike >= self._limits.max_identical_rejections:
            tally.give_up("the same call was rejected three times")
        else:
            return await self._send_results(result.results, "auto", tally)
        self._conversation.add_results(result.results)
        return None

    def _batch_of(self, calls: Sequence[ToolCall]) -> ToolBatch:
        return batch_of(calls, turn_index=self._responses - 1, task="\n\n".join(self._prompts))

    async def _more_from_hooks(self, retries: int) -> str | None:
        """What the hooks at the turn's end want put to the model, or None where the turn may end."""
        answer = await self._hooks.on_turn_end(self._conversation.messages)
        if not isinstance(answer, ContinueWithMessages):
            return None
        if retries >= self._limits.max_turn_end_retries:
            told = f"the hooks at the turn's end wanted to go on more than {retries} times; the turn ends here"
            await self._events.record(ErrorOccurred(message=told))
            return None
        *first, last = answer.messages
        for message in first:
            self._conversation.add_user(message)
        return last

    async def _stop_at_limit(self, response: LlmResponse, tally: RunTally) -> None:
        told = _LIMIT.format(limit=self._limits.max_tool_turns)
        results = self._not_run(response.tool_calls(), told, tally)
        last = await self._send_results(results, "none", tally)
        if last.has_tool_calls():
            self._conversation.add_results(self._not_run(last.tool_calls(), told, tally))
        tally.limit("max_tool_turns")

    # ---------------------------------------------------------------- requests

    async def _send(self, content: str | None, tally: RunTally, *, continues: bool = False) -> LlmResponse:
        response = await self._session.send_with_tools(content, self._schemas, on_event=self._on_stream)
        return await self._took(response, tally, continues=continues)

    async def _send_results(
        self, results: Sequence[ToolResultMessage], choice: ToolChoice, tally: RunTally
    ) -> LlmResponse:
        response = await self._session.send_tool_results(results, tool_choice=choice, on_event=self._on_stream)
        return await self._took(response, tally)

    async def _took(self, response: LlmResponse, tally: RunTally, *, continues: bool = False) -> LlmResponse:
        await self._events.record(ResponseCompleted(turn_index=self._responses, response=response))
        model, usage = self._session.answering, response.usage
        cost = self._prices.cost(model, usage)
        await self._events.record(UsageCounted(model=model, usage=usage, cost_usd=cost))
        self._responses += 1
        self._last_kept = response.without_unfinished_calls()
        tally.add_response(response, cost, continues=continues)
        return response

    async def _keep_partial_answer(self, tally: RunTally) -> None:
        """What had arrived of a broken answer is in the conversation; it belongs to the record as well."""
        match self._conversation.messages:
            case (*_, AssistantMessage(response)) if response != self._last_kept:
                await self._took(response, tally)
            case _:
                return

    def _on_stream(self, event: StreamEvent) -> None:
        if (shown := event_of(event)) is not None:
            self._events.show(shown)

    # ---------------------------------------------------------------- calls

    def _not_run(self, calls: Sequence[ToolCall], told: str, tally: RunTally) -> list[ToolResultMessage]:
        """Synthetic results, and their records, for calls that no batch will run."""
        records, results = not_run(calls, told, turn_index=self._responses - 1)
        tally.add_calls(records, calls)
        return results

    def _close_open_calls(self, tally: RunTally) -> None:
        """An ending between an answer and its batch leaves calls open; the next request must not find them."""
        if calls := self._conversation.open_calls:
            self._conversation.add_results(self._not_run(calls, _INTERRUPTED, tally))


def _holds_calls(response: LlmResponse) -> bool:
    return any(isinstance(block, ToolUseBlock) for block in response.content)
