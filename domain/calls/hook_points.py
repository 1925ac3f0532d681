"""The points at which hooks run, each with its one description, and what a hook may answer."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol, TypeAlias, assert_never

from msgspec import Struct


class HookPoint(StrEnum):
    """The points at which hooks run. `describe_point` returns all that is to be known of each."""

    ON_MESSAGE_SEND = "on_message_send"
    BEFORE_TOOL_CALL = "before_tool_call"
    AFTER_TOOL_CALL = "after_tool_call"
    ON_TURN_END = "on_turn_end"
    ON_SESSION_START = "on_session_start"
    ON_SESSION_END = "on_session_end"
    ON_PERMISSION_REQUEST = "on_permission_request"
    ON_NOTIFICATION = "on_notification"
    ON_COMPACTION = "on_compaction"


class Continue(Struct, frozen=True):
    """Continue; the next hook sees what this one changed."""


class Ask(Struct, frozen=True):
    """Let the person decide on the call, whatever allows it; a later hook may still skip it."""

    reason: str = ""


def explain_ask(hook: str, reason: str | None) -> str:
    """Why a person is asked, where it is for the hook of this name."""
    return f"the hook {hook} asks about it{f': {reason}' if reason else ''}"


class Skip(Struct, frozen=True):
    """Leave out the request, the call or the result; later hooks of this point do not run."""

    reason: str = ""


class Abort(Struct, frozen=True):
    """End the whole run as failed, with this reason."""

    reason: str


class Finish(Struct, frozen=True):
    """The turn may end."""


class PersonMessage(Protocol):
    """A message of the person, as `UserMessage` is one."""

    @property
    def text(self) -> str:
        """What it says."""
        ...


class ContinueWithMessages(Struct, frozen=True):
    """Send these messages to the model in the person's place and continue: texts, or `UserMessage`s."""

    messages: tuple[str | PersonMessage, ...]


HookAnswer: TypeAlias = Continue | Ask | Skip | Abort
TurnEndAnswer: TypeAlias = Finish | ContinueWithMessages | Abort
AnyAnswer: TypeAlias = HookAnswer | TurnEndAnswer
AnswerKind: TypeAlias = (
    type[Continue] | type[Ask] | type[Skip] | type[Abort] | type[Finish] | type[ContinueWithMessages]
)


class OnHookError(StrEnum):
    """What a failing hook means. CLOSED: what it guards does not happen. OPEN: it happens unchanged, with a
    warning."""

    CLOSED = "closed"
    OPEN = "open"


class HandedBack(Struct, frozen=True):
    """What a command may put beside its decision: under `key`, with the answer `goes_with` only.

    `kind` is the type of its JSON value, `wanted` that type in words for an error, and `meaning` what becomes
    of it, for the guide.
    """

    key: str
    goes_with: AnswerKind
    kind: type
    wanted: str
    meaning: str


SESSION_END_SECS = 2.0
"""What all hooks at the end of a session have together: whoever closes a terminal does not wait for them."""


class PointDescription(Struct, frozen=True, kw_only=True):
    """A hook point: the one source for settings, guide, commands, dispatch and transcript.

    `when` it runs, with `details` for the guide; `sees` is what the hook gets. `default` is the answer of a
    hook that returns nothing. `handed_back` is None where a hook can change nothing. `on_error` is the meaning
    of a failure unless the hook's settings say otherwise, and `skipped` the consequence of Skip. `tried_with`
    is the key that the file of `hooks test` must have for this point. `remarks` maps answers to what the hook
    did (`edited`: it continued with something changed); {call} is the position of the call in its batch.
    """

    when: str
    details: str = ""
    sees: str
    answers: tuple[AnswerKind, ...]
    default: Continue | Finish
    handed_back: HandedBack | None = None
    on_error: OnHookError
    skipped: str = ""
    tried_with: str
    remarks: Mapping[str, str]


_FLOW: tuple[AnswerKind, ...] = (Continue, Skip, Abort)
_ON_MESSAGE_SEND = PointDescription(
    when="before each request to the model",
    details=", also the one that carries tool results",
    sees="the messages of the request",
    answers=_FLOW,
    default=Continue(),
    handed_back=HandedBack(
        "messages",
        Continue,
        list,
        "a list of messages",
        'all messages to send: `{"index": 3}` is an existing message, unchanged; the text of a user message '
        "and the outputs of results may differ (`images`, `documents` and `files` are attached to a message "
        "and stay); "
        '`{"role": "user", "text": "…"}` is a new message',
    ),
    on_error=OnHookError.CLOSED,
    skipped="the request is not sent",
    tried_with="messages",
    remarks={
        "continue": "let the request pass",
        "edited": "changed the request",
        "skip": "withheld the request",
        "error": "failed before the request",
    },
)
_BEFORE_TOOL_CALL = PointDescription(
    when="before a call is decided on",
    details=": for all calls of a batch, in order, before any of them runs",
    sees="the call with its context, also a call of an unknown tool or with invalid arguments",
    answers=(Continue, Ask, Skip, Abort),
    default=Continue(),
    handed_back=HandedBack("arguments", Continue, dict, "an object", "the new arguments"),
    on_error=OnHookError.CLOSED,
    skipped="the call does not run",
    tried_with="tool",
    remarks={
        "continue": "let call {call} pass",
        "edited": "changed the arguments of call {call}",
        "ask": "has you asked about call {call}",
        "skip": "skipped call {call}",
        "error": "failed before call {call}",
    },
)
_AFTER_TOOL_CALL = PointDescription(
    when="after all calls of a batch have ended",
    details=", for each result in the order of the calls",
    sees="the full result",
    answers=_FLOW,
    default=Continue(),
    handed_back=HandedBack("result", Continue, str, "a text", "the new output"),
    on_error=OnHookError.OPEN,
    skipped="the result is withheld",
    tried_with="result",
    remarks={
        "continue": "let the result of call {call} pass",
        "edited": "changed the result of call {call}",
        "skip": "withheld the result of call {call}",
        "error": "failed after call {call}",
    },
)
_ON_TURN_END = PointDescription(
    when="when the model answered without calls",
    sees="all messages",
    answers=(Finish, ContinueWithMessages, Abort),
    default=Finish(),
    handed_back=HandedBack(
        "messages",
        ContinueWithMessages,
        list,
        "a list of texts or messages",
        'messages to send to the model: texts, or `{"role": "user", "text": "…"}`',
    ),
    on_error=OnHookError.OPEN,
    tried_with="messages",
    remarks={
        "finish": "let the turn end",
        "continue_with_messages": "made the turn continue",
        "error": "failed at the end of the turn",
    },
)


_ON_SESSION_START = PointDescription(
    when="when a session begins or is resumed",
    details=", before its first turn here; not for subagents",
    sees="the session's id, folder, model, mode, and its source: new, resume or copy",
    answers=(Continue,),
    default=Continue(),
    handed_back=HandedBack(
        "context",
        Continue,
        str,
        "a text",
        "what the model reads with the first prompt, as context; at most 10,000 characters",
    ),
    on_error=OnHookError.OPEN,
    tried_with="session",
    remarks={
        "continue": "saw the session begin",
        "edited": "added context to the session",
        "error": "failed at the beginning of the session",
    },
)
_ON_SESSION_END = PointDescription(
    when="when a session is closed",
    details=", also by a signal or with its terminal: all hooks together have 2 seconds; not for subagents",
    sees="the session's id, and why: finished (without a person), closed, new or resume (another was opened)",
    answers=(Continue,),
    default=Continue(),
    on_error=OnHookError.OPEN,
    tried_with="end",
    remarks={"continue": "saw the session end", "error": "failed at the end of the session"},
)
_ON_PERMISSION_REQUEST = PointDescription(
    when="before a person is asked whether a call may run",
    details=", and before it is withheld or waits because nobody is there",
    sees="the call, and the reasons why it is asked about",
    answers=(Continue, Skip),
    default=Continue(),
    handed_back=HandedBack("note", Continue, str, "a text", "what the person reads above the reasons"),
    on_error=OnHookError.OPEN,
    skipped="the call is denied",
    tried_with="tool",
    remarks={
        "continue": "left the question about call {call} to the person",
        "edited": "added a note to the question about call {call}",
        "skip": "denied call {call}",
        "error": "failed before the question about call {call}",
    },
)
_ON_NOTIFICATION = PointDescription(
    when="when the person's attention is wanted",
    details=": a call needs approval, something else is asked, a turn has ended; nothing waits for the hook",
    sees="the kind (needs_approval, question, turn_ended) and a sentence",
    answers=(Continue,),
    default=Continue(),
    on_error=OnHookError.OPEN,
    tried_with="notification",
    remarks={"continue": "saw a notification", "error": "failed at a notification"},
)
_ON_COMPACTION = PointDescription(
    when="before a summary takes the place of earlier messages",
    sees="what triggers it (manual or auto), and what the summary is to dwell on",
    answers=(Continue, Skip),
    default=Continue(),
    handed_back=HandedBack("focus", Continue, str, "a text", "what the summary is to dwell on, besides"),
    on_error=OnHookError.OPEN,
    skipped="nothing is summarised now",
    tried_with="compaction",
    remarks={
        "continue": "let the conversation be summarised",
        "edited": "said what the summary is to dwell on",
        "skip": "kept the conversation from being summarised",
        "error": "failed before the summary",
    },
)


def describe_point(point: HookPoint) -> PointDescription:
    """Return the description of a hook point, the one source for settings, guide, commands and transcript."""
    match point:
        case HookPoint.ON_MESSAGE_SEND:
            return _ON_MESSAGE_SEND
        case HookPoint.BEFORE_TOOL_CALL:
            return _BEFORE_TOOL_CALL
        case HookPoint.AFTER_TOOL_CALL:
            return _AFTER_TOOL_CALL
        case HookPoint.ON_TURN_END:
            return _ON_TURN_END
        case HookPoint.ON_SESSION_START:
            return _ON_SESSION_START
        case HookPoint.ON_SESSION_END:
            return _ON_SESSION_END
        case HookPoint.ON_PERMISSION_REQUEST:
            return _ON_PERMISSION_REQUEST
        case HookPoint.ON_NOTIFICATION:
            return _ON_NOTIFICATION
        case HookPoint.ON_COMPACTION:
            return _ON_COMPACTION
        case _:
            assert_never(point)
