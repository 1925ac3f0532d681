"""Finds and reads custom slash commands: Markdown files of the person and of the project."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from domain.instructions.custom_command import CustomCommand, is_command_name
from domain.instructions.instruction import InstructionScope
from domain.text.amounts import format_size
from domain.text.nearest import find_nearest_word
from infrastructure.config.paths import list_folders_up_to_repository, locate_user_file
from infrastructure.instructions.frontmatter import (
    BadFrontmatter,
    Frontmatter,
    FrontmatterField,
    parse_frontmatter,
)
from infrastructure.instructions.text_file import decode_text, read_bytes

FOLDERS = (".claude/commands", ".agents/commands")
"""Where a project and a person keep commands; of two of one name, that of the later folder counts."""

_SUFFIX = ".md"
_LARGEST = 200_000  # bytes of one file
_MOST_FILES = 500  # of one folder of commands
_MOST_ENTRIES = 5_000  # that are looked at in it
_DEEPEST = 4
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
        chain = list_folders_up_to_repository(Path(os.path.realpath(cwd)))[::-1]
        self._project = chain[0]
        self._home = Path(environ["HOME"]) if Path(environ.get("HOME", "")).is_absolute() else None
        self._places = [
            (chain_folder / name, InstructionScope.PROJECT) for chain_folder in chain for name in FOLDERS
        ]
        if self._home is not None:
            self._places += [(self._home / name, InstructionScope.USER) for name in FOLDERS]
        if (settings := locate_user_file(environ)) is not None:
            self._places.append((settings.parent / "commands", InstructionScope.USER))

    @property
    def project(self) -> Path:
        """The root of the project."""
        return self._project

    def find(self) -> tuple[CustomCommand, ...]:
        """All of them: the project's from its root to the working directory, then the person's own."""
        found: dict[str, CustomCommand] = {}
        for folder, scope in self._places:
            if scope is InstructionScope.PROJECT and any(
                folder == own for own, of in self._places if of is not scope
            ):
                continue  # the project is the home folder: what is in it is the person's own
            for path in _files(folder):
                if (command := self._read(path, folder, scope)) is not None:
                    found.setdefault(command.file, command)
        return tuple(found.values())

    def _read(self, path: Path, folder: Path, scope: InstructionScope) -> CustomCommand | None:
        inside = self._project if scope is InstructionScope.PROJECT else None
        name = ":".join(path.relative_to(folder).with_suffix("").parts)
        data = read_bytes(path, inside=inside, limit=_LARGEST + 1)
        if data is None or not is_command_name(name):
            return None
        command = CustomCommand(
            name=name,
            scope=scope,
            file=str(path),
            label=self._label(path, scope),
            digest=hashlib.sha256(data).hexdigest(),
        )
        if len(data) > _LARGEST:
            return _refuse(command, f"{path} is larger than {format_size(_LARGEST)}; a command must be shorter")
        return _parse(command, decode_text(data))

    def _label(self, path: Path, scope: InstructionScope) -> str:
        base = self._project if scope is InstructionScope.PROJECT else self._home
        if base is None or not path.is_relative_to(base):
            return str(path)
        relative = str(path.relative_to(base))
        return relative if scope is InstructionScope.PROJECT else f"~/{relative}"


def _files(folder: Path) -> Iterator[Path]:
    """The Markdown files below a folder, in order, as many as are read. Linked folders are not entered."""
    waiting, looked_at, given = [folder], 0, 0
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as listing:
                entries = sorted(
                    (entry for entry, _ in zip(listing, range(_MOST_ENTRIES), strict=False)), key=_name
                )
        except OSError:
            continue
        looked_at += len(entries)
        deeper = []
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                deeper.append(here / entry.name)
            elif entry.name.endswith(_SUFFIX):
                if given == _MOST_FILES:
                    return
                given += 1
                yield here / entry.name
        if looked_at > _MOST_ENTRIES:
            return
        if len(here.relative_to(folder).parts) < _DEEPEST:
            waiting += reversed(deeper)


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name


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
            description=_join_lines(_text(fields.get("description")) or _first_line(frontmatter)),
            argument_hint=_join_lines(_write_value(fields.get("argument-hint"))),
            parameters=_names(fields.get("arguments")),
            model=_text(fields.get("model")).strip(),
            allowed_tools=_list(fields.get("allowed-tools")),
            body=frontmatter.body,
            notices=tuple(_notices(command, fields)),
        )
    except BadFrontmatter as problem:
        return _refuse(command, f"{command.file}, line {problem.line}: {problem}")


def _refuse(command: CustomCommand, problem: str) -> CustomCommand:
    return replace(command, problem=problem)


def _notices(command: CustomCommand, fields: Mapping[str, FrontmatterField]) -> Iterator[str]:
    for name, each in fields.items():
        if name in _USED or name in _WITHOUT_EFFECT:
            continue
        near = find_nearest_word(name, _USED)
        hint = f"did you mean {near}?" if near is not None else f"it knows {', '.join(_USED)}"
        yield f"{command.file}, line {each.line}: quorum does not know {name}, and ignores it; {hint}"


def _text(given: FrontmatterField | None) -> str:
    """A single value. Raises BadFrontmatter for a list or a table."""
    if given is None:
        return ""
    if given.items is not None or given.is_table:
        raise BadFrontmatter(given.line, "one text is expected here; put it between quotes")
    return given.text


def _write_value(given: FrontmatterField | None) -> str:
    """A value as it is written: `[file] [name]` is no list to the person."""
    return given.text if given is not None else ""


def _list(given: FrontmatterField | None) -> tuple[str, ...] | None:
    """The entries of a list, or of a text that separates them by commas or blanks outside of parentheses."""
    if given is None:
        return None
    if given.is_table:
        raise BadFrontmatter(given.line, "a list is expected here")
    entries = given.items if given.items is not None else (given.text,)
    return tuple(part for entry in entries for part in re.findall(r"[^\s,(]+(?:\([^)]*\))?", entry))


def _names(given: FrontmatterField | None) -> tuple[str, ...]:
    names = _list(given) or ()
    for name in names:
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            assert given is not None
            raise BadFrontmatter(given.line, "the name of an argument is letters, digits and _")
    return names


def _first_line(frontmatter: Frontmatter) -> str:
    lines = (line.strip().lstrip("#").strip() for line in frontmatter.body.splitlines())
    return next((line for line in lines if line), "")


def _join_lines(text: str) -> str:
    joined = " ".join(text.split())
    return joined if len(joined) <= _LONGEST_DESCRIPTION else f"{joined[: _LONGEST_DESCRIPTION - 1]}…"
