"""Finds custom slash commands, and asks the person about those of a project that are not trusted.

Finds and reads custom slash commands: Markdown files of the person and of the project.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from quorum.application.ports.people import Approver
from quorum.domain.instructions.custom_command import CustomCommand, is_command_name
from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.replacing import replace
from quorum.domain.sessions.trust import TrustContent
from quorum.domain.text.amounts import format_amount, format_size
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.config.paths import resolve_trusted_place
from quorum.infrastructure.instructions.frontmatter import (
    BadFrontmatter,
    Frontmatter,
    FrontmatterField,
    list_unknown_fields,
    parse_frontmatter,
    parse_text,
    parse_words,
)
from quorum.infrastructure.instructions.markdown_files import ContentPlaces, list_markdown_files
from quorum.infrastructure.instructions.text_file import decode_text, read_bytes
from quorum.infrastructure.trust.decisions import TrustDecisions

FOLDERS = (".claude/commands", ".agents/commands")
"""Where a project and a person keep commands; of two of one name, that of the later folder counts."""

_LARGEST = 200_000  # bytes of one file
_LONGEST_DESCRIPTION = 300
_USED = ("description", "argument-hint", "arguments", "model", "allowed-tools")
# Other agents' fields that say nothing about what the command does when a person types it.
_WITHOUT_EFFECT = frozenset(
    [
        *("name", "title", "when_to_use", "version", "status", "priority", "category", "tags", "metadata"),
        *("author", "license", "date", "created", "updated", "last-updated"),
        *("disable-model-invocation", "user-invocable"),
    ]
)


class CommandFiles:
    """The custom commands that hold in a working directory. `find` blocks, and raises nothing."""

    def __init__(self, cwd: Path, environ: Mapping[str, str]) -> None:
        self._places = ContentPlaces(cwd, environ, FOLDERS, own="commands")

    @property
    def project(self) -> Path:
        return self._places.project

    def find(self) -> tuple[CustomCommand, ...]:
        """All of them: the project's from its root to the working directory, then the person's own."""
        found: dict[str, CustomCommand] = {}
        for folder, scope in self._places.folders:
            for path in list_markdown_files(folder):
                if (command := self._read(path, folder, scope)) is not None:
                    found.setdefault(command.file, command)
        return tuple(found.values())

    def _read(self, path: Path, folder: Path, scope: InstructionScope) -> CustomCommand | None:
        name = ":".join(path.relative_to(folder).with_suffix("").parts)
        data = read_bytes(path, inside=self._places.find_limit(scope), limit=_LARGEST + 1)
        if data is None or not is_command_name(name):
            return None
        command = CustomCommand(
            name=name,
            scope=scope,
            file=str(path),
            label=self._places.label(path, scope),
            digest=hashlib.sha256(data).hexdigest(),
        )
        if len(data) > _LARGEST:
            return _refuse(command, f"{path} is larger than {format_size(_LARGEST)}; a command must be shorter")
        return _parse(command, decode_text(data))


def _parse(command: CustomCommand, text: str) -> CustomCommand:
    try:
        frontmatter = parse_frontmatter(text)
    except BadFrontmatter as problem:
        return _refuse(command, f"{command.file}, line {problem.line}: {problem}")
    if not frontmatter.body.strip():
        return _refuse(command, f"{command.file} holds no text for the model; write it below the frontmatter")
    fields = frontmatter.fields
    try:
        return replace(
            command,
            description=_join_lines(parse_text(fields.get("description")) or _read_first_line(frontmatter)),
            argument_hint=_join_lines(_write_value(fields.get("argument-hint"))),
            parameters=_split_names(fields.get("arguments")),
            model=parse_text(fields.get("model")).strip(),
            allowed_tools=parse_words(fields.get("allowed-tools")),
            body=frontmatter.body,
            notices=tuple(
                list_unknown_fields(command.file, fields, used=_USED, without_effect=_WITHOUT_EFFECT)
            ),
        )
    except BadFrontmatter as problem:
        return _refuse(command, f"{command.file}, line {problem.line}: {problem}")


def _refuse(command: CustomCommand, problem: str) -> CustomCommand:
    return replace(command, problem=problem)


def _write_value(given: FrontmatterField | None) -> str:
    """A value as it is written: `[file] [name]` is no list to the person."""
    return given.text if given is not None else ""


def _split_names(given: FrontmatterField | None) -> tuple[str, ...]:
    names = parse_words(given) or ()
    for name in names:
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            assert given is not None
            raise BadFrontmatter(given.line, "the name of an argument is letters, digits and _")
    return names


def _read_first_line(frontmatter: Frontmatter) -> str:
    lines = (line.strip().lstrip("#").strip() for line in frontmatter.body.splitlines())
    return next((line for line in lines if line), "")


def _join_lines(text: str) -> str:
    joined = " ".join(text.split())
    return joined if len(joined) <= _LONGEST_DESCRIPTION else f"{joined[: _LONGEST_DESCRIPTION - 1]}…"


class TrustedCommands:
    """Implements `CommandFinder`. The person's own commands need no trust: only they themselves use them."""

    def __init__(
        self, files: CommandFiles, *, decisions: TrustDecisions, approver: Approver, cwd: Path
    ) -> None:
        self._files = files
        self._decisions = decisions
        self._approver = approver
        self._cwd = cwd

    async def find(self) -> tuple[CustomCommand, ...]:
        """Those that there are now."""
        return await asyncio.to_thread(self._files.find)

    async def trust(self, command: CustomCommand) -> tuple[str | None, tuple[str, ...]]:
        """Why this command may not be used, None where it may; and sentences about what could not be
        remembered."""
        untrusted, problems = await self._decisions.settle(
            list_wanted_commands([command]), self._files.project, self._approver
        )
        if not untrusted:
            return None, tuple(problems)
        state = "has changed since you trusted it" if untrusted[0].changed else "is not trusted"
        folder = shlex.quote(make_printable(str(self._cwd), newlines=False))
        return (
            f"{make_printable(command.file)} {state}; to look at it and trust it: "
            f"quorum -C {folder} config trust"
        ), ()


def list_wanted_commands(commands: Iterable[CustomCommand]) -> dict[Path, TrustContent]:
    """For each command of a project that can be used: its place, and what it holds."""
    return {
        resolve_trusted_place(Path(command.file)): TrustContent(
            digest=command.digest,
            wants=tuple(_list_wants(command)),
            text=tuple(command.body.strip().splitlines()),
        )
        for command in commands
        if command.scope is InstructionScope.PROJECT and not command.problem
    }


def _list_wants(command: CustomCommand) -> Iterator[str]:
    lines = command.body.strip().splitlines()
    yield f"the slash command /{command.name}, sent only when you type it: {format_amount(len(lines), 'line')}"
    if command.model:
        yield f"it asks for the model {command.model}"
    if command.allowed_tools is not None:
        yield f"it narrows what may change something to: {', '.join(command.allowed_tools) or 'nothing'}"
