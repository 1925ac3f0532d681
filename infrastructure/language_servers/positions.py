"""Places in files as language servers count them: from zero, in units of the encoding that was agreed on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Literal, TypeAlias
from urllib.parse import quote, unquote_to_bytes, urlsplit

from msgspec import Struct

from quorum.domain.errors import ToolError
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.shared.json_fields import read_count_field, read_object_field, read_text_field

PositionEncoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]
_LINE_END = re.compile(r"\r\n|\n|\r")
_WORD_PART = re.compile(r"\w+\Z")


class CodePosition(Struct, frozen=True):
    """A place in a text: line and character, both counted from 0, the latter in characters of Python."""

    line: int
    character: int


class CodeLocation(Struct, frozen=True, order=True):
    """A line that a server names, counted from 0; `uri` is as it was written."""

    uri: str
    line: int


def split_lines(text: str) -> list[str]:
    """The lines of a text as the protocol counts them, without their ends."""
    return _LINE_END.split(text)


def count_units(text: str, encoding: PositionEncoding) -> int:
    """How long a text is in an encoding's units."""
    match encoding:
        case "utf-8":
            return len(text.encode("utf-8", "replace"))
        case "utf-16":
            return len(text.encode("utf-16-le", "replace")) // 2
        case "utf-32":
            return len(text)


def find_symbol(text: str, symbol: str, line: int | None) -> CodePosition:
    """The last name of `symbol`, such as `b` of `a.b`, where it first stands as a whole word; `line` is counted
    from 1. Raises ToolError where it does not stand there."""
    lines = split_lines(text)
    if line is not None and not 1 <= line <= len(lines):
        raise ToolError(f"the file has {len(lines)} lines, and no line {line}")
    places = range(len(lines)) if line is None else (line - 1,)
    before = r"(?<!\w)" if re.match(r"\w", symbol) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", symbol) else ""
    word = re.compile(f"{before}{re.escape(symbol)}{after}")
    for place in places:
        if (found := word.search(lines[place])) is not None:
            last = _WORD_PART.search(symbol)
            return CodePosition(place, found.start() + (last.start() if last is not None else 0))
    where = "the file" if line is None else f"line {line}"
    raise ToolError(f"{where} does not hold the name {symbol}: give it as it is written there")


def encode_position(text: str, position: CodePosition, encoding: PositionEncoding) -> JsonObject:
    """A place of a text as the server counts it."""
    before = split_lines(text)[position.line][: position.character]
    return {"line": position.line, "character": count_units(before, encoding)}


def build_uri(path: str) -> str:
    """The address of a file by its absolute path."""
    return f"file://{quote(os.fsencode(path))}"


def read_uri(uri: str) -> str | None:
    """The absolute path that an address of a file on this machine names; None for any other."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or parts.query:
        return None
    path = os.fsdecode(unquote_to_bytes(parts.path))
    return os.path.normpath(path) if path.startswith("/") and "\0" not in path else None


def read_locations(answer: object) -> Iterator[CodeLocation]:
    """What a `Location`, a `LocationLink` or a list of them names; what is none of these is left out."""
    for item in answer if isinstance(answer, list) else [answer]:
        if not isinstance(item, dict):
            continue
        uri = read_text_field(item, "uri") or read_text_field(item, "targetUri")
        place = next(
            (item[key] for key in ("range", "targetSelectionRange", "targetRange") if key in item), None
        )
        line = read_line(place if isinstance(place, dict) else {})
        if uri and line is not None:
            yield CodeLocation(uri, line)


def read_line(span: JsonObject) -> int | None:
    """The line at which a `Range` begins; None where it is none."""
    return read_count_field(read_object_field(span, "start"), "line")
