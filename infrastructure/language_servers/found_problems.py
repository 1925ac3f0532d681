"""What a language server finds wrong with files, as lines of text."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias
from urllib.parse import quote, unquote_to_bytes, urlsplit

from msgspec import Struct

from quorum.domain.errors import ToolError
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.pattern import compile_once
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.models.shared.json_fields import (
    read_count_field,
    read_object_field,
    read_objects_field,
    read_text_field,
)

_MOST_OF_A_FILE = 200
_MOST_FILES = 2_000
_LONGEST_MESSAGE = 300
_SEVERITY = r":[0-9]+: (error|warning): "
_SEVERITIES = {1: "error", 2: "warning"}  # information and hints are for people


class Published(Struct, frozen=True):
    """What a server said of a file by itself; `serial` counts all that it says so."""

    lines: tuple[str, ...]
    version: int | None
    serial: int


class FoundProblems:
    """What a server has last said of each file: by itself, and when it was asked. `label` names a path."""

    def __init__(self, label: Callable[[str], str]) -> None:
        self._label = label
        self._published: dict[str, Published] = {}
        self._pulled: dict[str, tuple[str, ...]] = {}
        self.serial = 0

    def take_published(self, params: JsonObject, get_version: Callable[[str], int | None]) -> None:
        """Note what a server says of a file by itself, but for an older text than `get_version` tells of."""
        path = read_uri(read_text_field(params, "uri"))
        if path is None:
            return
        version, current = read_count_field(params, "version"), get_version(path)
        if version is not None and current is not None and version < current:
            return
        if path not in self._published and len(self._published) >= _MOST_FILES:
            return
        self.serial += 1
        lines = self._render(path, read_objects_field(params, "diagnostics"))
        self._published[path] = Published(lines, version, self.serial)

    def take_pulled(self, path: str, report: object) -> None:
        """Note the answer to a question about a file, with what it says of others."""
        if not isinstance(report, dict):
            return
        if read_text_field(report, "kind") == "full":
            self._pulled[path] = self._render(path, read_objects_field(report, "items"))
        for uri, related in read_object_field(report, "relatedDocuments").items():
            other = read_uri(uri)
            if other is not None and isinstance(related, dict) and read_text_field(related, "kind") == "full":
                self._pulled[other] = self._render(other, read_objects_field(related, "items"))

    def is_published(self, path: str, version: int, after: int) -> bool:
        """Whether it has spoken of this version of a file or, where it names none, since a serial number."""
        found = self._published.get(path)
        if found is None:
            return False
        return found.serial > after if found.version is None else found.version >= version

    def forget(self, path: str) -> None:
        """A file is not open any more."""
        self._pulled.pop(path, None)

    def list_lines(self) -> Mapping[str, tuple[str, ...]]:
        """All lines, by the path of their file."""
        paths = dict.fromkeys((*self._pulled, *self._published))
        return {
            path: tuple(dict.fromkeys((*self._pulled.get(path, ()), *self._get_published(path))))
            for path in paths
        }

    def _get_published(self, path: str) -> tuple[str, ...]:
        found = self._published.get(path)
        return found.lines if found is not None else ()

    def _render(self, path: str, items: Sequence[JsonObject]) -> tuple[str, ...]:
        return tuple(line for item in items[:_MOST_OF_A_FILE] for line in self._render_one(path, item))

    def _render_one(self, path: str, item: JsonObject) -> Iterator[str]:
        severity = _SEVERITIES.get(read_count_field(item, "severity") or 1)
        line = read_line(read_object_field(item, "range"))
        if severity is None or line is None:
            return
        message = flatten(read_text_field(item, "message"), _LONGEST_MESSAGE)
        code = item.get("code")
        names = (read_text_field(item, "source"), str(code) if isinstance(code, str | int) else "")
        about = flatten(" ".join(filter(None, names)), 80)
        yield f"{self._label(path)}:{line + 1}: {severity}: {message}{f' ({about})' if about else ''}"


def is_error(line: str) -> bool:
    """Whether a line tells of an error, and not of a warning."""
    found = compile_once(_SEVERITY).search(line)
    return found is not None and found[1] == _SEVERITIES[1]


def flatten(text: str, most: int) -> str:
    """Text of a server on one line, safe to print, cut where it is long."""
    flat = make_printable(" ".join(text[: 4 * most].split()), newlines=False, strip_ansi=True)
    return flat if len(flat) <= most else flat[: most - 1] + "…"


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
