"""What the app needs of an agent; the application layer is behind it, and nothing of it is imported here.

One protocol for each part of a session. What a member means, and what it raises, stands at the class that
implements the protocol; its docstring names it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

    from application.ports.people import Approver, Observer
    from application.ports.rules import RuleService
    from application.ports.storage import LineSource, SessionArchive
    from application.ports.workspace import FileFinder
    from domain.conversation.attachment import Attachment
    from domain.conversation.context_account import ContextAccount
    from domain.conversation.effort import Effort
    from domain.conversation.session_kind import SessionKind
    from domain.conversation.spend_caps import CapStanding
    from domain.events.event import Event
    from domain.events.masking import SecretMask
    from domain.events.report import RunReport
    from domain.instructions.agent_definition import AgentDefinition
    from domain.instructions.custom_command import CustomCommand
    from domain.instructions.memory import MemoryDraft, MemoryProposal
    from domain.instructions.skill import Skill
    from domain.mcp.argument_query import ArgumentQuery
    from domain.mcp.offered_prompt import OfferedPrompt
    from domain.mcp.offered_resource import OfferedResource
    from domain.mcp.server_status import ServerStatus
    from domain.panel.consensus import Consensus, ConsensusLevel, Strategy
    from domain.plan.phase import PhaseScope, SessionPhase
    from domain.plan.progress import PlanProgress
    from domain.review.mode import Mode
    from domain.sessions.past_session import SessionChoice
    from domain.sessions.restoration import RestorePlan, RestoreStep
    from domain.sessions.state import PastTurn, PastUndo
    from domain.sessions.waiting_review import WaitingReview
    from tui.agent.exchanges_port import ExchangesPort


class TurnsPort(Protocol):
    """Carries the turns of a session, one at a time: `application/turn/run_agent.py`."""

    async def execute(self, prompt: str, *, is_typed: bool = False) -> RunReport: ...

    async def retry(self) -> RunReport: ...

    def steer(self, text: str) -> None: ...

    @property
    def undelivered(self) -> tuple[str, ...]: ...

    def take_back(self) -> str | None: ...

    @property
    def unsent(self) -> tuple[str, ...]: ...

    def queue(self, prompts: Sequence[str]) -> None: ...

    @property
    def has_pending(self) -> bool: ...

    async def resume_pending(self) -> RunReport: ...


class ModelsPort(Protocol):
    """The model, and those that could take its place: `application/session/session_models.py`."""

    @property
    def current(self) -> str: ...

    @property
    def effort(self) -> Effort: ...

    def get_effort(self, model: str) -> Effort: ...

    def list_efforts(self, model: str) -> tuple[Effort, ...]: ...

    async def choose(self, model: str, effort: Effort | None = None) -> None: ...

    @property
    def providers(self) -> tuple[str, ...]: ...

    @property
    def configured_providers(self) -> tuple[str, ...]: ...

    async def list_models(self, provider: str) -> tuple[str, ...]: ...


class ReviewModePort(Protocol):
    """The review mode: `application/review/review.py`."""

    @property
    def mode(self) -> Mode: ...

    async def set_mode(self, mode: Mode) -> None: ...


class ConsensusPort(Protocol):
    """How many models answer: `application/panel/consensus_choice.py`."""

    @property
    def current(self) -> Consensus: ...

    async def choose(
        self, *, level: ConsensusLevel | None = None, strategy: Strategy | None = None
    ) -> tuple[str, ...]: ...


class ContextPort(Protocol):
    """What fills the model's window: `application/session/session_context.py`."""

    @property
    def use(self) -> tuple[int, int]: ...

    @property
    def account(self) -> ContextAccount: ...

    async def compact(self, focus: str) -> str: ...


class SpendingPort(Protocol):
    """How far the spend caps are used up: `application/spending/spend_limiter.py`."""

    @property
    def standings(self) -> tuple[CapStanding, ...]: ...


class RewindPort(Protocol):
    """Goes back to before a turn: `application/session/rewind.py`."""

    @property
    def turns(self) -> tuple[PastTurn, ...]: ...

    async def plan(self, turn: int) -> RestorePlan: ...

    async def diff(self, step: RestoreStep) -> str: ...

    async def restore_file(self, step: RestoreStep) -> None: ...

    @property
    def last_undo(self) -> PastUndo | None: ...

    async def plan_redo(self, undo: PastUndo) -> RestorePlan: ...

    async def redo(self, undo: PastUndo, plan: RestorePlan, overwrite: frozenset[str]) -> None: ...

    async def rewind_to(
        self, turn: int, *, conversation: bool, plan: RestorePlan | None, overwrite: frozenset[str]
    ) -> None: ...


class UserCommandsPort(Protocol):
    """Runs what the person types after `!`: `application/turn/user_commands.py`."""

    async def run(self, command: str, *, visible_to_model: bool) -> None: ...


class MemoryPort(Protocol):
    """Adds what the person types after `# ` to an instruction file: `application/instructions/memory.py`."""

    async def propose(self, text: str) -> MemoryProposal: ...

    async def add(self, draft: MemoryDraft) -> None: ...


class CustomCommandsPort(Protocol):
    """The slash commands of the project and the person: `application/instructions/custom_commands.py`."""

    @property
    def known(self) -> tuple[tuple[str, CustomCommand], ...]: ...

    async def refresh(self) -> None: ...

    async def is_known(self, prompt: str) -> bool: ...


class JobsPort(Protocol):
    """The commands in the background: `application/jobs/background_jobs.py`."""

    @property
    def foreground(self) -> int: ...

    def send_to_background(self) -> int: ...

    async def stop_by_id(self, job_id: str) -> str: ...


class PlansPort(Protocol):
    """The plan that is made or in force: `application/plan/plan_service.py`."""

    @property
    def phase(self) -> SessionPhase: ...

    @property
    def progress(self) -> PlanProgress | None: ...

    async def set_scope(self, scope: PhaseScope) -> None: ...

    async def leave(self) -> None: ...

    async def withdraw(self, reason: str) -> None: ...


class FoldersPort(Protocol):
    """The folders beside the working directory: `application/session/session_folders.py`."""

    @property
    def added(self) -> tuple[str, ...]: ...

    async def add(self, path: str) -> str | None: ...


class SkillsPort(Protocol):
    """The skills that the session may load: `infrastructure/instructions/skill_catalog.py`."""

    async def survey(self) -> tuple[tuple[Skill, bool], ...]: ...


class AgentDefinitionsPort(Protocol):
    """The agents to which the model may give tasks: `infrastructure/instructions/agent_catalog.py`."""

    async def survey(self) -> tuple[tuple[AgentDefinition, bool], ...]: ...


class ToolServersPort(Protocol):
    """The MCP servers of the session: `application/ports/mcp.py`."""

    def statuses(self) -> tuple[ServerStatus, ...]: ...

    def prompts(self) -> tuple[OfferedPrompt, ...]: ...

    def resources(self) -> tuple[OfferedResource, ...]: ...

    async def complete_argument(self, query: ArgumentQuery) -> tuple[str, ...]: ...

    async def log_in(self, name: str, show: Callable[[str], Awaitable[None]]) -> None: ...

    async def restart(self, name: str) -> bool: ...


class AttachmentsPort(Protocol):
    """The images and PDFs that the person shows the model: `application/turn/attachments.py`."""

    async def attach(self, path: str) -> Attachment: ...

    async def paste(self) -> Attachment: ...


class OutputsPort(Protocol):
    """The stored outputs of tools: `application/calls/outputs.py`."""

    async def open_lines(self, blob_id: str) -> LineSource: ...


class ReviewedFilesPort(Protocol):
    """The files that findings of a code review name: `application/ports/changes.py`."""

    async def locate(self, file: str) -> str: ...

    async def read(self, file: str) -> str: ...


class InboxPort(Protocol):
    """Decisions that wait in any session: `application/inbox/inbox.py`."""

    async def list_waiting(self) -> tuple[WaitingReview, ...]: ...

    async def answer(self, digest: str, *, approves: bool, reason: str | None = None) -> WaitingReview: ...


class RecordPort(Protocol):
    """What is recorded of the session: `application/session/session_record.py`."""

    @property
    def form(self) -> SessionKind: ...

    @property
    def archive(self) -> SessionArchive: ...

    @property
    def past(self) -> tuple[Event, ...]: ...

    @property
    def past_at(self) -> tuple[int, ...]: ...

    @property
    def in_use(self) -> str: ...

    @property
    def outlives(self) -> bool: ...

    @property
    def place(self) -> str: ...


class Agent(Protocol):
    """One session: `application/session/agent_session.py`. Its events arrive at its observer."""

    @property
    def session_id(self) -> str: ...

    async def aclose(self) -> None: ...

    @property
    def run(self) -> TurnsPort: ...

    @property
    def models(self) -> ModelsPort: ...

    @property
    def context(self) -> ContextPort: ...

    @property
    def spending(self) -> SpendingPort: ...

    @property
    def review(self) -> ReviewModePort: ...

    @property
    def consensus(self) -> ConsensusPort: ...

    @property
    def rules(self) -> RuleService: ...

    @property
    def rewind(self) -> RewindPort: ...

    @property
    def files(self) -> FileFinder: ...

    @property
    def folders(self) -> FoldersPort: ...

    @property
    def user_commands(self) -> UserCommandsPort: ...

    @property
    def exchanges(self) -> ExchangesPort: ...

    @property
    def memory(self) -> MemoryPort: ...

    @property
    def jobs(self) -> JobsPort: ...

    @property
    def custom_commands(self) -> CustomCommandsPort: ...

    @property
    def plans(self) -> PlansPort: ...

    @property
    def skills(self) -> SkillsPort: ...

    @property
    def agents(self) -> AgentDefinitionsPort: ...

    @property
    def tool_servers(self) -> ToolServersPort: ...

    @property
    def attachments(self) -> AttachmentsPort: ...

    @property
    def outputs(self) -> OutputsPort: ...

    @property
    def reviewed_files(self) -> ReviewedFilesPort: ...

    @property
    def inbox(self) -> InboxPort: ...

    @property
    def record(self) -> RecordPort: ...

    @property
    def mask(self) -> SecretMask: ...


ComposeAgent: TypeAlias = "Callable[[Approver, Observer, SessionChoice, Path], Awaitable[Agent]]"
"""Composes a session that works in this folder."""
OpenArchive: TypeAlias = "Callable[[], Awaitable[SessionArchive]]"
Wanted: TypeAlias = "SessionChoice | Literal['fork']"
"""Which session to open; "fork": a copy of the present one."""
