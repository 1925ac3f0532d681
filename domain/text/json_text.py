"""JSON values as text: their kind and size, how they are written, and what models write by mistake.

A mistake is mended only where the text can be read in one way.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise

from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.pattern import compile_once
from quorum.domain.text.python_syntax import parse_expression

# a text, which stays, also one that is cut off
_TEXT = r"(?P<text>\"(?:[^\"\\]|\\.)*+(?:\"|\\?\Z))"
_TEXTS = re.compile(_TEXT, re.DOTALL)
_CONTROL = r"[\x00-\x1f]"
_WORDS = rf"(?s){_TEXT}|\b(?P<word>True|False|None)\b|,(?=\s*[}}\]])"
_DOUBLED = rf"(?s){_TEXT}|\{{\{{|\}}\}}"
_ODD_QUOTES = rf"(?s){_TEXT}|(?<=[{{,\s])(?P<key>[A-Za-z_]\w{{0,80}}+)(?=\s*+:)|[“”](?P<curly>[^“”\"\\]*+)”"
_VALUE_ENDS = rf"(?s){_TEXT}|[\]}}]|[\w.+-]++"
_KEY = rf"(?s){_TEXT}\s*+:"
_MOST_MARKS = 200
_JSON_WORDS = {"True": "true", "False": "false", "None": "null", "": ""}
_LONGEST_DEEP = 10_000_000  # characters


def name_json_type(value: JsonValue) -> str:
    """Return the JSON name of a value's type: object, array, string, number, boolean or null."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case Mapping():
            return "object"
        case _:
            return "array"


_SURELY_PRINTED_BITS = 2_000


def is_json(value: object) -> bool:
    """Whether a value is JSON through and through: keys are texts, and numbers can be printed."""
    try:
        return _is_json(value)
    except RecursionError:
        return False


def _is_json(value: object) -> bool:
    match value:
        case None | bool() | str():
            return True
        case int():
            return value.bit_length() < _SURELY_PRINTED_BITS or _can_be_printed(value)
        case float():
            return math.isfinite(value)
        case Mapping():
            return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
        case list() | tuple():
            return all(map(_is_json, value))
        case _:
            return False


def _can_be_printed(number: int) -> bool:
    """Whether Python turns it into digits: it refuses very long ones."""
    try:
        return bool(str(number))
    except ValueError:
        return False


def describe_extent(value: JsonValue) -> str | None:
    """How much there is of a value: entries, keys, or bytes of UTF-8; None for what has no size."""
    match value:
        case str():
            return f"{count_utf8_bytes(value)} bytes"
        case Mapping():
            return f"{len(value)} keys"
        case Sequence():
            return f"{len(value)} entries"
        case _:
            return None


def describe_value(value: JsonValue) -> str:
    """Kind and extent in one phrase, such as `array (12 entries)`."""
    extent = describe_extent(value)
    return name_json_type(value) if extent is None else f"{name_json_type(value)} ({extent})"


def quote_key(key: str) -> str:
    """A key as it may stand in a line of text: itself, or quoted where it is empty or would not print."""
    return key if key and key.isprintable() else json.dumps(key)


def count_utf8_bytes(text: str) -> int:
    """Return the length of a text in bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def make_encoder(*, indent: int | None = None) -> json.JSONEncoder:
    """Writes any JSON value, whichever mapping or sequence holds it; compact without an indent."""
    separators = (",", ":") if indent is None else (",", ": ")
    return json.JSONEncoder(ensure_ascii=False, indent=indent, separators=separators, default=_convert_to_json)


def encode_beginning(value: JsonValue, limit: int, *, indent: int | None = None) -> tuple[str, bool]:
    """The first `limit` characters of a value as JSON, and whether that is all of it.

    Takes no longer than the limit asks for, however large the value. What is nested deeper than Python can
    follow counts as not shown.
    """
    pieces: list[str] = []
    length = 0
    try:
        for piece in make_encoder(indent=indent).iterencode(value):
            pieces.append(piece)
            length += len(piece)
            if length > limit:
                return "".join(pieces)[:limit], False
    except RecursionError:
        return "".join(pieces), False
    return "".join(pieces), True


def count_json_bytes(value: JsonValue) -> int:
    """The bytes of UTF-8 that a value takes as compact JSON; of one nested deeper than Python can follow, those
    of its beginning.

    A whole value is written by the interpreter's own encoder, several times as fast as piece by piece.
    """
    try:
        return count_utf8_bytes(make_encoder().encode(value))
    except RecursionError:
        return count_utf8_bytes(encode_beginning(value, _LONGEST_DEEP)[0])


def format_json(value: JsonValue) -> str:
    """A value as indented JSON, or its compact beginning and … where Python cannot follow its nesting."""
    try:
        return make_encoder(indent=2).encode(value)
    except RecursionError:
        begun, _ = encode_beginning(value, 1 << 20)
        return begun + "…"


def _convert_to_json(value: object) -> object:
    match value:
        case Mapping():
            return dict(value)
        case Sequence():
            return list(value)
        case _:
            raise TypeError(f"a {type(value).__name__} has no JSON form")


_PYTHON_TEXT = r"(?s)[rRuU]?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|\"[^\"]*\"|'[^']*')"
_LETTER_ESCAPE = r"(?<!\\)(?:\\\\)*\\[bfnrtu]"
_STRAY_BACKSLASH = r"(?<!\\)(?:\\\\)*\\(?![\\\"/bfnrtu])"
_LONGEST_PYTHON = 100_000


def double_backslashes(text: str) -> str:
    """With every backslash for itself; "" where some are escapes of letters: it could be read in two ways."""
    if compile_once(_LETTER_ESCAPE).search(text):
        return ""
    return compile_once(_STRAY_BACKSLASH).sub(r"\\\g<0>", text)


def escape_line_breaks(text: str) -> str:
    """With control characters in its strings written as escapes."""
    return _TEXTS.sub(
        lambda found: compile_once(_CONTROL).sub(lambda each: f"\\u{ord(each[0]):04x}", found[0]), text
    )


def require_one_value(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    """The object of these pairs. Raises ValueError where a key has two values: readers of JSON take the last of
    them, and a model may have meant the first."""
    found: dict[str, JsonValue] = {}
    for key, value in pairs:
        if found.setdefault(key, value) != value:
            raise ValueError(f"{key[:80]!r} is given twice, with different values")
    return found


def read_python(text: str) -> str:
    """A dictionary or list of Python as JSON: single quotes, or a comma at the end.

    Python joins texts that stand beside each other, which may lack a comma or be one with quotes in it.
    """
    if "\\" in text or len(text) > _LONGEST_PYTHON or not text.startswith(("{", "[")):
        return ""
    ends = [found.span() for found in compile_once(_PYTHON_TEXT).finditer(text)]
    if any(not text[end:start].strip(" \t\r\n") for (_, end), (start, _) in pairwise(ends)):
        return ""
    try:
        tree = parse_expression(text)
        if any(isinstance(node, ast.Dict) and _says_twice(node) for node in ast.walk(tree)):
            return ""
        value = ast.literal_eval(tree)
        return json.dumps(value, allow_nan=False) if _has_text_keys(value) else ""
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ""


def read_python_words(text: str) -> str:
    """JSON with Python's words for true, false and null, or a comma at the end, as JSON; "" without such."""
    fitted = compile_once(_WORDS).sub(lambda found: found["text"] or _JSON_WORDS[found["word"] or ""], text)
    return fitted if fitted != text else ""


def quote_keys(text: str) -> str:
    """An object with keys or texts in other quotes, or keys in none, as JSON; "" where it has no such."""
    fitted = compile_once(_ODD_QUOTES).sub(
        lambda found: found["text"] or f'"{found["key"] or found["curly"]}"', text
    )
    return fitted if fitted != text else ""


def halve_braces(text: str) -> str:
    """JSON whose braces are doubled, all of them or the outer ones, as templates escape them; else ""."""
    if not (text.startswith("{{") and text.endswith("}}")):
        return ""
    outer = text[1:-1]
    return (
        outer
        if _is_read(outer)
        else compile_once(_DOUBLED).sub(lambda found: found["text"] or found[0][:1], text)
    )


def add_missing_mark(text: str) -> str:
    """JSON in which one comma is missing, or a bracket before one of the other kind, with it.

    "" where it may be missing at several places that lead to different values. What lacks brackets at its end
    may lack more.
    """
    if len(text) > _LONGEST_PYTHON or not text.startswith(("{", "[")) or not text.endswith(("}", "]")):
        return ""
    found: dict[str, str] = {}
    for place, mark in _list_missing_marks(text):
        candidate = f"{text[:place]}{mark}{text[place:]}"
        try:
            value = json.loads(candidate, object_pairs_hook=require_one_value)
        except (ValueError, RecursionError):
            continue
        found.setdefault(json.dumps(value), candidate)
    return next(iter(found.values())) if len(found) == 1 else ""


def _list_missing_marks(text: str) -> Iterator[tuple[int, str]]:
    """Where a comma or a closing bracket may be missing: behind a value, up to where the text stops being JSON.

    Two texts in a row may be one with quotes in it, unless the second is a key.
    """
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        last = error.pos
    except RecursionError:
        return
    else:
        return
    for end in islice(compile_once(_VALUE_ENDS).finditer(text, 0, last), _MOST_MARKS):
        place = end.end()
        match (rest := text[place:].lstrip())[:1]:
            case "]":
                yield place, "}"
            case "}" | ",":
                yield place, "]"
            case "{" | "[" | '"' if end["text"] is None or compile_once(_KEY).match(rest):
                yield place, ","


def _is_read(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _says_twice(node: ast.Dict) -> bool:
    keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
    return len(set(keys)) < len(keys)


def _has_text_keys(value: object) -> bool:
    match value:
        case dict():
            return all(isinstance(key, str) and _has_text_keys(each) for key, each in value.items())
        case list():
            return all(map(_has_text_keys, value))
        case _:
            return value is None or isinstance(value, str | int | float | bool)
