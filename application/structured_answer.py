"""Asking a model for an answer in fields: it is made to call one tool, and free text is never read."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from quorum.application.answer_limit import AnswerTooLong, limit_answer
from quorum.application.ports.models import LlmSession, OnStreamEvent, ToolChoice
from quorum.application.ports.tools import AnswerTools
from quorum.domain.calls.tool import ToolCall, ToolResultMessage
from quorum.domain.conversation.context_size import LEAST_FOR_A_FORM, compute_larger_output
from quorum.domain.conversation.history import Conversation, UserMessage
from quorum.domain.conversation.response import LlmResponse, StopKind, StreamEvent
from quorum.domain.errors import ProviderError
from quorum.domain.text.json_value import JsonObject, JsonValue

_Answer = TypeVar("_Answer")
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_AGAIN = "Your answer could not be read: {problem}. Call {tool} once, with its fields as described."


class Unreadable(ValueError):
    """An answer is not in the form that was asked for; the text says why."""


class AnswerForm(Struct, Generic[_Answer], frozen=True):
    """The form of an answer: a tool with flat fields, and what reads its arguments, or raises Unreadable."""

    tool: str
    schema: JsonObject
    read: Callable[[JsonObject], _Answer]


async def ask_in_form(
    session: LlmSession,
    conversation: Conversation,
    question: str | UserMessage,
    form: AnswerForm[_Answer],
    *,
    count: Callable[[LlmResponse], Awaitable[None]],
    tools: AnswerTools | None = None,
) -> _Answer:
    """Ask a question in the session of a conversation, and once more where the answer cannot be read.

    `count` is given each response; with `tools` a model that calls any may look around before it answers.
    Raises Unreadable where the second answer cannot be read either or one is too long, ProviderError and
    SpendCapReached.
    """
    try:
        async with limit_answer(_ignore_event) as on_event:
            return await _ask(session, conversation, question, form, count, tools, on_event)
    except AnswerTooLong as problem:
        raise Unreadable(str(problem)) from problem


async def _ask(
    session: LlmSession,
    conversation: Conversation,
    question: str | UserMessage,
    form: AnswerForm[_Answer],
    count: Callable[[LlmResponse], Awaitable[None]],
    tools: AnswerTools | None,
    on_event: OnStreamEvent,
) -> _Answer:
    forced: ToolChoice = ("tool", form.tool)
    offered = (*tools.schemas, form.schema) if tools is not None else (form.schema,)
    try:
        response = await session.send_with_tools(
            question, offered, tool_choice=forced if tools is None else "auto", on_event=on_event
        )
    except ProviderError as refused:
        if not refused.only_answers:
            raise
        response = await session.send_with_tools(None, offered, tool_choice=forced, on_event=on_event)
    await count(response)
    rounds = 0
    while tools is not None and rounds < tools.most_rounds and _looks_around(conversation, form.tool):
        rounds += 1
        results = await _run_tools(conversation.open_calls, tools, rounds, form.tool)
        choice: ToolChoice = "auto" if rounds < tools.most_rounds else forced
        response = await session.send_tool_results(results, tool_choice=choice, on_event=on_event)
        await count(response)
    try:
        return form.read(_read_call(response, form))
    except Unreadable as problem:
        again = _AGAIN.format(problem=problem, tool=form.tool)
    if calls := conversation.open_calls:
        repeated = [_refuse(call, again) for call in calls]
        response = await session.send_tool_results(repeated, tool_choice=forced, on_event=on_event)
    else:
        is_cut = response.stop_reason.kind is StopKind.MAX_TOKENS
        response = await session.send_with_tools(
            again,
            offered,
            tool_choice=forced,
            max_output_tokens=_compute_more_room(session.model, response) if is_cut else None,
            on_event=on_event,
        )
    await count(response)
    return form.read(_read_call(response, form))


def _looks_around(conversation: Conversation, tool: str) -> bool:
    return any(call.tool_name != tool for call in conversation.open_calls)


async def _run_tools(
    calls: Sequence[ToolCall], tools: AnswerTools, round_index: int, tool: str
) -> list[ToolResultMessage]:
    """A result for each call; one that gives the answer at the same time is refused: it came too soon."""
    given = await tools.run([call for call in calls if call.tool_name != tool], round_index)
    found = iter(given)
    refused = f"Not taken: call {tool} alone, once you have seen these results."
    return [_refuse(call, refused) if call.tool_name == tool else next(found) for call in calls]


def _refuse(call: ToolCall, message: str) -> ToolResultMessage:
    return ToolResultMessage(
        tool_use_id=call.native_id, tool_name=call.tool_name, output=message, is_error=True
    )


def _read_call(response: LlmResponse, form: AnswerForm[_Answer]) -> JsonObject:
    """The arguments of the one call that an answer consists of, with the types of the form where one reading
    gives them."""
    tool = form.tool
    calls = [call for call in response.tool_calls() if call.tool_name == tool]
    if not calls and response.stop_reason.kind in (StopKind.MAX_TOKENS, StopKind.REFUSAL):
        raise Unreadable(f"the answer ended ({response.stop_reason}) before it called {tool}")
    if len(calls) != 1 or len(response.tool_calls()) != 1:
        raise Unreadable(f"it called {tool} {len(calls)} times, and must do so once and call nothing else")
    (call,) = calls
    if call.parse_error:
        raise Unreadable(f"its arguments are no JSON object: {call.parse_error}")
    read = _read_plainly(form.schema.get("input_schema"), call.arguments)
    return read if isinstance(read, Mapping) else call.arguments


def _read_plainly(schema: JsonValue, value: JsonValue) -> JsonValue:
    """The value with numbers for what is a number in quotes, and a list for its only item, where the schema has
    these. All else stays as it is given: an answer is not made to fit."""
    if not isinstance(schema, Mapping):
        return value
    match schema.get("type"), value:
        case "number" | "integer", str() if _NUMBER.fullmatch(value.strip()):
            number = float(value)
            return int(number) if number.is_integer() else number
        case "array", list():
            return [_read_plainly(schema.get("items"), each) for each in value]
        case "array", Mapping() if value:
            return [_read_plainly(schema.get("items"), value)]
        case "object", Mapping():
            properties = schema.get("properties")
            known = properties if isinstance(properties, Mapping) else {}
            return {name: _read_plainly(known.get(name), each) for name, each in value.items()}
    return value


def _compute_more_room(model: str, cut: LlmResponse) -> int:
    return compute_larger_output(model, cut.usage.output, least=LEAST_FOR_A_FORM)


def _ignore_event(_event: StreamEvent) -> None:
    """Nobody watches the fields of an answer arrive."""
