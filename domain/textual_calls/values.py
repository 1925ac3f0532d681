"""The values in a textual call: where JSON ends in a text, and what templates write in its place."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from quorum.domain.text.json_text import (
    add_missing_mark,
    double_backslashes,
    escape_line_breaks,
    halve_braces,
    quote_keys,
    read_python,
    read_python_words,
    require_one_value,
)
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.pattern import compile_once
from quorum.domain.text.python_syntax import parse_expression

_TOKEN = re.compile(
    r"""[^"'{}\[\]()<]++|"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+'|[{}\[\]()]""",
    16,  # re.DOTALL
)
_VALUE_END = r"[,}\]]"
_OPENING, _CLOSING = "{[(", "}])"
_JSON_NAMES: Mapping[str, JsonValue] = {"true": True, "false": False, "null": None}
_DEEPEST = 100
_LONGEST_MARK = 60


class Extent(Struct, frozen=True):
    """How far a value reaches in a text. Where it is not whole, `end` is where its reading stopped."""

    end: int
    depth: int

    @property
    def is_whole(self) -> bool:
        """Whether all of its brackets are closed."""
        return self.depth == 0

    def is_broken(self, text: str) -> bool:
        """Whether it stopped at what no more of the text can make a part of the value."""
        return len(text) - self.end > _LONGEST_MARK and text[self.end] not in "\"'"


def find_extent(text: str, start: int) -> Extent:
    """The extent of the object, list or expression in brackets that begins at `start`."""
    depth, position = 0, start
    while (token := _TOKEN.match(text, position)) is not None:
        position = token.end()
        if token[0] in _OPENING:
            depth += 1
        elif token[0] in _CLOSING:
            depth -= 1
            if depth == 0:
                return Extent(position, 0)
    return Extent(position, max(depth, 1))


def read_json(text: str) -> tuple[JsonValue, tuple[str, ...]] | None:
    """The value of a text that is JSON, or has one reading as such, and what was done for that."""
    repairs: tuple[tuple[str, Callable[[str], str]], ...] = (
        ("", str),
        ("backslashes were taken as they stand", double_backslashes),
        ("line breaks in its texts were taken as they stand", escape_line_breaks),
        ("Python's form of it was read", read_python),
        ("Python's words in it were read", read_python_words),
        ("its keys or texts were put into quotes", quote_keys),
        ("its doubled braces were read as single ones", halve_braces),
        ("a missing comma or bracket was added", add_missing_mark),
    )
    for what, repair in repairs:
        candidate = repair(text)  # each costs more than to read what needs none
        try:
            value: JsonValue = json.loads(candidate, object_pairs_hook=require_one_value)
        except (ValueError, RecursionError):
            continue
        return value, (f"the text of the call: {what}",) if what else ()
    return None


def read_typed(text: str, schema: JsonObject) -> JsonValue:
    """The value that a parameter's plain text stands for, by its schema; the text itself where that fits."""
    kinds = _list_kinds(schema)
    bare = text.strip()
    if bare in ("null", "None") and "null" in kinds:
        return None
    if not kinds or "string" in kinds:
        return text
    if bare in ("True", "False", "None"):
        bare = {"True": "true", "False": "false", "None": "null"}[bare]
    found = read_json(bare)
    return text if found is None else found[0]


def _list_kinds(schema: JsonObject) -> frozenset[str]:
    kinds: set[str] = set()
    declared = schema.get("type")
    if isinstance(declared, str):
        kinds.add(declared)
    elif isinstance(declared, list):
        kinds.update(each for each in declared if isinstance(each, str))
    for key in ("anyOf", "oneOf", "allOf"):
        options = schema.get(key)
        for option in options if isinstance(options, list) else ():
            kinds |= _list_kinds(option) if isinstance(option, Mapping) else set()
    values = schema.get("enum")
    if not kinds and isinstance(values, list):
        kinds.update("string" if isinstance(each, str) else "number" for each in values)
    return frozenset(kinds)


def read_python_calls(text: str) -> list[tuple[str, JsonObject]] | None:
    """The calls in a Python expression, `f(a=1)` or a list of such; None where it is anything else."""
    try:
        body = parse_expression(text).body
        found = body.elts if isinstance(body, ast.List) else [body]
        return [_read_python_call(each) for each in found] or None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _read_python_call(node: ast.expr) -> tuple[str, JsonObject]:
    match node:  # Gemma prints what a call gives
        case ast.Call(func=ast.Name(id="print"), args=[ast.Call() as inner], keywords=[]):
            node = inner
    if not isinstance(node, ast.Call) or node.args:
        raise ValueError("no call with named arguments")
    arguments: dict[str, JsonValue] = {}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in arguments:
            raise ValueError("no plain argument")
        value = _read_literal(keyword.value)
        json.dumps(value, allow_nan=False)
        arguments[keyword.arg] = value
    name = ast.unparse(node.func).removesuffix(".call")
    return name.removeprefix("default_api."), arguments


def _read_literal(node: ast.expr) -> JsonValue:
    match node:
        case ast.Name(id=name) if name in _JSON_NAMES:
            return _JSON_NAMES[name]
        case ast.List(elts=elements):
            return [_read_literal(each) for each in elements]
        case ast.Dict(keys=keys, values=values):
            return require_one_value(
                [(_require_text(key), _read_literal(value)) for key, value in zip(keys, values, strict=True)]
            )
        case _:
            value: JsonValue = ast.literal_eval(node)
            return value


def _require_text(node: ast.expr | None) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case _:
            raise ValueError("a key is no text")


class BareObject:
    """Reads an object with keys without quotes and texts between two of the `mark`, as Gemma writes it."""

    def __init__(self, text: str, start: int, mark: str) -> None:
        self._text = text
        self._mark = mark
        self.position = start

    def read(self) -> JsonObject | None:
        """The object that begins here; None where it is not whole, or none. `position` is behind it."""
        try:
            return self._read_object(0)
        except (ValueError, IndexError):
            return None

    def _read_object(self, depth: int) -> JsonObject:
        self._require("{", depth)
        pairs: list[tuple[str, JsonValue]] = []
        while not self._skip("}"):
            if pairs and not self._skip(","):
                raise ValueError("no comma")
            key = self._read_key()
            pairs.append((key, self._read_value(depth + 1)))
        return require_one_value(pairs)

    def _read_list(self, depth: int) -> list[JsonValue]:
        self._require("[", depth)
        found: list[JsonValue] = []
        while not self._skip("]"):
            if found and not self._skip(","):
                raise ValueError("no comma")
            found.append(self._read_value(depth + 1))
        return found

    def _read_key(self) -> str:
        self._skip("")
        if self._text.startswith(self._mark, self.position):
            key = self._read_text(self._mark)
            self._require(":", 0)
            return key
        end = self._text.index(":", self.position)
        key, self.position = self._text[self.position : end].strip().strip('"'), end + 1
        if not key or any(each in key for each in "{}[],\n"):
            raise ValueError("no key")
        return key

    def _read_value(self, depth: int) -> JsonValue:
        self._skip("")
        for mark in (self._mark, '"'):
            if self._text.startswith(mark, self.position):
                return self._read_text(mark)
        match self._text[self.position]:
            case "{":
                return self._read_object(depth)
            case "[":
                return self._read_list(depth)
        if (found := compile_once(_VALUE_END).search(self._text, self.position)) is None:
            raise ValueError("no end")
        end = found.start()
        bare, self.position = self._text[self.position : end].strip(), end
        try:
            value: JsonValue = json.loads(bare)
        except ValueError:
            return bare
        return value

    def _read_text(self, mark: str) -> str:
        begin = self.position + len(mark)
        end = self._text.index(mark, begin)
        self.position = end + len(mark)
        return self._text[begin:end]

    def _skip(self, expected: str) -> bool:
        """Pass over white space, and over `expected` where it follows."""
        while self._text[self.position].isspace():
            self.position += 1
        if not expected or not self._text.startswith(expected, self.position):
            return False
        self.position += len(expected)
        return True

    def _require(self, expected: str, depth: int) -> None:
        if depth > _DEEPEST or not self._skip(expected):
            raise ValueError(f"no {expected}")
