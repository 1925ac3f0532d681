"""A session as front ends hold it: its turns, and all that the person may see and change of it between them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING

from quorum.application.background_jobs import BackgroundJobs, describe_lost_jobs
from quorum.application.calls.hook_chain import SessionHooks
from quorum.application.calls.outputs import Outputs
from quorum.application.context_manager import ContextManager
from quorum.application.event_bus import EventBus
from quorum.application.goal_service import NO_GOALS_HERE, GoalService
from quorum.application.identifiers import generate_id
from quorum.application.inbox import Inbox
from quorum.application.instructions.project_instructions import Memory
from quorum.application.instructions.prompt_commands import PromptCommands
from quorum.application.panel.panel_session import ConsensusChoice
from quorum.application.plan_service import PlanService
from quorum.application.ports.instructions import OfferCatalog
from quorum.application.ports.models import LlmGateway
from quorum.application.ports.rules import RuleService
from quorum.application.ports.subagents import BackgroundWork
from quorum.application.ports.tools import OrphanFinderPort, SessionSandbox, ToolServers
from quorum.application.ports.workspace import (
    FileFinder,
    LanguageServerControl,
    NoLanguageServers,
    ReviewedFiles,
)
from quorum.application.review.review import Review
from quorum.application.session.rewind import Rewind
from quorum.application.session.session_record import SessionRecord
from quorum.application.session_folders import SessionFolders
from quorum.application.spend_limiter import SpendLimiter
from quorum.application.steering import PendingMessage, PendingMessages
from quorum.application.subagents.plan_task_runner import PlanTaskRunner
from quorum.application.subagents.subagent_runner import find_background_ends, find_subagent_ends
from quorum.application.turn.recovery import describe_orphans
from quorum.application.turn.run_agent import RunAgent
from quorum.application.turn.switchable_session import ReasoningEfforts, SwitchableSession, describe_refusal
from quorum.application.turn.user_commands import UserCommandRunner, describe_lost_commands
from quorum.domain.conversation.context_account import ContextAccount
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.exchanges import (
    ContextExtent,
    SessionResult,
    SharedContext,
    render_context,
    render_result,
)
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import ConversationError, GoalRefused, ProviderError, ProviderErrorKind
from quorum.domain.events.event import (
    ContextReceived,
    ModelChanged,
    NoticeGiven,
    ResultReceived,
    SessionFinished,
    SessionRenamed,
    SessionResumed,
    SessionStarted,
)
from quorum.domain.events.masking import SecretMask
from quorum.domain.events.report import RunReport
from quorum.domain.instructions.offer_list import AgentDefinition, Skill
from quorum.domain.replacing import replace
from quorum.domain.sessions.state import SessionState
from quorum.domain.staging.layer_work import LayerWork

if TYPE_CHECKING:
    from quorum.application.agents.external_turns import ExternalTurns
    from quorum.application.staging.staged_turns import StagedTurns


class AgentSession:
    """One session, from its opening to its end.

    `run` carries its turns, `mask` hides its secrets. All else that the person sees and changes of it has its
    part: `models`, `context`, `spending`, `review`, `consensus`, `rules`, `rewind`, `files`, `folders`,
    `user_commands`, `exchanges`, `memory`, `jobs`, `plans`, `custom_commands`, `skills`, `agents`,
    `tool_servers`, `language_servers`, `attachments`, `goals`, `outputs`, `reviewed_files`, `inbox`, `record`,
    `external`, the turns where an agent of another vendor makes them, and `effects`, their review where the
    process stands in a layer. All front ends hold these parts as they are. What takes the conversation apart,
    as `context.compact` and `rewind.rewind_to` do, is not called while a turn runs.
    """

    def __init__(  # noqa: PLR0913 - all that a front end reaches meets here
        self,
        run: RunAgent,
        *,
        cwd: str,
        models: SessionModels,
        context_manager: ContextManager,
        spending: SpendLimiter,
        review: Review,
        consensus: ConsensusChoice,
        rules: RuleService,
        rewind: Rewind,
        files: FileFinder,
        folders: SessionFolders,
        user_commands: UserCommandRunner,
        memory: Memory,
        custom_commands: PromptCommands,
        skills: OfferCatalog[Skill],
        agents: OfferCatalog[AgentDefinition],
        tool_servers: ToolServers,
        jobs: BackgroundJobs,
        plans: PlanService,
        plan_tasks: PlanTaskRunner,
        outputs: Outputs,
        reviewed_files: ReviewedFiles,
        inbox: Inbox,
        record: SessionRecord,
        mask: SecretMask,
        hooks: SessionHooks,
        events: EventBus,
        orphan_finder: OrphanFinderPort,
        sandbox: SessionSandbox,
        background: Sequence[BackgroundWork] = (),
        external: ExternalTurns | None = None,
        staged: StagedTurns | None = None,
        language_servers: LanguageServerControl | None = None,
    ) -> None:
        self.external = external
        self.staged = staged
        self.effects = staged.review if staged is not None else None
        self.run = run
        self._cwd = cwd
        self.models = models
        refusal = "the agent of this session keeps its own conversation" if external is not None else ""
        self.context = SessionContext(context_manager, models, refusal)
        self.spending = spending
        self.review = review
        self.consensus = consensus
        self.rules = rules
        self.rewind = rewind
        self.files = files
        self.folders = folders
        self.user_commands = user_commands
        self.exchanges = SessionExchanges(
            run.session_id, kind=record.form, events=events, pending_messages=run.pending_messages
        )
        self.memory = memory
        self.custom_commands = custom_commands
        self.skills = skills
        self.agents = agents
        self.tool_servers = tool_servers
        self.language_servers = language_servers or NoLanguageServers()
        self.jobs = jobs
        self.plans = plans
        self._plan_tasks = plan_tasks
        self.attachments = run.attachments
        self.goals = run.goals
        self.outputs = outputs
        self.reviewed_files = reviewed_files
        self.inbox = inbox
        self.record = record
        self.mask = mask
        self._hooks = hooks
        run.report_end = hooks.notify_turn_end
        self._events = events
        self._orphan_finder = orphan_finder
        self._sandbox = sandbox
        self._background = tuple(background)

    async def rename(self, title: str) -> None:
        """Have lists show the session under this title. Raises LedgerError."""
        await self._events.announce(SessionRenamed(title=title))

    @property
    def session_id(self) -> str:
        return self.run.session_id

    @property
    def is_resumed(self) -> bool:
        """Whether it has begun before, in this process or another."""
        return bool(self._events.state.session_id)

    @property
    def unrecorded(self) -> str:
        """Why what happened last could not be recorded; empty where it could."""
        return self._events.trouble

    @property
    def state(self) -> SessionState:
        """The session as all that happened so far has left it, recorded or on its way there."""
        return self._events.state

    # ---------------------------------------------------------------- its life

    async def open(self) -> None:
        """Announce the session; a resumed one has its open calls recovered. Raises LedgerError.

        From then on its background work is done. Neither is so of a session that can only be read.
        """
        if self.record.in_use:
            return
        is_resumed = self.is_resumed
        is_copy = is_resumed and self._events.state.session_id != self.session_id
        self._show_outages()
        await self._announce()
        if self.staged is not None:
            await self.staged.open()
        if notice := describe_changed_place(self._events.state.layer):
            self.run.add_notice(notice)
        await self.folders.add_wanted()
        await self.plans.begin(is_resumed=is_resumed)
        if is_resumed and self.goals is not None:
            await self.goals.look_again()
        source = ("copy" if is_copy else "resume") if is_resumed else "new"
        if context := await self._hooks.begin(source, self.models.current, self.review.mode.value):
            self.run.add_notice(context)
        for work in self._background:
            work.begin()

    def _show_outages(self) -> None:
        loop = asyncio.get_running_loop()

        def show(sentence: str) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody looks any more
                loop.call_soon_threadsafe(self._events.show, NoticeGiven(message=sentence))

        self.record.watch_outages(show)

    async def _announce(self) -> None:
        left_out = await self.folders.restore()
        fallen_back = await self.review.fall_back()
        before = self._events.state.session_id
        is_copy = self.is_resumed and before != self.session_id
        if not self.is_resumed:
            await self._events.announce(
                SessionStarted(
                    session_id=self.session_id,
                    model=self.models.current,
                    effort=self.models.effort,
                    mode=self.review.mode,
                    cwd=self._cwd,
                    form=self.record.form,
                    consensus=self.consensus.recorded,
                )
            )
            fallen = (fallen_back,) if fallen_back is not None else ()
            for notice in (*left_out, *fallen, *await self._sandbox.describe_former()):
                await self._events.record(NoticeGiven(message=notice))
            return
        calls = self._events.state.open_calls
        if ends := await find_subagent_ends(calls, self.record.archive.read):
            self.run.plan_recovery(ends)
        await self._events.announce(
            SessionResumed(
                session_id=self.session_id,
                model=self.models.current,
                effort=self.models.effort,
                mode=self.review.mode,
                cwd=self._cwd,
                consensus=self.consensus.recorded,
                told=(
                    *((f"a copy of the session {before}, which stays as it is",) if is_copy else ()),
                    *left_out,
                    *((fallen_back,) if fallen_back is not None else ()),
                    *self._events.state.mended,
                    *self.run.recovered,
                    *describe_lost_commands(self.user_commands.lost),
                    *describe_lost_jobs(self.jobs.lost, is_copy=is_copy),
                    *await self._list_orphans(is_copy=is_copy),
                    *await self._sandbox.describe_former(),
                ),
            )
        )
        await self.user_commands.recover()
        await self.jobs.recover(
            is_copy=is_copy, ends=await find_background_ends(self.jobs.lost, self.record.archive.read)
        )
        for end in ends:
            await self._events.record(end)
        await self._plan_tasks.recover(self._events.state.open_calls)
        await self.run.recover()

    async def _list_orphans(self, *, is_copy: bool) -> tuple[str, ...]:
        """What is left of the calls that were running when the process before this one died, in sentences."""
        batches = {
            call.context.batch_id
            for call in self._events.state.open_calls
            if call.context is not None and call.started and call.end is None
        }
        if not is_copy:  # those of the other session are its own
            batches |= {job.context.batch_id for job in self.jobs.lost}
        owners = [*batches, *(command.command_id for command in self.user_commands.lost)]
        return describe_orphans(
            [each for id_ in owners for each in await self._orphan_finder.find_by_batch(id_)]
        )

    async def close(self, report: RunReport) -> None:
        """End its background commands, and announce the session's end, with the report of its last run."""
        jobs = await self.jobs.close()
        await self._hooks.end("finished")
        await self._events.record(SessionFinished(report=replace(report, jobs=jobs)))

    def require_goals(self) -> GoalService:
        """What sets its goals. Raises GoalRefused where it has none."""
        if self.goals is None:
            raise GoalRefused(NO_GOALS_HERE)
        return self.goals

    async def tell_end(self, reason: str = "closed") -> None:
        """Have the hooks know that the session ends, before it is closed or where the process leaves it so."""
        await self._hooks.end(reason)

    async def aclose(self) -> None:
        """End its background commands; let go of all connections, of what commands shared and of the record, of
        each also where another failed.

        Raises LedgerError.
        """
        async with AsyncExitStack() as closing:
            closing.push_async_callback(self.record.release)
            closing.push_async_callback(self._sandbox.close)
            closing.push_async_callback(self.models.aclose)
            closing.push_async_callback(self.files.aclose)
            for work in reversed(self._background):
                closing.push_async_callback(work.aclose)
            closing.push_async_callback(self._hooks.end, "closed")
            closing.push_async_callback(self.jobs.close)


_READ_AGAIN = "Read files again before you edit them."
_RESET = (
    "The person has discarded changes of the layer, taken applied ones back, or applied these again. "
    f"{_READ_AGAIN}"
)


def describe_changed_place(work: LayerWork) -> str:
    """What is not as it was at the last answer of the model, for it to read; empty where nothing is."""
    before, now = work.answered_in, work.layer
    if before is None:
        return ""
    if before == now:
        return _RESET if work.was_reset else ""
    left = f" What was changed in the layer {before} and not applied is not there." if before else ""
    if now:
        return (
            f"From now on this session works in the layer {now} over the person's folder: changes wait there "
            f"until the person has reviewed them.{left} {_READ_AGAIN}"
        )
    return f"From now on this session works in the person's folder itself.{left} {_READ_AGAIN}"


_TITLE = 60


class SessionExchanges:
    """The exchanges of the session of this id and `kind`.

    What it is told waits among the `pending_messages` for the next request, also after a crash. It is there
    without secrets.
    """

    def __init__(
        self,
        session_id: str,
        *,
        kind: SessionKind,
        events: EventBus,
        pending_messages: PendingMessages,
    ) -> None:
        self._session_id = session_id
        self._kind = kind
        self._events = events
        self._pending_messages = pending_messages
        for note_id, note in events.state.unread_notes.items():
            self._put(note_id, note)

    @property
    def opener(self) -> str:
        """The id of the session that it was opened from; empty where it was opened from none."""
        return self._events.state.origin.session_id if self._events.state.origin is not None else ""

    @property
    def depth(self) -> int:
        """How many sessions it follows, each opened from the one before it."""
        return self._events.state.origin.depth if self._events.state.origin is not None else 0

    def share(self, extent: ContextExtent) -> SharedContext:
        """What a session that is opened from this one is told."""
        count, note = render_context(self._events.state.messages, extent)
        return SharedContext(
            session_id=self._session_id,
            title=self._title,
            extent=extent,
            exchanges=count,
            depth=self.depth + 1,
            note=None if note is None else self._events.hide(note),
        )

    @property
    def result(self) -> SessionResult | None:
        """Its last answer, for another session; None where it has none."""
        state = self._events.state
        if (note := render_result(state.messages, self._kind)) is None:
            return None
        return SessionResult(
            session_id=self._session_id,
            title=self._title,
            form=self._kind,
            responses=state.responses,
            note=self._events.hide(note),
        )

    def has(self, result: SessionResult) -> bool:
        """Whether this answer of another session was taken over."""
        return self._events.state.results.get(result.session_id, 0) >= result.responses

    async def receive_context(self, shared: SharedContext) -> None:
        """The session was opened from another one. Raises LedgerError."""
        received = ContextReceived(
            note_id=generate_id(),
            session_id=shared.session_id,
            title=shared.title,
            extent=shared.extent,
            exchanges=shared.exchanges,
            depth=shared.depth,
            note=shared.note,
        )
        await self._events.announce(received)
        if shared.note is not None:
            self._put(received.note_id, shared.note)

    async def receive_result(self, result: SessionResult) -> None:
        """Take over the last answer of another session. Raises LedgerError."""
        received = ResultReceived(
            note_id=generate_id(),
            session_id=result.session_id,
            title=result.title,
            form=result.form,
            responses=result.responses,
            note=result.note,
        )
        await self._events.announce(received)
        self._put(received.note_id, result.note)

    def _put(self, note_id: str, note: str) -> None:
        self._pending_messages.add(PendingMessage(UserMessage(note), note_id))

    @property
    def _title(self) -> str:
        """Its first prompt, on a short line."""
        prompt = next((turn.prompt for turn in self._events.state.turns if turn.prompt), "")
        line = " ".join(self._events.hide(prompt).split())
        return line if len(line) <= _TITLE else f"{line[: _TITLE - 1]}…"


class SessionModels:
    """Tells and changes the model of a session. `gateway` reaches the models of all providers."""

    def __init__(
        self, session: SwitchableSession, *, gateway: LlmGateway, events: EventBus, efforts: ReasoningEfforts
    ) -> None:
        self._session = session
        self._efforts = efforts
        self._gateway = gateway
        self._events = events
        self._choosing = asyncio.Lock()

    @property
    def current(self) -> str:
        """The full name of the model chosen, "provider/model"."""
        return self._session.model

    @property
    def effort(self) -> Effort:
        """The reasoning effort that the model is asked for."""
        return self._efforts.get_effort(self.current)

    def get_effort(self, model: str) -> Effort:
        """The reasoning effort that another model would be asked for."""
        return self._efforts.get_effort(model)

    def list_efforts(self, model: str) -> tuple[Effort, ...]:
        """The efforts that the API of a model takes, the least first; none where it does not reason."""
        return self._efforts.list_taken(model)

    async def choose(self, model: str, effort: Effort | None = None) -> None:
        """Choose another model or effort; None keeps the one set for the model. It holds from the next request
        on, and for one that waits to be repeated.

        Raises ProviderError(CONFIGURATION), and leaves all as it was, where it cannot be had.
        """
        async with self._choosing:
            current = self.current, self.effort
            if effort is None:
                effort = self._efforts.get_effort(model)
            elif effort not in (taken := self._efforts.list_taken(model)) and self._is_known(model):
                raise ProviderError(
                    describe_refusal(model, effort, taken), kind=ProviderErrorKind.CONFIGURATION
                )
            if (model, effort) == current:
                return
            before = self._efforts.choose(model, effort)
            try:
                session = await self._session.open(model)
                await self._events.record(ModelChanged(model=session.model, effort=effort))
            except BaseException:
                self._efforts.choose(model, before)
                raise
            self._session.switch(session)

    def _is_known(self, model: str) -> bool:
        """Whether there is such a provider; else the failure to open a session says so better."""
        return model.partition("/")[0] in self.providers

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of the providers there are."""
        return self._gateway.providers

    @property
    def configured_providers(self) -> tuple[str, ...]:
        return self._gateway.configured_providers

    async def list_models(self, provider: str) -> tuple[str, ...]:
        """The models a provider lists, each as "provider/model". Raises ProviderError."""
        return await self._gateway.list_models(provider)

    async def aclose(self) -> None:
        """Close the connections to all models."""
        await self._gateway.aclose()


class SessionContext:
    """Measures and compacts the conversation of a session, for the model that it has at the time. `refusal`
    says why there is none to measure."""

    def __init__(self, manager: ContextManager, models: SessionModels, refusal: str = "") -> None:
        self._refusal = refusal
        self._manager = manager
        self._models = models

    @property
    def use(self) -> tuple[int, int]:
        """How many tokens the next request takes of the model's window, about, and how many there are.

        0 stands for a window that is not known, or for a model that has none.
        """
        if self._refusal:
            return 0, 0
        use = self._manager.gauge.measure(self._models.current)
        return use.tokens, use.window or 0

    @property
    def account(self) -> ContextAccount:
        """What fills the model's window, reckoned from the whole conversation."""
        if self._refusal:
            return ContextAccount(tokens=0, window=0, limit=0, freed=0, shares=(), largest=())
        return self._manager.build_account(self._models.current)

    async def compact(self, focus: str) -> str:
        """Let a summary take the place of the conversation so far; what that came to, in a sentence.

        `focus` is what to keep in view; it may be empty. Raises ProviderError and ConversationError, and leaves
        all as it was, where there is none to be had.
        """
        if self._refusal:
            raise ConversationError(self._refusal)
        done = await self._manager.compact(self._models.current, focus or None)
        return f"about {done.tokens_before:,} → {done.tokens_after:,} tokens"
