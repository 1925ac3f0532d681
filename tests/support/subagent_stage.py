"""A real session whose model gives tasks to subagents, with a script for it and one for each task."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from quorum.application.ports.models import LlmRequest, OnStreamEvent
from quorum.application.ports.people import Approver
from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ProviderError
from quorum.domain.events.event import Event, SubagentProgressed, event_from_json
from quorum.domain.events.report import RunReport
from quorum.domain.sessions.session_summary import SessionChoice
from quorum.infrastructure.container import Container
from tests.support.builders import calls_response
from tests.support.fake_gateway import FakeGateway
from tests.support.fake_ports import RecordingObserver
from tests.support.fake_session import FakeSession, Step
from tests.support.real_session import MODEL, Adjust, RealSession, SessionStage, call, says
from tests.support.session_parts import change_inputs

Answers = Sequence[LlmResponse | ProviderError | Step]


@dataclass(eq=False)
class TaskSession(FakeSession):
    """Continues with the script of the task that is its first prompt."""

    gateway: TaskGateway | None = None

    async def exchange(self, request: LlmRequest, on_event: OnStreamEvent) -> LlmResponse:
        """Say something; the first time it says which task it is."""
        if self.gateway is not None and request.system.startswith("You are a subagent"):
            if self in self.gateway.sessions:
                self.gateway.sessions.remove(self)
            given = self.gateway.find_task(request.messages[-1])
            if given:
                self.script = self.gateway.tasks[given]
                self.gateway.asked.append(self)
        return await FakeSession.exchange(self, request, on_event)


class TaskGateway(FakeGateway):
    """Opens sessions for subagents with the scripts of their tasks."""

    def __init__(self, tasks: Mapping[str, Answers]) -> None:
        super().__init__({MODEL: []})
        self.tasks = {prompt: list(answers) for prompt, answers in tasks.items()}
        self.asked: list[TaskSession] = []

    def find_task(self, content: object) -> str | None:
        """The name of the task that a prompt gives: the prompt itself, or the id of the task of a plan."""
        if not isinstance(content, UserMessage):
            return None
        return next(
            (n for n in self.tasks if content.text == n or content.text.startswith(f"Task {n} of the plan: ")),
            None,
        )

    def open_exchange(self, model: str) -> FakeSession:
        """That of a subagent is known by the system prompt of its requests."""
        opened = TaskSession(self.scripts.setdefault(model, []), model=model)
        opened.gateway = self
        self.sessions.append(opened)
        return opened

    async def are_asked(self, count: int) -> None:
        """Until so many tasks were given to their subagents' models."""
        async with asyncio.timeout(60):
            while len(self.asked) < count:  # noqa: ASYNC110 - being asked is not told
                await asyncio.sleep(0.01)

    async def all_wait(self, count: int) -> None:
        """Until so many subagents wait for their models."""
        await self.are_asked(count)
        for session in self.asked:
            await session.waiting.wait()

    async def all_end(self, count: int) -> None:
        """Until so many subagents wait for the last answer of their scripts."""
        async with asyncio.timeout(60):
            while len([each for each in self.asked if not each.script]) < count:  # noqa: ASYNC110 - not told
                await asyncio.sleep(0.01)


def task(prompt: str, **more: str) -> ToolCall:
    """A call that gives a task."""
    return call("task", prompt=prompt, **more)


@dataclass
class TaskRig:
    """A session that is open, and what was seen of it."""

    session: RealSession
    gateway: TaskGateway
    seen: RecordingObserver

    def script(self, *batches: ToolCall | Sequence[ToolCall]) -> None:
        """What the owner's model says: these calls, and then that it is done."""
        self.session.script[:] = [
            *(calls_response(*((b,) if isinstance(b, ToolCall) else b)) for b in batches),
            says("all done"),
        ]

    async def turn(self, *batches: ToolCall | Sequence[ToolCall], prompt: str = "go") -> RunReport:
        """A turn of the owner."""
        self.script(*batches)
        return await self.session.agent.run.execute(prompt)

    def inner(self, subagent_id: str) -> list[Event]:
        """What happened in the session of a subagent, as the owner's observers saw it."""
        return [
            event_from_json(event.event)
            for event in self.seen.events
            if isinstance(event, SubagentProgressed) and event.subagent_id == subagent_id
        ]

    @property
    def id(self) -> str:
        """The session's id."""
        return self.session.agent.session_id


@asynccontextmanager
async def task_rig(
    stage: SessionStage,
    tasks: Mapping[str, Answers],
    *,
    person: Approver | None = None,
    choice: SessionChoice | None = None,
    adjust: Adjust = lambda _container: None,
) -> AsyncIterator[TaskRig]:
    """The latest session of the stage's folder, or the one chosen; `tasks` are the answers to each prompt."""
    gateway, seen = TaskGateway(tasks), RecordingObserver()

    def adjust_all(container: Container) -> None:
        change_inputs(container, gateway=gateway)
        adjust(container)

    async with stage.opened(choice, person=person, observer=seen, adjust=adjust_all) as session:
        session.script = gateway.scripts[MODEL]
        yield TaskRig(session, gateway, seen)
