"""The messages of a request as hooks read them, and what a hook handed back in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import AssistantMessage, Conversation, Message, ToolResults, UserMessage
from quorum.domain.errors import ConversationError, HookFailure
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject, JsonValue


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
