"""Port to an agent of another vendor that works in a session: what it is asked, tells, and asks for itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, Protocol, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field

from quorum.application.ports.tools import Tool
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.conversation.response import Delta, StopReason, StreamedReasoning, Usage
from quorum.domain.events.agents import AgentConnected, AgentModeChanged, AgentPlanUpdated
from quorum.domain.events.event import NoticeGiven
from quorum.domain.events.report import JobRecord
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.output import ToolOutput


class ReportedDiff(Struct, frozen=True, kw_only=True):
    """A change of a file as the agent shows it; `before` is None for a file that it makes. `kind` is what it
    says that becomes of the file, where it says that."""

    path: str
    before: str | None
    after: str
    kind: str = ""


class ReportedCall(Struct, frozen=True, kw_only=True):
    """A call of the agent as it describes it, unchecked. `kind` and `status` are those of its protocol, `tool`
    is its name of the tool, where it tells one. `unread` is shown beside in unknown forms."""

    call_id: str
    title: str = ""
    kind: str = ""
    status: str = ""
    tool: str = ""
    arguments: JsonObject = field(default_factory=dict)
    diffs: tuple[ReportedDiff, ...] = ()
    paths: tuple[str, ...] = ()
    output: str = ""
    unread: tuple[JsonValue, ...] = ()

    @property
    def has_ended(self) -> bool:
        """Whether it is over."""
        return self.status in {"completed", "failed"}


class TerminalRequest(Struct, frozen=True, kw_only=True):
    """A command that the agent wants run in `cwd`, empty: in the workspace. `shell_text` is what a shell is to
    run that the command names itself: where just that was allowed, it runs as any command of ours. Of the
    output the agent wants to read so many bytes at the end."""

    command: str
    shell_text: str = ""
    cwd: str = ""
    most_bytes: int = 1 << 20


class TerminalState(Struct, frozen=True, kw_only=True):
    """What a command has printed, the end of it where that `is_cut`, and how it ended: `exit_code` is negative
    for a signal, and None where it is not known."""

    output: str
    is_cut: bool
    has_ended: bool
    exit_code: int | None = None


AgentUpdate: TypeAlias = (
    Delta | StreamedReasoning | AgentPlanUpdated | AgentModeChanged | NoticeGiven | ReportedCall
)


class AgentEnd(Struct, frozen=True, kw_only=True):
    """How the agent ended its answer, and the tokens it says that it used."""

    stop: StopReason
    usage: Usage = field(default_factory=Usage)


class AgentTerms(Struct, frozen=True, kw_only=True):
    """How a session with the agent is to begin: `session` is the agent's own id of one to continue, `began_ms`
    when that began. Empty texts leave the choice to the agent. `is_remembered`: so it was before, and what is
    not offered any more does not matter."""

    session: str = ""
    began_ms: int | UnsetType = UNSET
    mode: str = ""
    model: str = ""
    is_remembered: bool = False

    @classmethod
    def as_before(cls, former: AgentConnected | None, *, is_copy: bool) -> AgentTerms:
        """Those of the last time. In a copy of that session the agent begins one of its own."""
        if former is None:
            return cls()
        again = cls(mode=former.mode, model=former.model, is_remembered=True)
        return again if is_copy else again.continuing(former)

    def continuing(self, former: AgentConnected) -> AgentTerms:
        """The same, in the session that the agent has."""
        return replace(self, session=former.agent_session, began_ms=former.began_ms)

    def with_choice(self, category: Literal["mode", "model"], name: str) -> AgentTerms:
        """The same, with another mode or model."""
        return replace(self, mode=name) if category == "mode" else replace(self, model=name)

    def describe_lost(self, connected: AgentConnected) -> Iterator[str]:
        """What the agent has not taken up of what was before, a sentence each."""
        now = {"mode": (self.mode, connected.mode), "model": (self.model, connected.model)}
        for what, (before, after) in now.items() if self.is_remembered else ():
            if before and before != after:
                now_is = after or "its own"
                yield f"the agent does not offer the {what} {before} any more; its {what} is {now_is}"


class AgentOffers(Struct, frozen=True, kw_only=True):
    """The modes and the models that the agent offers, by its own names."""

    modes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


class Agent(Protocol):
    """An agent. Its methods raise ProviderError."""

    @property
    def is_open(self) -> bool:
        """Whether it runs and has a session."""
        ...

    @property
    def offers(self) -> AgentOffers: ...

    async def choose(self, category: Literal["mode", "model"], name: str) -> None:
        """Have it work so from now on."""
        ...

    async def open(self, terms: AgentTerms) -> AgentConnected:
        """Start it, anew where it runs, and begin or continue a session. What cannot be had as it is wanted is
        an error, of the kind CONFIGURATION or BAD_REQUEST where it cannot continue a session."""
        ...

    async def prompt(self, text: str) -> AgentEnd:
        """Have it answer; what it tells and asks meanwhile reaches the host."""
        ...

    async def cancel(self) -> None:
        """Tell it to end its answer. Questions of it that are open are answered so."""
        ...

    async def aclose(self) -> None:
        """End its process with all that it started."""
        ...


class ClientFiles(Protocol):
    """The files that an agent reaches through us. Raises ToolError."""

    async def locate(self, path: str) -> str:
        """Where a path leads, links resolved."""
        ...

    async def read(self, path: str) -> str: ...

    async def write(self, path: str, content: str) -> str:
        """Give the file this content; the answer says what was done."""
        ...


class StartedCommand(Protocol):
    """A command that runs, or ran."""

    def read(self, most_bytes: int) -> TerminalState:
        """How it stands, with so much of the end of its output."""
        ...

    async def wait_until_ended(self) -> None: ...

    def end(self) -> None:
        """Ask that it ends. Does not wait."""
        ...


class ClientCommands(Protocol):
    """Runs commands of the agent as those of a model: with `run_command`, its limits and its sandbox."""

    def build(self, on_start: Callable[[StartedCommand], None]) -> Tool:
        """The tool for one command."""
        ...

    async def run_allowed(
        self, tool: Tool, arguments: JsonObject, context: ToolExecutionContext
    ) -> str | ToolOutput:
        """Run it for a call that was allowed as one that the agent runs itself. Raises ToolError."""
        ...

    @property
    def is_any_waited_for(self) -> bool:
        """Whether one runs that its call waits for."""
        ...

    def send_to_background(self) -> bool:
        """Let those run on as jobs; whether there may be so many."""
        ...

    @property
    def is_any_in_background(self) -> bool:
        """Whether one runs as a job."""
        ...

    async def close(self) -> tuple[JobRecord, ...]:
        """End the jobs; what became of all of them."""
        ...
