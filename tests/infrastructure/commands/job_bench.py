"""A bench for background commands: the real tools over real processes, with the jobs of one session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from quorum.application.background_jobs import BackgroundJobs
from quorum.application.calls.outputs import Outputs
from quorum.application.event_bus import EventBus
from quorum.application.ports.storage import Spill
from quorum.application.steering import PendingMessages
from quorum.domain.calls.summary import extract_text
from quorum.domain.events.event import Event, JobEnded
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.output import OutputLimits
from quorum.infrastructure.tools.builtin.jobs import Jobs
from tests.infrastructure.commands.command_bench import RecordingControls, context_with, tool_in
from tests.support.fake_blob_store import FakeBlobStore
from tests.support.fake_ledger import FakeLedger
from tests.support.fake_ports import RecordingObserver


@dataclass(frozen=True)
class HeldJob:
    """`command` is what was sent to the background."""

    command: str
    _go: Path

    def go_on(self) -> None:
        self._go.touch()


class JobBench:
    """`run` and `jobs` are the two tools."""

    def __init__(
        self,
        root: Path,
        *,
        most: int = 20,
        inspect_secs: float = 600.0,
        open_spill: Callable[[], Spill] | None = None,
        settle_secs: float = 0.2,
        **options: object,
    ) -> None:
        self.root = root
        self.observer = RecordingObserver()
        self.on_written: Callable[[Event], object] = lambda _event: None
        self.ledger = FakeLedger("session-1", lambda event: self.on_written(event))
        self.events = EventBus([self.observer], ledger=self.ledger)
        self.pending = PendingMessages()
        self.outputs = Outputs(FakeBlobStore(), OutputLimits())
        self.jobs = BackgroundJobs(
            events=self.events,
            outputs=self.outputs,
            pending_messages=self.pending,
            most=most,
            inspect_secs=inspect_secs,
        )
        self._run = tool_in(root, jobs=self.jobs, open_spill=open_spill, settle_secs=settle_secs, **options)
        self._jobs = Jobs(self.jobs)

    async def run(
        self, command: str, *, call_id: str = "call-0", was_asked: bool = False, **arguments: JsonValue
    ) -> str:
        """What the model reads of a command. `was_asked`: a person has approved it."""
        controls = RecordingControls(was_asked=was_asked)
        context = context_with(controls, call_id)
        return extract_text(await self._run.execute({"command": command, **arguments}, context))

    async def background(self, command: str, **arguments: JsonValue) -> str:
        """The same, in the background."""
        return await self.run(command, background=True, **arguments)

    async def held(self, command: str) -> HeldJob:
        """A job that waits, however long, until it may do this."""
        job = HeldJob(f"until [ -e go ]; do sleep 0.02; done; {command}", self.root / "go")
        await self.background(job.command)
        return job

    async def ask(self, action: str, **arguments: JsonValue) -> str:
        """What the tool `jobs` answers."""
        return await self._jobs.execute({"action": action, **arguments}, context_with(RecordingControls()))

    def ended(self, job_id: str = "job-1") -> JobEnded:
        """How a job ended, as it is recorded."""
        (event,) = [e for e in self.ledger.events if isinstance(e, JobEnded) and e.job_id == job_id]
        return event

    @property
    def notes(self) -> list[str]:
        """What the model is to read with the next request; it is taken."""
        found = []
        while (message := self.pending.pop(steering=False)) is not None:
            found.append(message.said.text)
        return found
