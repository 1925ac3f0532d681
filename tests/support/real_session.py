"""A session with everything behind it real but its model: container, tools, record, files, git."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from quorum.application.ports.people import Approver, Observer
from quorum.application.ports.storage import Ledger
from quorum.application.session.agent_session import AgentSession
from quorum.domain.calls.run_state import FileKnowledge
from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import END_TURN, LlmResponse, TextBlock
from quorum.domain.events.event import Event
from quorum.domain.events.masking import SecretMask
from quorum.domain.events.report import RunReport
from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.restoration import RestorePlan
from quorum.domain.sessions.session_summary import LatestSession, SessionChoice
from quorum.domain.sessions.state import PastTurn, SessionState
from quorum.domain.text.json_value import JsonValue
from quorum.infrastructure.config.config_file import ConfigFile
from quorum.infrastructure.config.loading import LoadedSettings, load_settings
from quorum.infrastructure.config.model_choice import AskedModels
from quorum.infrastructure.container import Container, build_container
from quorum.infrastructure.session_inputs import SessionInputs
from quorum.infrastructure.storage import open_record
from quorum.infrastructure.trust_decisions import open_trust_decisions
from tests.support.builders import calls_response
from tests.support.fake_gateway import FakeGateway
from tests.support.fake_ports import FakePerson
from tests.support.fake_session import Sent
from tests.support.headless_run import configure, environment
from tests.support.session_parts import change_inputs, put

MODEL = "fake/model"
Adjust = Callable[[Container], object]


def call(tool: str, **arguments: JsonValue) -> ToolCall:
    """A call as the model words it."""
    return ToolCall(tool_name=tool, arguments=arguments, native_id=f"call_{uuid4().hex}")


def shell(command: str) -> ToolCall:
    """A command."""
    return call("run_command", command=command)


def write(path: str, content: str) -> ToolCall:
    """A file written."""
    return call("write_file", path=path, content=content, create_dirs=True)


def says(text: str) -> LlmResponse:
    """An answer without calls."""
    return LlmResponse(content=(TextBlock(text),), stop_reason=END_TURN, model=MODEL)


@dataclass
class SessionStage:
    """A folder to work in and one for quorum's own files; sessions are opened there one after the other.

    `has_seen_all`: their model knows every file as it is, so that a script need not read what it replaces.
    """

    folder: Path
    sandbox: str = "off"
    more_settings: str = ""
    model: str = MODEL
    has_seen_all: bool = True
    state_home: Path | None = None
    root: Path = field(init=False)
    home: Path = field(init=False)

    def __post_init__(self) -> None:
        self.root, self.home = self.folder / "work", self.folder / "home"
        self.root.mkdir(exist_ok=True)
        self.home.mkdir(exist_ok=True)
        configure(self.home, f'{self.more_settings}\n[tools.run_command]\nsandbox = "{self.sandbox}"\n')

    @property
    def environ(self) -> dict[str, str]:
        """The environment of a process of quorum."""
        more = {} if self.state_home is None else {"XDG_STATE_HOME": str(self.state_home)}
        return environment(self.home, **more)

    def load(self, folder: Path) -> LoadedSettings:
        """The settings of a folder, its project's file untrusted."""
        return load_settings(cwd=folder, environ=self.environ, overrides={})

    def open_own_file(self, loaded: LoadedSettings) -> ConfigFile:
        """The person's own file of settings, to be changed."""
        path = loaded.locations.named or loaded.locations.user
        assert path is not None
        reload = partial(load_settings, cwd=self.root, environ=self.environ, overrides={})
        return ConfigFile(path, lambda instead: reload(instead=instead))

    @asynccontextmanager
    async def opened(
        self,
        choice: SessionChoice | None = None,
        *,
        person: Approver | None = None,
        observer: Observer | None = None,
        adjust: Adjust = lambda _container: None,
    ) -> AsyncIterator[RealSession]:
        """The latest session of the folder, or the one that is chosen, opened as by a process of its own."""
        environ = self.environ
        loaded = self.load(self.root)
        record = open_record(loaded.settings.storage, environ, choice or LatestSession(), cwd=str(self.root))
        container = build_container(
            SessionInputs(
                loaded=loaded,
                asked=AskedModels(models=(self.model,)),
                root=self.root,
                environ=environ,
                approver=person or FakePerson(),
                observer=observer or _Unheard(),
                mask=SecretMask(),
                record=record,
                trust=open_trust_decisions(environ),
            )
        )
        gateway = FakeGateway({self.model: []})
        change_inputs(container, gateway=gateway)
        adjust(container)
        if self.has_seen_all:
            put(container.parts().calls.seen, find_knowledge=_know_as_it_is)
        agent = container.agent()
        await agent.open()
        try:
            yield RealSession(container, agent, gateway)
        finally:
            await agent.aclose()

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        """What the person's own git says. Raises where it fails."""
        done = subprocess.run(
            ["git", *arguments], cwd=cwd or self.root, env=git_environment(), capture_output=True, check=True
        )
        return done.stdout.decode()


def _know_as_it_is(path: str) -> FileKnowledge | None:
    """The model knows every file."""
    if not os.path.isfile(path):
        return None
    return FileKnowledge(sha256=sha256(Path(path).read_bytes()).hexdigest(), is_whole=True)


class RealSession:
    """A session that is open. Its model says what each turn gets."""

    def __init__(self, container: Container, agent: AgentSession, gateway: FakeGateway) -> None:
        self.container = container
        self.agent = agent
        (self.script,) = gateway.scripts.values()
        self._gateway = gateway

    @property
    def requests(self) -> list[Sent]:
        """All that was sent to the model, oldest first."""
        return [sent for session in self._gateway.sessions for sent in session.sent]

    @property
    def state(self) -> SessionState:
        """The session as it stands."""
        state: SessionState = self.container.events().state
        return state

    @property
    def last(self) -> PastTurn:
        """The last turn that is not taken back."""
        return next(turn for turn in reversed(self.agent.rewind.turns) if not turn.undone)

    async def turn(self, *batches: ToolCall | Sequence[ToolCall], prompt: str = "go") -> RunReport:
        """A turn in which the model makes these calls, one answer for each, and then says that it is done."""
        self.script[:] = self.answers(batches)
        report = await self.agent.run.execute(prompt)
        assert not self.script, "the model did not send its whole script"
        return report

    @staticmethod
    def answers(batches: Sequence[ToolCall | Sequence[ToolCall]]) -> list[LlmResponse]:
        """What the model says in a turn."""
        calls = [(batch,) if isinstance(batch, ToolCall) else tuple(batch) for batch in batches]
        return [*(calls_response(*batch) for batch in calls), says("done")]

    async def undo(
        self,
        turn: int | None = None,
        *,
        conversation: bool = True,
        files: bool = True,
        overwrite: Collection[str] = (),
    ) -> RestorePlan:
        """Take back a turn and all after it, by default the last; the plan by which it was done."""
        number = self.last.number if turn is None else turn
        plan = await self.agent.rewind.plan(number)
        root = self.container.inputs().root
        await self.agent.rewind.rewind_to(
            number,
            conversation=conversation,
            plan=plan if files else None,
            overwrite=frozenset(str(root / path) for path in overwrite),
        )
        return plan

    async def continue_turn(self) -> None:
        """The next prompt works, and all that is known agrees."""
        await self.check()
        await self.turn(shell("true"), prompt="and now?")
        assert UserMessage("and now?") in self.container.parts().core.conversation.messages
        await self.check()

    async def check(self) -> None:
        """Conversation, state and record agree, and the record holds."""
        messages = self.container.parts().core.conversation.messages
        assert messages == self.state.messages
        archive = self.agent.record.archive
        verified = await archive.verify(self.agent.session_id)
        assert verified.holds, verified.reason
        again = replay_state(await archive.read(self.agent.session_id))
        assert again.messages == messages
        assert not again.mended, again.mended
        assert [turn.undone for turn in again.turns] == [turn.undone for turn in self.agent.rewind.turns]
        assert again.last_written == self.state.last_written


def steps(plan: RestorePlan, root: Path) -> Mapping[str, str]:
    """What becomes of each file of a plan, by its path from the root."""
    reported = {}
    for step in plan.steps:
        what = "asked" if step.edited_since else "given back"
        reported[os.path.relpath(step.path, root)] = f"left: {step.trouble}" if step.trouble else what
    return reported


def git_environment() -> dict[str, str]:
    """Nothing of this machine's own settings of git."""
    me = {"NAME": "A Approver", "EMAIL": "a@example.com"}
    who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in me.items()}
    nothing = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    return {"PATH": os.environ["PATH"], **nothing, **who}


class LedgerThat:
    """A ledger with something to do before or after each event."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        before: Callable[[Event], object] = lambda _event: None,
        after: Callable[[Event], object] = lambda _event: None,
    ) -> None:
        self._ledger = ledger
        self._before, self._after = before, after

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self._ledger.session_id

    async def append(self, event: Event, *, urgent: bool = False, may_wait: bool = False) -> None:
        """Record it."""
        self._before(event)
        await self._ledger.append(event, urgent=urgent, may_wait=may_wait)
        self._after(event)

    async def aclose(self) -> None:
        """Let go of it."""
        await self._ledger.aclose()


class _Unheard:
    def notify(self, event: Event) -> None:
        """Nobody listens."""
