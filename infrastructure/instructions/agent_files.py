"""Finds and reads agent definitions: Markdown files of the person and of the project."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from quorum.domain.calls.tool_aliases import translate_tool_name
from quorum.domain.instructions.agent_definition import AgentDefinition, is_agent_name
from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.replacing import replace
from quorum.domain.text.amounts import format_size
from quorum.infrastructure.instructions.content_places import ContentPlaces
from quorum.infrastructure.instructions.frontmatter import (
    BadFrontmatter,
    Frontmatter,
    FrontmatterField,
    list_unknown_fields,
    parse_frontmatter,
    parse_text,
)
from quorum.infrastructure.instructions.markdown_files import list_markdown_files
from quorum.infrastructure.instructions.text_file import decode_text, read_bytes

FOLDERS = (".claude/agents", ".agents/agents")
"""Where a project and a person keep agents; of two of one name, that of the later folder counts."""

_ENTRY = re.compile(r"[^\s,()]+(?:\s*\([^)]*\)?)?")
_LARGEST = 100_000  # bytes of one file
_USED = ("name", "description", "tools", "disallowedTools", "model")
# Other agents' fields that say nothing about what the agent may do.
_WITHOUT_EFFECT = frozenset(
    [
        *("color", "version", "title", "status", "category", "tags", "metadata", "when_to_use", "background"),
        *("author", "license", "date", "created", "updated", "last-updated", "memory", "effort"),
    ]
)


class AgentFiles:
    """The agent definitions that hold in a working directory. `find` blocks, and raises nothing."""

    def __init__(self, cwd: Path, environ: Mapping[str, str]) -> None:
        self._places = ContentPlaces(cwd, environ, FOLDERS, own="agents")

    @property
    def project(self) -> Path:
        return self._places.project

    def find(self) -> tuple[AgentDefinition, ...]:
        """All of them: the project's from its root to the working directory, then the person's own."""
        found: dict[str, AgentDefinition] = {}
        for folder, scope in self._places.folders:
            for path in list_markdown_files(folder):
                if (definition := self._read(path, scope)) is not None:
                    found.setdefault(definition.file, definition)
        return tuple(found.values())

    def _read(self, path: Path, scope: InstructionScope) -> AgentDefinition | None:
        data = read_bytes(path, inside=self._places.find_limit(scope), limit=_LARGEST + 1)
        if data is None or not str(path).isprintable():
            return None
        definition = AgentDefinition(
            name=path.stem,
            scope=scope,
            file=str(path),
            label=self._places.label(path, scope),
            digest=hashlib.sha256(data).hexdigest(),
        )
        if len(data) > _LARGEST:
            problem = f"{path} is larger than {format_size(_LARGEST)}; a definition must be shorter"
            return replace(definition, problem=problem)
        try:
            return _parse(definition, parse_frontmatter(decode_text(data)))
        except BadFrontmatter as problem:
            return replace(definition, problem=f"{path}, line {problem.line}: {problem}")


def _parse(definition: AgentDefinition, frontmatter: Frontmatter) -> AgentDefinition:
    """The definition with what its file says. Raises BadFrontmatter."""
    fields = frontmatter.fields
    name = parse_text(fields.get("name")).strip() or definition.name
    if not is_agent_name(name):
        raise BadFrontmatter(
            fields["name"].line if "name" in fields else 1,
            "an agent's name is at most 64 letters, digits, _, . and -",
        )
    definition = replace(definition, name=name)
    description = parse_text(fields.get("description")).strip()
    if not description:
        raise BadFrontmatter(1, "the frontmatter needs a description; it says when to choose the agent")
    if not frontmatter.body.strip():
        raise BadFrontmatter(1, "it holds no instructions for the agent; write them below the frontmatter")
    return replace(
        definition,
        description=description,
        tools=_allow(_split_tools(fields.get("tools"))),
        excluded=_exclude(_split_tools(fields.get("disallowedTools"))),
        model=parse_text(fields.get("model")).strip(),
        instructions=frontmatter.body.strip(),
        notices=tuple(_list_notices(definition.file, fields)),
    )


def _split_tools(given: FrontmatterField | None) -> tuple[str, ...] | None:
    """The entries of a list of tools, each with its pattern, closed or not; None where there is no list.

    Raises BadFrontmatter.
    """
    if given is None:
        return None
    if given.is_table:
        raise BadFrontmatter(given.line, "a list of tools is expected here")
    entries = given.items if given.items is not None else (given.text,)
    return tuple(part for entry in entries for part in _ENTRY.findall(entry))


def _allow(entries: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The tools that are named alone, each once: with a pattern one would allow more than it says."""
    if entries is None:
        return None
    return tuple(dict.fromkeys(translate_tool_name(entry) for entry in entries if "(" not in entry))


def _exclude(entries: tuple[str, ...] | None) -> tuple[str, ...]:
    """The tools that are named, with a pattern or without."""
    names = (entry.partition("(")[0].strip() for entry in entries or ())
    return tuple(dict.fromkeys(map(translate_tool_name, names)))


def _list_notices(file: str, fields: Mapping[str, FrontmatterField]) -> Iterator[str]:
    yield from list_unknown_fields(file, fields, used=_USED, without_effect=_WITHOUT_EFFECT)
    tools = fields.get("tools")
    for entry in _split_tools(tools) or ():
        if tools is not None and "(" in entry:
            yield (
                f"{file}, line {tools.line}: {entry} gives the agent no tool; name the tool alone, and say in "
                "[permissions] which of its calls may run"
            )
