"""One call on its way through the runtime: wait, decide, seal, ask, run, and end exactly once."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from copy import deepcopy

from msgspec import UNSET

from quorum.application.calls.approval import Approval, AskedBefore, Granted, Interrupted, Withheld
from quorum.application.calls.batch_state import BatchState, hold_to_access
from quorum.application.calls.effect_receipt import EffectReceipt
from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.hooks import CallDraft
from quorum.application.calls.tool_set import GuardedTool
from quorum.application.cancellation import run_off_loop
from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.effects import is_same
from quorum.domain.calls.execution import (
    INTERRUPTED,
    Outcome,
    Seal,
    ToolExecution,
    ToolExecutionContext,
    ToolStatus,
)
from quorum.domain.calls.hook_points import Ask, Skip
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.run_state import Modifier, SeenFile, apply_modifiers
from quorum.domain.calls.server_tools import OfferedTools
from quorum.domain.calls.summary import extract_exit_code, extract_styles, extract_text
from quorum.domain.calls.tool import RiskLevel, ToolCall, ToolDefinition
from quorum.domain.errors import LedgerError, LostConnection, StaleSeal, ToolError, explain_host_failure
from quorum.domain.events.event import CallFinished, CallProgressed, CallQueued, CallStarted, ReviewDecided
from quorum.domain.events.report import CallRecord
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Tally
from quorum.domain.review.decision import Decision
from quorum.domain.review.permission_rules import Answer, Subject
from quorum.domain.review.plain_request import PlainRequest
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.review.quorum_result import QuorumConcluded
from quorum.domain.sessions.state import CallEnd
from quorum.domain.shell.command_line import ShellVerdict
from quorum.domain.shell.network_hosts import AskedHost
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import Printed, ToolOutput, shift_styles

# How often a call that nobody is asked about is looked at anew when its files keep changing under it.
MAX_STALE_SEALS = 3
_STILL_OPEN = "a process before this one asked about it, and nobody has answered"


class DeclaredCall:
    """One call of a batch: its arguments as they stand, what they would touch, and how it is sealed.

    `arguments` may be changed by hooks and by the person; `invalid` tells that it will not run, whatever
    is decided. `decided` is the access that the last decision was about: what is approved reaches these paths,
    wherever its arguments lead by then.
    """

    def __init__(
        self, *, context: ToolExecutionContext, call: ToolCall, tool: GuardedTool | None, state: BatchState
    ) -> None:
        self.context = context
        self.arguments = call.arguments
        self.repairs = call.repairs
        self.invalid = False
        self.access = EXCLUSIVE
        self.decided = EXCLUSIVE
        self.execution = ToolExecution(context=context, call=call)
        self.seal: Seal | None = None
        self._packet: tuple[JsonObject, Seal | None, ReviewPacket] | None = None
        self._unsealed: str | None = None
        self.quorum_results: list[QuorumConcluded] = []
        self._tool = tool
        self._state = state
        self._shell: ShellVerdict | None = None
        self._hook_asks = ""
        self._own_files: frozenset[str] = frozenset()

    @property
    def risk(self) -> RiskLevel:
        """The tool's risk; HIGH for a tool that does not exist or was not offered."""
        return self._tool.definition.risk if self._tool else RiskLevel.HIGH

    @property
    def definition(self) -> ToolDefinition | None:
        """The tool's definition; None for a tool that does not exist or was not offered."""
        return self._tool.definition if self._tool else None

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths it declares to touch."""
        return _list_paths(self.access)

    async def _determine_paths(self, arguments: JsonObject) -> tuple[str, ...]:
        return _list_paths(await self._determine_access(arguments))

    async def _determine_access(self, arguments: JsonObject) -> Access:
        if (tool := self._tool) is None:
            return EXCLUSIVE
        return await run_off_loop(lambda: tool.definition.determine_access(arguments), arguments)

    async def derive_access(self) -> None:
        """Find out what the call would touch. Until then it counts as touching everything."""
        self.access = await self._determine_access(self.arguments)
        self.execution.is_concurrency_safe = self.access.is_concurrency_safe

    @property
    def subject(self) -> Subject:
        return Subject(
            tool=self.execution.name,
            risk=self.risk,
            access=self.access,
            arguments=self.arguments,
            command=self._tool.find_command(self.arguments) if self._tool else None,
            shell=self._shell,
            diff=self.seal.diff if self.seal is not None else None,
            hook_asks=self._hook_asks,
            own_files=self._own_files,
        )

    async def refresh_access(self) -> None:
        if self._tool and not self.invalid and self.execution.status is ToolStatus.QUEUED:
            self.access = await self._determine_access(self.arguments)

    async def look_again(self, error: StaleSeal, stale: int, *, is_asked: bool = False) -> int:
        """Find out anew what the call would touch, and count how often that was not what was decided about.

        Raises the error where that was too often and no person is asked in between.
        """
        if not is_asked and stale + 1 >= MAX_STALE_SEALS:
            raise error
        await self.derive_access()
        # An answer to the question before is none to the next, which is about other paths.
        self._packet, self._unsealed = None, f"by now it leads to {', '.join(self.paths)}"
        return stale + 1

    async def inspect_command(self) -> None:
        self._shell = await self._tool.judge(self.arguments) if self._tool else None

    async def decide(self, votes: Tally | None = None) -> Decision:
        self.decided, self._own_files = self.access, frozenset()
        review, request = self._state.review, PlainRequest(self._state.scope.typed)
        decision = await review.decide_off_loop(self.subject, votes, request)
        if decision.is_objected_to:
            self._own_files = await self._find_own_files()
            if self._own_files:
                decision = await review.decide_off_loop(self.subject, votes, request)
        return decision

    async def _find_own_files(self) -> frozenset[str]:
        """The files which the command may name that the session made, and that hold what it wrote."""
        command, keeper = self.subject.command, self._state.keeper
        if command is None or keeper is None:
            return frozenset()
        own = self._state.events.own_files
        named = {path: state for path, state in own.items() if path.rpartition("/")[2] in command}
        if not named or len(named) > _MOST_OWN_FILES:
            return frozenset()
        try:
            kept = await keeper.keep(tuple(named))
        except LostConnection:
            raise
        except LedgerError:  # then they are asked about as any others
            return frozenset()
        return frozenset(path for path, state in named.items() if is_same(kept.states.get(path), state))

    async def compute_seal(self, projected: Mapping[str, bytes]) -> Seal | None:
        if self._tool is None:
            return None
        with hold_to_access(self.access):
            return await self._tool.seal(self.arguments, projected)

    async def get_packet(self) -> ReviewPacket:
        known = self._packet
        if known is None or known[0] is not self.arguments or known[1] is not self.seal:
            self._packet = known = (self.arguments, self.seal, await self.build_packet(self.seal))
        return known[2]

    async def build_packet(self, seal: Seal | None) -> ReviewPacket:
        # whoever decides sees what would run, and none of the model's own words for it
        call = replace(self.execution.call, arguments=self.arguments, reasoning=None, parse_error=None)
        packet = ReviewPacket(
            call=call,
            context=self.context,
            seal=seal or Seal(cwd=self._state.cwd, unsealed=self._unsealed),
            asked_by=self._state.asked_by,
        )
        await run_off_loop(lambda: packet.digest, packet)
        return packet

    async def find_problems(self, arguments: JsonObject) -> tuple[str, ...]:
        assert self._tool is not None
        schema, definition = self._state.schema, self._tool.definition
        return await run_off_loop(lambda: schema.find_problems(definition, arguments), arguments)

    async def repair_arguments(self) -> None:
        """Read arguments whose meaning is plain in the form that the tool asks for; keep what changed."""
        call, tool, schema = self.execution.call, self._tool, self._state.schema
        if tool is None or call.parse_error:
            return
        definition = tool.definition
        self.arguments, repairs = await run_off_loop(
            lambda: schema.repair(definition, call.arguments), call.arguments
        )
        self.repairs = (*call.repairs, *repairs)

    async def find_problem(self, offered: OfferedTools) -> str | None:
        """Why the call as the model made it cannot run at all; None where it can."""
        call = self.execution.call
        if self._tool is None:
            return offered.explain_absence(call.tool_name)
        if call.parse_error:
            problem = f"the arguments of {call.tool_name} could not be read: {call.parse_error}"
        elif problems := await self.find_problems(self.arguments):
            problem = f"bad arguments for {call.tool_name}: {'; '.join(problems)}"
        else:
            return None
        example = self._state.schema.give_example(self._tool.definition, call.arguments)
        return f"{problem}; for example: {example}"


_MOST_OWN_FILES = 50


def _list_paths(access: Access) -> tuple[str, ...]:
    return tuple(sorted(access.reads | access.writes))


_log = logging.getLogger(__name__)

# A call that waits for many brings its list up to date only when so few are left: nobody reads longer ones.
TOLD_PREDECESSORS = 8


class CallRun(DeclaredCall):
    """Drives one `ToolExecution`. It is also the controls its tool sees: progress, cancellation, seal."""

    def __init__(
        self,
        *,
        context: ToolExecutionContext,
        call: ToolCall,
        tool: GuardedTool | None,
        state: BatchState,
        asked_before: AskedBefore | None = None,
    ) -> None:
        super().__init__(context=context, call=call, tool=tool, state=state)
        self.ended = self.adopted = False
        self._asked_before = asked_before
        self._hook_asks = asked_before.hook_asks if asked_before is not None else ""
        self.waits_for: set[int] = set()
        self.turn = asyncio.Event()
        self.cancelled = self._waiting = False
        self.state = state.shared
        self.output: str | ToolOutput = ""
        self._label = DecisionLabel.NONE
        self.reply: str | None = None
        self._refusal: tuple[Outcome, str] | None = None
        self._started_at: float | None = None
        self._asked_hosts: dict[AskedHost, None] = {}
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()

    @property
    def record(self) -> CallRecord:
        """What became of the call. Only after its end."""
        assert self.execution.outcome is not None
        return CallRecord(
            context=self.context,
            tool=self.execution.name,
            outcome=self.execution.outcome,
            decision=self._label,
            quorum_results=tuple(self.quorum_results),
        )

    @property
    def has_succeeded(self) -> bool:
        """Whether it ran in this process, and without an error."""
        return not self.adopted and self.execution.outcome is Outcome.OK

    @property
    def was_asked(self) -> bool:
        return self._label in (DecisionLabel.APPROVED, DecisionLabel.EDITED)

    def report(self, shown: str | Printed) -> None:
        """Show progress; from any thread. Raises TypeError for what is not text."""
        if not isinstance(shown, str | Printed):
            raise TypeError(f"report takes a text, not {type(shown).__name__}")
        printed = Printed(shown) if isinstance(shown, str) else shown
        if threading.get_ident() == self._loop_thread:
            self._report_progress(printed)
        else:
            self._loop.call_soon_threadsafe(self._report_progress, printed)

    def modify(self, modifier: Modifier) -> None:
        """Queue a change of the shared state. Raises TypeError for what cannot be called."""
        if not callable(modifier):
            raise TypeError(f"modify takes a function of the state, not {type(modifier).__name__}")
        self.execution.modifiers.append(modifier)

    def note_seen(self, file: SeenFile) -> None:
        """Note what the result shows of a file; from any thread."""
        self.execution.seen.append(file)

    def note_host(self, host: AskedHost) -> None:
        """Note a host that the call asked for."""
        self._asked_hosts[host] = None

    # ---------------------------------------------------------------- its way

    async def refuse_if_invalid(self, offered: OfferedTools) -> None:
        """Settle that the call becomes an error if its tool was not offered or its arguments do not fit."""
        if problem := await self.find_problem(offered):
            self._refuse(Outcome.ERROR, problem)

    def adopt(self, end: CallEnd) -> None:
        """Take over the end that the call had in a process before this one; it stays as it is."""
        self.invalid = self.ended = self.adopted = True
        if end.outcome is Outcome.OK:
            self.execution.start()
        self.execution.complete(end.outcome, end.message, end.seen)
        self.output = end.message

    async def pass_hooks(self, hooks: HookChain) -> None:
        """Let the hooks before a call see it, change its arguments, skip it or have the person asked. Raises
        HookAborted.

        They are asked about calls that cannot run too; arguments that they put in place of bad ones are used.
        """
        draft = CallDraft(
            context=self.context,
            tool=self.execution.name,
            risk=self.risk,
            arguments=await run_off_loop(lambda: deepcopy(dict(self.arguments)), self.arguments),
            paths=self.paths,
        )
        answer = await hooks.before_tool_call(draft, self._determine_paths)
        if isinstance(answer, Skip):
            self._refuse(Outcome.SKIPPED, f"skipped by a hook: {answer.reason}. It was not run.")
            return
        if isinstance(answer, Ask):
            self._hook_asks = answer.reason
        if self._tool is None:
            return
        if await run_off_loop(lambda: draft.arguments != self.arguments, draft.arguments):
            # A copy, out of reach of the hook: what is reviewed is what runs.
            await self._take_over(await run_off_loop(lambda: deepcopy(draft.arguments), draft.arguments))

    async def _take_over(self, arguments: JsonObject) -> None:
        """Put the arguments of a hook in place of the model's, if they fit the tool."""
        if problems := await self.find_problems(arguments):
            message = f"a hook changed the arguments, and they do not fit: {'; '.join(problems)}"
            self._refuse(Outcome.ERROR, message)
            return
        self.invalid, self._refusal = False, None
        self.arguments, self.repairs = arguments, ()
        await self.refresh_access()

    def _refuse(self, outcome: Outcome, message: str) -> None:
        self.invalid = True
        self._refusal = (outcome, message)

    async def run(self) -> None:
        """Bring the call to its end. Raises Interrupted when the person stops the turn from the dialog, and
        LostConnection: an outage is no fault of the call's, and what cannot be recorded does not continue."""
        if self.adopted:
            return
        if self._refusal is not None:
            await self._end(*self._refusal)
            return
        try:
            await self._wait_for_predecessors()
            await self._decide_and_execute()
        except asyncio.CancelledError:
            self.cancelled = True
            await self.close_if_open()
        except Interrupted as stop:
            await self._withhold(stop.withheld.label, stop.withheld.message)
            raise
        except ToolError as error:
            await self._end(Outcome.ERROR, error.output or str(error))
        except LostConnection:
            self.cancelled = True  # whoever ends the batch says so
            raise
        except LedgerError as error:
            await self._end(Outcome.ERROR, f"not run: {error}")
        except OSError as error:
            await self._end(Outcome.ERROR, f"{self.execution.name} failed: {error.strerror or error}")
        except Exception as error:  # noqa: BLE001 - a crashing tool must not take its siblings with it
            if why := explain_host_failure(error):
                await self._end(Outcome.ERROR, f"{self.execution.name} failed: {why}")
                return
            _log.error("tool %s crashed", self.execution.name, exc_info=error)
            message = f"{self.execution.name} crashed: {type(error).__name__}: {error}"
            await self._end(Outcome.ERROR, message)

    async def close_if_open(self, message: str = INTERRUPTED) -> None:
        """End a call that was cut short: cancelled if it ran, not run if it did not."""
        match self.execution.status:
            case ToolStatus.QUEUED:
                await self._end(*(self._refusal or (Outcome.NOT_RUN, message)))
            case ToolStatus.EXECUTING if self.cancelled:
                cut_short = "interrupted while it ran; part of its work may be done"
                await self._end(Outcome.CANCELLED, self._add_shown(cut_short))
            case ToolStatus.EXECUTING:
                self.cancelled = True
                unknown = "it did not stop when interrupted; its effect is unknown"
                await self._end(Outcome.UNKNOWN, self._add_shown(unknown))
            case ToolStatus.COMPLETED | ToolStatus.YIELDED:
                return

    def _add_shown(self, message: str) -> str:
        """The message with what the call showed last, which is in no other event."""
        shown = self.execution.progress[-1].strip("\n") if self.execution.progress else ""
        return f"{message}. Until then it had shown:\n{shown}" if shown else message

    async def _wait_for_predecessors(self) -> None:
        self._waiting = True
        try:
            self.update_turn()
            while self.waits_for:
                await self.turn.wait()
        finally:
            self._waiting = False
            self.execution.waiting_for = None

    def update_turn(self) -> None:
        if not self.waits_for:
            self.turn.set()
            return
        self.turn.clear()
        if not self._waiting:
            return
        if self.execution.waiting_for is None or len(self.waits_for) <= TOLD_PREDECESSORS:
            waiting_for = tuple(sorted(self.waits_for))
            self.execution.waiting_for = waiting_for
            self._state.events.show(CallQueued(context=self.context, waiting_for=waiting_for))

    async def _decide_and_execute(self) -> None:
        is_edited = self._asked_before is not None and self._asked_before.is_edited
        approval = Approval(self, self._state, is_edited=is_edited)
        is_open = self._asked_before is not None
        stale = 0
        while True:
            await self.inspect_command()
            await self._state.review.note(self.subject)
            mode = self._state.review.mode
            decision = await self.decide()
            if decision.answer is Answer.DENY:
                await self._record_settlement(decision, DecisionLabel.DENIED)
                message = f"denied: {'; '.join(decision.reasons)}. It was not run. [{_encode_denial(decision)}]"
                await self._withhold(DecisionLabel.DENIED, message)
                return
            try:
                self.seal = await self.compute_seal({})
            except StaleSeal as error:
                stale = await self.look_again(error, stale)
                continue
            if self.seal is not None and self.seal.diff:
                decision = await self.decide()  # by now it is known what the files hold
                if decision.answer is Answer.DENY:
                    continue
            if decision.by_mode and decision.answer is Answer.ASK:
                await self._state.review.offer_sandboxed(
                    self.subject, self.context.call_index, approval.show_asking
                )
            if decision.by_mode and self._state.review.mode is not mode:
                is_open = False  # chosen here, with the call in sight, or stricter than what let it run
                continue  # the seal may guarantee less than the decision assumed, such as no network
            decision = _keep_open(decision) if is_open else decision
            await approval.judge_plan(decision)
            if decision.answer is Answer.ALLOW:
                await self._record_settlement(decision, DecisionLabel.ALLOWED)
                self._label = DecisionLabel.ALLOWED
            else:
                match await approval.obtain(decision, stale=stale > 0 or await self._has_changed_since_asked()):
                    case Granted(label, reply):
                        self._label, self.reply = label, reply
                    case Withheld(label, message):
                        await self._withhold(label, message)
                        return
            try:
                output = await self._execute(unasked=decision.by_mode and self._label is DecisionLabel.ALLOWED)
            except StaleSeal as error:
                stale = await self.look_again(error, stale, is_asked=decision.answer is not Answer.ALLOW)
                continue
            self._try_modifiers(output)
            await self._end(Outcome.OK, await self._append_edit_note(output))
            return

    async def _has_changed_since_asked(self) -> bool:
        """Whether a process before this one asked about other bytes than these."""
        before = self._asked_before
        return before is not None and before.digest != (await self.get_packet()).digest

    async def _record_settlement(self, decision: Decision, label: DecisionLabel) -> None:
        """Put on the record what settled a risky call without a question, unless it was the mode alone."""
        if self.risk is RiskLevel.HIGH and not decision.by_mode:
            digest, reason = (await self.get_packet()).digest, "; ".join(decision.reasons)
            decided = ReviewDecided(context=self.context, digest=digest, decision=label, reason=reason)
            self._state.events.note(decided)  # the start of the call waits for it

    async def _withhold(self, label: DecisionLabel, message: str) -> None:
        self._label = label
        await self._end(Outcome.REJECTED, message)

    async def _execute(self, *, unasked: bool) -> str | ToolOutput:
        """`unasked`: the mode alone lets it run, so that it may be one of the sample."""
        assert self._tool is not None
        self.state = self._state.get_state(self)
        async with self._open_receipt():
            await self._announce_start()
            if unasked:
                await self._state.review.sample(self.subject, self.context)
            with hold_to_access(self.decided):
                return await self._run_within_its_time(self._tool)

    def _try_modifiers(self, output: str | ToolOutput) -> None:
        """Find out whether what the call queued can be done to the state. Raises ToolError where it cannot."""
        try:
            apply_modifiers(self._state.get_state(self), self.execution.modifiers)
        except ToolError as error:
            raise ToolError(self._explain_state_trouble(error, output)) from error

    def _explain_state_trouble(self, error: ToolError, output: str | ToolOutput) -> str:
        """What the model reads of a call that ran, and whose change of the shared state could not be made."""
        message = f"{self.execution.name} ran, but its change of the shared state failed: {error}"
        said = extract_text(output)
        return f"{message}\nIt returned:\n{said}" if said else message

    def fail_afterwards(self, error: ToolError) -> None:
        """Turn its end into an error: its change of the state, beside those of its siblings, cannot be made."""
        self.output = self._explain_state_trouble(error, self.output)
        self.execution.fail(extract_text(self.output))

    async def _announce_start(self) -> None:
        started = CallStarted(
            context=self.context,
            tool=self.execution.name,
            arguments=self.arguments,
            diff=self.seal.diff if self.seal else None,
        )
        await self._state.events.announce(started, urgent=self.risk is RiskLevel.HIGH)
        if self.execution.status is ToolStatus.QUEUED:  # it has begun before where its seal was stale
            self.execution.start()
        self._started_at = time.monotonic()

    async def _learn_secrets(self) -> None:
        if (finder := self._state.secrets) is not None:
            for path in filter(self._state.review.is_sensitive, self.paths):
                await asyncio.to_thread(finder.learn_if_sensitive, path)

    async def _run_within_its_time(self, tool: GuardedTool) -> str | ToolOutput:
        limit = tool.definition.timeout_secs
        try:
            async with asyncio.timeout(limit) as timer:
                output = await tool.execute(self.arguments, self.context.with_controls(self))
            await self._learn_secrets()  # before anybody else sees the output
            return output
        except TimeoutError as error:
            if not timer.expired():
                raise
            raise ToolError(f"{self.execution.name} timed out after {limit:g} s") from error

    def _open_receipt(self) -> AbstractAsyncContextManager[None]:
        """Around an execution that may change something: keeps the files, and tells which were changed."""
        if self.risk is RiskLevel.LOW or self._state.keeper is None:
            return nullcontext()
        return EffectReceipt(
            self.context,
            self.access,
            self._state.keeper,
            self._state.events,
            self._state.one_session,
            opened=self.seal.opened if self.seal else (),
            with_call=True,
        )

    async def _end(self, outcome: Outcome, output: str | ToolOutput) -> None:
        if self.ended:  # given up as unknown, it came back after all: the one result stands
            return
        self.output = output
        self.execution.complete(outcome, extract_text(output))
        self.ended = True
        if self.access.exclusive and not self.invalid:
            await self._state.plan_again()
        else:
            self._state.settle(self)
        self._state.events.note(
            CallFinished(
                context=self.context,
                tool=self.execution.name,
                outcome=outcome,
                decision=self._label,
                output=extract_text(output),
                styles=extract_styles(output),
                duration_secs=time.monotonic() - self._started_at if self._started_at else 0.0,
                seen=tuple(self.execution.seen) if outcome is Outcome.OK else (),
                hosts=tuple(self._asked_hosts) or UNSET,
            )
        )

    # ---------------------------------------------------------------- what an approval asks of it

    async def change_arguments(self, arguments: JsonObject) -> None:
        assert self._tool is not None
        self.arguments = arguments
        self.access = await self._determine_access(arguments)
        self._state.plan()
        await self._wait_for_predecessors()
        await self.inspect_command()
        self.seal = await self.compute_seal({})

    def _report_progress(self, printed: Printed) -> None:
        if self.execution.status is ToolStatus.EXECUTING:
            self.execution.progress.append(printed.text)
            progress = CallProgressed(context=self.context, text=printed.text, styles=printed.styles)
            self._state.events.show(progress)

    async def _append_edit_note(self, output: str | ToolOutput) -> str | ToolOutput:
        if self._label is not DecisionLabel.EDITED:
            return output
        changed = await run_off_loop(lambda: json.dumps(self.arguments, ensure_ascii=False), self.arguments)
        note = f"[the user edited this call before it ran; its arguments were {changed}]\n"
        styles = shift_styles(extract_styles(output), len(note))
        return Printed(note + extract_text(output), styles, extract_exit_code(output))


def _keep_open(decision: Decision) -> Decision:
    """A question that was open is asked again, whatever mode this process began in."""
    if decision.answer is not Answer.ALLOW:
        return decision
    return Decision(answer=Answer.ASK, reasons=(_STILL_OPEN,), spoke=("note",))


def _encode_denial(decision: Decision) -> str:
    return "rule_denied" if any(spoke.startswith("rule ") for spoke in decision.spoke) else "mode_denied"
