"""What the use cases need from outside. Ports import the domain only and hold no behaviour."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from domain.ballot import Ballot, Tally
from domain.conversation import Conversation, Message
from domain.effects import FileLook
from domain.events import Event
from domain.execution import ToolExecutionContext
from domain.json_value import JsonObject
from domain.output import Content, ToolOutput
from domain.response import LlmResponse
from domain.review import ReviewAnswer, ReviewRequest, RulePreview
from domain.saved_rule import SavedRule
from domain.seal import Seal
from domain.shell import ShellVerdict
from domain.stream import StreamEvent
from domain.tool import ToolDefinition, ToolResultMessage, ToolSpec

ToolChoice: TypeAlias = Literal["auto", "none"] | tuple[Literal["tool"], str]
OnStreamEvent: TypeAlias = Callable[[StreamEvent], None]
MessageShaper: TypeAlias = Callable[[tuple[Message, ...]], Awaitable[tuple[Message, ...]]]


class LlmSession(Protocol):
    """A way of sending one conversation to one model.

    Every sending appends what it is given and the answer to the conversation. A failed or cancelled
    sending keeps what was given and the text that had arrived, never a call; it raises ProviderError or
    CancelledError, and the conversation stays legal to send.
    """

    @property
    def model(self) -> str:
        """The model's full name, "provider/model"."""
        ...

    async def send(self, content: str) -> LlmResponse:
        """Say something and wait for the answer; no tools are offered."""
        ...

    async def send_streaming(self, content: str, on_event: OnStreamEvent) -> LlmResponse:
        """Like `send`, telling what arrives. The last event is Completed or Error."""
        ...

    async def send_with_tools(
        self,
        content: str | None,
        tools: Sequence[JsonObject],
        *,
        tool_choice: ToolChoice = "auto",
        on_event: OnStreamEvent,
    ) -> LlmResponse:
        """Say something (None: go on from where the conversation stands) and offer tools.

        The last event is CompletedResponse or Error.
        """
        ...

    async def send_tool_results(
        self,
        results: Sequence[ToolResultMessage],
        *,
        tool_choice: ToolChoice = "auto",
        on_event: OnStreamEvent,
    ) -> LlmResponse:
        """Give the results of exactly the open calls, in order, offering the same tools as before.

        The last event is as above.
        """
        ...


class LlmGateway(Protocol):
    """Opens sessions with models, whichever provider serves them."""

    def session(
        self, model: str, conversation: Conversation, system: str, shape: MessageShaper | None = None
    ) -> LlmSession:
        """A session with "provider/model". `shape` sees the messages of each request before it is sent and
        answers those to send: for that request only. Raises ProviderError(CONFIGURATION) if that cannot be had.
        """
        ...

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of the configured providers."""
        ...

    async def models(self, provider: str) -> tuple[str, ...]:
        """The models that a configured provider lists, each as "provider/model". Raises ProviderError."""
        ...

    async def aclose(self) -> None:
        """Close the connections of all sessions."""
        ...


class ToolSchemaPort(Protocol):
    """Turns definitions into the neutral schema {name, description, input_schema}."""

    def tool_to_schema(self, definition: ToolDefinition) -> JsonObject:
        """The schema of one tool."""
        ...

    def all_tools_schema(self, spec: ToolSpec) -> tuple[JsonObject, ...]:
        """The schemas of all tools."""
        ...

    def low_risk_tools_schema(self, spec: ToolSpec) -> tuple[JsonObject, ...]:
        """The schemas of the tools that run without review."""
        ...

    def problems(self, definition: ToolDefinition, arguments: JsonObject) -> tuple[str, ...]:
        """What is wrong with these arguments, naming the field; empty when they fit the schema."""
        ...


class Tool(Protocol):
    """One tool. `execute` returns the text for the model; ToolError and OSError become error results."""

    @property
    def definition(self) -> ToolDefinition:
        """What the tool is."""
        ...

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str | ToolOutput:
        """Do it. Plain text is promoted to a stored output where it is long.

        Cancelled, it stops what it started before it lets CancelledError through, or, when its effect is
        already done, returns as usual.
        """
        ...


@runtime_checkable
class SealingTool(Tool, Protocol):
    """A tool whose calls can be reviewed: it can say beforehand what a call will touch.

    Its `execute` compares `context.controls.seal` with the world at the last moment and raises StaleSeal.
    """

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """What these arguments would touch now. `projected` holds contents that earlier calls of the batch,
        not yet run, will have written. Raises ToolError where the call cannot succeed."""
        ...


@runtime_checkable
class CommandTool(Tool, Protocol):
    """A tool whose calls run a shell command."""

    def command_of(self, arguments: JsonObject) -> str | None:
        """The shell text that a call would run; None where the arguments hold none."""
        ...

    async def judge(self, arguments: JsonObject) -> ShellVerdict | None:
        """What can be told of that text without running it; None where it cannot even be looked at."""
        ...


class LineSource(Protocol):
    """The lines of a long text, read piece by piece. Lines are counted from 0; very long ones come cut."""

    def lines(self, start: int, count: int) -> list[str]:
        """At most `count` lines from line `start` on, without their ends; none past the end of the text."""
        ...

    def find(self, needle: str, start: int, *, backwards: bool) -> int | None:
        """The nearest line from `start` on, itself included, that holds this very text; None if none does."""
        ...

    def count_so_far(self) -> tuple[int, bool]:
        """How many lines are known, and whether that is all. Each asking counts a bounded piece further."""
        ...


class BlobStore(Protocol):
    """Keeps large outputs, apart from any session. Ids are UUIDv7 and sort by time."""

    async def store(self, content: Content) -> str:
        """Keep content; its id. Raises BlobError."""
        ...

    async def load(self, blob_id: str) -> Content:
        """The content of that id. Raises BlobError where there is none or it cannot be read."""
        ...

    async def exists(self, blob_id: str) -> bool:
        """Whether there is content of that id."""
        ...

    def open_lines(self, blob_id: str) -> LineSource:
        """The lines of that content, read as they are needed. Raises BlobError where there is none."""
        ...


class FileWatch(Protocol):
    """Looks at files without reading them, to tell afterwards what changed."""

    async def look(self, paths: Sequence[str] | None = None) -> FileLook:
        """The files as they are now: at these canonical paths and below, or in the whole workspace. Never
        raises: what cannot be seen is left out."""
        ...


class ReviewDesk(Protocol):
    """What a person may look at and try while a question is open. Lives on the loop of the question."""

    @property
    def reviewers(self) -> tuple[str, ...]:
        """The models asked about this packet; none where no model votes."""
        ...

    @property
    def independent(self) -> bool:
        """Whether the reviewers come from more than one family of models."""
        ...

    @property
    def ballots(self) -> tuple[Ballot, ...]:
        """What they have said so far, in the order it came."""
        ...

    @property
    def tally(self) -> Tally:
        """What that comes to; a vote still awaited counts as failed."""
        ...

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Have `watcher` called after each vote; calling the answer ends that."""
        ...

    def preview(self, rule: str) -> RulePreview:
        """What this rule, as text, would do."""
        ...


class Person(Protocol):
    """The one way to a human answer."""

    @property
    def is_there(self) -> bool:
        """Whether anybody could answer. Where nobody is, no vote is gathered as advice."""
        ...

    async def review(self, request: ReviewRequest, desk: ReviewDesk) -> ReviewAnswer:
        """Ask about one sealed call. Cancelled, it takes its question off the screen."""
        ...


class RuleStore(Protocol):
    """Keeps the rules that the person made beyond the session."""

    async def save(self, rule: SavedRule) -> None:
        """Keep a rule; one that says the same is replaced. Raises ConfigError, and then nothing is changed."""
        ...


class Observer(Protocol):
    """Hears of every event after it happened; can neither block nor fail the run."""

    def notify(self, event: Event) -> None:
        """Take note; return at once."""
        ...
