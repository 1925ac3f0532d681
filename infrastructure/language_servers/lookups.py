"""What a model asks language servers: where a name is defined and used, what it is, what a file holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import assert_never

from msgspec import Struct

from quorum.domain.errors import ToolError
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.files.workspace import Location
from quorum.infrastructure.language_servers.channel import LanguageServerFailed
from quorum.infrastructure.language_servers.found_problems import (
    CodeLocation,
    build_uri,
    encode_position,
    find_symbol,
    flatten,
    read_line,
    read_locations,
    read_uri,
    split_lines,
)
from quorum.infrastructure.language_servers.server import LanguageServer
from quorum.infrastructure.language_servers.servers import LanguageServers
from quorum.infrastructure.language_servers.sources import SourceFiles
from quorum.infrastructure.models.shared.json_fields import (
    read_count_field,
    read_object_field,
    read_objects_field,
    read_text_field,
)

MOST_PLACES = 200
_LONGEST_LINE = 300
_LONGEST_HOVER = 8_000
_MOST_SYMBOLS = 500
_DEEPEST = 12
_SYMBOL_KINDS = [
    "file",
    "module",
    "namespace",
    "package",
    "class",
    "method",
    "property",
    "field",
    "constructor",
    "enum",
    "interface",
    "function",
    "variable",
    "constant",
    "string",
    "number",
    "boolean",
    "array",
    "object",
    "key",
    "null",
    "enum-member",
    "struct",
    "event",
    "operator",
    "type-parameter",
]


class Lookup(StrEnum):
    """What is asked."""

    DEFINITION = "definition"
    TYPE_DEFINITION = "type_definition"
    IMPLEMENTATION = "implementation"
    REFERENCES = "references"
    HOVER = "hover"
    SYMBOLS = "symbols"
    WORKSPACE_SYMBOLS = "workspace_symbols"
    DIAGNOSTICS = "diagnostics"


# For each: the capability that a server must have, and the method.
_METHODS = {
    Lookup.DEFINITION: ("definitionProvider", "textDocument/definition"),
    Lookup.TYPE_DEFINITION: ("typeDefinitionProvider", "textDocument/typeDefinition"),
    Lookup.IMPLEMENTATION: ("implementationProvider", "textDocument/implementation"),
    Lookup.REFERENCES: ("referencesProvider", "textDocument/references"),
    Lookup.HOVER: ("hoverProvider", "textDocument/hover"),
    Lookup.SYMBOLS: ("documentSymbolProvider", "textDocument/documentSymbol"),
    Lookup.WORKSPACE_SYMBOLS: ("workspaceSymbolProvider", "workspace/symbol"),
}


class CodeQuestion(Struct, frozen=True, kw_only=True):
    """A question as the model asks it; `line` is counted from 1."""

    lookup: Lookup
    path: str = ""
    symbol: str = ""
    line: int | None = None


class CodeLookups:
    """Asks the servers whose business a file is, and words their answers."""

    def __init__(self, servers: LanguageServers) -> None:
        self._servers = servers

    async def answer(self, question: CodeQuestion, report: Callable[[str], None]) -> str:
        """The answer as text. Raises ToolError."""
        if question.lookup is not Lookup.WORKSPACE_SYMBOLS and not question.path:
            raise ToolError(f"{question.lookup} needs path: the file that the question is about")
        needs_symbol = question.lookup not in (Lookup.SYMBOLS, Lookup.DIAGNOSTICS)
        if needs_symbol and not question.symbol:
            raise ToolError(f"{question.lookup} needs symbol: the name as it is written in the code")
        sources = self._servers.sources
        location = await asyncio.to_thread(sources.require, question.path) if question.path else None
        servers = self._servers.find_servers(location.path if location is not None else None)
        if not servers:
            known = ", ".join(self._servers.names)
            raise ToolError(f"no language server serves {question.path}; there is: {known}. Use grep_search")
        answers: list[str] = []
        failures: list[str] = []
        for server in servers:
            report(f"asking {server.name}")
            try:
                await server.ensure()
                if (text := await self._ask(server, question)) is not None:
                    answers.append(text if len(servers) == 1 else f"[{server.name}]\n{text}")
            except LanguageServerFailed as error:
                failures.append(f"the language server {server.name}: {error}")
        if not answers:
            raise ToolError("; ".join(failures) or f"no language server here answers {question.lookup}")
        return "\n".join((*answers, *(f"[{failure}]" for failure in failures)))

    async def _ask(self, server: LanguageServer, question: CodeQuestion) -> str | None:
        """The answer of one server; None where it does not offer that."""
        sources = server.sources
        if question.lookup in _METHODS and not server.offers(_METHODS[question.lookup][0]):
            return None
        text, path = "", ""
        async with server.changing_files():
            await server.tell_changes()
            if question.path:
                location = await asyncio.to_thread(sources.require, question.path)
                path, text = location.path, await server.open_document(location)
        document: JsonObject = {"textDocument": {"uri": build_uri(path)}}
        match question.lookup:
            case (
                Lookup.DEFINITION
                | Lookup.TYPE_DEFINITION
                | Lookup.IMPLEMENTATION
                | Lookup.REFERENCES
                | Lookup.HOVER
            ):
                position = find_symbol(text, question.symbol, question.line)
                params: JsonObject = {**document, "position": encode_position(text, position, server.encoding)}
                if question.lookup is Lookup.REFERENCES:
                    params = {**params, "context": {"includeDeclaration": True}}
                answer = await server.ask(_METHODS[question.lookup][1], params)
                if question.lookup is Lookup.HOVER:
                    return _render_hover(answer)
                places = list(dict.fromkeys(read_locations(answer)))
                return await asyncio.to_thread(PlaceList(sources).render, places)
            case Lookup.SYMBOLS:
                answer = await server.ask(_METHODS[question.lookup][1], document)
                return _render_symbols(sources.label(path), answer)
            case Lookup.WORKSPACE_SYMBOLS:
                answer = await server.ask(_METHODS[question.lookup][1], {"query": question.symbol})
                return await asyncio.to_thread(_render_workspace_symbols, sources, answer)
            case Lookup.DIAGNOSTICS:
                await server.settle([path])
                lines = server.problems.list_lines().get(path, ())
                return (
                    "\n".join(lines[:MOST_PLACES]) or f"[{server.name} finds no error or warning in the file]"
                )
            case never:
                assert_never(never)


class PlaceList:
    """Places as `path:line:text`, the text as the file has it; of files that may be shown alone."""

    def __init__(self, sources: SourceFiles) -> None:
        self._sources = sources
        self._last: tuple[str, list[str]] = ("", [])
        self._sensitive = self._elsewhere = 0

    def render(self, places: Sequence[CodeLocation], name: Callable[[CodeLocation], str] = lambda _: "") -> str:
        """All of them, and what was left out; `name` says what stands there, before the text. Blocks."""
        shown: list[str] = []
        files: set[str] = set()
        for place in places[:MOST_PLACES]:
            if (path := read_uri(place.uri)) is None:
                self._elsewhere += 1
            elif (line := self._render_one(path, place.line, name(place))) is not None:
                files.add(path)
                shown.append(line)
        return "\n".join(
            (*shown, *(f"[{note}]" for note in self._list_notes(len(places), len(shown), len(files))))
        )

    def _render_one(self, path: str, line: int, name: str) -> str | None:
        sources = self._sources
        location = sources.find(path)
        if location is None:
            if not sources.is_outside(path):
                self._sensitive += 1
                return None
            return f"{sources.label(path)}:{line + 1}: {name}[outside the workspace]"
        if location.path != self._last[0]:
            self._last = (location.path, self._read_lines(location))
        _, lines = self._last
        text = cut_line(lines[line]) if line < len(lines) else "[there is no such line any more]"
        return f"{sources.label(location.path)}:{line + 1}:{f' {name}: ' if name else ''}{text}"

    def _read_lines(self, location: Location) -> list[str]:
        try:
            return split_lines(self._sources.read(location))
        except ToolError:  # gone by now, or no text
            return []

    def _list_notes(self, found: int, shown: int, files: int) -> Iterator[str]:
        counted = "1 place" if shown == 1 else f"{shown} places"
        yield f"{counted} in {'1 file' if files == 1 else f'{files} files'}" if shown else "nothing found"
        if found > MOST_PLACES:
            yield f"{found - MOST_PLACES} more places not shown"
        if self._sensitive:
            yield f"{self._sensitive} in sensitive files or places of the system, not shown"
        if self._elsewhere:
            yield f"{self._elsewhere} in places that are no files, not shown"


def cut_line(line: str) -> str:
    """A line of a file, safe to print, cut where it is long."""
    text = make_printable(line[: 2 * _LONGEST_LINE], newlines=False)
    return text if len(line) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]} … [line cut]"


def _render_hover(answer: JsonValue) -> str:
    contents = answer.get("contents") if isinstance(answer, dict) else None
    parts = contents if isinstance(contents, list) else [contents]
    texts = (
        each if isinstance(each, str) else read_text_field(each, "value")
        for each in parts
        if isinstance(each, str | dict)
    )
    text = make_printable("\n\n".join(filter(None, (each.strip() for each in texts))), strip_ansi=True)
    if len(text) > _LONGEST_HOVER:
        text = f"{text[:_LONGEST_HOVER]}\n[cut: it has {len(text):,} characters]"
    return text or "[nothing is known of it]"


def _render_symbols(label: str, answer: JsonValue) -> str:
    items = [each for each in answer if isinstance(each, dict)] if isinstance(answer, list) else []
    lines = list(_list_symbols(items, 0))
    shown = [f"{label}:{line}:{' ' * (1 + 2 * depth)}{text}" for line, depth, text in lines[:_MOST_SYMBOLS]]
    left = len(lines) - len(shown)
    notes = [f"[{left} more not shown]"] if left else []
    return "\n".join((*shown, *notes)) or "[the file holds no symbols]"


def _list_symbols(items: Sequence[JsonObject], depth: int) -> Iterator[tuple[int, int, str]]:
    for item in items:
        span = read_object_field(item, "selectionRange") or read_object_field(item, "range")
        line = read_line(span or read_object_field(read_object_field(item, "location"), "range"))
        if line is not None:
            yield line + 1, depth, _name_symbol(item)
        if depth < _DEEPEST:
            yield from _list_symbols(read_objects_field(item, "children"), depth + 1)


def _name_symbol(item: JsonObject) -> str:
    number = read_count_field(item, "kind") or 0
    kind = _SYMBOL_KINDS[number - 1] if 1 <= number <= len(_SYMBOL_KINDS) else "symbol"
    holder, detail = read_text_field(item, "containerName"), read_text_field(item, "detail")
    name = flatten(read_text_field(item, "name"), 200)
    more = f" in {flatten(holder, 80)}" if holder else f" {flatten(detail, 120)}" if detail else ""
    return f"{kind} {name}{more}"


def _render_workspace_symbols(sources: SourceFiles, answer: JsonValue) -> str:
    items = [each for each in answer if isinstance(each, dict)] if isinstance(answer, list) else []
    names: dict[CodeLocation, str] = {}
    for item in items:
        for place in read_locations(item.get("location")):
            names.setdefault(place, _name_symbol(item))
    return PlaceList(sources).render(list(names), names.__getitem__)
