"""Composes the sessions of subagents from the parts of the session that they work for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from quorum.application.calls.batch_state import OneSession
from quorum.application.calls.effect_receipt import EffectReceipt
from quorum.application.cancellation import run_to_end
from quorum.application.instructions.system_prompt import SystemPrompt
from quorum.application.ports.people import Observer
from quorum.application.ports.storage import OpenedSession
from quorum.application.ports.subagents import SubagentSession
from quorum.application.session.session_record import SessionRecord
from quorum.application.steering import PendingMessage
from quorum.application.subagents.subagent_runner import LinkedLedger, render_role
from quorum.application.turn.run_agent import RunAgent
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import Usage
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import LedgerError
from quorum.domain.events.event import ErrorOccurred, SessionFinished, SessionStarted
from quorum.domain.events.subagents import SubagentOutcome
from quorum.domain.replacing import replace
from quorum.domain.sessions.session_summary import ContinuedSession
from quorum.domain.subagent_task import Asker, SubagentTask
from quorum.infrastructure.composition.decisions import SubagentTerms
from quorum.infrastructure.composition.session import SessionParts
from quorum.infrastructure.config.model_choice import AskedModels

if TYPE_CHECKING:
    from quorum.application.staging.staged_turns import StagedTurns
    from quorum.infrastructure.staging.merged_work import MergedWork


class OwnedSessions:
    """Implements `SubagentSessions` for the session of `owner`.

    Of a subagent's own are its conversation, its record and what it has seen of files; all that decides, runs,
    pays and keeps is the owner's: rules, mode, hooks, sandbox, workspace, former contents, spend caps, secrets.
    In a layer, one that changes something works in a layer of its own, over that of the owner.
    """

    def __init__(self, owner: SessionParts) -> None:
        self._owner = owner
        self._merging: list[tuple[str, MergedWork]] = []

    def choose_model(self, task: SubagentTask) -> str:
        """The model of its definition; without one that of `models.exploration`, or else the owner's.

        A task of a plan is more than exploration: it has the owner's.
        """
        if (
            not task.agent
            and not task.plan_task
            and (exploration := self._owner.given.settings.models.exploration)
        ):
            return exploration
        return task.model or self._owner.models.session_models.current

    async def open(
        self, task: SubagentTask, session_id: str, context: ToolExecutionContext, observer: Observer
    ) -> SubagentSession:
        """Begin the session. Raises LedgerError, ConfigError and ProviderError where there can be none."""
        kind = self._choose_kind(task)
        work = self._prepare_work(task, kind, session_id, context)  # at once: it is merged in its turn
        try:
            opened = await asyncio.to_thread(self._open_record, session_id)
            if opened.ledger is None:
                raise LedgerError(str(opened.in_use or f"the session {session_id} cannot be written"))
            ledger = LinkedLedger(opened.ledger, self._owner.core.events, context)
            try:
                if work is not None and not await work.open():
                    work = None
                ledger.has_own_files = work is not None
                record = SessionRecord(
                    session_id=session_id,
                    ledger=ledger,
                    storage=self._owner.given.record.storage,
                    release=ledger.aclose,
                    begun_as=kind,
                )
                asker = task.build_asker(self._owner.agent.run.scope)
                parts = await asyncio.to_thread(self._compose, task, record, observer, asker, work)
                session = OwnedSession(parts, self._owner.agent.session.staged, work)
                await session.begin()
            except BaseException:
                await ledger.aclose()
                raise
        except BaseException:
            if work is not None:
                await run_to_end(work.merge())
            raise
        return session

    def _prepare_work(
        self, task: SubagentTask, kind: SessionKind, session_id: str, context: ToolExecutionContext
    ) -> MergedWork | None:
        """What it will do in a layer of its own. None where it changes nothing, or its owner is in no layer."""
        owner, events, shared = self._owner, self._owner.core.events, self._owner.shared
        if owner.given.layer is None or kind is not SessionKind.AGENT:
            return None
        from quorum.infrastructure.staging.merged_work import MergedWork
        from quorum.infrastructure.staging.subagent_layer import WorkOrigin

        def open_receipt(paths: Sequence[str]) -> EffectReceipt:
            access = Access.of(writes=paths)
            return EffectReceipt(context, access, shared.keeper, events, subagent_id=session_id)

        number = session_id.rpartition("-t")[2]
        self._merging = [each for each in self._merging if not each[1].is_over]
        work = MergedWork(
            f"{task.agent or 'subagent'}-{number}",
            owner.given.layer,
            owner.given.environ,
            WorkOrigin(session_id=owner.given.record.session_id, subagent_id=session_id, context=context),
            open_receipt,
            edits=shared.diagnostics,
            door=owner.terms.one_session.open_another(),
            tell=lambda text: events.record(ErrorOccurred(message=text)),
            before=[other for batch, other in self._merging if batch == context.batch_id],
        )
        if not task.is_background:  # nobody waits for the end of one that works on
            self._merging.append((context.batch_id, work))
        return work

    def _open_record(self, session_id: str) -> OpenedSession:
        given = self._owner.given
        return given.record.storage.open_session(ContinuedSession(session_id), cwd=str(given.root))

    def _choose_kind(self, task: SubagentTask) -> SessionKind:
        """Without a tool that does more it only looks, and so does one whose owner only looks."""
        if task.tools is None or self._owner.given.record.form is not SessionKind.AGENT:
            return SessionKind.ASK
        tools = self._owner.calls.tool_set
        risks = {tool.definition.risk for name in task.tools if (tool := tools.find(name)) is not None}
        return SessionKind.ASK if risks <= {RiskLevel.LOW} else SessionKind.AGENT

    def _compose(
        self,
        task: SubagentTask,
        record: SessionRecord,
        observer: Observer,
        asker: Asker,
        work: MergedWork | None,
    ) -> SessionParts:
        owner, kind = self._owner, record.form
        model, models = self.choose_model(task), owner.models.session_models
        parts = SessionParts(
            given=replace(
                owner.given,
                asked=AskedModels(models=(model,), efforts={model: models.get_effort(model)}),
                wanted_folders=(),
                reserved_commands=(),
                server_credentials={},
                observer=observer,
                record=record,
            ),
            open_subagents=OwnedSessions,
            terms=SubagentTerms(
                owner=owner.reviews,
                check_layer=work.check if work is not None else None,
                one_session=OneSession() if work is not None else owner.terms.one_session.open_another(),
                asker=asker,
                wanted_tools=task.tools,
                system_prompt=SystemPrompt(
                    kind, render_role(kind, task.instructions, is_apart=work is not None)
                ),
            ),
        )
        self._offer_server_tools(parts, task, kind)
        parts.conversation  # noqa: B018 - its files are looked for here, off the loop
        return parts

    def _offer_server_tools(self, parts: SessionParts, task: SubagentTask, kind: SessionKind) -> None:
        """Give the subagent what it may have of the tools that servers offer now."""
        wanted = task.tools
        only_looks = kind is not SessionKind.AGENT
        for server, tools in self._owner.calls.tool_set.list_server_tools().items():
            offered = {
                name: tool
                for name, tool in tools.items()
                if (wanted is None or name in wanted)
                and not (only_looks and tool.definition.risk is not RiskLevel.LOW)
            }
            parts.calls.tool_set.offer(server, offered)


class OwnedSession:
    """Implements `SubagentSession` over a composed session; `staged` are the turns of its owner in a layer, and
    `work` is what it does in one of its own."""

    def __init__(self, parts: SessionParts, staged: StagedTurns | None, work: MergedWork | None) -> None:
        self._parts = parts
        self._work = work
        settings = parts.given.settings
        rounds = settings.tools.task.max_tool_turns
        limits = replace(settings.agent, max_tool_turns=rounds, max_time_secs=0.0)  # the owner's time counts
        self._spent: list[tuple[Usage, Decimal | None]] = []
        self._run = RunAgent(
            replace(parts.conversation.turn_parts, limits=limits),
            instructions=parts.conversation.instructions,
            is_job_running=lambda: parts.calls.jobs.is_any_running,
            diagnostics=parts.shared.diagnostics if work is not None else None,
            note_files=self._choose_noting(staged),
        )

    def _choose_noting(self, staged: StagedTurns | None) -> Callable[[], Awaitable[None]] | None:
        if staged is None:
            return None
        if self._work is not None:
            return partial(staged.note_files, self._work.upper)
        return partial(staged.note_files_of, self._parts.given.record.session_id, self._tell)

    async def _tell(self, text: str) -> None:
        said = UserMessage(self._parts.core.events.hide(text))
        self._parts.calls.pending_messages.add(PendingMessage(said, is_notice=True))

    async def begin(self) -> None:
        """Announce the session. Raises LedgerError."""
        parts, models = self._parts, self._parts.models.session_models
        await parts.core.events.announce(
            SessionStarted(
                session_id=parts.given.record.session_id,
                model=models.current,
                effort=models.effort,
                mode=parts.reviews.review.mode,
                cwd=str(parts.given.root),
                form=parts.given.record.form,
            )
        )

    async def run(self, prompt: str) -> SubagentOutcome:
        report = await self._run.execute(prompt)
        self._spent.append((report.usage, report.cost_usd))
        jobs = await self._parts.calls.jobs.close()
        await self._parts.core.events.record(SessionFinished(report=replace(report, jobs=jobs)))
        outcome = SubagentOutcome.of(report)
        said = await run_to_end(self._end_work())
        return replace(outcome, text=f"{outcome.text}\n\n{said}".strip()) if said else outcome

    async def _end_work(self) -> str:
        """Merge what it did in a layer of its own; what its owner's model is to read of that."""
        if (work := self._work) is None:
            return ""
        if (servers := self._parts.shared.language_servers) is not None:
            await servers.aclose()
        await self._parts.shared.end_keeping()
        await self._parts.shared.sandbox.close()
        return await work.merge()

    def take_spent(self) -> list[tuple[Usage, Decimal | None]]:
        """What its requests used, those about its conversation and its reviews alike."""
        spent, self._spent = self._spent, []
        return spent

    async def aclose(self) -> None:
        try:
            await self._parts.calls.jobs.close()
            await self._parts.conversation.files.aclose()
            await self._end_work()
        finally:
            await self._parts.given.record.release()
