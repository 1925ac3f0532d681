"""The one tree of errors.

QuorumError
├── ConfigError            a setting is missing, unknown or of the wrong kind (exit 2)
│   └── CommandRefused     a custom slash command cannot be used as its file stands
├── ConversationError      a message would break the pairing of calls and results
├── IllegalTransition      a tool execution was moved to a state it cannot reach
├── FormError              a form of an MCP server cannot be shown, or a value does not fit it
├── LoginError             the person could not be logged in to a service
├── MemoryRefused          a line cannot be added to an instruction file
├── ToolError              a tool could not do what it was asked; becomes an error result
│   └── StaleSeal          what was approved is no longer what would run; it is asked again
├── NothingToReview        there is no change to review (exit 2)
│   └── AlreadyApproved    what there is was approved before (exit 0)
├── BlobError              a stored output cannot be kept or found
├── AttachmentError        a file or a clipboard holds nothing that can be shown to a model
├── LedgerError            what happened cannot be put on the record, or the record cannot be read
│   ├── DamagedLedger      the record as a whole is damaged; what can be read of it can be saved
│   ├── LostConnection     the server of the record does not answer, and was waited for
│   └── SessionInUse       another process writes this session's record
├── AnswerRefused          a decision cannot be answered: it does not wait any more (exit 2)
├── HostFailed             a turn stopped for want of what its host is to give, and is not over
├── ProgramChanged         a part of quorum cannot be loaded, because its files were changed while it runs
├── UnreadableEvent        a record holds an event that this version cannot read
├── RestoreError           files cannot be given back as they were
├── HookFailure            a hook failed; what that means is a matter of its point
├── RequestSkipped         a hook withheld a request, and the turn ended
├── SpendCapReached        a request would exceed a spend cap, and the turn ended (exit 5)
├── HookAborted            a hook ended the run (exit 1)
└── ProviderError          the model could not be reached, refused the request or sent damage (exit 4)
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # completion in a shell names errors without loading what tools return
    from quorum.domain.text.output import Spilled


OUT_OF_MEMORY = (
    "there is not enough memory, or no further thread can be started: end other programs, or raise the limit "
    "(ulimit -v, ulimit -u, or that of the container)"
)
_SIGNS_OF_SHORTAGE = (
    "can't start new thread",
    "failed to map segment",
    "cannot allocate memory",
    "error return without exception set",  # of the interpreter, where there was no memory for the exception
)


def explain_host_failure(error: BaseException) -> str:
    """What is wrong with the machine or the installation, where this error says so; else empty."""
    if isinstance(error, ProgramChanged):
        return str(error)
    return OUT_OF_MEMORY if is_out_of_memory(error) else ""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the system refused memory or a thread. Python says so in five types, four of which mean more."""
    match error:
        case MemoryError():
            return True
        case OSError(errno=errno.ENOMEM):
            return True
        case RuntimeError() | ImportError() | OSError() | SystemError():
            return any(sign in str(error).lower() for sign in _SIGNS_OF_SHORTAGE)
        case _:
            return False


class QuorumError(Exception):
    """Root of every error this program raises on purpose; its text is one sentence for the person."""


class ConfigError(QuorumError):
    """A setting cannot be used. The text names the place, what was expected and the remedy."""


class CommandRefused(ConfigError):
    """A custom slash command cannot be used. The text names its file, what is wrong, and the remedy."""


class ModeRefused(QuorumError):
    """A review mode cannot be had here. The text says why, and what helps."""


class PlanRefused(QuorumError):
    """A plan cannot be made or withdrawn here. The text says why."""


class GoalRefused(QuorumError):
    """A goal or one of its checks cannot be set here. The text says why, and what to do."""


class WorktreeRefused(QuorumError):
    """A worktree cannot be made, merged or dropped; the message says why, and what to do."""


class MemoryRefused(QuorumError):
    """A line cannot be added to an instruction file. The text names the file, the reason and the remedy."""


class FormError(QuorumError):
    """A form of an MCP server cannot be shown, or a value does not fit its field. The text says why."""


class LoginError(QuorumError):
    """The person could not be logged in to a service. The text says why."""


class ConversationError(QuorumError):
    """A message does not fit the conversation, for example results that are not those of the open calls."""


class ProgramChanged(QuorumError, ImportError):
    """A module of quorum is not there any more, or of another version than those that run. The text names the
    remedy."""


class HostFailed(QuorumError):
    """A turn stopped as the machine or the server of the record failed, and is not over. The text says how."""


class IllegalTransition(QuorumError):
    """A tool execution was moved to a state that its present state does not lead to."""


class ToolError(QuorumError):
    """A tool could not do what it was asked. The text is what the model reads.

    `output` is that text as a tool returns one, where the whole of it is stored already.
    """

    def __init__(self, message: str, *, output: Spilled | None = None) -> None:
        super().__init__(message)
        self.output = output


class StaleSeal(ToolError):
    """What was approved is no longer what would run. Nothing was changed."""


class NothingToReview(QuorumError):
    """There is no change to review. The text says where one was looked for."""


class AlreadyApproved(NothingToReview):
    """What there is was approved before. The text says what and how to review it again."""


class BlobError(QuorumError):
    """A stored output cannot be kept, or there is none of that id."""


class AttachmentError(QuorumError):
    """There is no image or document that a model could be shown. The text names the file, what is wrong, and
    the remedy."""


class LedgerError(QuorumError):
    """What happened cannot be put on the record, or the record cannot be read. The text names the remedy."""


class EventRefused(LedgerError):
    """This event will never be on the record, though what comes after it may be."""


class DamagedLedger(LedgerError):
    """What keeps the sessions is damaged. Mended, or opened the next time, it has what can be read of them."""


class LostConnection(LedgerError):
    """The server that keeps the sessions does not answer: whether what was being committed is there must be
    looked up. Where it was there before, it has been waited for."""


class ContentGone(LedgerError):
    """A content of a file is kept no longer, or never was. Asking again does not help."""


class SessionInUse(LedgerError):
    """Another process writes the record of this session; it can be read and forked, not continued.

    `pid` is that process where it is known.
    """

    def __init__(self, message: str, *, pid: int | None = None) -> None:
        super().__init__(message)
        self.pid = pid


class AnswerRefused(QuorumError):
    """A decision cannot be answered from another process; the message says what became of it."""


class SigningRefused(QuorumError):
    """An approval cannot be signed here; the message says why."""


class PushFailed(QuorumError):
    """Somebody could not be told that a decision waits; the message says why."""


class UnreadableEvent(QuorumError):
    """A record holds an event that this version cannot read. The text names its type and the field."""


class RestoreError(QuorumError):
    """Files cannot be given back as they were; those named in the text were left as they are.

    `given_back` are the paths of the others, which were.
    """

    def __init__(self, message: str, *, given_back: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.given_back = tuple(given_back)


class StagingError(QuorumError):
    """A layer cannot be made, read or applied; the text says why and what to do."""


class HookFailure(QuorumError):
    """A hook failed: it raised, took too long, or answered what it may not."""


class DiagnosticsFailed(QuorumError):
    """A diagnostics command could not be run, or did not come to its end; a clause says why."""


class RequestSkipped(QuorumError):
    """A hook withheld a request, so the turn ended. The text says which and why."""


class SpendCapReached(QuorumError):
    """A request was not sent, for it would exceed a spend cap or the cap cannot be kept for its model.

    The text says which and what helps; `cap` is its name in `[agent]`.
    """

    def __init__(self, message: str, *, cap: str) -> None:
        super().__init__(message)
        self.cap = cap


class HookAborted(QuorumError):
    """A hook ended the run. The text is its reason."""


class AnswerMisfit(QuorumError):
    """The final answer of a turn does not fit its schema, also when it was sent back."""


class ProviderErrorKind(StrEnum):
    """Why a request to a model failed."""

    CONFIGURATION = "configuration"
    CONNECTION = "connection"
    TIMEOUT = "timeout"
    AUTHENTICATION = "authentication"
    PERMISSION = "permission"
    NOT_FOUND = "not_found"
    BAD_REQUEST = "bad_request"
    TOO_LONG = "too_long"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    SERVER = "server"
    DAMAGED_STREAM = "damaged_stream"


_BREAKS = frozenset(
    {
        ProviderErrorKind.CONNECTION,
        ProviderErrorKind.TIMEOUT,
        ProviderErrorKind.RATE_LIMIT,
        ProviderErrorKind.OVERLOADED,
        ProviderErrorKind.SERVER,
        ProviderErrorKind.DAMAGED_STREAM,
    }
)


class ProviderError(QuorumError):
    """A request to a model failed.

    `retryable` says whether the same request may succeed later; `retry_after` is the provider's wish in
    seconds; `partial` tells that part of an answer had already arrived, so that nothing may retry silently.
    `may_be_length`: it is refused in words that fit its length, of no known wording. `is_loading`: the server
    loads the model, and answers once it has. `only_answers`: it was offered tools, and calls none.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ProviderErrorKind,
        retryable: bool = False,
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        partial: bool = False,
        may_be_length: bool = False,
        is_loading: bool = False,
        only_answers: bool = False,
    ) -> None:
        super().__init__(message)
        self.only_answers = only_answers
        self.is_loading = is_loading
        self.kind = kind
        self.may_be_length = may_be_length
        self.retryable = retryable
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after
        self.partial = partial

    @property
    def broke_off(self) -> bool:
        """Whether the stream of an answer that had begun ended early, so that its rest may be asked for."""
        return self.partial and self.kind in _BREAKS


def make_configuration_error(text: str) -> ProviderError:
    """What settings or the environment have to be changed for."""
    return ProviderError(text, kind=ProviderErrorKind.CONFIGURATION)


def explain_unforeseen(error: BaseException) -> str:
    """A sentence about an error that is none of these: it ends what it happened in, and nothing else. Where
    quorum logs, the log has the traceback."""
    import logging  # few need it

    if (log := logging.getLogger(__name__)).hasHandlers():  # without one, logging would print it on the screen
        log.error("an unforeseen failure", exc_info=error)
    return f"this failed inside quorum: {type(error).__name__}: {error}".rstrip(": ") + "; --debug logs where"
