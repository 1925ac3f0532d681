"""A scripted agent for the app: each prompt plays the next scene, with real events and real questions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from application.ports import LineSource, Observer, Person, ReviewDesk
from domain.errors import BlobError, ProviderError, ProviderErrorKind, QuorumError
from domain.events import (
    ErrorOccurred,
    Event,
    ModeChanged,
    ModelChanged,
    ResponseCompleted,
    RetryScheduled,
    TextDelta,
    TurnFinished,
    TurnStarted,
    UsageCounted,
)
from domain.execution import ToolExecutionContext
from domain.mode import Mode
from domain.packet import ReviewPacket
from domain.report import RunReport, RunStatus
from domain.response import LlmResponse, StopKind, StopReason, TextBlock, Usage
from domain.review import RejectAndInterrupt, ReviewAnswer, ReviewRequest
from domain.seal import Seal, SealedFile
from domain.tool import ToolCall
from tests.support.desks import a_desk


class FakeAgent:
    """Plays `scenes`, one per prompt; after the last it answers "done". Remembers prompts and answers."""

    def __init__(
        self,
        person: Person,
        observer: Observer,
        scenes: Sequence[Scene] = (),
        *,
        model: str = "fake/model-1",
        mode: Mode = Mode.ASK,
    ) -> None:
        self.session_id = "session-1"
        self.model = model
        self.mode = mode
        self.prompts: list[str] = []
        self.answers: list[ReviewAnswer] = []
        self.reports: list[RunReport] = []
        self.outputs: dict[str, LineSource] = {}
        self.listed: dict[str, Sequence[str] | ProviderError] = {"fake": (model,)}
        self.asked = asyncio.Event()
        self.may_list = asyncio.Event()
        self.may_list.set()
        self.refused: set[str] = set()
        self.reached = asyncio.Event()
        self.put_away = asyncio.Event()
        self._person, self._observer = person, observer
        self._scenes = list(scenes)

    def tell(self, event: Event) -> None:
        """Let the observer hear of an event."""
        self._observer.notify(event)

    async def ask(self, request: ReviewRequest, desk: ReviewDesk | None = None) -> ReviewAnswer:
        """Put a question to the person; without a desk, one where nobody votes."""
        answer = await self._person.review(request, desk or a_desk())
        self.answers.append(answer)
        return answer

    async def set_mode(self, mode: Mode) -> None:
        """Change the mode, and tell."""
        self.mode = mode
        self.tell(ModeChanged(mode=mode))

    async def set_model(self, model: str) -> None:
        """Choose the model, unless it is one of `refused`, and tell."""
        if model in self.refused:
            raise ProviderError(f"{model} cannot be had", kind=ProviderErrorKind.CONFIGURATION)
        self.model = model
        self.tell(ModelChanged(model=model))

    @property
    def providers(self) -> tuple[str, ...]:
        """Those that something is listed for."""
        return tuple(self.listed)

    async def list_models(self, provider: str) -> tuple[str, ...]:
        """What is listed for the provider, once that may be told."""
        self.asked.set()
        await self.may_list.wait()
        listed = self.listed[provider]
        if isinstance(listed, ProviderError):
            raise listed
        return tuple(listed)

    def open_output(self, blob_id: str) -> LineSource:
        """The output of that id among `outputs`."""
        if blob_id not in self.outputs:
            raise BlobError(f"there is no stored output {blob_id}")
        return self.outputs[blob_id]

    async def go_on(self) -> RunReport:
        """Play the next scene without a prompt."""
        return await self.execute("")

    async def execute(self, prompt: str) -> RunReport:
        """Play the next scene to its end, to the interruption or to its failure."""
        self.prompts.append(prompt)
        self.tell(TurnStarted(prompt=prompt))
        status = RunStatus.COMPLETED
        scene = self._scenes.pop(0) if self._scenes else say("done")
        try:
            ending = await scene(self)
            if isinstance(ending, RunReport):
                return self._ended(ending)
            if ending is INTERRUPTED:
                status = RunStatus.INTERRUPTED
        except asyncio.CancelledError:
            status = RunStatus.INTERRUPTED
            self.put_away.set()
        report = RunReport(session_id=self.session_id, status=status, stop_reason=None, text="", turns=1)
        return self._ended(report)

    def _ended(self, report: RunReport) -> RunReport:
        self.reports.append(report)
        self.tell(TurnFinished(report=report))
        return report


Scene = Callable[[FakeAgent], Awaitable[object]]
INTERRUPTED = object()


def say(text: str, *, usage: Usage | None = None) -> Scene:
    """A scene that answers with this text, streamed in words."""

    async def scene(agent: FakeAgent) -> None:
        for word in text.split(" "):
            agent.tell(TextDelta(text=word + " "))
            await asyncio.sleep(0)
        agent.tell(
            ResponseCompleted(turn_index=0, response=LlmResponse.from_text(" ".join(text.split(" ")) + " "))
        )
        if usage is not None:
            agent.tell(UsageCounted(model=agent.model, usage=usage))

    return scene


def hold(text: str = "thinking") -> Scene:
    """A scene that begins to answer and never ends by itself."""

    async def scene(agent: FakeAgent) -> None:
        agent.tell(TextDelta(text=text))
        agent.reached.set()
        await asyncio.Event().wait()

    return scene


def break_off(text: str, sentence: str = "the stream broke off") -> Scene:
    """A scene whose provider fails in the middle of an answer; without a text, before it."""

    async def scene(agent: FakeAgent) -> RunReport:
        if text:
            agent.tell(TextDelta(text=text))
            cut = StopReason(StopKind.OTHER, "stream cut")
            answer = LlmResponse(content=(TextBlock(text),), stop_reason=cut)
            agent.tell(ResponseCompleted(turn_index=0, response=answer))
        agent.tell(ErrorOccurred(message=sentence))
        return RunReport(
            session_id=agent.session_id,
            status=RunStatus.FAILED,
            stop_reason=None,
            text=text,
            turns=1,
            error=sentence,
            provider_failed=True,
        )

    return scene


def wait_for_retry(*, secs: float = 12.0, then: str = "at last") -> Scene:
    """A scene whose request waits to be sent again; it is answered when the model is changed."""

    async def scene(agent: FakeAgent) -> None:
        first = agent.model
        agent.tell(
            RetryScheduled(
                attempt=2,
                delay_secs=secs,
                reason="fake rate limited the request (429): slow down",
                attempts=2,
                kind=ProviderErrorKind.RATE_LIMIT,
            )
        )
        agent.reached.set()
        while agent.model == first:  # noqa: ASYNC110 - a model is set without a word to the scene
            await asyncio.sleep(0.005)
        await say(then)(agent)

    return scene


def review(*requests: ReviewRequest) -> Scene:
    """A scene that asks about these calls, one after the other, and stops when it is told to."""

    async def scene(agent: FakeAgent) -> object:
        for request in requests:
            agent.reached.set()
            if isinstance(await agent.ask(request), RejectAndInterrupt):
                return INTERRUPTED
        return None

    return scene


def composing(agent_box: list[FakeAgent], *scenes: Scene, model: str = "fake/model-1") -> ComposeFake:
    """What the app composes its agent with; the agent is put into the box."""

    async def compose(person: Person, observer: Observer) -> FakeAgent:
        agent_box.append(FakeAgent(person, observer, scenes, model=model))
        return agent_box[-1]

    return compose


def failing(error: QuorumError) -> ComposeFake:
    """A composition that fails."""

    async def compose(person: Person, observer: Observer) -> FakeAgent:
        raise error

    return compose


ComposeFake = Callable[[Person, Observer], Awaitable[FakeAgent]]


def a_packet(tool: str, arguments: dict[str, object], seal: Seal, *, index: int = 0) -> ReviewPacket:
    """A sealed call at a place of its batch."""
    context = ToolExecutionContext(call_id=f"call_{index}", batch_id="batch-1", call_index=index, turn_index=0)
    call = ToolCall(tool_name=tool, arguments=arguments, native_id=f"call_{index}")  # type: ignore[arg-type]
    return ReviewPacket(call=call, context=context, seal=seal)


def a_command(command: str, *, index: int = 0, cwd: str = "/home/me/app", **arguments: object) -> ReviewPacket:
    """A sealed command."""
    unsealed = "what else the command reads, writes or starts"
    seal = Seal(cwd=cwd, executables=("/usr/bin/" + (command.split() or ["sh"])[0],), unsealed=unsealed)
    return a_packet("run_command", {"command": command, **arguments}, seal, index=index)


def an_edit(diff: str, *, path: str = "/home/me/app/src/retry.py", index: int = 0) -> ReviewPacket:
    """A sealed edit."""
    seal = Seal(cwd="/home/me/app", files=(SealedFile(path=path, sha256="9b1e" + "0" * 57 + "a1c"),), diff=diff)
    arguments: dict[str, object] = {"path": path, "old_text": "a", "new_text": "b"}
    return a_packet("edit_file", arguments, seal, index=index)


def a_request(
    packet: ReviewPacket, *following: ReviewPacket, batch_size: int = 1, stale: bool = False
) -> ReviewRequest:
    """A question about a packet."""
    return ReviewRequest(
        packet=packet,
        reasons=("high risk, and the mode is ask",),
        batch_size=max(batch_size, 1 + len(following)),
        following=following,
        stale=stale,
    )
