"""A prompt for an agent of another vendor: what it asks for is reviewed, what it does is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from quorum.application.agents.told_answer import ToldAnswer
from quorum.application.call_gate import begin_caller_session
from quorum.application.calls.tool_runtime import BatchResult, ToolRuntime, build_batch
from quorum.application.cancellation import absorb_cancellation, run_shielded, run_to_end
from quorum.application.event_bus import EventBus
from quorum.application.identifiers import generate_id
from quorum.application.ports.agents import (
    Agent,
    AgentEnd,
    AgentOffers,
    AgentTerms,
    AgentUpdate,
    ClientCommands,
    ClientFiles,
    ReportedCall,
    StartedCommand,
    TerminalRequest,
    TerminalState,
)
from quorum.application.ports.tools import Tool
from quorum.application.ports.workspace import FileKeeper
from quorum.application.review.review import Review
from quorum.application.turn.run_tally import RunTally
from quorum.domain.calls.effects import Effects, FileChange, FileState, KeptFiles
from quorum.domain.calls.execution import ToolExecution, ToolExecutionContext
from quorum.domain.calls.packet import ProposedCall
from quorum.domain.calls.summary import extract_text
from quorum.domain.calls.tool_traits import CallEffect
from quorum.domain.conversation.history import ToolResults, UserMessage
from quorum.domain.conversation.response import (
    END_TURN,
    TOOL_USE,
    Delta,
    StopKind,
    StopReason,
    StreamedReasoning,
    ToolUseBlock,
)
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import LedgerError, ProviderError, ProviderErrorKind, ToolError
from quorum.domain.events.agents import (
    AgentConnected,
    AgentModeChanged,
    AgentPlanUpdated,
    UnaskedCallReported,
    UnaskedChangesFound,
)
from quorum.domain.events.event import (
    ErrorOccurred,
    MessageAdded,
    NoticeGiven,
    SessionFinished,
    TurnFinished,
    TurnStarted,
)
from quorum.domain.events.report import MAX_TOOL_TURNS, RunReport
from quorum.domain.replacing import replace
from quorum.domain.review.requested_scope import RequestedScope
from quorum.domain.shell.git_commands import changes_repository
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import ToolOutput


class AllowedEffects(Struct, frozen=True, kw_only=True):
    """What a call was allowed to do: to give the files at the paths of `contents` that content, or to run a
    command. `context` is that of the call; `require_unchanged` raises ToolError where the call would touch
    something else by now."""

    contents: Mapping[str, bytes]
    context: ToolExecutionContext
    require_unchanged: Callable[[], Awaitable[None]]


Perform: TypeAlias = Callable[[AllowedEffects], Awaitable[str | ToolOutput]]
"""Has an allowed call done, and answers its output. Raises ToolError."""

_NOT_CONTINUED = frozenset({ProviderErrorKind.CONFIGURATION, ProviderErrorKind.BAD_REQUEST})
_NOT_STOPPED = "the agent did not stop when it was told to, and was ended; the next prompt starts it again"
_ENDING_SECS = 5.0  # that a cancelled agent has to end its answer in
_MOST_REJECTIONS = 3
_PROMPTS_TOLD = 3
_NOT_WAITED_FOR = "allowed; how it ended is not known: the agent asked about the next call meanwhile"
_NO_END = "allowed; the agent's answer ended before it said how the call did"

_BuildTool: TypeAlias = Callable[[], Awaitable[Tool]]


class _Terminal(Struct, frozen=True):
    command: StartedCommand
    most_bytes: int

    def read(self) -> TerminalState:
        return self.command.read(self.most_bytes)


class CallerTools(Protocol):
    """What stands for the calls of the agent."""

    def read(self, call: ReportedCall) -> ProposedCall:
        """The call in our own terms; what is not understood of it has effects that are not known."""
        ...

    async def build(self, call: ProposedCall, perform: Perform) -> Tool:
        """The tool that stands for the call; once all is decided and unchanged, it has it done."""
        ...


async def _give(tool: Tool) -> Tool:
    return tool


class _AllowedCall:
    """A call that the agent was allowed to make, until the agent says how it ended. `command` is what it may
    run, once: empty where it is no command, and from then on."""

    def __init__(self, effects: AllowedEffects, call: ProposedCall) -> None:
        self.effects, self.approved = effects, effects.contents
        is_command = call.effect is CallEffect.COMMAND
        self.command = str(call.arguments.get("command", "")) if is_command else ""
        self.cwd = call.cwd
        self.running: asyncio.Task[str | ToolOutput] | None = None
        self.end: asyncio.Future[ReportedCall | None] = asyncio.get_running_loop().create_future()

    def settle(self, call: ReportedCall | None) -> None:
        """It ended so; None: that is not waited for any more."""
        if not self.end.done():
            self.end.set_result(call)

    async def collect_output(self) -> str | ToolOutput:
        """What came of a command that ran for it here; empty where none did. Raises what that raises."""
        if self.running is None:
            return ""
        await asyncio.wait({self.running})
        return self.running.result()


class _KnownChanges:
    """Implements `FileKeeper` over another, and remembers the changes of calls and those that were told."""

    def __init__(self, keeper: FileKeeper) -> None:
        self._keeper = keeper
        self.keep, self.keep_ahead, self.load = keeper.keep, keeper.keep_ahead, keeper.load
        self._known: dict[str, FileState | None] = {}

    async def find_changes(self, kept: KeptFiles, declared: frozenset[str]) -> Effects:
        """As the other does."""
        effects = await self._keeper.find_changes(kept, declared)
        self.note(effects)
        return effects

    def note(self, effects: Effects) -> None:
        """Remember these."""
        self._known.update((change.path, change.after) for change in effects.changes)

    def explains(self, change: FileChange) -> bool:
        """Whether the file is as it was left by a change that is remembered."""
        return change.path in self._known and self._known[change.path] == change.after


class AgentRun:
    """One session with an agent: what drives it, and what the agent reaches of it.

    `start` gives the agent that works; the runtime treats its calls, one after the other, as those of a model.
    `caller` names the agent in the record. `begin_turn` is called before each prompt.
    """

    def __init__(  # noqa: PLR0913 - what a session is made of meets here
        self,
        *,
        session_id: str,
        caller: str,
        cwd: str,
        review: Review,
        events: EventBus,
        keeper: FileKeeper,
        start: Callable[[AgentRun], Agent],
        tools: CallerTools,
        files: ClientFiles,
        commands: ClientCommands,
        build_runtime: Callable[[Tool, FileKeeper], ToolRuntime],
        begin_turn: Callable[[], None],
        max_calls: int,
    ) -> None:
        self.session_id, self._caller, self._cwd = session_id, caller, cwd
        self._review, self._events, self._keeper = review, events, keeper
        self._tools, self._client_files, self._commands = tools, files, commands
        self._terminals: dict[str, _Terminal] = {}
        self._build_runtime, self._begin_turn, self._max_calls = build_runtime, begin_turn, max_calls
        self._agent: Agent = start(self)
        self._terms, self._connecting = AgentTerms(), asyncio.Lock()
        self._unsent: list[str] = []
        self._runtime: ToolRuntime | None = None
        self._one_call = asyncio.Lock()
        self._tasks: dict[asyncio.Task[None], asyncio.Future[str]] = {}
        self._allowed: dict[str, _AllowedCall] = {}
        self._begin()
        self._is_over = True

    def _begin(self) -> None:
        """Forget the prompt before."""
        self._tally = RunTally(self.session_id)
        self._told = ToldAnswer(self._caller, self._events, self._tally)
        self._asked: set[str] = set()
        self._reported: dict[str, ReportedCall] = {}
        self._served: set[str] = set()
        self._files = _KnownChanges(self._keeper)
        self._seen = KeptFiles(roots=())
        self._waiting = self._calls = 0
        self._is_unclear = self._is_stopping = self._is_over = False
        self._lost: LedgerError | None = None

    # ---------------------------------------------------------------- what a front end asks

    async def open(self, terms: AgentTerms) -> AgentConnected:
        """Begin the session, or continue it. Raises LedgerError and ProviderError."""
        self._terms = terms
        connected = await self._agent.open(terms)
        await self.begin_session()
        await self._note_connected(connected)
        return connected

    async def connect(self, terms: AgentTerms | None = None) -> None:
        """Have the agent be there, also after its end: with its session where it can continue that, else with a
        new one, which is told. `terms` are those of the first time. Raises LedgerError and ProviderError."""
        async with self._connecting:
            if self._agent.is_open:
                return
            self._terms = terms or self._terms
            try:
                connected = await self._agent.open(self._terms)
            except ProviderError as error:
                if not self._terms.session or error.kind not in _NOT_CONTINUED:
                    raise
                self._events.note(NoticeGiven(message=f"{error}; a new one begins, which knows nothing of it"))
                connected = await self._agent.open(replace(self._terms, session=""))
            await self._note_connected(connected)

    async def _note_connected(self, connected: AgentConnected) -> None:
        for told in self._terms.describe_lost(connected):
            self._events.note(ErrorOccurred(message=told))
        self._connected = connected
        self._terms = replace(self._terms.continuing(connected), is_remembered=True)
        await self._events.announce(connected)

    @property
    def offers(self) -> AgentOffers:
        """What can be chosen of the agent; nothing as long as it is not connected."""
        return self._agent.offers

    async def choose(self, category: Literal["mode", "model"], name: str) -> None:
        """Have the agent work in this mode of its own or model. Raises LedgerError and ProviderError."""
        await self.connect()
        await self._agent.choose(category, name)
        self._terms = self._terms.with_choice(category, name)
        self._connected = self._connected.with_choice(category, name)
        await self._events.announce(self._connected)

    async def begin_session(self) -> None:
        """Record that the session begins, if it does, and close what an earlier process left open. Raises
        LedgerError."""
        fallen_back = await begin_caller_session(
            self._events,
            self._review,
            session_id=self.session_id,
            caller=self._caller,
            cwd=self._cwd,
            form=SessionKind.EXTERNAL,
        )
        if fallen_back is not None:
            self._events.note(NoticeGiven(message=fallen_back))

    async def execute(self, prompt: str, notes: Sequence[str] = (), max_secs: float | None = None) -> RunReport:
        """Have the agent answer within `max_secs`. It reads the recorded `notes` first. Raises LedgerError."""
        self._begin()
        self._begin_turn()
        asking: asyncio.Task[AgentEnd] | None = None
        limit = asyncio.timeout(max_secs)
        try:
            async with limit:
                await run_shielded(self._record_prompt(prompt))
                asking = asyncio.create_task(self._ask("\n\n".join([*notes, prompt])))
                await asyncio.wait({asking})
        except (asyncio.CancelledError, TimeoutError):
            absorb_cancellation()
            self._tally.interrupt()
            if asking is not None:
                await run_to_end(self._stop(asking))
        if limit.expired():
            self._tally.expire(max_secs)
        return await run_to_end(self._conclude(asking))

    async def _record_prompt(self, prompt: str) -> None:
        await self._events.announce(TurnStarted(prompt=prompt))
        await self._events.announce(MessageAdded(message=UserMessage(prompt)))
        self._seen = await self._keeper.keep()

    async def _ask(self, text: str) -> AgentEnd:
        self._unsent.append(text)  # before the next prompt, where the agent cannot be had
        await self.connect()
        unsent, self._unsent = "\n\n".join(self._unsent), []
        return await self._agent.prompt(unsent)

    async def finish(self, report: RunReport) -> None:
        """Record that the session ends, also one that was interrupted before it began. Raises LedgerError."""
        if not self._events.state.session_id:
            await self.begin_session()
        jobs = await self._commands.close()
        await self._events.announce(SessionFinished(report=replace(report, jobs=jobs)))

    async def aclose(self) -> None:
        """End the agent, and what runs for it."""
        await run_to_end(self._agent.aclose())
        await self._commands.close()

    async def _stop(self, asking: asyncio.Task[AgentEnd]) -> None:
        """Have the agent end its answer, and its calls with it."""
        self._is_over = True
        await self._end_answer()
        for task in tuple(self._tasks):
            task.cancel()
        patience = _ENDING_SECS if self._agent.is_open else 0
        if not (await asyncio.wait({asking}, timeout=patience))[0]:
            asking.cancel()
            await asyncio.wait({asking})
            if self._agent.is_open:  # it may be at work as before
                self._events.note(NoticeGiven(message=_NOT_STOPPED))
                await self._agent.aclose()

    async def _conclude(self, asking: asyncio.Task[AgentEnd] | None) -> RunReport:
        """Record how the answer ended. Raises LedgerError."""
        self._is_over = True
        if not self._stop_waiting():
            for terminal in self._terminals.values():
                terminal.command.end()
        for task, answer in tuple(self._tasks.items()):
            if not answer.done():  # nobody waits for the decision any more
                task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks))
        end = self._read_end(asking)
        if self._lost is not None:
            raise self._lost
        self._report_unasked()
        await self._tell_changes()
        await self._complete(end)
        self._tally.add_spent(self._review)
        report = self._tally.report()
        await self._events.announce(TurnFinished(report=report))
        return report

    def _read_end(self, asking: asyncio.Task[AgentEnd] | None) -> AgentEnd:
        if asking is None or asking.cancelled():
            return AgentEnd(stop=StopReason(StopKind.OTHER, "interrupted"))
        failure = asking.exception()
        if isinstance(failure, ProviderError):
            self._tally.fail(str(failure))
            self._events.note(ErrorOccurred(message=str(failure)))
            return AgentEnd(stop=StopReason(StopKind.OTHER, "failed"))
        end = asking.result()
        match end.stop.kind:
            case StopKind.MAX_TOKENS:
                self._tally.limit(str(end.stop))
            case StopKind.REFUSAL:
                self._tally.refuse()
            case StopKind.OTHER if end.stop.detail == "max_turn_requests":
                self._tally.limit("max_turn_requests")
            case StopKind.OTHER if not self._is_stopping and not self._tally.is_cut_short:
                self._tally.give_up(f"the agent ended its answer: {end.stop.detail}")
            case _:
                pass
        return end

    async def _complete(self, end: AgentEnd) -> None:
        """Record the text since the last call: the answer, where it is one."""
        await self._told.complete(end.stop, usage=end.usage)
        if end.stop == END_TURN and not self._tally.has_words and not self._calls:
            self._tally.give_up("the agent gave no answer")

    @property
    def executions(self) -> tuple[ToolExecution, ...]:
        """The tracked record of the newest call."""
        return self._runtime.executions if self._runtime is not None else ()

    # ---------------------------------------------------------------- what the agent tells

    def note_update(self, update: AgentUpdate) -> None:
        """Show or record what it tells. What it does without having asked is recorded when it has ended."""
        match update:
            case Delta() | StreamedReasoning():
                self._told.add(update)
            case AgentPlanUpdated() | AgentModeChanged() | NoticeGiven():
                self._events.note(update)
            case ReportedCall():
                self._reported[update.call_id] = update
                self._told.place_call(update.call_id)
                if update.has_ended and (allowed := self._allowed.get(update.call_id)) is not None:
                    allowed.settle(update)
                elif update.has_ended:
                    self._report_unasked_call(update)

    def _report_unasked(self) -> None:
        """Those that had not ended by the end of the answer."""
        self._told.end_call()
        for call in tuple(self._reported.values()):
            self._report_unasked_call(call)

    def _report_unasked_call(self, call: ReportedCall) -> None:
        paths = call.paths or tuple(each.path for each in call.diffs)
        is_served = call.kind == "edit" and bool(paths) and self._served.issuperset(paths)
        if call.call_id in self._asked or is_served:
            return
        self._asked.add(call.call_id)  # once
        self._told.report_call(
            UnaskedCallReported(
                call_id=call.call_id,
                title=call.title or call.tool,
                kind=call.kind,
                status=call.status or "begun",
                paths=paths,
            )
        )

    # ---------------------------------------------------------------- what the agent asks for

    async def decide(self, call: ReportedCall) -> bool:
        """Whether the agent may do this: it may begin as soon as that is answered."""
        self._asked.add(call.call_id)
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        proposed = self._tools.read(call)

        async def wait_for_agent(effects: AllowedEffects) -> str | ToolOutput:
            allowed = self._allowed[call.call_id] = _AllowedCall(effects, proposed)
            if self._waiting > 1:  # the agent asks about several calls before it makes one
                allowed.settle(None)
            answer.set_result("")
            try:
                end = await allowed.end
                self._is_unclear = self._is_unclear or end is None
                self._stop_waiting()
                printed = await allowed.collect_output()
            except asyncio.CancelledError:
                if allowed.running is not None:
                    allowed.running.cancel()
                    await asyncio.gather(allowed.running, return_exceptions=True)
                raise
            finally:
                del self._allowed[call.call_id]
            if end is None:
                return printed or (_NO_END if self._is_over else _NOT_WAITED_FOR)
            if end.status == "failed":
                raise ToolError(extract_text(printed) or end.output or "the agent says that it failed")
            return printed or end.output or "done"

        self._put(proposed, partial(self._tools.build, proposed, wait_for_agent), answer)
        with suppress(ToolError):
            await answer
            return True
        return False

    async def read_file(self, path: str) -> str:
        """The text of a file, once that may be read: that of an edit which was allowed at once. Raises
        ToolError."""
        if await self._find_approved(path) is not None:
            return await self._client_files.read(path)
        call = self._propose("read_file", {"path": path}, CallEffect.READ, "fs/read_text_file")
        return await self._serve(call, lambda: self._client_files.read(path))

    async def write_file(self, path: str, content: str) -> None:
        """Write a file, once that is allowed: what an allowed edit makes of it at once, and nothing else while
        that edit runs. Raises ToolError."""
        self._served.add(path)
        approved = await self._find_approved(path)
        if approved is not None:
            if content.encode("utf-8", "surrogatepass") != approved:
                raise ToolError(f"nothing was written: this is not what was approved for {path}")
            await self._client_files.write(path, content)
            return
        arguments = {"path": path, "content": content}
        call = self._propose("write_file", arguments, CallEffect.WRITE, "fs/write_text_file")
        await self._serve(call, lambda: self._client_files.write(path, content))

    async def _find_approved(self, path: str) -> bytes | None:
        """What the call that runs is to make of the file; None where it does not change it."""
        if not self._allowed:
            return None
        place = await self._client_files.locate(path)
        return next((each.approved[place] for each in self._allowed.values() if place in each.approved), None)

    def _propose(self, tool: str, arguments: dict[str, str], effect: CallEffect, method: str) -> ProposedCall:
        return ProposedCall(
            tool=tool, arguments=dict(arguments), effect=effect, caller_tool=method, cwd=self._cwd
        )

    async def _serve(self, call: ProposedCall, serve: Callable[[], Awaitable[str]]) -> str:
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def perform(_effects: AllowedEffects) -> str:
            done = await serve()
            answer.set_result(done)
            return done

        if (task := self._put(call, partial(self._tools.build, call, perform), answer)) is not None:
            await asyncio.wait({task})  # what the agent does next is none of its doing: it has been looked at
        return await answer

    async def create_terminal(self, request: TerminalRequest) -> str:
        """Run a command, once that is allowed: what a call that was allowed is to run at once. Raises
        ToolError."""
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        terminal_id = generate_id()

        def note_start(command: StartedCommand) -> None:
            self._terminals[terminal_id] = _Terminal(command, request.most_bytes)
            if not answer.done():
                answer.set_result(terminal_id)

        tool, cwd = self._commands.build(note_start), request.cwd or self._cwd
        arguments = {"command": request.command, **({} if cwd == self._cwd else {"working_dir": cwd})}
        if (allowed := self._find_allowed_command(request, cwd)) is not None:
            # In the shell that it was read for, which may not be the one that the agent names.
            arguments["command"], allowed.command = allowed.command, ""
        # A yes to our own command opens `.git`; the question about the agent's did not say so.
        if allowed is not None and not changes_repository(arguments["command"]):
            allowed.running = asyncio.create_task(self._run_allowed(allowed, tool, dict(arguments)))
            waited: list[asyncio.Future[str | ToolOutput] | asyncio.Future[str]] = [allowed.running, answer]
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                await self._explain_no_start(allowed.running)
            has_gone_on = allowed.end.done()
        else:
            call = self._propose("run_command", arguments, CallEffect.COMMAND, "terminal/create")
            self._put(call, partial(_give, tool), answer)
            await asyncio.wait({answer})
            has_gone_on = self._waiting > 1
        if has_gone_on and terminal_id in self._terminals and not self._stop_waiting() and self._is_over:
            self._terminals[terminal_id].command.end()
        return answer.result()

    async def _run_allowed(self, allowed: _AllowedCall, tool: Tool, arguments: JsonObject) -> str | ToolOutput:
        await allowed.effects.require_unchanged()
        is_told_over = allowed.end.done() and allowed.end.result() is not None
        if self._is_over or self._is_stopping or is_told_over:
            raise ToolError("nothing was run: the call that was allowed is over")
        return await self._commands.run_allowed(tool, arguments, allowed.effects.context)

    async def _explain_no_start(self, running: asyncio.Task[str | ToolOutput]) -> None:
        """Raises ToolError for a command that ended before it had begun."""
        if running.cancelled():
            raise ToolError("nothing was run: the turn is over")
        try:
            running.result()
        except LedgerError as lost:
            self._lost = lost
            await self._end_answer()
            raise ToolError(f"nothing was run: {lost}") from lost

    def _find_allowed_command(self, request: TerminalRequest, cwd: str) -> _AllowedCall | None:
        """The call by which the agent may run just this."""
        wanted = {request.command, request.shell_text} - {""}
        calls = self._allowed.values()
        return next((each for each in calls if each.command in wanted and each.cwd == cwd), None)

    def read_terminal(self, terminal_id: str) -> TerminalState:
        return self._find_terminal(terminal_id).read()

    async def wait_for_terminal(self, terminal_id: str) -> TerminalState:
        terminal = self._find_terminal(terminal_id)
        await terminal.command.wait_until_ended()
        return terminal.read()

    async def end_terminal(self, terminal_id: str, *, forget: bool) -> None:
        terminal = self._find_terminal(terminal_id)
        terminal.command.end()
        await terminal.command.wait_until_ended()
        if forget:
            self._terminals.pop(terminal_id, None)

    def _find_terminal(self, terminal_id: str) -> _Terminal:
        if (found := self._terminals.get(terminal_id)) is None:
            raise ToolError(f"there is no terminal {terminal_id}")
        return found

    def _put(
        self, call: ProposedCall, build: _BuildTool, answer: asyncio.Future[str]
    ) -> asyncio.Task[None] | None:
        """Have the runtime decide about a call and carry it out; `answer` fails where it is not carried out."""
        if self._is_over or self._is_stopping:
            answer.set_exception(ToolError("not run: the turn is over"))
            return None
        self._stop_waiting()
        self._waiting += 1
        task = asyncio.create_task(self._run(call, build, answer))
        self._tasks[task] = answer
        task.add_done_callback(self._tasks.pop)
        return task

    def _stop_waiting(self) -> bool:
        """The agent goes on: how calls end that it was allowed to make is not waited for. False where commands
        are waited for all the same."""
        for allowed in tuple(self._allowed.values()):
            allowed.settle(None)
        if not self._commands.is_any_waited_for:
            return True
        self._is_unclear = True
        return self._commands.send_to_background()

    async def _run(self, call: ProposedCall, build: _BuildTool, answer: asyncio.Future[str]) -> None:
        why = "not run: the turn is over"
        try:
            async with self._one_call:
                if not (self._is_over or self._is_stopping or self._lost is not None):
                    why = await self._run_call(call, build)
        except LedgerError as lost:
            self._lost = lost
            await self._end_answer()
        except asyncio.CancelledError:
            absorb_cancellation()
        finally:
            self._waiting -= 1
            if not answer.done():
                answer.set_exception(ToolError(why))

    async def _run_call(self, call: ProposedCall, build: _BuildTool) -> str:
        """Decide about the call and have it made; the output of its result. Raises LedgerError."""
        await self._tell_changes()
        tool = await build()
        block = ToolUseBlock(id=generate_id(), name=call.tool, input=call.arguments)
        turn_index = self._events.state.responses
        response = await self._told.complete(TOOL_USE, call=block)
        scope = RequestedScope(task="\n\n".join(self._events.state.prompts[-_PROMPTS_TOLD:]))
        batch = build_batch(response.tool_calls(), turn_index=turn_index, scope=scope)
        self._runtime = self._build_runtime(tool, self._files)
        result = await self._runtime.run(batch)
        self._tally.add_calls(result.records, response.tool_calls())
        await self._events.announce(MessageAdded(message=ToolResults(result.results)))
        self._told.end_call()
        self._calls += 1
        await self._note_limits(result)
        return result.results[0].output

    async def _note_limits(self, result: BatchResult) -> None:
        if result.interrupted:
            self._tally.interrupt()
        elif result.aborted is not None:
            self._tally.give_up(result.aborted)
        elif self._tally.rejected_alike >= _MOST_REJECTIONS:
            self._tally.give_up("the same call was rejected three times")
        elif self._calls >= self._max_calls:
            self._tally.limit(MAX_TOOL_TURNS)
        else:
            return
        await self._end_answer()

    async def _end_answer(self) -> None:
        self._is_stopping = True
        with suppress(ProviderError):
            await self._agent.cancel()

    # ---------------------------------------------------------------- what is recorded of it

    async def _tell_changes(self) -> None:
        """Tell what changed and is not known to be the doing of a call that had been asked about. While one may
        still run whose end was not waited for, all changes may be its doing."""
        effects = await self._keeper.find_changes(self._seen, frozenset())
        surprises = tuple(
            each for each in effects.changes if each.is_surprise and not self._files.explains(each)
        )
        self._files.note(effects)
        is_unclear, self._is_unclear = self._is_unclear, self._commands.is_any_in_background
        if surprises and not is_unclear and not self._is_unclear:
            await self._events.announce(UnaskedChangesFound(changes=surprises, complete=effects.complete))
