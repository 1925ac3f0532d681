"""The loop of one turn: an answer, its calls, their results, until the model stops or a limit is reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.tool_runtime import BatchResult, ToolBatch, ToolRuntime, build_batch
from quorum.application.ports.instructions import InstructionKeeper
from quorum.application.turn.agent_limits import AgentLimits
from quorum.application.turn.continuation import CONTINUE_CUT_OFF, LIMIT_REACHED, NO_ANSWER
from quorum.application.turn.dialogue import Dialogue
from quorum.application.turn.repeated_calls import RepeatedCalls
from quorum.application.turn.run_tally import RunTally
from quorum.application.turn.turn_diagnostics import TurnDiagnostics
from quorum.application.turn.turn_end_checks import TurnEndChecks
from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.history import ToolResults
from quorum.domain.conversation.response import LlmResponse, StopKind
from quorum.domain.events.event import CallLeaked
from quorum.domain.events.report import MAX_TOOL_TURNS
from quorum.domain.review.requested_scope import RequestedScope


class TurnLoop:
    """Runs the calls of a session's answers. All endings are noted in the `tally` of the turn.

    `get_scope` answers what the person asked for by now, as calls are held against it. Each method raises
    ProviderError and LedgerError.
    """

    def __init__(
        self,
        *,
        dialogue: Dialogue,
        runtime: ToolRuntime,
        hooks: HookChain,
        limits: AgentLimits,
        get_scope: Callable[[], RequestedScope],
        instructions: InstructionKeeper | None = None,
        diagnostics: TurnDiagnostics | None = None,
        is_job_running: Callable[[], bool] = lambda: False,
    ) -> None:
        self._dialogue = dialogue
        self._runtime = runtime
        self._hooks = hooks
        self._limits = limits
        self._get_scope = get_scope
        self._instructions = instructions
        self._diagnostics = diagnostics
        self._is_told_of_leak = False
        self._repeats = RepeatedCalls(runtime.give_example, runtime.get_risk, is_job_running)

    async def run(self, response: LlmResponse | None, tally: RunTally, tool_turns: int) -> None:
        """Continue from this answer until the turn is over; None: it is. `tool_turns` batches ran before."""
        continuations = 0
        is_asked_again = self._is_told_of_leak = False
        self._repeats.begin_turn()
        end = TurnEndChecks(
            self._dialogue, self._hooks, self._diagnostics, max_returns=self._limits.max_turn_end_retries
        )
        while response is not None:
            match response.stop_reason.kind:
                case StopKind.TOOL_USE if response.has_tool_calls():
                    if tool_turns >= self._limits.max_tool_turns:
                        await self._stop_at_limit(response, tally)
                        return
                    tool_turns += 1
                    is_asked_again = False
                    response = await self.run_batch(self._create_batch(response.tool_calls()), tally)
                case StopKind.PAUSE if continuations < self._limits.max_continuations:
                    continuations += 1
                    response = await self._dialogue.say(None, tally)
                case StopKind.MAX_TOKENS if self._may_continue(response, continuations):
                    continuations += 1
                    response = await self._dialogue.say(CONTINUE_CUT_OFF, tally, continues=True)
                case StopKind.MAX_TOKENS | StopKind.PAUSE:
                    tally.limit(str(response.stop_reason))
                    return
                case StopKind.REFUSAL:
                    tally.refuse()
                    return
                case StopKind.END_TURN | StopKind.TOOL_USE | StopKind.OTHER if lack := _find_lack(
                    response, tally
                ):
                    if is_asked_again:
                        tally.give_up(NO_ANSWER.format(lack=lack))
                        return
                    is_asked_again = True
                    response = await self._dialogue.say(self._dialogue.reply_to_empty_answer(lack), tally)
                case StopKind.END_TURN | StopKind.OTHER if leaked := self._dialogue.note_leaked_call(response):
                    response = await self._reply_to_leaked_call(leaked, tally)
                case StopKind.END_TURN | StopKind.TOOL_USE | StopKind.OTHER:
                    is_asked_again = False
                    more = await end.ask_for_more()
                    response = await self._dialogue.say(more, tally) if more is not None else None

    async def _reply_to_leaked_call(self, leaked: CallLeaked, tally: RunTally) -> LlmResponse | None:
        """Tell the model, once in a turn, that its call was text; the second time, the turn has failed."""
        if self._is_told_of_leak:
            tally.give_up(leaked.reason)
            return None
        self._is_told_of_leak = True
        return await self._dialogue.say(self._dialogue.reply_to_leaked_call(leaked), tally)

    def _may_continue(self, response: LlmResponse, continuations: int) -> bool:
        return continuations < self._limits.max_continuations and not response.holds_calls

    async def run_batch(self, batch: ToolBatch, tally: RunTally) -> LlmResponse | None:
        """Run the calls and send their results. None when the turn ends with them instead."""
        result = await self._runtime.run(batch)
        calls = [call for _, call in batch.calls]
        tally.add_calls(result.records, calls)
        results, repeated = self._repeats.note(calls, result.results)
        if result.aborted is not None:
            tally.give_up(result.aborted)
        elif result.interrupted:
            tally.interrupt()
        elif tally.rejected_alike >= self._limits.max_identical_rejections:
            tally.give_up("the same call was rejected three times")
        elif repeated:
            tally.give_up(
                f"the model repeats a call of {repeated} and gets the same result each time; "
                "say what it should do differently"
            )
        elif not tally.has_proposed_plan:  # with one that nobody can approve, the turn ends
            if self._instructions is not None:
                await self._instructions.look_below()
            return await self._dialogue.give(results, tally)
        await self._dialogue.add(ToolResults(results))
        return None

    def _create_batch(self, calls: Sequence[ToolCall]) -> ToolBatch:
        return build_batch(
            calls,
            turn_index=self._dialogue.responses - 1,
            scope=self._get_scope(),
            offered=self._dialogue.tools.callable,
        )

    async def _stop_at_limit(self, response: LlmResponse, tally: RunTally) -> None:
        message = LIMIT_REACHED.format(limit=self._limits.max_tool_turns)
        withheld = await self.refuse_calls(response.tool_calls(), message, tally)
        if withheld.aborted is not None or withheld.interrupted:
            await self._dialogue.add(ToolResults(withheld.results))
            return
        last = await self._dialogue.give(withheld.results, tally, tool_choice="none")
        if last.has_tool_calls():
            withheld = await self.refuse_calls(last.tool_calls(), message, tally)
            await self._dialogue.add(ToolResults(withheld.results))
        tally.limit(MAX_TOOL_TURNS)

    async def refuse_calls(self, calls: Sequence[ToolCall], message: str, tally: RunTally) -> BatchResult:
        """Return the results of calls that are not to run; their ends are events like those of any call."""
        result = await self._runtime.withhold(self._create_batch(calls), message)
        tally.add_calls(result.records, calls)
        if result.aborted is not None:
            tally.give_up(result.aborted)
        if result.interrupted:
            tally.interrupt()
        return result


def _find_lack(response: LlmResponse, tally: RunTally) -> str | None:
    """What an answer lacks to be one. Where it continues another, the words of that are its own."""
    if tally.has_words and response.stop_reason.kind is not StopKind.TOOL_USE:
        return None
    return response.lack
