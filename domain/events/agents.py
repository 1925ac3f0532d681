"""What happens with an agent of another vendor that works in a session: what it is, plans, and does unasked."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import UNSET, Struct, UnsetType

from quorum.domain.calls.effects import FileChange
from quorum.domain.fact import Fact
from quorum.domain.replacing import replace
from quorum.domain.text.amounts import format_amount

_SHOWN = 5
_LOOKING = frozenset({"read", "search", "think"})


class AgentConnected(Fact, frozen=True, kw_only=True, tag="agent_connected"):
    """An agent works for the session from now on. `agent` is its name in the settings, `program` what it calls
    itself, with its version; `agent_session` is its own id of the session, `mode` and `model` are those that it
    begins with, empty where it tells none. `confinement` says what the process is held to, `is_confined`
    whether by the sandbox. `began_ms` is when that session of its own began, in milliseconds
    since 1970."""

    agent: str
    program: str
    agent_session: str
    mode: str = ""
    model: str = ""
    confinement: str = ""
    is_confined: bool | UnsetType = UNSET  # as earlier records have it
    began_ms: int | UnsetType = UNSET

    def with_choice(self, category: Literal["mode", "model"], name: str) -> AgentConnected:
        """The same, with another mode or model."""
        return replace(self, mode=name) if category == "mode" else replace(self, model=name)

    @property
    def sentence(self) -> str:
        """Who works, and how."""
        terms = [f"mode {self.mode}" if self.mode else "", f"model {self.model}" if self.model else ""]
        said = ", ".join(filter(None, (self.program, *terms)))
        return f"{said}; {self.confinement}" if self.confinement else said


class AgentModeChanged(Fact, frozen=True, kw_only=True, tag="agent_mode_changed"):
    """The agent is in another of its modes from now on, which says what it asks about. Nobody here chose it."""

    is_warning: ClassVar = True
    mode: str

    @property
    def sentence(self) -> str:
        """Which mode."""
        return f"the agent changed its own mode to {self.mode}"


class AgentTask(Struct, frozen=True, kw_only=True):
    """A step of an agent's plan, with its status in the agent's words."""

    content: str
    status: str


class AgentPlanUpdated(Fact, frozen=True, kw_only=True, tag="agent_plan_updated"):
    """The agent plans to do this, in place of what it planned before."""

    tasks: tuple[AgentTask, ...]

    @property
    def sentence(self) -> str:
        """How far it is."""
        done = sum(task.status == "completed" for task in self.tasks)
        now = next((task.content for task in self.tasks if task.status == "in_progress"), "")
        said = f"the agent's plan: {done} of {format_amount(len(self.tasks), 'step')} done"
        return f"{said}; now: {now}" if now else said


class UnaskedCallReported(Fact, frozen=True, kw_only=True, tag="unasked_call_reported"):
    """The agent says that it made a call which it had not asked about. Title, kind, status and paths are as it
    names them."""

    call_id: str
    title: str
    kind: str
    status: str
    paths: tuple[str, ...] = ()

    @property
    def only_looks(self) -> bool:
        """Whether it says that it changed nothing."""
        return self.kind in _LOOKING

    @property
    def sentence(self) -> str:
        """What it says that it did."""
        where = f" ({', '.join(self.paths[:_SHOWN])})" if self.paths else ""
        return f"without asking, the agent used {self.kind or 'a tool'}: {self.title}{where}, {self.status}"


class UnaskedChangesFound(Fact, frozen=True, kw_only=True, tag="unasked_changes_found"):
    """These files of the workspace changed while the agent worked and no call that had been asked about ran.
    `complete` says whether everything was seen."""

    is_warning: ClassVar = True
    changes: tuple[FileChange, ...]
    complete: bool = True

    @property
    def sentence(self) -> str:
        """Which files."""
        named = [f"{change.path} ({change.kind})" for change in self.changes[:_SHOWN]]
        if more := len(self.changes) - len(named):
            named.append(f"{more} more")
        if not self.complete:
            named.append("and maybe others: not all files could be looked at")
        return f"changed while the agent worked, without a call that was asked about: {', '.join(named)}"
