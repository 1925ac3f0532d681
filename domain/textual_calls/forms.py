"""The forms in which chat templates write a call: each reads one call, or several, behind its opening."""

from __future__ import annotations

import html
import json
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from quorum.domain.text.json_text import require_one_value
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.pattern import compile_once
from quorum.domain.textual_calls.values import BareObject, find_extent, read_json, read_python_calls, read_typed

Tools: TypeAlias = Mapping[str, JsonObject]
"""The JSON Schemas of the arguments of the offered tools, by their names."""

_NAME_KEYS = ("name", "tool_name", "tool", "function", "action")
_ARGUMENT_KEYS = ("arguments", "parameters", "input", "args", "action_input")
# of a call that nothing marks: any other key may tell what came of it, as logs of calls do
_KEYS_OF_CALLS = frozenset(
    (
        *(*_NAME_KEYS, *_ARGUMENT_KEYS, "function_call", "id", "type", "index", "tool_call_id", "call_id"),
        *("thought", "thoughts", "reason", "reasoning", "explanation", "purpose"),
    )
)
_LONGEST_NAME = 100
_DEEPEST = 100
_WORD = r"[\w.-]+"
KEY = r"(?P<key>[^<>\n\"]{1,200}?)"
"""The name of an argument in the tag that opens its value."""
_BETWEEN = r"[\s,;]*(?=\{)"
_NAME_IN_JSON = r"\"name\"\s*+:\s*+\"([^\"\n\\]{1,100})\""
_SURPLUS = r"[\s}]*"
_PLACEHOLDER_MARKS = frozenset("<>{}")
_PLACEHOLDER = r"\s*(?:<[\w -]{1,40}>|\{\{\s*[\w.-]{1,40}\s*\}\}|\$\{\w{1,40}\})\s*"


def list_argument_schemas(tools: Sequence[JsonObject]) -> Tools:
    """The schemas of the arguments of tools that are offered as {name, description, input_schema}."""
    found: dict[str, JsonObject] = {}
    for tool in tools:
        schema = tool.get("input_schema")
        found[str(tool.get("name"))] = schema if isinstance(schema, Mapping) else {}
    return found


class TextualCall(Struct, frozen=True):
    """A call that stands in a text. `arguments` is JSON, `raw` the text it was read from."""

    name: str
    arguments: str
    raw: str
    repairs: tuple[str, ...] = ()


class ReadCalls(Struct, frozen=True):
    """The calls that were read, and where in the text they end."""

    calls: tuple[TextualCall, ...]
    end: int


class Unfinished(Struct, frozen=True):
    """More of the text is needed to tell whether a call is there. `name` is the tool, where that is known."""

    name: str = ""


Outcome: TypeAlias = ReadCalls | Unfinished | None
"""What was read behind an opening; None where that opens no call."""


class Form(Protocol):
    """One way to write calls. `is_whole` below tells that no more of the text will come."""

    @property
    def opening(self) -> re.Pattern[str]:
        """What a call begins with."""
        ...

    @property
    def is_alone(self) -> bool:
        """Whether it counts only where it is all of the answer, as nothing marks it."""
        ...

    @property
    def begins_line(self) -> bool:
        """Whether it counts only where nothing stands before it in its line."""
        ...

    @property
    def may_follow(self) -> str:
        """The characters behind which it counts all the same, as its template puts it there."""
        ...

    def read(self, text: str, opened: re.Match[str], tools: Tools, *, is_whole: bool) -> Outcome:
        """Read what follows the opening."""
        ...


class _Place(Struct, frozen=True, kw_only=True):
    """Where in an answer a form counts."""

    is_alone: bool = False
    begins_line: bool = False
    may_follow: str = ""


class JsonForm(_Place, frozen=True):
    """A JSON object with name and arguments, or a list of such. One that is alone needs an offered name.

    Where the opening has a group `tag`, the closing has it, too, and both must name the same.
    """

    opening: re.Pattern[str]
    closing: re.Pattern[str] | None = None

    def read(self, text: str, opened: re.Match[str], tools: Tools, *, is_whole: bool) -> Outcome:
        position, calls = opened.end(), []
        while True:
            extent = find_extent(text, position)
            source, end = text[position : extent.end], extent.end
            if not extent.is_whole:
                if _match_closing(text, opened, end, self.closing) is None:
                    named = compile_once(_NAME_IN_JSON).search(source)
                    open_call = Unfinished(named[1] if named else "")
                    return None if is_whole or extent.is_broken(text) else open_call
                if extent.depth > 1 or not source.rstrip().endswith("}"):
                    return None
                source += "}"  # the arguments are whole; what holds them was not closed
            found = self._read_calls(source, tools)
            if found is None:
                return None
            calls += found
            following = compile_once(_BETWEEN).match(text, end)
            if following is None:
                break
            position = following.end()
        return _close(text, opened, end, calls, self.closing)

    def _read_calls(self, source: str, tools: Tools) -> list[TextualCall] | None:
        read = read_json(source)
        if read is None:
            return None
        value, repairs = read
        if isinstance(value, Mapping) and isinstance(inner := value.get("tool_calls"), list):
            value = inner
        calls = [_read_envelope(item, repairs, tools, is_strict=self.is_alone) for item in _as_list(value)]
        if not calls or any(call is None or (self.is_alone and call.name not in tools) for call in calls):
            return None
        return [call for call in calls if call is not None]


def _read_envelope(
    value: JsonValue, repairs: tuple[str, ...], tools: Tools, *, is_strict: bool
) -> TextualCall | None:
    """The call in an object that names its tool; a strict one has arguments, too. A definition is no call."""
    if not isinstance(value, Mapping):
        return None
    if is_strict and not value.keys() <= _KEYS_OF_CALLS:
        return None
    if isinstance(function := value.get("function", value.get("function_call")), Mapping):
        value = function
    names = [each for key in _NAME_KEYS if isinstance(each := value.get(key), str)]
    name = names[0] if names else ""
    present = [value[key] for key in _ARGUMENT_KEYS if key in value]
    if any(each != name and each in tools for each in names) or any(each != present[0] for each in present):
        return None  # it says two things
    arguments = present[0] if present else {}
    if isinstance(arguments, str):
        decoded = read_json(arguments) if arguments.strip() else ({}, ())
        if decoded is None:
            return None
        arguments = decoded[0]
    if not _is_name(name) or (is_strict and not present) or not isinstance(arguments, Mapping | None):
        return None
    if arguments and _is_schema(arguments, tools.get(name, {})):
        return None
    return TextualCall(name, _write_json(arguments or {}), "", repairs)


def _is_schema(arguments: JsonObject, schema: JsonObject) -> bool:
    """Whether these are the parameters that a tool declares, in a definition of it, and not values for them."""
    declared = schema.get("properties")
    is_declared = isinstance(declared, Mapping) and "properties" in declared
    return isinstance(arguments.get("properties"), Mapping) and "type" in arguments and not is_declared


def read_call_names(text: str, tools: Tools) -> list[str]:
    """The tools that a text which is nothing but JSON calls; also where the arguments stand beside the name.

    Of tools that are not offered, only what has the form of a call and nothing else.
    """
    read = read_json(text) if text.startswith(("{", "[")) else None
    value = read[0] if read is not None else None
    if isinstance(value, Mapping) and isinstance(inner := value.get("tool_calls"), list):
        value = inner
    names = []
    for item in _as_list(value):
        call = _read_envelope(item, (), tools, is_strict=False)
        if call is None or not isinstance(item, Mapping):
            continue
        has_arguments = not item.keys().isdisjoint(_ARGUMENT_KEYS)
        is_call = has_arguments or "name" not in item
        is_bare = has_arguments and item.keys() <= {"name", "id", "type", *_ARGUMENT_KEYS}
        if is_call if call.name in tools else is_bare:
            names.append(call.name)
    return names


def _as_list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list) else [value]


class NamedForm(_Place, frozen=True):
    """The name of the tool in the opening, then a JSON object with the arguments."""

    opening: re.Pattern[str]
    closing: re.Pattern[str] | None = None
    needs_offer: bool = False

    def read(self, text: str, opened: re.Match[str], tools: Tools, *, is_whole: bool) -> Outcome:
        name, position = opened["name"], opened.end()
        if not _is_name(name) or (self.needs_offer and name not in tools):
            return None
        if not text.startswith("{", position):
            closed = self.closing.match(text, position) if self.closing else None
            if closed is not None:
                return ReadCalls((TextualCall(name, "{}", text[opened.start() : closed.end()]),), closed.end())
            return Unfinished(name) if position == len(text) and not is_whole else None
        extent = find_extent(text, position)
        if not extent.is_whole:
            return None if is_whole or extent.is_broken(text) else Unfinished(name)
        read = read_json(text[position : extent.end])
        if read is None or not isinstance(read[0], Mapping):
            return None
        calls = [TextualCall(name, _write_json(read[0]), "", read[1])]
        return _close(text, opened, extent.end, calls, self.closing)


class TaggedForm(_Place, frozen=True):
    """The name of the tool in the opening, then each argument between tags.

    `parameter` has the groups key and perhaps kind: what is no text is JSON. Where it has no such group, the
    tool's schema tells. A missing closing tag is read where the next tag of this call follows. `newlines` stand
    around each value.
    """

    opening: re.Pattern[str]
    parameter: str
    parameter_end: str
    closing: str
    newlines: bool = False
    texts: Sequence[str] = ("true", "string")

    def read(self, text: str, opened: re.Match[str], tools: Tools, *, is_whole: bool) -> Outcome:
        """Read the arguments up to the end of the call."""
        name, position = opened["name"].strip(), opened.end()
        if not _is_name(name):
            return None
        if "/>" in opened[0]:
            return ReadCalls((TextualCall(name, "{}", opened[0]),), position)
        schema = tools.get(name, {})
        declared = schema.get("properties")
        properties: JsonObject = declared if isinstance(declared, Mapping) else {}
        begin, end = re.compile(rf"\s*+{self.parameter}"), re.compile(rf"\s*+(?:{self.closing})")
        arguments: dict[str, JsonValue] = {}
        while (closed := end.match(text, position)) is None:
            opens = begin.match(text, position)
            if opens is None:
                return self._wait(name, text, position, is_whole=is_whole)
            stop = self._find_value_end(
                text, opens.end(), set(properties) - {*arguments, opens["key"]}, is_whole
            )
            if stop is None:
                return None if is_whole else Unfinished(name)
            value = text[opens.end() : stop.start()]
            key, kind = html.unescape(opens["key"].strip()), opens.groupdict().get("kind")
            read = self._read_value(value, kind, properties.get(key))
            if arguments.setdefault(key, read) != read:
                return None  # a text in it holds the tags of a call, or the model has said two things
            position = stop.end()
        following = text[closed.end() :]
        if re.match(rf"\s*+(?:(?:{self.closing})\s*+)*+(?:{self.parameter_end})", following):
            return None  # a text in it holds a call itself, and it is not plain where it ends
        if not arguments and name not in tools:
            return None
        calls = [TextualCall(name, _write_json(arguments), "")]
        return _close(text, opened, closed.end(), calls, None)

    def _find_value_end(self, text: str, position: int, keys: set[str], is_whole: bool) -> re.Match[str] | None:
        """Where a value ends: at its closing tag or, where that is missing, before the next tag of the call.

        A text may hold tags itself: a closing tag ends it only where another of this call follows.
        """
        closing, opening = self.closing, self.opening.pattern
        last = r"|\s*+\Z" if is_whole else ""
        alternatives = [
            rf"{self.parameter_end}(?=\s*+(?:{self.parameter}|{closing}))",
            rf"(?=(?:{closing})\s*+(?:{opening}{last}))",
        ]
        if keys:
            next_key = f"(?:{'|'.join(map(re.escape, sorted(keys)))})"
            alternatives.append(rf"(?=^{self.parameter.replace(KEY, next_key)})")
        # a group may have one name only
        expression = re.sub(r"\(\?P<\w+>", "(?:", "|".join(alternatives))
        ends = re.compile(expression, re.MULTILINE)
        first = found = ends.search(text, position)
        if first is None or not self._is_open(text[position : first.start()]):
            return first
        opened = [each.start() for each in self.opening.finditer(text, position)]
        closed = [each.start() for each in re.compile(self.closing).finditer(text, position)]
        while found is not None and bisect_left(opened, found.start()) > bisect_left(closed, found.start()):
            found = ends.search(text, max(found.end(), found.start() + 1))
        return first if found is None and is_whole else found

    def _is_open(self, value: str) -> bool:
        """Whether a text holds the beginning of a call, and not its end."""
        opened = sum(1 for _ in self.opening.finditer(value))
        return opened > sum(1 for _ in re.finditer(self.closing, value))

    def _read_value(self, value: str, kind: str | None, schema: JsonValue) -> JsonValue:
        if self.newlines:
            value = value.removeprefix("\n").removesuffix("\n")
        if kind is None:
            return read_typed(value, schema if isinstance(schema, Mapping) else {})
        read = None if kind in self.texts else read_json(value.strip())
        return value if read is None else read[0]

    def _wait(self, name: str, text: str, position: int, *, is_whole: bool) -> Outcome:
        is_open = not is_whole and len(text) - position < _LONGEST_NAME
        return Unfinished(name) if is_open else None


class NestedForm(_Place, frozen=True):
    """The name of the tool in the opening, then tags in tags: one with the name of each argument, and `item`
    for each one of a list. `mark` is one such tag, with the groups `end` and `tag`.
    """

    opening: re.Pattern[str]
    mark: re.Pattern[str]
    closing: re.Pattern[str]

    def read(self, text: str, opened: re.Match[str], tools: Tools, *, is_whole: bool) -> Outcome:
        name = opened["name"]
        closed = self.closing.search(text, opened.end())
        if closed is None or not _is_name(name):
            return None if is_whole or not _is_name(name) else Unfinished(name)
        schema = tools.get(name, {})
        try:
            value, end = self._read_value(text[: closed.start()], opened.end(), {**schema, "type": "object"}, 0)
        except ValueError:
            return None
        if not isinstance(value, Mapping) or text[end : closed.start()].strip():
            return None
        return _close(text, opened, closed.end(), [TextualCall(name, _write_json(value), "")], None)

    def _read_value(self, text: str, position: int, schema: JsonObject, depth: int) -> tuple[JsonValue, int]:
        """The value that begins here, and where it ends: at the closing tag of what holds it."""
        pairs: list[tuple[str, JsonValue]] = []
        while (mark := self.mark.match(text, position)) is not None and not mark["end"]:
            if depth > _DEEPEST:
                raise ValueError("too deep")
            key = mark["tag"].strip()
            value, end = self._read_value(text, mark.end(), _get_part(schema, key), depth + 1)
            closed = self.mark.match(text, end)
            if closed is None or not closed["end"] or closed["tag"].strip() != key:
                raise ValueError("a tag is not closed")
            pairs.append((key, value))
            position = closed.end()
        if not pairs and schema.get("type") != "object":
            stop = self.mark.search(text, position)
            if stop is None:
                raise ValueError("a tag is not closed")
            return read_typed(text[position : stop.start()], schema), stop.start()
        if pairs and all(key == "item" for key, _ in pairs) and "item" not in _get_properties(schema):
            return [value for _, value in pairs], position
        return require_one_value(pairs), position


def _get_properties(schema: JsonObject) -> JsonObject:
    found = schema.get("properties")
    return found if isinstance(found, Mapping) else {}


def _get_part(schema: JsonObject, key: str) -> JsonObject:
    """The schema of what stands at this key, or in a list."""
    part = schema.get("items") if schema.get("type") == "array" else _get_properties(schema).get(key)
    return part if isinstance(part, Mapping) else {}


class MentioningForm(_Place, frozen=True):
    """A frame that names an offered tool, and ends the answer: how the arguments are written is not known."""

    opening: re.Pattern[str]
    closing: re.Pattern[str]

    def read(self, text: str, opened: re.Match[str], tools: Tools, *, is_whole: bool) -> Outcome:
        closed = self.closing.search(text, opened.end()) if is_whole else None
        if closed is None:
            return None if is_whole else Unfinished()
        name = opened.groupdict().get("name")
        if name is None:
            named = compile_once(_WORD).finditer(text, opened.end(), closed.start())
            name = next((each[0] for each in named if each[0] in tools), "")
        if name not in tools or closed.groupdict().get("name", name) != name:
            return None
        return ReadCalls((TextualCall(name, "{}", text[opened.start() : closed.end()]),), closed.end())


class PythonForm(_Place, frozen=True):
    """Calls as Python writes them. Where nothing marks them, every name must be one that is offered."""

    opening: re.Pattern[str]
    closing: re.Pattern[str] | None = None

    def read(self, text: str, opened: re.Match[str], tools: Tools, *, is_whole: bool) -> Outcome:
        extent = find_extent(text, opened.end())
        if not extent.is_whole:
            return None if is_whole or extent.is_broken(text) else Unfinished()
        found = read_python_calls(text[opened.end() : extent.end])
        if found is None or any(name not in tools for name, _ in found):
            return None
        calls = [TextualCall(name, _write_json(arguments), "") for name, arguments in found]
        return _close(text, opened, extent.end, calls, self.closing)


class BareObjectForm(_Place, frozen=True):
    """The name of the tool in the opening, then an object without quotes around its keys."""

    opening: re.Pattern[str]
    mark: str
    closing: re.Pattern[str]

    def read(self, text: str, opened: re.Match[str], tools: Tools, *, is_whole: bool) -> Outcome:
        name = opened["name"]
        reader = BareObject(text, opened.end() - 1, self.mark)
        arguments = reader.read()
        if arguments is None:
            return None if is_whole else Unfinished(name)
        calls = [TextualCall(name, _write_json(arguments), "")]
        return _close(text, opened, reader.position, calls, self.closing)


def _close(
    text: str, opened: re.Match[str], end: int, calls: Sequence[TextualCall], closing: re.Pattern[str] | None
) -> ReadCalls | None:
    """The reading of calls that end here, with the closing mark where one follows; none where what they take is
    not filled in."""
    if not all(_is_filled_in(json.loads(call.arguments)) for call in calls):
        return None
    surplus = compile_once(_SURPLUS).match(text, end)
    at = surplus.end() if surplus else end
    closed = _match_closing(text, opened, end, closing) or _match_closing(text, opened, at, closing)
    if closed is not None:
        end = closed.end()
    raw = text[opened.start() : end]
    return ReadCalls(
        tuple(
            TextualCall(call.name, call.arguments, raw if not index else "", call.repairs)
            for index, call in enumerate(calls)
        ),
        end,
    )


def _match_closing(
    text: str, opened: re.Match[str], at: int, closing: re.Pattern[str] | None
) -> re.Match[str] | None:
    """The closing mark that stands here. A tag that the opening names is closed by that name only."""
    closed = closing.match(text, at) if closing is not None else None
    tag = opened.groupdict().get("tag")
    return closed if closed is None or tag is None or closed["tag"] == tag else None


def _is_name(name: str) -> bool:
    is_plain = _PLACEHOLDER_MARKS.isdisjoint(name) and "\n" not in name and not name.isspace()
    return is_plain and 0 < len(name) <= _LONGEST_NAME


def _is_filled_in(arguments: JsonObject) -> bool:
    """Whether a value stands there, and not in place of each one what a template has: <path> or {{path}}."""
    return not arguments or any(
        not isinstance(value, str) or compile_once(_PLACEHOLDER).fullmatch(value) is None
        for value in arguments.values()
    )


def _write_json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)
