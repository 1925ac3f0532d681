"""What the app needs of an agent; the application layer is behind it, and nothing of it is imported here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from application.ports import Approver, LineSource, Observer, RuleService, SessionArchive
    from domain.calls.found_file import FoundFile
    from domain.conversation.context_account import ContextAccount
    from domain.conversation.session_kind import SessionKind
    from domain.events.event import Event
    from domain.events.report import RunReport
    from domain.review.mode import Mode
    from domain.sessions.past_session import SessionChoice
    from domain.sessions.restoration import RestorePlan, RestoreStep
    from domain.sessions.state import PastTurn


class TurnRunner(Protocol):
    """Carries the turns of a session, one at a time."""

    async def execute(self, prompt: str) -> RunReport:
        """Carry one prompt to its end.

        Failures of a provider are in the report. A task cancelled in here closes what it opened and still
        returns a report, with status INTERRUPTED.
        """
        ...

    async def retry(self) -> RunReport:
        """Take up a turn that failed or was interrupted where it stopped. Ends as `execute` does."""
        ...

    def steer(self, text: str) -> None:
        """Say this into the running turn: the model reads it after the results of its present calls.

        Where the turn ends before that, it stays among `undelivered`, and nothing says it any more.
        """
        ...

    @property
    def undelivered(self) -> tuple[str, ...]:
        """What was said into the running turn and no request has carried yet, oldest first."""
        ...

    def take_back(self) -> str | None:
        """Remove the last of `undelivered`, or None where there is none."""
        ...

    @property
    def unsent(self) -> tuple[str, ...]:
        """What the person has sent, or had given back to edit, and no request carries yet, oldest first: also
        what a process before this one left."""
        ...

    def queue(self, prompts: Sequence[str]) -> None:
        """These wait to be sent or edited: all of them. They are on record from now on, behind what is
        `undelivered`, until a turn begins with them."""
        ...

    @property
    def has_pending(self) -> bool:
        """Whether a process before this one died in the middle of a turn that can be taken up."""
        ...

    async def resume_pending(self) -> RunReport:
        """Take up what is pending, before any prompt. Ends as `execute` does."""
        ...


class Agent(Protocol):
    """One session. Events of its turns arrive at the observer it was composed with."""

    @property
    def session_id(self) -> str:
        """The session's id."""
        ...

    @property
    def form(self) -> SessionKind:
        """What the session is for."""
        ...

    @property
    def model(self) -> str:
        """The model's full name, "provider/model"."""
        ...

    async def set_model(self, model: str) -> None:
        """Choose another model, for requests not yet sent and for one that waits to be repeated.

        Raises ProviderError, and leaves all as it was, where it cannot be had.
        """
        ...

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of the providers whose models can be chosen."""
        ...

    async def list_models(self, provider: str) -> tuple[str, ...]:
        """The models a provider lists, each as "provider/model". Raises ProviderError."""
        ...

    @property
    def mode(self) -> Mode:
        """The review mode in force."""
        ...

    async def set_mode(self, mode: Mode) -> None:
        """Change the review mode, for calls not yet decided on."""
        ...

    @property
    def run(self) -> TurnRunner:
        """What carries its turns."""
        ...

    async def run_command(self, command: str, *, visible_to_model: bool) -> None:
        """Run a command that the person typed, to its end, reviewed by nobody; a turn may run meanwhile.

        `visible_to_model`: the model learns of it with the next request that can carry that. Cancelled, it ends
        the command and all it started. What became of it is told by events.
        """
        ...

    def open_output(self, blob_id: str) -> LineSource:
        """The lines of a stored output, read as they are needed. Raises BlobError."""
        ...

    async def find_files(self, query: str, limit: int) -> tuple[FoundFile, ...]:
        """The files and folders below the working directory that fit what is typed, best first."""
        ...

    def note_file_used(self, path: str) -> None:
        """The person named this file or folder: it comes first when it fits again."""
        ...

    # -- the session's record -----------------------------------------------------------------------------

    @property
    def archive(self) -> SessionArchive:
        """All records of sessions."""
        ...

    @property
    def past(self) -> tuple[Event, ...]:
        """What had happened before the session was opened, oldest first."""
        ...

    @property
    def past_at(self) -> tuple[int, ...]:
        """When each event of the past happened, in milliseconds since 1970."""
        ...

    @property
    def in_use(self) -> str:
        """Why nothing can be added to the session, as a sentence; empty where it can."""
        ...

    @property
    def context(self) -> tuple[int, int]:
        """How many tokens of the model's window are used, and how many there are; 0: not known."""
        ...

    async def attach_image(self, path: str) -> str:
        """Keep the image in this file; the label that shows it to the model wherever it stands in a prompt.

        Raises ImageError.
        """
        ...

    async def paste_image(self) -> str:
        """Keep the image in the clipboard; its label. Raises ImageError."""
        ...

    @property
    def context_account(self) -> ContextAccount:
        """What fills the model's window, and what could be freed of it."""
        ...

    @property
    def rules(self) -> RuleService:
        """The rules about calls."""
        ...

    async def compact(self, focus: str) -> str:
        """Let a summary take the place of the conversation so far; what that came to. Raises ProviderError.

        `focus` is what to keep in view; it may be empty. Cancelled, it leaves the conversation as it is.
        """
        ...

    @property
    def turns(self) -> tuple[PastTurn, ...]:
        """All turns of the session, oldest first, those taken back included."""
        ...

    async def plan_restore(self, turn: int) -> RestorePlan:
        """What would change if files were given back as they were before this turn. Changes nothing.

        Raises LedgerError and RestoreError.
        """
        ...

    async def restore_diff(self, step: RestoreStep) -> str:
        """What a step would do to its file, as a unified diff or in words. Raises LedgerError."""
        ...

    async def rewind(
        self, turn: int, *, conversation: bool, plan: RestorePlan | None, overwrite: frozenset[str]
    ) -> None:
        """Take back this turn and all after it: what was said, and, with a plan, files.

        Files that the person edited since are left alone but for those of `overwrite`. Raises RestoreError,
        LedgerError and ConversationError.
        """
        ...

    @property
    def outlives(self) -> bool:
        """Whether another process can take the session up again."""
        ...

    def hide(self, text: str) -> str:
        """The text without the secrets that are known so far."""
        ...

    async def fork(self) -> str:
        """Copy the session as it stands; the id of the copy. Raises LedgerError."""
        ...

    async def aclose(self) -> None:
        """Let go of the record and of all connections. Raises LedgerError."""
        ...


ComposeAgent: TypeAlias = "Callable[[Approver, Observer, SessionChoice], Awaitable[Agent]]"
OpenArchive: TypeAlias = "Callable[[], Awaitable[SessionArchive]]"
Wanted: TypeAlias = "SessionChoice | Literal['fork']"
"""Which session to open; "fork": a copy of the present one."""
