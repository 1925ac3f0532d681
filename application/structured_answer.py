"""Asks a model for an answer in fields, and once more where an answer says nothing.

For fields it has to call one tool, and free text is never read. The struct of an answer is the one place that
says which fields it has and what they mean. An answer that is too long is broken off: a stream need not have an
end. Texts that are data are set off from what a model is told to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Generic, TypeAlias, TypeVar

from msgspec import Meta, Struct, field

from quorum.application.ports.models import LlmSession, OnStreamEvent, ToolChoice
from quorum.application.ports.tools import AnswerTools
from quorum.domain.calls.tool import ToolCall, ToolResultMessage
from quorum.domain.conversation.context_size import LEAST_FOR_A_FORM, compute_larger_output
from quorum.domain.conversation.history import Conversation, UserMessage
from quorum.domain.conversation.response import (
    Delta,
    LlmResponse,
    StopKind,
    StreamedReasoning,
    StreamedToolCall,
    StreamEvent,
)
from quorum.domain.errors import ProviderError
from quorum.domain.struct_json import Unfit, decode_struct
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.pattern import compile_once

if TYPE_CHECKING:
    from msgspec.inspect import Field, Type


MOST_CHARACTERS = 1_000_000
"""Of text, reasoning and arguments together; more than the longest answer of any model."""


class AnswerTooLong(Exception):
    """An answer was broken off because it was too long; the text says so."""

    def __init__(self) -> None:
        super().__init__(f"it wrote more than {MOST_CHARACTERS:,} characters and was cut off")


class _Meter:
    """Counts what arrives, passes it on, and ends the request once it is too much."""

    def __init__(self, deadline: asyncio.Timeout, on_event: OnStreamEvent) -> None:
        self._deadline = deadline
        self._on_event = on_event
        self._characters = 0

    @property
    def is_full(self) -> bool:
        return self._characters > MOST_CHARACTERS

    def __call__(self, event: StreamEvent) -> None:
        if self.is_full:
            return  # what arrives until the request has ended is left out
        match event:
            case Delta() | StreamedReasoning():
                self._characters += len(event.text)
            case StreamedToolCall():
                self._characters += len(event.arguments_delta)
            case _:
                pass
        if self.is_full:
            self._deadline.reschedule(asyncio.get_running_loop().time())
        else:
            self._on_event(event)


@asynccontextmanager
async def limit_answer(on_event: OnStreamEvent) -> AsyncIterator[OnStreamEvent]:
    """What to give a session as its `on_event`. Raises AnswerTooLong where more arrives than an answer may
    have; the request is cancelled then."""
    meter: _Meter | None = None
    try:
        async with asyncio.timeout(None) as deadline:
            meter = _Meter(deadline, on_event)
            yield meter
    except TimeoutError:
        if meter is None or not meter.is_full:
            raise
        raise AnswerTooLong from None


_Answer = TypeVar("_Answer")
_NUMBER = r"-?\d{1,15}(?:\.\d{1,15})?"
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
    watch: OnStreamEvent = lambda _event: None,
) -> _Answer:
    """Ask a question in the session of a conversation, and once more where the answer cannot be read.

    `count` is given each response, and `watch` what arrives of it; with `tools` a model that calls any may look
    around before it answers.
    Raises Unreadable where the second answer cannot be read either or one is too long, ProviderError and
    SpendCapReached.
    """
    try:
        async with limit_answer(watch) as on_event:
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
    if not calls:
        raise Unreadable(f"it did not call {tool}, which it must")
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
        case "number" | "integer", str() if compile_once(_NUMBER).fullmatch(value.strip()):
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


_S = TypeVar("_S", bound=Struct)
_Entry = TypeVar("_Entry")

NOT_EMPTY = r"\S"
Confidence: TypeAlias = Annotated[float, Meta(ge=0, le=1, description="How sure you are, from 0 to 1.")]


class OptionalText(str):
    """A text that may be left out. What is no text counts as left out."""

    __slots__ = ()

    @classmethod
    def from_json(cls, value: JsonValue) -> OptionalText:
        return cls(value) if isinstance(value, str) else cls()


class AnswerLabel(str):
    """A label in a list of them, or the text of what stands in its place."""

    __slots__ = ()

    @classmethod
    def from_json(cls, value: JsonValue) -> AnswerLabel:
        return cls(value)


class Fields(Struct, Generic[_S], frozen=True):
    """The fields of an answer, or of an entry of it.

    By the name of a field, where only the question tells: `words` that it can be, and what it `must` be, as the
    model is told of one that cannot be read. A field with the default None is asked for, and may be missing.
    """

    kind: type[_S]
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)
    must: Mapping[str, str] = field(default_factory=dict)

    def build_schema(self) -> dict[str, JsonValue]:
        """The JSON schema of an object with these fields."""
        return self._build_object(self.kind)

    def read(self, given: JsonObject) -> _S:
        """What a model gave for them. Raises Unreadable."""
        try:
            return decode_struct(self.kind, given)
        except Unfit as problem:
            raise Unreadable(self._describe(problem)) from None

    def refuse(self, name: str) -> Unreadable:
        """The error about a field that is none of its words, or is so once too often."""
        return Unreadable(f'"{name}" must {self.must[name]}')

    def index(self, name: str, entries: Iterable[tuple[str, _Entry]]) -> dict[str, _Entry]:
        """Entries by the word that each has in this field: one of its words, and no other entry's. Raises
        Unreadable."""
        found: dict[str, _Entry] = {}
        for word, entry in entries:
            if word not in self.words[name] or word in found:
                raise self.refuse(name)
            found[word] = entry
        return found

    def _build_object(self, kind: type[Struct]) -> dict[str, JsonValue]:
        fields = _list_fields(kind)
        return {
            "type": "object",
            "properties": {each.name: self._build_field(each) for each in fields},
            "required": [each.name for each in fields if each.required or each.default is None],
        }

    def _build_field(self, asked: Field) -> JsonObject:
        from msgspec import inspect

        kind, description = _split(asked.type)
        words = self.words.get(asked.name)
        word: JsonObject = {"type": "string", "enum": list(words)} if words else {}
        if word and isinstance(kind, inspect.VarTupleType):
            return {"type": "array", "items": word, **description}
        return {**(word or self._build_type(kind)), **description}

    def _build_type(self, kind: Type) -> JsonObject:
        from msgspec import inspect

        match kind:
            case inspect.EnumType():
                return {"type": "string", "enum": [each.value for each in kind.cls]}
            case inspect.IntType():
                bounds = {"minimum": kind.ge, "maximum": kind.le}
                return {
                    "type": "integer",
                    **{name: bound for name, bound in bounds.items() if bound is not None},
                }
            case inspect.FloatType():
                return {"type": "number"}
            case inspect.VarTupleType(item_type=inspect.StructType() as inner):
                return {"type": "array", "items": self._build_object(inner.cls)}
            case inspect.VarTupleType():
                return {"type": "array", "items": self._build_type(_split(kind.item_type)[0])}
            case _:
                return {"type": "string"}

    def _describe(self, problem: Unfit) -> str:
        """What the innermost field on the way to the problem must be."""
        from msgspec import inspect

        name, kind, is_entry = "", inspect.type_info(self.kind), False
        for step in problem.path:
            inner = kind.item_type if isinstance(kind, inspect.VarTupleType) else kind
            known = {each.name: each.type for each in getattr(inner, "fields", ())}
            is_entry = step not in known
            if not is_entry:
                name, (kind, _) = step, _split(known[step])
            elif not known:
                kind, _ = _split(inner)
        if name in self.must and not is_entry:
            return str(self.refuse(name))
        match kind:
            case inspect.EnumType():
                *others, last = (str(each.value) for each in kind.cls)
                return f'"{name}" must be {", ".join(others)} or {last}'
            case inspect.IntType():
                to = "" if kind.le is None else f" to {kind.le}"
                return f'"{name}" must be a whole number from {kind.ge}{to}'
            case inspect.FloatType():
                return f'"{name}" must be a number from {kind.ge:g} to {kind.le:g}'
            case inspect.VarTupleType() if "of length" in problem.problem:
                return f'"{name}" must have {kind.max_length} entries at most'
            case inspect.VarTupleType():
                return f'"{name}" must be a list{" of objects" if is_entry else ""}'
            case inspect.StrType():
                return f'"{name}" must be a text that is not empty'
            case _:
                return str(problem)


def _list_fields(kind: type[Struct]) -> tuple[Field, ...]:
    from msgspec import inspect

    found = inspect.type_info(kind)
    return found.fields if isinstance(found, inspect.StructType) else ()


def _split(kind: Type) -> tuple[Type, JsonObject]:
    """A type without what is said of it, and its description."""
    from msgspec import inspect

    return (kind.type, kind.extra_json_schema or {}) if isinstance(kind, inspect.Metadata) else (kind, {})


_WITHHELD = "[…]"


def render_fenced(name: str, mark: str, text: str) -> str:
    """A text between two lines that begin and end it.

    These lines carry a mark: the id of a panel, or the digest of a packet. Models that were asked before have
    read it, and what they wrote may be the text: so that none can end the fence, the mark is taken out of it.
    """
    return f"<<<{name} {mark}\n{text.replace(mark, _WITHHELD)}\n{name} {mark}>>>"


ASKED_AGAIN = "Your last answer cannot be used: "
_REPLY = ASKED_AGAIN + "{lack}. {wanted}"
# small models that have done it all end with nothing, and take "answer in words" for a new question
_GO_ON = "Call the next tool or, if the task is done, say in words what was done."
CLAIMED = "it says that work was done, and no tool was called, so that nothing was"
_DO_IT = "Do it with the tools. If it needs none, answer without saying that anything was done."
_NO_TOOLS = "There are no tools here."


def render_empty_answer_reply(lack: str, *, offers_tools: bool = True) -> str:
    """What the model reads after an answer that lacked so much that it was none."""
    go_on = _DO_IT if lack == CLAIMED else _GO_ON
    wanted = go_on if offers_tools else "Answer in words."
    return _REPLY.format(lack=lack, wanted=wanted)


async def ask_for_words(
    session: LlmSession, conversation: Conversation, response: LlmResponse, on_event: OnStreamEvent
) -> LlmResponse | None:
    """Ask once more where an answer to a question without tools holds no words, and return the second answer.

    None where it needs none: it has words, or ended at a limit or with a refusal. Raises what the session does.
    """
    lack = "it called a tool, and none was offered" if response.has_tool_calls() else response.lack
    if response.has_words or lack is None:
        return None
    reply = render_empty_answer_reply(lack, offers_tools=False)
    if calls := conversation.open_calls:
        refused = [
            ToolResultMessage(tool_use_id=c.native_id, tool_name=c.tool_name, output=_NO_TOOLS, is_error=True)
            for c in calls
        ]
        conversation.add_results(refused)
    return await session.send_with_tools(reply, (), on_event=on_event)
