"""What an MCP server answers in the forms of the protocol, so that one odd part of it costs only itself.

The SDK drops a message that has a part it does not expect, and the call that it answers waits to its limit.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeGuard, TypeVar

from msgspec import Struct

from quorum.domain.calls.summary import (
    describe_keys,
    describe_structure,
    extract_text,
    is_long,
    summarise_content,
)
from quorum.domain.text.json_text import count_utf8_bytes, is_json
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.output import OutputLimits, Stored, Structured, Text, ToolOutput
from quorum.domain.text.pattern import compile_once
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.mcp.json_lines import Piece, UnreadableText
from quorum.infrastructure.tools.json_schema import find_mismatch

if TYPE_CHECKING:
    from mcp_types import JSONRPCMessage


_LONGEST_SHOWN = 2_000


def fit_blocks(content: JsonValue) -> list[JsonObject]:
    """The blocks of a content, which may also be one block or one text."""
    if content is None:
        return []
    return [_fit_block(block) for block in (content if isinstance(content, list) else [content])]


def _fit_block(block: JsonValue) -> JsonObject:
    if not isinstance(block, Mapping):
        return _make_text(block)
    match block.get("type", "text" if "text" in block else None):
        case "text" if block.get("text") is not None:
            return _make_text(block["text"])
        case "image" | "audio" as kind if isinstance(data := block.get("data"), str):
            mime_type = block.get("mimeType")
            return {
                "type": kind,
                "data": data,
                "mimeType": mime_type if isinstance(mime_type, str) else "unknown",
            }
        case "resource_link" if isinstance(uri := block.get("uri"), str):
            name = block.get("name")
            return {"type": "resource_link", "uri": uri, "name": name if isinstance(name, str) else uri}
        case "resource" if isinstance(resource := block.get("resource"), Mapping):
            return {"type": "resource", "resource": fit_resource_content(resource)}
        case "text" | "image" | "audio" | "resource_link" | "resource" as kind:
            return _make_text(f"[{kind}, left out: it has not the fields of its type: {_show(block)}]")
        case kind:
            return _make_text(f"[a block of a type that is not known, {_show(kind)}: {_show(block)}]")


def fit_resource_content(content: JsonValue) -> JsonObject:
    """The content of a resource; one without text or data is a text that says so."""
    if not isinstance(content, Mapping):
        return {"uri": "", "text": content if isinstance(content, str) else _show(content)}
    uri, mime_type = content.get("uri"), content.get("mimeType")
    kind = {"mimeType": mime_type} if isinstance(mime_type, str) else {}
    place: JsonObject = {"uri": uri if isinstance(uri, str) else "", **kind}
    text, data = content.get("text"), content.get("blob")
    if text is None and isinstance(data, str):
        return {**place, "blob": data}
    if text is None:
        return {**place, "text": f"[it holds neither text nor data: {_show(content)}]"}
    return {**place, "text": text if isinstance(text, str) else _show(text)}


def _make_text(value: JsonValue) -> JsonObject:
    return {"type": "text", "text": value if isinstance(value, str) else _show(value)}


def _show(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


_NO_OBJECT = "it is no object"
_NO_NAME = "it has no name"


def fit_tool(item: JsonValue) -> JsonObject | str:
    """A tool. One without a schema takes any arguments."""
    if not isinstance(item, Mapping):
        return _NO_OBJECT
    if not isinstance(item.get("name"), str):
        return _NO_NAME
    schema = item.get("inputSchema")
    if schema is not None and not isinstance(schema, Mapping):
        return "the schema of its arguments is no object"
    arguments = fit_arguments(schema or {})
    if arguments is None:
        return 'the schema of its arguments: its type is not "object"'
    described = _choose_text(item, ("description", "title"))
    return {"name": item["name"], **({"description": described} if described else {}), "inputSchema": arguments}


def _is_for_interface(item: JsonValue) -> bool:
    """Whether a server keeps a tool for its own interface, which clients with MCP Apps show."""
    meta = item.get("_meta") if isinstance(item, Mapping) else None
    shown = meta.get("ui") if isinstance(meta, Mapping) else None
    seen_by = shown.get("visibility") if isinstance(shown, Mapping) else None
    return isinstance(seen_by, list) and "model" not in seen_by


def fit_arguments(schema: JsonObject) -> JsonObject | None:
    """The schema of arguments with the outline that the protocol asks for; None where it is of no object."""
    kind = schema.get("type")
    if kind is not None and kind != "object" and not (isinstance(kind, list) and "object" in kind):
        return None
    fitted = {key: value for key, value in schema.items() if key not in ("properties", "required", "$schema")}
    fitted["type"] = "object"
    properties, required, dialect = (schema.get(key) for key in ("properties", "required", "$schema"))
    if isinstance(dialect, str):
        fitted["$schema"] = dialect
    if isinstance(properties, Mapping):
        fitted["properties"] = {
            key: value if isinstance(value, Mapping | bool) else {} for key, value in properties.items()
        }
    if isinstance(required, list):
        fitted["required"] = [name for name in required if isinstance(name, str)]
    return fitted


def fit_prompt(item: JsonValue) -> JsonObject | str:
    """A prompt; an argument without a name is left out."""
    if not isinstance(item, Mapping):
        return _NO_OBJECT
    if not isinstance(item.get("name"), str):
        return _NO_NAME
    arguments = item.get("arguments")
    parameters = [
        {"name": each["name"], "required": each.get("required") in (True, "true")}
        for each in (arguments if isinstance(arguments, list) else ())
        if isinstance(each, Mapping) and isinstance(each.get("name"), str)
    ]
    return {**_select_texts(item, ("name", "description", "title")), "arguments": parameters}


def fit_resource(item: JsonValue) -> JsonObject | str:
    """A resource; without a name it is called by its address."""
    return _fit_addressed(item, "uri")


def fit_template(item: JsonValue) -> JsonObject | str:
    """A template of resources; without a name it is called by its address."""
    return _fit_addressed(item, "uriTemplate")


def _fit_addressed(item: JsonValue, key: str) -> JsonObject | str:
    if not isinstance(item, Mapping):
        return _NO_OBJECT
    if not isinstance(item.get(key), str):
        return "it has no address"
    return {"name": item[key], **_select_texts(item, (key, "name", "description", "mimeType"))}


def _select_texts(item: JsonObject, keys: Sequence[str]) -> dict[str, JsonValue]:
    return {key: value for key in keys if isinstance(value := item.get(key), str)}


def _choose_text(item: JsonObject, keys: Sequence[str]) -> str:
    return next((value for key in keys if isinstance(value := item.get(key), str) and value), "")


_LIMITS = OutputLimits()


_STRUCTURED = "structuredContent"
_REFERENCE_BYTES = 44  # of the id that stands before a summary


def add_structure(parts: Sequence[str], value: JsonValue) -> str | ToolOutput:
    """Return the output for an answer of these parts and this structured content.

    A part that says no more than the content gives way to it. The others are the summary of the content where
    they are short enough for one; else a short content stands below them, and a long one is kept with them as
    one JSON object.
    """
    text, value = "\n".join(parts), _unwrap(value, _STRUCTURED)
    if value is None or not is_json(value) or _is_wrapped_text(parts, value):
        return text
    structured = Structured(value)
    text = "\n".join(_drop_renderings(parts, value))
    if not text.strip():
        return structured
    if not is_long(both := f"{text}\n{extract_text(structured)}", _LIMITS.inline_bytes):
        return both
    room = _LIMITS.summary_bytes - _REFERENCE_BYTES
    if not is_long(summary := f"{describe_structure(value)}\n{text}", room):
        return Stored(structured, summary=summary)
    if not is_long(line := json.dumps(value, ensure_ascii=False), room // 2):
        return f"{text}\n{line}"  # at the end of a text, where its summary shows it
    whole: JsonObject = {"content": text, _STRUCTURED: value}
    described = "\n".join([describe_structure(whole), *describe_keys(whole)])
    limits = OutputLimits(summary_bytes=room - count_utf8_bytes(described))
    _, _, ends = summarise_content(Text(text), "", limits).partition("\n")
    return Stored(Structured(whole), summary=f"{described}\n{ends}")


def show_structure(parts: Sequence[str], value: JsonValue) -> str:
    """Return the text of these parts and this structured content, where an answer can be text only."""
    text, value = "\n".join(parts), _unwrap(value, _STRUCTURED)
    is_said = _is_wrapped_text(parts, value) or _drop_renderings(parts, value) != [*parts]
    if value is None or not is_json(value) or is_said:
        return text
    return "\n".join(filter(None, (text, extract_text(Structured(value)))))


def _unwrap(value: JsonValue, key: str | None = None) -> JsonValue:
    """The value under the only key, this one or any, as where a function returns no object."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return value
    ((only, inner),) = value.items()
    return inner if key in (None, only) else value


def _is_wrapped_text(parts: Sequence[str], value: JsonValue) -> bool:
    """Whether the content is but a text that stands there already."""
    return isinstance(wrapped := _unwrap(value), str) and wrapped in ("\n".join(parts), *parts)


def _drop_renderings(parts: Sequence[str], value: JsonValue) -> list[str]:
    """The parts that are not the same JSON, whole or entry by entry, maybe without the key that wraps it."""
    wrapped = _unwrap(value)
    entries = wrapped if isinstance(wrapped, list) else []

    def renders(text: str) -> bool:
        if _parse(text) in (value, wrapped):
            return True
        return bool(entries) and [_parse(line) for line in text.splitlines()] == entries

    if renders("\n".join(parts)):
        return []
    texts = {entry for entry in entries if isinstance(entry, str)}
    read = [part if part in texts else _parse(part) for part in parts]
    if entries and read[: len(entries)] == entries:
        return [*parts[len(entries) :]]
    if entries and read[-len(entries) :] == entries:
        return [*parts[: -len(entries)]]
    return [part for part in parts if not renders(part)]


def _parse(text: str) -> object:
    """The JSON of a text; the text itself where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


_MOST_PAGES = 200


class Page(Protocol):
    """A part of a list; `next_cursor` leads to the next one, and is empty at the end."""

    @property
    def next_cursor(self) -> str | None: ...


_Page = TypeVar("_Page", bound=Page)


async def iterate_pages(
    fetch: Callable[[str | None], Awaitable[_Page]], notices: list[str]
) -> AsyncIterator[_Page]:
    """The pages that `fetch` answers for a cursor, None for the first; 200 at the most.

    An end before the list's own goes to `notices`: pages that go in a circle, or one that fails after others.
    """
    from mcp.shared.exceptions import MCPError

    cursor: str | None = None
    seen: set[str] = set()
    for count in range(_MOST_PAGES):
        try:
            page = await fetch(cursor)
        except (MCPError, ValueError) as error:
            if not count:
                raise
            notices.append(f"its list ends after {count} pages, for the next one failed: {error}")
            return
        yield page
        cursor = page.next_cursor
        if not cursor:
            return
        if cursor in seen:
            notices.append(f"its list ends after {count + 1} pages, for the next one is one of them again")
            return
        seen.add(cursor)
    notices.append(f"its list is longer than {_MOST_PAGES} pages, of which the first ones are read")


RequestId: TypeAlias = int | str


def is_part_of_answer(text: str) -> bool:
    """Whether a text that is no JSON was meant as an answer."""
    return compile_once(_PART_OF_AN_ANSWER).search(text) is not None


def _is_answer(message: JsonObject) -> bool:
    """Whether it is meant as one, and is no line of a log, which many servers print as JSON, too."""
    marks = ("jsonrpc" in message) + ("id" in message) + ("result" in message or "error" in message)
    return marks > 1


_PARSE_ERROR = -32700
_INTERNAL_ERROR = -32603
_UNKNOWN_METHOD = -32601
# The names of the codes, behind which the data tell what is wrong.
_SAYS_NOTHING = (
    r"(?i)\s*(?:(?:(?:internal|unknown)(?: server)?|server) error|invalid (?:params|request)|error)[.:]?\s*"
)
_LONGEST_EXCERPT = 2_000
_MOST_DROPPED = 20
_ID = r"""["']id["']\s*:\s*(?:["']((?:[^"'\\]|\\.)*)["']|(-?\d+))"""
_PART_OF_AN_ANSWER = r"""["'](?:jsonrpc|result|error)["']\s*:"""
_PART_OF_A_REQUEST = r"""["']method["']\s*:"""
# what the protocol assumes where none is told
_UNTOLD_REVISION = "2025-03-26"
_LISTS: Mapping[str, tuple[str, str, Callable[[JsonValue], JsonObject | str]]] = {
    "tools/list": ("tools", "tool", fit_tool),
    "prompts/list": ("prompts", "prompt", fit_prompt),
    "resources/list": ("resources", "resource", fit_resource),
    "resources/templates/list": ("resourceTemplates", "resource", fit_template),
}
_LISTENING = "subscriptions/listen"
_INTERACTIVE = frozenset({"tools/call", "prompts/get", "resources/read"})
_INTERIM = "input_required"
_QUESTION = "elicitation/create"


class _Request(Struct, frozen=True):
    method: str
    tool: str = ""


class ServerAnswers:
    """The answers to the open requests of one connection to a server."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._open: dict[RequestId, _Request] = {}
        self._dropped: dict[str, list[str]] = {}
        self._schemas: dict[str, JsonObject] = {}
        self._notices = 0  # sent and not known to be read: some servers answer them, too
        self._can_ask_first = True  # not where it greets, as before the revision of 2026-07-28

    @property
    def dropped(self) -> tuple[str, ...]:
        """A phrase about each entry of the server's last lists that cannot be used."""
        return tuple(phrase for phrases in self._dropped.values() for phrase in phrases)

    def note_sent(self, message: JSONRPCMessage) -> None:
        """Learn of a message to the server: of a request, or that one is no longer waited for."""
        self.note_request(message.model_dump(by_alias=True, exclude_unset=True))

    def note_request(self, sent: JsonObject) -> None:
        """Like `note_sent`, for its JSON."""
        request_id, method = sent.get("id"), sent.get("method")
        params = sent.get("params")
        params = params if isinstance(params, Mapping) else {}
        if isinstance(method, str) and request_id is None:
            self._notices += 1
        if method == "notifications/cancelled":
            self._open.pop(_as_id(params.get("requestId")), None)
        elif isinstance(method, str) and isinstance(request_id, int | str):
            if method == "initialize":
                self._open.clear()  # whoever greets in the older way waits no longer for the newer one
            name = params.get("name")
            self._open[request_id] = _Request(method, name if isinstance(name, str) else "")
            if method in _LISTS and not params.get("cursor"):
                self._dropped.pop(method, None)

    def is_open(self, request_id: RequestId) -> bool:
        """Whether an answer to this request is waited for."""
        return request_id in self._open

    def read(self, piece: Piece, *, answers: RequestId | None = None) -> list[JsonObject]:
        """The messages of a piece of what came. `answers` is the request that it answers, where known."""
        if isinstance(piece, UnreadableText):
            return self._end_unreadable(piece.text, answers)
        if isinstance(piece, list):  # a batch
            return [message for each in piece for message in self.read(each, answers=answers)]
        if not isinstance(piece, Mapping):
            return [] if answers is None else [self.refuse(answers, "it is no message", _show_value(piece))]
        if "method" in piece:
            return [{**piece, "jsonrpc": "2.0"}]
        is_answer = answers is not None or _is_answer(piece)
        if answers is None and is_answer and self._is_of_notice(piece):
            return []
        request_id = self._find_request(piece.get("id"), answers) if is_answer else None
        if request_id is None:
            return []  # nobody waits for it
        request = self._open.pop(request_id, _Request(""))
        envelope: JsonObject = {"jsonrpc": "2.0", "id": request_id}
        error = piece.get("error")
        if error is not None:
            return [{**envelope, "error": _fit_error(error)}]
        if "result" not in piece:
            self._open[request_id] = request
            return [self.refuse(request_id, "it holds neither a result nor an error", _show_value(piece))]
        if request.method in _INTERACTIVE and _is_interim(piece["result"]):
            return [self._fit_interim(request, request_id, piece["result"])]
        result = self._fit_result(request, piece["result"])
        if result is None:
            self._open[request_id] = request
            return [self.refuse(request_id, "its result is no object", _show_value(piece))]
        return [{**envelope, "result": result}]

    def refuse(self, request_id: RequestId, why: str, came: str) -> JsonObject:
        """The end of a request whose answer cannot be read, with what came of it."""
        request = self._open.pop(request_id, _Request(""))
        excerpt = make_printable(came)[:_LONGEST_EXCERPT]
        text = f"the MCP server {self._server} sent an answer that cannot be read: {why}"
        if request.method == "tools/call":
            text = f"{text}; whether the call took effect is not known. What came:\n{excerpt or '(nothing)'}"
        else:
            text = f"{text}; what came: {excerpt or 'nothing'}"
        return _end_request(request, request_id, text)

    def _fit_interim(self, request: _Request, request_id: RequestId, result: JsonObject) -> JsonObject:
        """An answer that asks for something first, and is followed by the request anew."""
        asked, state = result.get("inputRequests"), result.get("requestState")
        questions = asked if isinstance(asked, Mapping) else {}
        kinds = {each.get("method") if isinstance(each, Mapping) else None for each in questions.values()}
        if others := sorted(str(kind) for kind in kinds - {_QUESTION}):
            names = make_printable(", ".join(others), newlines=False)[:200]
            why = f"it asks for {names}, which quorum does not do"
            is_call = request.method == "tools/call"
            text = f"the MCP server {self._server} did not finish this: {why}" if is_call else why
            return _end_request(request, request_id, text)
        why = "" if questions or isinstance(state, str) else "it asks for something, and does not say what"
        if not self._can_ask_first:
            why = "it asks for something first, which its revision of the protocol does not know"
        if why:
            self._open[request_id] = request
            return self.refuse(request_id, why, _show_value(result))
        interim: dict[str, JsonValue] = {"resultType": _INTERIM}
        if questions:
            interim["inputRequests"] = questions
        if isinstance(state, str):
            interim["requestState"] = state
        return {"jsonrpc": "2.0", "id": request_id, "result": interim}

    # ---------------------------------------------------------------- whose answer it is

    def _find_request(self, named: JsonValue, answers: RequestId | None) -> RequestId | None:
        if answers is not None:
            return answers if named is None or str(_as_id(named)) == str(answers) else None
        if (request_id := _as_id(named)) in self._open:
            return request_id
        for known in self._open:
            if str(known) == str(request_id):
                return known
        return self._get_only_open() if named is None else None

    def _is_of_notice(self, answer: JsonObject) -> bool:
        """Whether an answer that names no request is one to a notification, which wants none: the first one
        after it, if it says nothing, or that it does not know what it was sent."""
        if answer.get("id") is not None:
            self._notices = 0  # those before this request were passed over
            return False
        error = answer.get("error")
        code = error.get("code") if isinstance(error, Mapping) else None
        is_empty = not answer.get("result") if error is None else code == _UNKNOWN_METHOD
        if not self._notices or not is_empty:
            return False
        self._notices -= 1
        return True

    def _get_only_open(self) -> RequestId | None:
        waiting = [key for key, request in self._open.items() if request.method != _LISTENING]
        return waiting[0] if len(waiting) == 1 else None

    def _end_unreadable(self, text: str, answers: RequestId | None) -> list[JsonObject]:
        request_id = answers
        if request_id is None:
            is_asked = compile_once(_PART_OF_A_REQUEST).search(text[:_LONGEST_EXCERPT]) is not None
            if is_asked or not is_part_of_answer(text):
                return []
            found = compile_once(_ID).search(text)
            named = None if found is None else found[1] if found[1] is not None else int(found[2][:20])
            request_id = self._find_request(named, None)
        if request_id is None:
            return []
        return [self.refuse(request_id, "it is no whole JSON", text)]

    # ---------------------------------------------------------------- what it holds

    def _fit_result(self, request: _Request, result: JsonValue) -> JsonObject | None:
        if request.method == "tools/call":
            return self._fit_call_result(request.tool, result)
        if isinstance(result, list) and request.method in _LISTS:
            result = {_LISTS[request.method][0]: result}
        if not isinstance(result, Mapping):
            return None
        match request.method:
            case "initialize":
                self._can_ask_first = False
                return _fit_greeting(result)
            case "prompts/get":
                return {**result, "messages": _fit_messages(result.get("messages"))}
            case "resources/read":
                contents = [fit_resource_content(each) for each in _as_list(result.get("contents"))]
                return {**result, "contents": contents}
            case method if method in _LISTS:
                return self._fit_list(method, result)
            case _:
                return result

    def _fit_list(self, method: str, result: JsonObject) -> JsonObject:
        key, noun, fit = _LISTS[method]
        listed = result.get(key)
        kept: list[JsonObject] = []
        dropped = self._dropped.setdefault(method, [])
        if not isinstance(listed, list):
            dropped.append(f"its list of {noun}s is no list")
            listed = []
        for place, item in enumerate(listed, 1):
            if method == "tools/list" and _is_for_interface(item):
                continue
            fitted = fit(item)
            if isinstance(fitted, str):
                name = item.get("name") if isinstance(item, Mapping) else None
                which = repr(make_printable(name, newlines=False)[:80]) if isinstance(name, str) else f"{place}"
                dropped.append(f"the {noun} {which} is not offered: {fitted}")
                continue
            kept.append(fitted)
            if method == "tools/list" and isinstance(item, Mapping):
                self._note_schema(item)
        if len(dropped) > _MOST_DROPPED:
            more = len(dropped) - _MOST_DROPPED
            dropped[_MOST_DROPPED:] = [f"{more} more {noun}s are not offered"]
        cursor = result.get("nextCursor")
        rest = {name: value for name, value in result.items() if name not in (key, "nextCursor", "_meta")}
        more_pages: JsonObject = {} if cursor in (None, "", False) else {"nextCursor": str(cursor)}
        return {"resultType": "complete", **rest, key: kept, **more_pages}

    def _note_schema(self, tool: JsonObject) -> None:
        name, schema = str(tool.get("name")), tool.get("outputSchema")
        self._schemas.pop(name, None)
        if isinstance(schema, Mapping):
            self._schemas[name] = schema

    def _fit_call_result(self, tool: str, result: JsonValue) -> JsonObject:
        if not isinstance(result, Mapping):
            return {"resultType": "complete", "content": fit_blocks(result)}
        content = fit_blocks(result.get("content", result.get("toolResult")))
        is_error = result.get("isError") in (True, "true", 1)
        kept: JsonObject = {"resultType": "complete", "content": content, "isError": is_error}
        structured = result.get(_STRUCTURED)
        if structured is None and not content:
            if (status := _find_task_status(result)) is not None:
                text = f"the MCP server {self._server} made a task of this ({status}), and quorum follows none;"
                text = f"{text} whether the call takes effect is not known. What came:\n{_show_value(result)}"
                return {"resultType": "complete", "isError": True, "content": [_make_text(text)]}
            others = {name: value for name, value in result.items() if name not in (*kept, "_meta")}
            if others:
                content = [{"type": "text", "text": _show_value(others)}]
        if note := "" if is_error else self._find_mismatch(tool, structured):
            content = [*content, {"type": "text", "text": f"[note: {note}]"}]
        kept = {**kept, "content": content}
        if structured is None:
            return kept
        if not isinstance(structured, Mapping) and not self._can_ask_first:
            structured = {_STRUCTURED: structured}  # the SDK reads only an object there
        return {**kept, _STRUCTURED: structured}

    def _find_mismatch(self, tool: str, structured: JsonValue) -> str:
        """In which way an answer is not what the server said that it would be; empty where it is."""
        schema = self._schemas.get(tool)
        if schema is None:
            return ""
        if structured is None:
            return "the server says that this tool answers with structured content, and sent none"
        problem = find_mismatch(schema, structured)
        return f"this does not fit the schema that the server gives for it: {problem}" if problem else ""


def _find_task_status(result: JsonObject) -> str | None:
    """How the task stands that an answer gives in place of a result, without having been asked for one."""
    inner = result.get("task")
    task = inner if isinstance(inner, Mapping) else result
    status = task.get("status")
    is_task = isinstance(task.get("taskId"), str) and isinstance(status, str)
    return make_printable(str(status), newlines=False)[:40] if is_task else None


def _is_interim(result: JsonValue) -> TypeGuard[JsonObject]:
    return isinstance(result, Mapping) and (result.get("resultType") == _INTERIM or "inputRequests" in result)


def _end_request(request: _Request, request_id: RequestId, text: str) -> JsonObject:
    """What ends a request in words: an error, or the result of a call."""
    envelope: JsonObject = {"jsonrpc": "2.0", "id": request_id}
    if request.method != "tools/call":
        return {**envelope, "error": {"code": _PARSE_ERROR, "message": text}}
    content = [{"type": "text", "text": text}]
    return {**envelope, "result": {"resultType": "complete", "isError": True, "content": content}}


def _fit_error(error: JsonValue) -> JsonObject:
    if not isinstance(error, Mapping):
        return {"code": _INTERNAL_ERROR, "message": error if isinstance(error, str) else _show_value(error)}
    code, message = error.get("code"), error.get("message")
    data = {"data": error["data"]} if "data" in error else {}
    if message is None or message == "":
        said = next(
            (one for key in ("detail", "description", "reason", "data") if (one := error.get(key))), None
        )
        message = "it gave no reason" if said is None else said
    text = message if isinstance(message, str) else _show_value(message)
    if compile_once(_SAYS_NOTHING).fullmatch(text) and (more := error.get("data")):
        text = f"{text}: {more if isinstance(more, str) else _show_value(more)}"
    if isinstance(code, int) and not isinstance(code, bool):
        return {"code": code, "message": text, **data}
    if isinstance(code, str) and re.fullmatch(r"-?\d{1,9}", code):
        return {"code": int(code), "message": text, **data}
    return {
        "code": _INTERNAL_ERROR,
        "message": text if code is None else f"{_show_value(code)}: {text}",
        **data,
    }


def _fit_greeting(result: JsonObject) -> JsonObject:
    info, offered = result.get("serverInfo"), result.get("capabilities")
    named = info if isinstance(info, Mapping) else {}
    capabilities: dict[str, JsonValue] = {}
    for name, value in offered.items() if isinstance(offered, Mapping) else ():
        if isinstance(value, Mapping):
            capabilities[name] = {key: each for key, each in value.items() if each is not None}
        elif value is True:
            capabilities[name] = {}
    if not isinstance(offered, Mapping):
        capabilities["tools"] = {}
    instructions = result.get("instructions")
    return {
        "protocolVersion": str(result.get("protocolVersion") or _UNTOLD_REVISION),
        "capabilities": capabilities,
        "serverInfo": {"name": _as_text(named.get("name")), "version": _as_text(named.get("version"))},
        **({"instructions": instructions} if isinstance(instructions, str) else {}),
    }


def _fit_messages(messages: JsonValue) -> list[JsonObject]:
    fitted: list[JsonObject] = []
    for message in _as_list(messages):
        said: JsonObject = message if isinstance(message, Mapping) else {"content": message}
        role = said.get("role")
        for block in fit_blocks(said.get("content")):
            fitted.append({"role": role if role in ("user", "assistant") else "user", "content": block})
    return fitted


def _as_list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else "" if value is None else _show_value(value)


def _as_id(value: JsonValue) -> RequestId:
    """As it names a request; a number in another form is the same number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int | str) else ""


def _show_value(value: object) -> str:
    return (
        value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False, default=str)[:_LONGEST_EXCERPT]
    )
