"""Finds and reads custom slash commands: Markdown files of the person and of the project."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from quorum.domain.instructions.custom_command import CustomCommand, is_command_name
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
    parse_words,
)
from quorum.infrastructure.instructions.markdown_files import list_markdown_files
from quorum.infrastructure.instructions.text_file import decode_text, read_bytes

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
