"""What the use cases need from outside. Ports import the domain only and hold no behaviour."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from domain.calls.effects import Effects, FileState, KeptFiles
from domain.calls.execution import Orphan, ToolExecutionContext
from domain.calls.found_file import FoundFile
from domain.calls.seal import Seal
from domain.calls.tool import ToolDefinition, ToolResultMessage, ToolSpec
from domain.calls.user_command import CommandRun
from domain.conversation.history import Conversation, Message, UserMessage
from domain.conversation.image import Image
from domain.conversation.response import LlmResponse
from domain.conversation.stream import StreamEvent
from domain.events.event import Event
from domain.review.ballot import Ballot, Tally
from domain.review.permissions import Answer
from domain.review.questions import ReviewAnswer, ReviewRequest, RulePreview, RuleScope
from domain.review.saved_rule import HeldRule, SavedRule
from domain.sessions.past_session import LedgerRecord, SessionSummary, Verification
from domain.sessions.restoration import RestoreStep
from domain.sessions.trust import TrustQuestion
from domain.shell.command_line import ShellVerdict
from domain.text.json_value import JsonObject
from domain.text.output import Content, Printed, ToolOutput

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
        content: str | UserMessage | None,
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


class OrphanFinderPort(Protocol):
    """Finds the processes of calls that run on though the quorum they belonged to was killed."""

    async def of_batch(self, batch_id: str) -> tuple[Orphan, ...]:
        """Those of this batch's calls; none where they cannot be told apart. Nothing is done to them."""
        ...


class UserShellPort(Protocol):
    """Runs commands of the person's own, with their rights, their environment and their shell."""

    async def run(self, command: str, *, owner: str, report: Callable[[Printed], None]) -> CommandRun:
        """Run it to its end, without a terminal and without anything to read; `report` gets its last lines now.

        Cancelled, it ends the command and all it started, and answers with what had been printed by then. Its
        processes can be found by `owner`, should they outlive us.
        """
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


class Spill(Protocol):
    """One text that grows while a tool runs, on its way into a store. Until `keep` no id leads to it.

    Memory must not grow with it. What cannot be kept does not stop the tool: only `keep` raises.
    """

    @property
    def lines(self) -> int:
        """How many lines were written."""
        ...

    @property
    def size_bytes(self) -> int:
        """How many bytes of UTF-8 are kept, secrets being hidden."""
        ...

    def write(self, text: str) -> None:
        """Add text to the end. Called from one thread at a time; never raises."""
        ...

    def keep(self) -> str:
        """Put the text into the store; its id. May block: it is called in a thread. Nothing is written
        afterwards. Raises BlobError, and then nothing is left."""
        ...

    def discard(self) -> None:
        """Give up a text that was not kept; nothing of it is left. No effect after `keep`. Never raises."""
        ...


class BlobStore(Protocol):
    """Keeps large outputs, apart from any session. Ids are UUIDv7 and sort by time.

    It outlives sessions, so a store hides the secrets of the mask it is built with before it keeps anything.
    Only a newline ends a line.
    """

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

    def open_spill(self) -> Spill:
        """A place for a text that grows; kept, it is a `Text` like any other. Takes nothing until it is written
        to."""
        ...


class FileKeeper(Protocol):
    """Keeps what files hold before they are changed. Contents that must not be stored are not: their states say
    why."""

    async def keep(
        self, paths: Sequence[str] | None = None, report: Callable[[int, int], None] = ...
    ) -> KeptFiles:
        """The files as they are now, with their contents stored: at these paths and below, or in the whole
        workspace.

        `report` gets how many of how many files were read so far, where that takes a while. What cannot be seen
        is left out. Raises LedgerError where they cannot be stored.
        """
        ...

    def ahead(self) -> AbstractContextManager[None]:
        """Keep the whole workspace in the background meanwhile, so that the next call has less to wait for."""
        ...

    async def changes(self, kept: KeptFiles, declared: frozenset[str]) -> Effects:
        """What differs now from then, with the states before and after. Takes a few seconds at most, and never
        raises for what it cannot store."""
        ...

    async def load(self, manifest: str) -> KeptFiles:
        """The files that this stored list names. Raises LedgerError where there is none."""
        ...


class FileRestorer(Protocol):
    """Gives single files back, inside the workspace only and through no link."""

    async def restore(self, step: RestoreStep, content: bytes | None) -> FileState | None:
        """Make the file what the step wants, holding this content; the state it has then.

        Folders that it needs are made. Raises RestoreError where that cannot be, or where the file is no longer
        as the step saw it: nothing was changed then.
        """
        ...

    async def sweep(self, deleted: Sequence[str]) -> None:
        """Remove the folders that held these deleted files and hold nothing now."""
        ...

    async def diff(self, step: RestoreStep, now: bytes | None, wanted: bytes | None) -> str:
        """What the step would change, as a unified diff or in words, of bounded length. The contents are those
        of regular files, where they are stored."""
        ...


class FileFinder(Protocol):
    """Finds files of the workspace by a part of their path. Lives on the loop that asks it first."""

    async def find(self, query: str, limit: int) -> tuple[FoundFile, ...]:
        """The files and folders that fit what is typed, best first, at most so many. Never raises for what it
        cannot see."""
        ...

    def note_used(self, path: str) -> None:
        """The person named this file or folder: it is likely that they do so again."""
        ...

    async def aclose(self) -> None:
        """Look at nothing any more."""
        ...


class SecretFinder(Protocol):
    """Finds out what must be hidden wherever something is kept or shown."""

    def learn_if_sensitive(self, path: str) -> bool:
        """Take note of what a sensitive file holds now; whether that was news. Blocks; never raises."""
        ...

    def learn_from_call(self, arguments: JsonObject) -> bool:
        """Take note of what a call would put into a sensitive file; whether that was news. Never raises."""
        ...


class ReviewContext(Protocol):
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


class Approver(Protocol):
    """The one way to a human answer."""

    @property
    def is_there(self) -> bool:
        """Whether anybody could answer. Where nobody is, no vote is gathered as advice."""
        ...

    async def review(self, request: ReviewRequest, review_context: ReviewContext) -> ReviewAnswer:
        """Ask about one sealed call. Cancelled, it takes its question off the screen."""
        ...

    async def trust(self, question: TrustQuestion) -> bool:
        """Ask whether to trust a project's file as it was read. Cancelled, it takes the question off again."""
        ...


class RuleStore(Protocol):
    """Keeps the rules that the person made beyond the session."""

    async def save(self, rule: SavedRule) -> None:
        """Keep a rule; one that says the same is replaced. Raises ConfigError, and then nothing is changed."""
        ...


class RuleService(Protocol):
    """The rules about calls, as the person looks at them, changes them and tries them out."""

    async def rules(self) -> tuple[HeldRule, ...]:
        """All that hold in this session's folder, in the order in which they count: the strictest first.

        Raises ConfigError where the saved ones cannot be read.
        """
        ...

    @property
    def last_word(self) -> str:
        """What decides about a call of high risk that no rule speaks of."""
        ...

    def outlook(self, rule: str, answer: Answer) -> RulePreview:
        """What a rule, as text, would change."""
        ...

    async def add(self, rule: str, answer: Answer, scope: RuleScope) -> None:
        """Put a rule in force. Raises ConfigError: for what is no rule; and where it could not be saved, in
        which case it holds for this session all the same."""
        ...

    async def remove(self, held: HeldRule) -> None:
        """Have it in force no more, and take it out of the saved ones.

        Raises ConfigError, and then all is as it was: also for a rule of the settings.
        """
        ...

    async def try_call(self, text: str) -> tuple[Answer, tuple[str, ...]]:
        """What would be decided about a call: a shell command, or TOOL and a JSON object. Nothing runs.

        The answer and an account of it, line by line. Raises ConfigError for what is no call.
        """
        ...


class Ledger(Protocol):
    """The record of one session, written by this process alone."""

    @property
    def session_id(self) -> str:
        """The session's id."""
        ...

    async def append(self, event: Event, *, urgent: bool = False) -> None:
        """Put a durable event on the record; it is there when this returns, also if the process is killed then.

        `urgent`: also if the machine loses its power. Raises LedgerError where that cannot be; the event is
        then written with the next one that can be, so that none is lost as long as the process lives.
        Cancelled, it lets the event be written all the same.
        """
        ...


class SessionArchive(Protocol):
    """All records of sessions. Raises LedgerError where they cannot be read."""

    async def sessions(self) -> tuple[SessionSummary, ...]:
        """Every session, the one used last first."""
        ...

    async def find(self, name: str) -> SessionSummary:
        """The session of this id, or of the one id that begins so. Raises LedgerError."""
        ...

    async def read(self, session_id: str) -> tuple[LedgerRecord, ...]:
        """The records of a session, oldest first."""
        ...

    async def fork(self, session_id: str, *, before: int | None = None) -> str:
        """Copy a session, or its records up to `before`, under an id of its own; that id."""
        ...

    async def verify(self, session_id: str) -> Verification:
        """Check the chain of a session's records."""
        ...


class ContentStore(Protocol):
    """Keeps contents of files under their hash, each of them once."""

    async def put(self, contents: Sequence[bytes]) -> tuple[str, ...]:
        """Keep these; the SHA-256 of each, in hexadecimal. Raises LedgerError, and then none is kept."""
        ...

    async def get(self, sha256: str) -> bytes:
        """The content of that hash, checked against it. Raises LedgerError where there is none."""
        ...


class ImageSource(Protocol):
    """Reads the images that the person wants a model to see. Raises ImageError where there is none."""

    async def read(self, path: str) -> tuple[Image, bytes]:
        """The image in this file, of any place that is not sensitive."""
        ...

    async def from_clipboard(self) -> tuple[Image, bytes]:
        """The image in the clipboard."""
        ...


class Observer(Protocol):
    """Hears of every event after it happened; can neither block nor fail the run."""

    def notify(self, event: Event) -> None:
        """Take note; return at once."""
        ...
