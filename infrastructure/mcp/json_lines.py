"""JSON values in what an MCP server prints, also over several lines and between other text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct

from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.pattern import compile_once

_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda name: name)  # NaN has no JSON form
_BEGINNING = r'\{\s*(?:["}]|$)|\[\s*(?:[\[{"\]]|$)'
_STRUCTURE = r'(?s)\\.|["{}\[\]]'
_SURROGATE = r"\\u[dD][89a-fA-F]"
_MARK = '"jsonrpc"'
_MOST_TRIES = 20


class UnreadableText(Struct, frozen=True):
    """Text that was meant as a message, as far as it came, and is no JSON."""

    text: str


Piece: TypeAlias = "JsonValue | UnreadableText"


def read_json(text: str) -> JsonValue:
    """The value that a text holds, without halves of surrogate pairs. Raises ValueError."""
    value, end = _decode(text, 0)
    if text[end:].strip():
        raise ValueError("more follows the value")
    return value


def is_whole(line: bytes) -> bool:
    """Whether a line holds a value from its beginning to its end."""
    return _try_decode(line.decode("utf-8", "replace").strip()) is not None


class JsonLines:
    """Reads printed lines, one after the other. What is no message, and was not meant as one, is left out."""

    def __init__(self) -> None:
        self._begun: list[str] = []
        self._depth = 0
        self._is_quoted = False

    @property
    def has_begun(self) -> bool:
        """Whether the lines so far end within a value."""
        return bool(self._begun)

    def read_line(self, line: bytes) -> list[Piece]:
        """The values that end with this line."""
        text = line.decode("utf-8", "replace").replace("\0", "")  # of UTF-16
        text = text.lstrip("\ufeff").strip("\r")
        if not self._begun:
            return self._read_first(text)
        if _MARK in text and (whole := _try_decode(text)) is not None:
            return [*self.flush(), whole]  # what was begun is never ended
        self._follow(text)
        return self.flush() if self._depth <= 0 else []

    def flush(self) -> list[Piece]:
        """What was begun, as it stands: nothing more of it comes."""
        text, self._begun = "\n".join(self._begun), []
        if not text:
            return []
        value = _try_decode(text)
        return [UnreadableText(text) if value is None else value]

    def _read_first(self, text: str) -> list[Piece]:
        text = text.strip()
        if not text:
            return []
        if (value := _try_decode(text)) is not None:
            return [value] if isinstance(value, dict | list) else []
        if found := list(_iterate_embedded_answers(text)):
            return found
        if not compile_once(_BEGINNING).match(text):
            return [UnreadableText(text)] if _MARK in text.replace("'", '"') else []
        self._depth, self._is_quoted = 0, False
        self._follow(text)
        return self.flush() if self._depth <= 0 else []

    def _follow(self, text: str) -> None:
        self._begun.append(text)
        for found in compile_once(_STRUCTURE).finditer(text):
            mark = found[0]
            if mark == '"':
                self._is_quoted = not self._is_quoted
            elif not self._is_quoted and mark in "{[":
                self._depth += 1
            elif not self._is_quoted and mark in "}]":
                self._depth -= 1


def _iterate_embedded_answers(text: str) -> Iterator[Piece]:
    """Answers in a line that holds more than one value: several of them, or other text around one.

    What is no answer is left out: a server that logs what it reads must not seem to ask that of us.
    """
    place = text.find("{")
    tries = 0
    while place >= 0 and tries < _MOST_TRIES and _MARK in text[place:]:
        try:
            value, end = _decode(text, place)
        except (ValueError, RecursionError):
            tries += 1
            end = place + 1
        else:
            if isinstance(value, dict) and "method" not in value and ("result" in value or "error" in value):
                yield value
        place = text.find("{", end)


def _try_decode(text: str) -> JsonValue:
    try:
        return read_json(text)
    except (ValueError, RecursionError):
        return None


def _decode(text: str, place: int) -> tuple[JsonValue, int]:
    while place < len(text) and text[place].isspace():
        place += 1
    value, end = _DECODER.raw_decode(text, place)
    return (_drop_surrogates(value) if compile_once(_SURROGATE).search(text, place, end) else value), end


def _drop_surrogates(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {str(_drop_surrogates(key)): _drop_surrogates(each) for key, each in value.items()}
        case list():
            return [_drop_surrogates(each) for each in value]
        case _:
            return value
