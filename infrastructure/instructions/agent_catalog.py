"""The agent definitions of a session: Markdown files of person and project, trusted by their content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from quorum.domain.calls.tool_traits import translate_tool_name
from quorum.domain.errors import ToolError
from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.instructions.offer_list import AgentDefinition, is_offer_name, shorten
from quorum.domain.replacing import replace
from quorum.domain.sessions.trust import TrustContent
from quorum.domain.text.amounts import format_amount, format_size
from quorum.domain.text.fuzzy import find_nearest_word
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.instructions.markdown_files import (
    BadFrontmatter,
    ContentPlaces,
    Frontmatter,
    FrontmatterField,
    decode_text,
    list_markdown_files,
    list_unknown_fields,
    parse_frontmatter,
    parse_text,
    read_bytes,
)
from quorum.infrastructure.instructions.trusted_offers import (
    SUMMARY_LENGTH,
    OfferKind,
    OfferTerms,
    TrustedOffers,
)

FOLDERS = (".claude/agents", ".agents/agents")
"""Where a project and a person keep agents; of two of one name, that of the later folder counts."""

_ENTRY = r"[^\s,()]+(?:\s*\([^)]*\)?)?"
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

    def __init__(self, cwd: Path, environ: Mapping[str, str], *, is_off: bool = False) -> None:
        self._places = ContentPlaces(cwd, environ, FOLDERS, own="agents", is_off=is_off)

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
    if not is_offer_name(name):
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
    return tuple(part for entry in entries for part in compile_once(_ENTRY).findall(entry))


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


class AgentCatalog:
    """Implements `OfferCatalog`. What can be named is what was trusted when the present turn began, with
    the content that it had then."""

    def __init__(self, terms: OfferTerms) -> None:
        files = AgentFiles(terms.cwd, terms.environ, is_off=terms.is_off)
        self._offers = TrustedOffers(AGENTS, files.find, files.project, terms)

    async def refresh(self) -> tuple[tuple[AgentDefinition, ...], tuple[str, ...]]:
        """Those that are trusted now, one of each name, once the person was asked about the others; and
        sentences about what cannot be used or is not followed."""
        notices = await self._offers.refresh()
        notices += [notice for each in self._offers.trusted for notice in each.notices]
        return self._offers.trusted, tuple(notices)

    async def survey(self) -> tuple[tuple[AgentDefinition, bool], ...]:
        """All that there are now, one of each name, each with whether the person trusts it as it is. Nobody is
        asked."""
        return await self._offers.survey()

    def find(self, name: str) -> AgentDefinition:
        found = self._offers.get_trusted(name)
        if found is not None:
            return found
        near = find_nearest_word(name, [each.name for each in self._offers.trusted])
        hint = f"did you mean {near}? " if near is not None else ""
        raise ToolError(
            f"there is no agent {shorten(name, 80)!r}; {hint}Those that can be named: {self._offers.names}. "
            "Without a name the usual subagent does the task"
        )


def _list_wants(definition: AgentDefinition) -> Iterator[str]:
    lines = definition.instructions.splitlines()
    yield (
        f"the agent {definition.name}, to which the model may give tasks: {format_amount(len(lines), 'line')} "
        "of instructions"
    )
    yield f"it has {definition.means}; each of its calls is reviewed as any other"
    if definition.model:
        yield f"it asks for the model {definition.model}"
    yield shorten(definition.description, SUMMARY_LENGTH)


def _render_text(definition: AgentDefinition) -> Iterator[str]:
    yield f"description: {shorten(definition.description, 2_000)}"
    yield from definition.instructions.splitlines()


def _describe(definition: AgentDefinition) -> TrustContent:
    return TrustContent(
        digest=definition.digest, wants=tuple(_list_wants(definition)), text=tuple(_render_text(definition))
    )


AGENTS: OfferKind[AgentDefinition] = OfferKind("agent", lambda definition: definition.file, _describe)
