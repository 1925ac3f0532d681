"""Fakes of our own ports, for tests of the application layer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from quorum.application.ports.people import (
    PersonAnswer,
    Question,
    ReviewContext,
    ReviewQuestion,
    SandboxQuestion,
)
from quorum.application.ports.workspace import FoundFile
from quorum.domain.calls.access import Access
from quorum.domain.calls.command_end import CommandRun
from quorum.domain.calls.execution import Orphan, Seal, SealedFile, ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.conversation.cost import SpendQuestion
from quorum.domain.errors import StaleSeal
from quorum.domain.events.event import Event
from quorum.domain.mcp.server_question import (
    ServerAction,
    ServerAddress,
    ServerAnswer,
    ServerForm,
    ServerQuestion,
)
from quorum.domain.review.questions import Approve, ReviewAnswer, ReviewRequest
from quorum.domain.sessions.trust import TrustQuestion
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import Printed, ToolOutput


class RecordingObserver:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def notify(self, event: Event) -> None:
        self.events.append(event)

    def of(self, *kinds: type) -> list[Event]:
        return [event for event in self.events if isinstance(event, kinds)]


class FakeSurvivors:
    """Knows which processes of which batch run on."""

    def __init__(self) -> None:
        self.alive: dict[str, tuple[Orphan, ...]] = {}

    async def find_by_batch(self, batch_id: str) -> tuple[Orphan, ...]:
        return self.alive.get(batch_id, ())


class FakeFiles:
    """Knows no file."""

    async def find(self, query: str, limit: int) -> tuple[FoundFile, ...]:
        return ()

    def note_used(self, path: str) -> None:
        pass

    async def aclose(self) -> None:
        pass


class FakeShell:
    """Prints and ends as configured, once it may; cancelled, it ends at once."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.ends = CommandRun(output="printed\n", exit_code=0)
        self.began = asyncio.Event()
        self.may_end = asyncio.Event()
        self.may_end.set()

    async def run(self, command: str, *, owner: str, report: Callable[[Printed], None]) -> CommandRun:
        self.ran.append(command)
        report(Printed("so far"))
        self.began.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            return CommandRun(output="so far", cancelled=True)
        return self.ends


Answerer = Callable[[ReviewRequest], ReviewAnswer | Awaitable[ReviewAnswer]]


async def _decline(question: ServerQuestion) -> ServerAnswer:
    return ServerAnswer(action=ServerAction.DECLINE)


class FakePerson:
    """Answers each question with `answer`; approves what it is asked when none is given. Trusts if `trusts`."""

    def __init__(self, answer: Answerer | None = None, *, trusts: bool = False) -> None:
        self.trusts = trusts
        self.raises = 0
        self.spend_questions: list[SpendQuestion] = []
        self.trust_questions: list[TrustQuestion] = []
        self.server_questions: list[ServerQuestion] = []
        self.answers_server: Callable[[ServerQuestion], Awaitable[ServerAnswer]] = _decline
        self.requests: list[ReviewRequest] = []
        self.review_contexts: list[ReviewContext] = []
        self.asking = 0
        self.most_at_once = 0
        self._answer: Answerer = answer or (lambda request: Approve(request.packet.digest))

    is_there = True

    async def ask(self, question: Question) -> PersonAnswer:
        match question:
            case ReviewQuestion(request, context):
                return await self.review(request, context)
            case TrustQuestion():
                return await self.trust(question)
            case SpendQuestion():
                return await self.raise_cap(question)
            case ServerForm() | ServerAddress():
                return await self.answer_server(question)
            case SandboxQuestion(sandbox):
                return await self.offer_sandboxed(sandbox)

    async def review(self, request: ReviewRequest, review_context: ReviewContext) -> ReviewAnswer:
        self.requests.append(request)
        self.review_contexts.append(review_context)
        self.asking += 1
        self.most_at_once = max(self.most_at_once, self.asking)
        try:
            await asyncio.sleep(0)
            answer = self._answer(request)
            return await answer if isinstance(answer, Awaitable) else answer
        finally:
            self.asking -= 1

    async def trust(self, question: TrustQuestion) -> bool:
        self.trust_questions.append(question)
        return self.trusts

    async def answer_server(self, question: ServerQuestion) -> ServerAnswer:
        self.server_questions.append(question)
        return await self.answers_server(question)

    async def offer_sandboxed(self, sandbox: str) -> bool:
        return False

    async def raise_cap(self, question: SpendQuestion) -> bool:
        self.spend_questions.append(question)
        return self.raises > 0 and len(self.spend_questions) <= self.raises


@dataclass
class World:
    """Named cells in place of files: what sealing tools read, write and compare."""

    cells: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    running: int = 0
    most_at_once: int = 0


Body = Callable[[JsonObject, ToolExecutionContext], Awaitable[str | ToolOutput]]

_ANY = (
    ToolParameter(name="cell", type="string", description="where"),
    ToolParameter(name="text", type="string", description="what"),
    ToolParameter(name="count", type="integer", description="how many"),
)


class FakeTool:
    """A low-risk tool whose body is a coroutine function."""

    def __init__(
        self,
        name: str,
        body: Body,
        *,
        risk: RiskLevel = RiskLevel.LOW,
        access: Callable[[JsonObject], Access] = lambda _: Access(),
        timeout_secs: float | None = None,
        parameters: Sequence[ToolParameter] = _ANY,
        inline_bytes: int | None = None,
    ) -> None:
        self.definition = ToolDefinition(
            name=name,
            description=name,
            parameters=tuple(parameters),
            risk=risk,
            access=access,
            timeout_secs=timeout_secs,
            inline_bytes=inline_bytes,
        )
        self._body = body

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str | ToolOutput:
        return await self._body(arguments, context)


class FakeWriter(FakeTool):
    """A high-risk tool that writes a cell of the world and honours its seal."""

    def __init__(self, world: World, name: str = "write") -> None:
        async def write(arguments: JsonObject, context: ToolExecutionContext) -> str:
            seal = context.controls.seal
            if seal is not None and seal != await self.seal(arguments, {}):
                raise StaleSeal(f"{arguments['cell']} changed")
            world.cells[str(arguments["cell"])] = str(arguments["text"])
            world.log.append(f"wrote {arguments['cell']}")
            return f"wrote {arguments['text']}"

        super().__init__(
            name,
            write,
            risk=RiskLevel.HIGH,
            access=lambda arguments: Access.of(writes=[f"/ws/{arguments['cell']}"]),
        )
        self._world = world

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        cell = str(arguments["cell"])
        before = projected[cell].decode() if cell in projected else self._world.cells.get(cell)
        return Seal(
            cwd="/ws",
            files=(SealedFile(path=cell, sha256=before),),
            diff=f"{before} -> {arguments['text']}",
            projected={cell: str(arguments["text"]).encode()},
        )
