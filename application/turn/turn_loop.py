"""The loop of one turn: an answer, its calls, their results, until the model stops or a limit is reached."""

from __future__ import annotations

import json
import posixpath
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.tool_runtime import BatchResult, ToolBatch, ToolRuntime, build_batch
from quorum.application.instructions.project_instructions import ProjectInstructions
from quorum.application.steering import PendingMessage
from quorum.application.structured_answer import CLAIMED
from quorum.application.turn.check_runner import CheckRunner
from quorum.application.turn.dialogue import Dialogue
from quorum.application.turn.recovery import CONTINUE_CUT_OFF, LIMIT_REACHED, NO_ANSWER
from quorum.application.turn.run_tally import RunTally
from quorum.application.turn.turn_diagnostics import TurnDiagnostics
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.hook_points import ContinueWithMessages, PersonMessage
from quorum.domain.calls.summary import extract_text
from quorum.domain.calls.tool import RiskLevel, ToolCall, ToolResultMessage
from quorum.domain.calls.tool_traits import find_traits
from quorum.domain.conversation.history import ToolResults, UserMessage
from quorum.domain.conversation.response import LlmResponse, StopKind, ToolUseBlock
from quorum.domain.errors import AnswerMisfit, HookAborted
from quorum.domain.events.event import CallLeaked
from quorum.domain.events.report import MAX_TOOL_TURNS
from quorum.domain.replacing import replace
from quorum.domain.review.requested_scope import RequestedScope
from quorum.domain.settings import AgentTable
from quorum.domain.text.json_value import JsonValue

_SENT_BACK = (
    "Your answer does not fit the schema that it has to fit: {problem}. Answer again, with the whole JSON "
    "value and nothing else."
)

_MOST_CONTINUATIONS = 3
"""How often a cut-off text is continued, and a paused answer resumed."""

_MOST_REJECTIONS_ALIKE = 3
"""So many rejections of the same call end the turn."""


async def _note_nothing() -> None:
    """Nobody wants to know what files held."""


class TurnEndChecks:
    """Checks whether a turn may end. Diagnostics may send the model back `max_returns` times; so may hooks."""

    def __init__(
        self,
        dialogue: Dialogue,
        hooks: HookChain,
        diagnostics: TurnDiagnostics | None,
        *,
        max_returns: int,
    ) -> None:
        self._dialogue = dialogue
        self._hooks = hooks
        self._diagnostics = diagnostics
        self._max_returns = max_returns
        self._is_sent_back = False
        self._returns_by_hooks = 0
        self._returns_by_diagnostics = 0

    async def ask_for_more(self) -> str | UserMessage | None:
        """Return a message for the model instead of ending: on what the edits broke, else what the hooks want.
        None where the turn may end. Raises HookAborted."""
        note = await self._diagnostics.check() if self._diagnostics is not None else None
        if note is not None and note.has_new_lines and self._returns_by_diagnostics < self._max_returns:
            self._returns_by_diagnostics += 1
            return note.text
        if note is not None:  # nothing to go back for, or not again: it is read with what is said next
            notice = PendingMessage(UserMessage(note.text), is_notice=True)
            self._dialogue.pending_messages.add(notice)
        return await self._ask_hooks()

    def send_back(self, problem: str) -> str | None:
        """Return a message for the model where there is a problem with its final answer. Raises AnswerMisfit
        the second time."""
        if not problem:
            return None
        if self._is_sent_back:
            raise AnswerMisfit(f"the answer does not fit the schema: {problem}")
        self._is_sent_back = True
        return _SENT_BACK.format(problem=problem)

    async def _ask_hooks(self) -> str | UserMessage | None:
        """Raises HookAborted where the hooks are not satisfied and the model may not be sent back again."""
        returns, self._returns_by_hooks = self._returns_by_hooks, self._returns_by_hooks + 1
        answer = await self._hooks.on_turn_end(self._dialogue.conversation.messages)
        if not isinstance(answer, ContinueWithMessages):
            return None
        if returns >= self._max_returns:
            again = "1 time" if returns == 1 else f"{returns} times"
            raise HookAborted(
                f"the hooks at the turn's end sent the model back {again}, which is the limit, and are not "
                f"satisfied: {_read_text(answer.messages[-1])}"
            )
        *first, last = answer.messages
        for message in first:
            await self._dialogue.add(
                message if isinstance(message, UserMessage) else UserMessage(_read_text(message))
            )
        return last if isinstance(last, UserMessage) else _read_text(last)


def _read_text(message: str | PersonMessage) -> str:
    return message if isinstance(message, str) else message.text


_MOST_ALIKE = 3
# A call that waits for something is made again until its answer changes.
_MOST_ALIKE_WAITING = 20
_JOB_NOTE = (
    "[This is the same call with the same result as before. A background command still runs: to wait for it, "
    "call jobs once with action = read and wait_secs; you are told of its end without asking.]"
)
_NOTE = (
    "[This is the same call with the same result as before; repeating it changes nothing. {example}Change the "
    "arguments, use another tool, or say what is in the way. Going on like this ends the turn.]"
)
_Key: TypeAlias = tuple[str, str, str]
_PATHS = frozenset({"path", "file_path", "folder", "directory", "cwd"})
_NOTHING_SAID: tuple[JsonValue, ...] = (None, "", [], {}, False)


class RepeatedCalls:
    """Counts, within one turn, the calls that have a result they had before.

    What a risky call does may change what others answer: after a new one, counting begins anew. Only rounds in
    a row that bring nothing new end the turn, and later those of calls that can wait for something. While a
    background command of the session runs, its output and its files may change at any time: the latter calls
    end no turn then, which has its limit of rounds, and every other one that works waits as well. When the last
    one ends, counting begins anew.
    `give_example` answers a valid call of a tool, empty where there is no such tool; `get_risk` its risk.
    """

    def __init__(
        self,
        give_example: Callable[[str], str],
        get_risk: Callable[[str], RiskLevel],
        is_job_running: Callable[[], bool] = lambda: False,
    ) -> None:
        self._give_example = give_example
        self._get_risk = get_risk
        self._is_job_running = is_job_running
        self._was_job_running = False
        self._counts: Counter[_Key] = Counter()
        self._rounds = 0

    def begin_turn(self) -> None:
        self._counts.clear()
        self._rounds = 0

    def note(
        self, calls: Sequence[ToolCall], results: Sequence[ToolResultMessage]
    ) -> tuple[tuple[ToolResultMessage, ...], str]:
        """The results as the model reads them, and the tool whose call has come too often; else empty."""
        if self._was_job_running != (is_running := self._is_job_running()):
            self._was_job_running = is_running
            self.begin_turn()
        keys = [_make_key(call, result) for call, result in zip(calls, results, strict=True)]
        for key, result in zip(keys, results, strict=True):
            changes = not result.is_error and self._get_risk(result.tool_name) is RiskLevel.HIGH
            if changes and not result.is_rejected and key not in self._counts:
                self._counts.clear()
                break
        self._rounds = self._rounds + 1 if all(key in self._counts for key in keys) else 0
        self._counts.update(set(keys))
        told: list[ToolResultMessage] = []
        for key, result in zip(keys, results, strict=True):
            is_again = self._counts[key] > 1 and not result.is_rejected
            told.append(self._append_note(result) if is_again else result)
        often = [
            result.tool_name
            for key, result in zip(keys, results, strict=True)
            if not result.is_rejected
            and (most := self._find_most(result)) is not None
            and min(self._counts[key], self._rounds + 1) >= most
        ]
        return tuple(told), often[0] if often else ""

    def _find_most(self, result: ToolResultMessage) -> int | None:
        """How often a call may have this result; None: as often as it is made."""
        if result.is_error:
            return _MOST_ALIKE
        if self._can_wait(result.tool_name):
            return None if self._is_job_running() else _MOST_ALIKE_WAITING
        return _MOST_ALIKE_WAITING if self._is_job_running() else _MOST_ALIKE

    def _can_wait(self, name: str) -> bool:
        reads_server = name.startswith("mcp__") and self._get_risk(name) is RiskLevel.LOW
        return find_traits(name).can_wait or reads_server

    def _append_note(self, result: ToolResultMessage) -> ToolResultMessage:
        if self._is_job_running() and not result.is_error:
            return replace(result, output=f"{result.output}\n\n{_JOB_NOTE}")
        example = self._give_example(result.tool_name)
        shown = f"A valid call of {result.tool_name} has arguments such as {example}. " if example else ""
        return replace(result, output=f"{result.output}\n\n{_NOTE.format(example=shown)}")


def _make_key(call: ToolCall, result: ToolResultMessage) -> _Key:
    """What makes a call and its result the same as another: a path in another spelling, or an empty argument
    more, changes neither."""
    meant = {
        name: posixpath.normpath(value) if name in _PATHS and isinstance(value, str) else value
        for name, value in call.arguments.items()
        if value not in _NOTHING_SAID
    }
    asked = json.dumps(meant, sort_keys=True, default=str)
    return call.tool_name, f"{asked}{call.parse_error or ''}", result.output


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
        limits: AgentTable,
        get_scope: Callable[[], RequestedScope],
        instructions: ProjectInstructions | None = None,
        diagnostics: TurnDiagnostics | None = None,
        is_job_running: Callable[[], bool] = lambda: False,
        checks: CheckRunner | None = None,
    ) -> None:
        self._checks = checks
        self._dialogue = dialogue
        self._runtime = runtime
        self._hooks = hooks
        self._limits = limits
        self._get_scope = get_scope
        self._instructions = instructions
        self._diagnostics = diagnostics
        self.find_answer_problem: Callable[[str], str] = lambda _answer: ""
        """Says what is wrong with the final answer of a turn; empty where nothing is."""
        self.note_files: Callable[[], Awaitable[None]] = _note_nothing
        """Is awaited after a batch that may have changed files."""
        self._told_of: CallLeaked | None = None
        self._repeats = RepeatedCalls(runtime.give_example, runtime.get_risk, is_job_running)

    async def run(self, response: LlmResponse | None, tally: RunTally, tool_turns: int) -> None:
        """Continue from this answer until the turn is over; None: it is. `tool_turns` batches ran before."""
        continuations = 0
        is_asked_again = False
        self._told_of = None
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
                case StopKind.PAUSE if continuations < _MOST_CONTINUATIONS:
                    continuations += 1
                    response = await self._dialogue.say(None, tally)
                case StopKind.MAX_TOKENS if await self._may_continue(response, continuations):
                    continuations += 1
                    response = await self._dialogue.say(CONTINUE_CUT_OFF, tally, continues=True)
                case StopKind.MAX_TOKENS | StopKind.PAUSE:
                    tally.limit(str(response.stop_reason))
                    return
                case StopKind.REFUSAL:
                    tally.refuse()
                    return
                case StopKind.END_TURN | StopKind.TOOL_USE | StopKind.OTHER if lack := self._find_lack(
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
                    more = await end.ask_for_more() or end.send_back(self.find_answer_problem(tally.text))
                    more = more or await self.run_checks(tally)
                    response = await self._dialogue.say(more, tally) if more is not None else None
        self._mark_claims(tally, tool_turns)

    def _mark_claims(self, tally: RunTally, tool_turns: int) -> None:
        """Fail a turn whose only call was text: a model whose calls are not read says that it made them."""
        if self._told_of is not None and not tool_turns and not tally.is_cut_short:
            tally.give_up(self._told_of.reason)

    async def run_checks(self, tally: RunTally) -> str | None:
        """Run the checks of the goal, if one is open; what the model is to read where it is to go on."""
        return await self._checks.check(tally) if self._checks is not None else None

    async def _reply_to_leaked_call(self, leaked: CallLeaked, tally: RunTally) -> LlmResponse | None:
        """Tell the model, once in a turn, that its call was text; the second time, the turn has failed."""
        if self._told_of is not None:
            tally.give_up(leaked.reason)
            return None
        self._told_of = leaked
        return await self._dialogue.say(self._dialogue.reply_to_leaked_call(leaked), tally)

    def _find_lack(self, response: LlmResponse, tally: RunTally) -> str | None:
        """What an answer lacks to be one. Where it continues another, the words of that are its own."""
        continues = tally.has_words and not response.has_words
        if continues and response.stop_reason.kind is not StopKind.TOOL_USE:
            return None
        return response.lack or (CLAIMED if self._dialogue.is_claim(response) else None)

    async def _may_continue(self, response: LlmResponse, continuations: int) -> bool:
        if continuations >= _MOST_CONTINUATIONS or response.holds_calls:
            return False
        return await self._dialogue.has_room_for(CONTINUE_CUT_OFF)

    async def run_batch(self, batch: ToolBatch, tally: RunTally) -> LlmResponse | None:
        """Run the calls and send their results. None when the turn ends with them instead."""
        result = await self._runtime.run(batch)
        calls = [call for _, call in batch.calls]
        if any(self._runtime.get_risk(call.tool_name) is RiskLevel.HIGH for call in calls):
            await self.note_files()
        tally.add_calls(result.records, calls)
        results, repeated = self._repeats.note(calls, result.results)
        if result.aborted is not None:
            tally.give_up(result.aborted, is_of_host=result.is_record_lost)
        elif result.interrupted:
            tally.interrupt()
        elif tally.rejected_alike >= _MOST_REJECTIONS_ALIKE:
            tally.give_up("the same call was rejected three times")
        elif repeated:
            tally.give_up(
                f"the model repeats a call of {repeated} and gets the same result each time; "
                "say what it should do differently"
            )
        elif not tally.waits_for_person:
            if self._instructions is not None:
                await self._instructions.look_below()
            return await self._dialogue.give(results, tally)
        await self._dialogue.add(ToolResults(results))
        return None

    async def run_call(
        self, said: UserMessage, call: ToolUseBlock, conclude: Callable[[Outcome, str], str], tally: RunTally
    ) -> None:
        """Run one call that no model made, as one that a model made. What `conclude` makes of its outcome and
        output is the answer to it."""
        response = await self._dialogue.call(said, [call])
        tally.add_response(response, None, continues=False)
        calls = response.tool_calls()
        batch = build_batch(calls, turn_index=self._dialogue.responses - 1, scope=self._get_scope())
        result = await self._runtime.run(batch)
        tally.add_calls(result.records, calls)
        if result.aborted is not None:
            tally.give_up(result.aborted, is_of_host=result.is_record_lost)
        elif result.interrupted:
            tally.interrupt()
        (record,), (message,) = result.records, result.results
        text = conclude(record.outcome, extract_text(message.output))
        answer = await self._dialogue.conclude_call(result.results, text)
        tally.add_response(answer, None, continues=False)

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
            tally.give_up(result.aborted, is_of_host=result.is_record_lost)
        if result.interrupted:
            tally.interrupt()
        return result
