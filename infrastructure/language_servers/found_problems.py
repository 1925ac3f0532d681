"""What a language server finds wrong with files, as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.pattern import compile_once
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.language_servers.positions import read_line, read_uri
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
