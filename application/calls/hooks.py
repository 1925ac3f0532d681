"""Hooks: code of the person's own around requests, calls, results, turns and sessions.

What a hook is shown at a point is a subject. All that differs from subject to subject stands here, each time as
one match over all of them; `quorum.domain.calls.hook_points` says what the points are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import TypeAlias, assert_never

from msgspec import Struct

from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.hook_points import (
    Abort,
    Ask,
    Continue,
    ContinueWithMessages,
    Finish,
    HookAnswer,
    HookPoint,
    Skip,
    TurnEndAnswer,
    describe_point,
)
from quorum.domain.calls.tool import RiskLevel, ToolResultMessage
from quorum.domain.conversation.history import AssistantMessage, Conversation, Message, ToolResults, UserMessage
from quorum.domain.errors import ConversationError, HookFailure
from quorum.domain.replacing import replace
from quorum.domain.text.json_text import is_json
from quorum.domain.text.json_value import JsonObject, JsonValue


class RequestDraft(Struct):
    """A request about to be sent. What a hook does to `messages` shapes this one request only."""

    messages: list[Message]


class CallDraft(Struct, kw_only=True):
    """A call about to be decided on. Changed `arguments` are validated again and are what runs."""

    context: ToolExecutionContext
    tool: str
    risk: RiskLevel
    arguments: dict[str, JsonValue]
    paths: tuple[str, ...] = ()


class ResultDraft(Struct, kw_only=True):
    """A result about to go back, whole. Changed `output` is what the model sees and what is kept."""

    context: ToolExecutionContext
    tool: str
    risk: RiskLevel
    outcome: Outcome
    output: str
    paths: tuple[str, ...] = ()


class TurnEnd(Struct, frozen=True):
    """A turn about to end, with all messages of its conversation. A hook can edit nothing of it."""

    messages: tuple[Message, ...]


class SessionStart(Struct, kw_only=True):
    """A session that has begun; `source` is new, resume or copy. `context` is what hooks add for the model."""

    session_id: str
    source: str
    cwd: str
    model: str
    mode: str
    context: str = ""


class SessionEnd(Struct, frozen=True, kw_only=True):
    """A session about to be closed; `reason` is finished, closed, new or resume. Hooks edit nothing of it."""

    session_id: str
    cwd: str
    reason: str


class PermissionRequest(Struct, kw_only=True):
    """A call that a person is about to be asked about. `note` is what hooks add to the `reasons`."""

    context: ToolExecutionContext
    tool: str
    risk: RiskLevel
    arguments: dict[str, JsonValue]
    paths: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    note: str = ""


class Notification(Struct, frozen=True, kw_only=True):
    """Why the person's attention is wanted: needs_approval, question or turn_ended. Nothing can be edited."""

    kind: str
    message: str


class CompactionDraft(Struct, kw_only=True):
    """A summary about to be made; `trigger` is manual or auto. `focus` is what it is to dwell on."""

    trigger: str
    focus: str = ""


HookSubject: TypeAlias = (
    RequestDraft
    | CallDraft
    | ResultDraft
    | TurnEnd
    | SessionStart
    | SessionEnd
    | PermissionRequest
    | Notification
    | CompactionDraft
)


class Hook:
    """One method for each point, each with a default that changes nothing: override those you need.

    Methods may be coroutines or plain functions; a plain one runs in a thread. They hold no locks for tools
    and may be called for several sessions at once.
    """

    async def on_message_send(self, request: RequestDraft) -> HookAnswer:
        """Before each request to the model."""
        return Continue()

    async def before_tool_call(self, call: CallDraft) -> HookAnswer:
        """Before a call is decided on: for all calls of a batch, in their order, before any of them runs."""
        return Continue()

    async def after_tool_call(self, result: ResultDraft) -> HookAnswer:
        """After all calls of a batch have ended, for each result in the order of the calls."""
        return Continue()

    async def on_turn_end(self, messages: Sequence[Message]) -> TurnEndAnswer:
        """When the model answered without calls and the turn is about to end."""
        return Finish()

    async def on_session_start(self, start: SessionStart) -> HookAnswer:
        """When a session begins or is resumed."""
        return Continue()

    async def on_session_end(self, end: SessionEnd) -> HookAnswer:
        """When a session is closed, however that came."""
        return Continue()

    async def on_permission_request(self, request: PermissionRequest) -> HookAnswer:
        """Before a person is asked about a call. Skip denies it; nothing approves it."""
        return Continue()

    async def on_notification(self, notification: Notification) -> HookAnswer:
        """When the person's attention is wanted."""
        return Continue()

    async def on_compaction(self, compaction: CompactionDraft) -> HookAnswer:
        """Before a summary takes the place of earlier messages."""
        return Continue()


class UniformHook(ABC):
    """A hook that treats all points alike: it is given the subject, whichever the point."""

    @abstractmethod
    async def answer(self, subject: HookSubject) -> object:
        """What it answers about the subject; the chain checks that its point allows it."""

    def wants(self, subject: HookSubject) -> bool:
        """Whether it is to be asked about this subject."""
        return True


class HookSample(Struct, frozen=True, kw_only=True):
    """A moment of a run that hooks can be tried on: a call, its result, a conversation, and of a session how it
    begins and ends, a notification and what a summary dwells on."""

    context: ToolExecutionContext
    tool: str
    arguments: dict[str, JsonValue]
    risk: RiskLevel
    paths: tuple[str, ...]
    result: str
    outcome: Outcome
    messages: tuple[Message, ...]
    session: str = ""
    end: str = ""
    notification: str = ""
    compaction: str = ""


# ---------------------------------------------------------------- what differs from point to point


def build_subject(point: HookPoint, sample: HookSample) -> HookSubject:
    """What a hook is shown of a sample at this point."""
    match point:
        case HookPoint.ON_MESSAGE_SEND:
            return RequestDraft(list(sample.messages))
        case HookPoint.BEFORE_TOOL_CALL:
            return CallDraft(
                context=sample.context,
                tool=sample.tool,
                risk=sample.risk,
                arguments=deepcopy(sample.arguments),
                paths=sample.paths,
            )
        case HookPoint.AFTER_TOOL_CALL:
            return ResultDraft(
                context=sample.context,
                tool=sample.tool,
                risk=sample.risk,
                outcome=sample.outcome,
                output=sample.result,
                paths=sample.paths,
            )
        case HookPoint.ON_TURN_END:
            return TurnEnd(sample.messages)
        case HookPoint.ON_SESSION_START:
            return SessionStart(session_id="trial", source=sample.session, cwd="", model="", mode="")
        case HookPoint.ON_SESSION_END:
            return SessionEnd(session_id="trial", cwd="", reason=sample.end)
        case HookPoint.ON_PERMISSION_REQUEST:
            return PermissionRequest(
                context=sample.context,
                tool=sample.tool,
                risk=sample.risk,
                arguments=deepcopy(sample.arguments),
                paths=sample.paths,
            )
        case HookPoint.ON_NOTIFICATION:
            return Notification(kind="question", message=sample.notification)
        case HookPoint.ON_COMPACTION:
            return CompactionDraft(trigger="manual", focus=sample.compaction)
        case _:
            assert_never(point)


def find_point(subject: HookSubject) -> HookPoint:
    """The point at which hooks are shown such a subject."""
    match subject:
        case RequestDraft():
            return HookPoint.ON_MESSAGE_SEND
        case CallDraft():
            return HookPoint.BEFORE_TOOL_CALL
        case ResultDraft():
            return HookPoint.AFTER_TOOL_CALL
        case TurnEnd():
            return HookPoint.ON_TURN_END
        case SessionStart():
            return HookPoint.ON_SESSION_START
        case SessionEnd():
            return HookPoint.ON_SESSION_END
        case PermissionRequest():
            return HookPoint.ON_PERMISSION_REQUEST
        case Notification():
            return HookPoint.ON_NOTIFICATION
        case CompactionDraft():
            return HookPoint.ON_COMPACTION
        case _:
            assert_never(subject)


def bind_method(hook: Hook, subject: HookSubject) -> Callable[[], Awaitable[object]]:
    """The hook's method for this subject, ready to be called; its answer may also be no awaitable."""
    match subject:
        case RequestDraft():
            return partial(hook.on_message_send, subject)
        case CallDraft():
            return partial(hook.before_tool_call, subject)
        case ResultDraft():
            return partial(hook.after_tool_call, subject)
        case TurnEnd(messages):
            return partial(hook.on_turn_end, messages)
        case SessionStart():
            return partial(hook.on_session_start, subject)
        case SessionEnd():
            return partial(hook.on_session_end, subject)
        case PermissionRequest():
            return partial(hook.on_permission_request, subject)
        case Notification():
            return partial(hook.on_notification, subject)
        case CompactionDraft():
            return partial(hook.on_compaction, subject)
        case _:
            assert_never(subject)


def find_call(subject: HookSubject) -> CallDraft | ResultDraft | PermissionRequest | None:
    """The call that it is about, to which the conditions of a hook apply; None where it is about none."""
    match subject:
        case CallDraft() | ResultDraft() | PermissionRequest():
            return subject
        case RequestDraft() | TurnEnd() | SessionStart() | SessionEnd() | Notification() | CompactionDraft():
            return None
        case _:
            assert_never(subject)


def encode_subject(subject: HookSubject) -> JsonObject:
    """The subject as a command reads it."""
    match subject:
        case RequestDraft(messages) | TurnEnd(messages):
            return {"messages": messages_to_json(messages)}
        case CallDraft() | PermissionRequest():
            asked: JsonObject = {"reasons": subject.reasons} if isinstance(subject, PermissionRequest) else {}
            return {
                "call": {
                    **_build_identity(subject.context),
                    "tool": subject.tool,
                    "arguments": subject.arguments,
                    "risk": subject.risk.value,
                    "paths": subject.paths,
                },
                **asked,
            }
        case ResultDraft():
            return {
                "result": {
                    **_build_identity(subject.context),
                    "tool": subject.tool,
                    "outcome": subject.outcome.value,
                    "output": subject.output,
                    "risk": subject.risk.value,
                    "paths": subject.paths,
                }
            }
        case SessionStart():
            return {"session": _encode_fields(subject)}
        case SessionEnd():
            return {"session": _encode_fields(subject)}
        case Notification():
            return {"notification": _encode_fields(subject)}
        case CompactionDraft():
            return {"compaction": _encode_fields(subject)}
        case _:
            assert_never(subject)


def _encode_fields(subject: SessionStart | SessionEnd | Notification | CompactionDraft) -> JsonObject:
    return {name: getattr(subject, name) for name in subject.__struct_fields__}


def edit(subject: HookSubject, value: JsonValue) -> None:
    """Put what a command handed back with Continue, of the type its point wants, in place of what was there, or
    below it where hooks only add.

    Raises HookFailure for messages that cannot be sent.
    """
    match subject:
        case RequestDraft(messages) if isinstance(value, list):
            messages[:] = apply_message_edits(value, messages)
        case CallDraft() if isinstance(value, dict):
            subject.arguments = value
        case ResultDraft() if isinstance(value, str):
            subject.output = value
        case SessionStart(context=context) if isinstance(value, str):
            subject.context = _add_line(context, value)
        case PermissionRequest(note=note) if isinstance(value, str):
            subject.note = _add_line(note, value)
        case CompactionDraft(focus=focus) if isinstance(value, str):
            subject.focus = _add_line(focus, value)
        case (
            RequestDraft()
            | CallDraft()
            | ResultDraft()
            | TurnEnd()
            | SessionStart()
            | SessionEnd()
            | PermissionRequest()
            | Notification()
            | CompactionDraft()
        ):
            return
        case _:
            assert_never(subject)


def _add_line(text: str, value: str) -> str:
    return f"{text}\n{value}" if text else value


def copy_subject(subject: HookSubject) -> HookSubject:
    """The subject as it is, out of reach of a hook."""
    match subject:
        case RequestDraft():
            return replace(subject, messages=list(subject.messages))
        case CallDraft() | PermissionRequest():
            return replace(subject, arguments=deepcopy(subject.arguments))
        case ResultDraft() | SessionStart() | CompactionDraft():
            return replace(subject)
        case TurnEnd() | SessionEnd() | Notification():
            return subject
        case _:
            assert_never(subject)


def explain_unusable_edit(subject: HookSubject) -> str | None:
    """Why what a hook left in the part it may edit cannot be used; None where it can."""
    match subject:
        case RequestDraft():
            usable = _is_list_of(subject.messages, (UserMessage, AssistantMessage, ToolResults))
            return None if usable else "left messages that are not a list of messages"
        case CallDraft():
            usable = isinstance(subject.arguments, dict) and is_json(subject.arguments)
            return None if usable else "left arguments that are not a JSON object"
        case ResultDraft():
            return None if isinstance(subject.output, str) else "left an output that is not text"
        case SessionStart() | PermissionRequest() | CompactionDraft():
            left = encode_editable_field(subject)
            return None if isinstance(left, str) else f"left a {name_editable_field(subject)} that is not text"
        case TurnEnd() | SessionEnd() | Notification():
            return None
        case _:
            assert_never(subject)


def name_editable_field(subject: HookSubject) -> str | None:
    """The field that a hook may edit, if any."""
    match subject:
        case RequestDraft():
            return "messages"
        case CallDraft():
            return "arguments"
        case ResultDraft():
            return "output"
        case SessionStart():
            return "context"
        case PermissionRequest():
            return "note"
        case CompactionDraft():
            return "focus"
        case TurnEnd() | SessionEnd() | Notification():
            return None
        case _:
            assert_never(subject)


def encode_editable_field(subject: HookSubject) -> JsonValue:
    """The part that a hook may edit as JSON, not copied; None where there is none."""
    match subject:
        case RequestDraft(messages):
            return messages_to_json(messages)
        case CallDraft(arguments=arguments):
            return arguments
        case ResultDraft(output=text) | SessionStart(context=text):
            return text
        case PermissionRequest(note=text) | CompactionDraft(focus=text):
            return text
        case TurnEnd() | SessionEnd() | Notification():
            return None
        case _:
            assert_never(subject)


# ---------------------------------------------------------------- what is the same at all points


def describe_edit(subject: HookSubject, before: HookSubject) -> JsonObject | None:
    """What a hook changed, as it is recorded: of messages only how many there are; None where it changed
    nothing."""
    editable = name_editable_field(subject)
    if editable is None or getattr(subject, editable) == getattr(before, editable):
        return None
    now = (
        len(subject.messages) if isinstance(subject, RequestDraft) else deepcopy(encode_editable_field(subject))
    )
    return {editable: now}


def restore(subject: HookSubject, before: HookSubject) -> None:
    """Make the subject what that other one is."""
    if subject is not before:
        for name in subject.__struct_fields__:
            setattr(subject, name, getattr(before, name))


def explain_refused_edit(subject: HookSubject, before: HookSubject) -> str | None:
    """Why what a hook left of its subject cannot be used; None where it can."""
    editable = name_editable_field(before)
    for name in subject.__struct_fields__:
        if name != editable and getattr(subject, name) != getattr(before, name):
            return f"changed {name}, which cannot be changed: at this point a hook may edit {editable} only"
    return explain_unusable_edit(subject)


def explain_refused_answer(answer: object, point: HookPoint) -> str | None:
    """Why an answer cannot be used at this point; None where it can."""
    allowed = describe_point(point).answers
    match answer:
        case _ if not isinstance(answer, allowed):
            names = ", ".join(kind.__name__ for kind in allowed)
            found = f"the class {answer.__name__}" if isinstance(answer, type) else type(answer).__name__
            return f"answered {found}; it may answer {names} or None"
        case Skip(reason) | Ask(reason) | Abort(reason) if not isinstance(reason, str):
            return f"answered {type(answer).__name__} with a reason that is not text"
        case ContinueWithMessages(messages) if not _is_list_of(messages, (str, UserMessage)):
            return "answered ContinueWithMessages with something else than texts and UserMessages"
        case ContinueWithMessages(messages) if not all(map(_says_something, messages)):
            return "answered ContinueWithMessages with a message that says nothing"
        case ContinueWithMessages(messages) if not messages:
            return "answered ContinueWithMessages without messages"
        case _:
            return None


def _build_identity(context: ToolExecutionContext) -> dict[str, str | int]:
    return {
        "call_id": context.call_id,
        "batch_id": context.batch_id,
        "call_index": context.call_index,
        "turn_index": context.turn_index,
    }


def _says_something(message: object) -> bool:
    if isinstance(message, UserMessage):
        return bool(message.text or message.attachments)
    return bool(message)


def _is_list_of(value: object, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, kinds) for one in value)


def messages_to_json(messages: Sequence[Message]) -> list[JsonValue]:
    """Each message as an object with its `index` and `role`."""
    return [{"index": index, **_encode_message(message)} for index, message in enumerate(messages)]


def apply_message_edits(given: Sequence[JsonValue], original: Sequence[Message]) -> list[Message]:
    """The messages that a hook handed back.

    One with an `index` is the original of that index: the text of a user's message and the outputs of
    results may differ, its images, documents and files and an assistant's message may not. One without is a new
    user's message.
    Raises HookFailure where that does not hold, or where calls and results no longer belong together.
    """
    messages = [_apply_edit(place, one, original) for place, one in enumerate(given)]
    if not messages:
        raise HookFailure("messages is empty; hand back those that shall be sent")
    replayed = Conversation()
    try:
        for message in messages:
            match message:
                case UserMessage():
                    replayed.add_user(message)
                case AssistantMessage(response):
                    replayed.add_response(response)
                case ToolResults(results):
                    replayed.add_results(results)
                case _:
                    assert_never(message)
    except ConversationError as error:
        raise HookFailure(f"messages cannot be sent like that: {error}") from error
    if replayed.open_calls:
        call_id = replayed.open_calls[0].native_id
        raise HookFailure(f"messages cannot be sent like that: the call {call_id} has lost its result")
    return messages


def _encode_message(message: Message) -> JsonObject:
    match message:
        case UserMessage(text, images, files, documents=documents):
            named: list[JsonValue] = [image.name for image in images]
            papers: list[JsonValue] = [document.name for document in documents]
            attached: list[JsonValue] = [{"name": file.name, "content": file.content} for file in files]
            return {
                "role": "user",
                "text": text,
                **({"images": named} if named else {}),
                **({"documents": papers} if papers else {}),
                **({"files": attached} if attached else {}),
            }
        case AssistantMessage(response):
            calls: list[JsonValue] = [
                {"call_id": call.native_id, "tool": call.tool_name, "arguments": call.arguments}
                for call in response.tool_calls()
            ]
            return {"role": "assistant", "text": response.text_content(), "calls": calls}
        case ToolResults(results):
            return {"role": "results", "results": [_result_to_json(result) for result in results]}
        case _:
            assert_never(message)


def _result_to_json(result: ToolResultMessage) -> JsonObject:
    return {
        "call_id": result.tool_use_id,
        "tool": result.tool_name,
        "output": result.output,
        "is_error": result.is_error,
        "is_rejected": result.is_rejected,
    }


def _apply_edit(place: int, given: JsonValue, original: Sequence[Message]) -> Message:
    where = f"messages[{place}]"
    if not isinstance(given, Mapping):
        raise HookFailure(f"{where} must be an object")
    if "index" not in given:
        text = given.get("text")
        if given.get("role") != "user" or not isinstance(text, str):
            raise HookFailure(f'{where} has no index, so it must be new: {{"role": "user", "text": "…"}}')
        return UserMessage(text)
    index = given["index"]
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(original):
        raise HookFailure(f"{where}.index must be that of a message the hook was given")
    message = original[index]
    if set(given) == {"index"}:
        return message
    match message:
        case UserMessage(text):
            return replace(message, text=_read_text(given.get("text", text), f"{where}.text"))
        case AssistantMessage():
            if given != {"index": index, **_encode_message(message)}:
                raise HookFailure(
                    f"{where} rewrites what the model said, which cannot be sent; leave it as it is"
                )
            return message
        case ToolResults(results):
            return ToolResults(_apply_result_edits(given.get("results"), results, f"{where}.results"))
        case _:
            assert_never(message)


def _apply_result_edits(
    given: JsonValue, original: tuple[ToolResultMessage, ...], where: str
) -> tuple[ToolResultMessage, ...]:
    if not isinstance(given, list) or len(given) != len(original):
        raise HookFailure(f"{where} must be the same {len(original)} results, in their order")
    edited = []
    for place, (one, result) in enumerate(zip(given, original, strict=True)):
        if not isinstance(one, Mapping) or one.get("call_id") != result.tool_use_id:
            raise HookFailure(f"{where}[{place}] must be the result of the call {result.tool_use_id}")
        edited.append(replace(result, output=_read_text(one.get("output"), f"{where}[{place}].output")))
    return tuple(edited)


def _read_text(value: JsonValue, where: str) -> str:
    if not isinstance(value, str):
        raise HookFailure(f"{where} must be a text")
    return value
