"""Skills, agents and custom commands in files: found, and used once the person trusts their content.

The person's own commands need no trust.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from quorum.application.ports.people import Approver
from quorum.domain.instructions.custom_command import CustomCommand, is_command_name
from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.instructions.offer_list import Offered, select_by_name
from quorum.domain.replacing import replace
from quorum.domain.sessions.trust import TrustContent, TrustItem
from quorum.domain.text.amounts import format_amount, format_size
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.config.paths import resolve_trusted_place
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
    parse_words,
    read_bytes,
)
from quorum.infrastructure.trust_decisions import TrustDecisions

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

    def __init__(self, cwd: Path, environ: Mapping[str, str], *, is_off: bool = False) -> None:
        self._places = ContentPlaces(cwd, environ, FOLDERS, own="commands", is_off=is_off)

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

    def __init__(self, terms: OfferTerms) -> None:
        self._files = CommandFiles(terms.cwd, terms.environ, is_off=terms.is_off)
        self._terms = terms

    async def find(self) -> tuple[CustomCommand, ...]:
        """Those that there are now."""
        return await asyncio.to_thread(self._files.find)

    async def trust(self, command: CustomCommand) -> tuple[str | None, tuple[str, ...]]:
        """Why this command may not be used, None where it may; and sentences about what could not be
        remembered."""
        untrusted, problems = await self._terms.decisions.settle(
            list_wanted_commands([command]), self._files.project, self._terms.approver
        )
        if not untrusted:
            return None, tuple(problems)
        state = "has changed since you trusted it" if untrusted[0].changed else "is not trusted"
        folder = shlex.quote(make_printable(str(self._terms.cwd), newlines=False))
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


SUMMARY_LENGTH = 140  # characters of a description that stand in a summary of many
_MOST_NAMED = 50
_MOST_SENTENCES = 3


class OfferInFiles(Offered, Protocol):
    """An offer as it was read; `problem` says why it cannot be used."""

    @property
    def problem(self) -> str:
        """Empty where it can be used."""
        ...


_Offer = TypeVar("_Offer", bound=OfferInFiles)


class OfferKind(Struct, Generic[_Offer], frozen=True):
    """One kind: its `noun`, the path that is trusted for one of them, and what the person is shown of it."""

    noun: str
    get_path: Callable[[_Offer], str]
    describe: Callable[[_Offer], TrustContent]

    def locate(self, offer: _Offer) -> Path:
        """Where it lies, as decisions remember it."""
        return resolve_trusted_place(Path(self.get_path(offer)))

    def list_wanted(self, offers: Iterable[_Offer]) -> dict[Path, TrustContent]:
        """For each that can be used its place, and what it holds.

        The person's own are among them: most were written by somebody else.
        """
        return {self.locate(each): self.describe(each) for each in offers if not each.problem}


class OfferTerms(Struct, frozen=True, eq=False):
    """For whom they are looked up, from which working directory; with `is_off`, a project brings none."""

    cwd: Path
    environ: Mapping[str, str]
    decisions: TrustDecisions
    approver: Approver
    is_off: bool = False


class TrustedOffers(Generic[_Offer]):
    """Those of one kind in a session. `find` blocks; it gives all that there are now.

    `trusted` are those of the present turn, with the content that they had when it began.
    """

    def __init__(
        self,
        kind: OfferKind[_Offer],
        find: Callable[[], Sequence[_Offer]],
        project: Path,
        terms: OfferTerms,
    ) -> None:
        self._kind = kind
        self._find = find
        self._project = project
        self._terms = terms
        self.trusted: tuple[_Offer, ...] = ()
        terms.decisions.sources.add(self)

    @property
    def folder(self) -> Path:
        return self._project

    def read_wanted(self) -> Mapping[Path, TrustContent]:
        usable = select_by_name([each for each in self._find() if not each.problem])
        return self._kind.list_wanted(usable)

    @property
    def names(self) -> str:
        """The names of the trusted ones as a sentence needs them, as many as fit."""
        return ", ".join(each.name for each in self.trusted[:_MOST_NAMED]) or "none"

    def get_trusted(self, name: str) -> _Offer | None:
        return next((each for each in self.trusted if each.name == name), None)

    async def refresh(self) -> list[str]:
        """Renew `trusted`, one of each name, once the person was asked about the others. Sentences about what
        cannot be used."""
        found = await asyncio.to_thread(self._find)
        notices = [f"the {self._kind.noun} in {each.problem}" for each in found if each.problem]
        usable = select_by_name([each for each in found if not each.problem])
        untrusted, problems = await self._terms.decisions.settle(
            self._kind.list_wanted(usable), self._project, self._terms.approver
        )
        notices += [*problems, *self._list_untrusted(untrusted)]
        self.trusted = self._without(usable, untrusted)
        return notices

    async def survey(self) -> tuple[tuple[_Offer, bool], ...]:
        """All that there are now, one of each name, each with whether the person trusts it as it is. Nobody is
        asked."""
        return await asyncio.to_thread(self._survey)

    def _survey(self) -> tuple[tuple[_Offer, bool], ...]:
        found = select_by_name(self._find())
        untrusted = self._terms.decisions.list_untrusted(self._kind.list_wanted(found))
        trusted = {each.name for each in self._without(found, untrusted)}
        return tuple((each, not each.problem and each.name in trusted) for each in found)

    def _without(self, offers: Sequence[_Offer], untrusted: Sequence[TrustItem]) -> tuple[_Offer, ...]:
        places = {item.file for item in untrusted}
        return tuple(each for each in offers if str(self._kind.locate(each)) not in places)

    def _list_untrusted(self, items: Sequence[TrustItem]) -> list[str]:
        folder = shlex.quote(make_printable(str(self._terms.cwd), newlines=False))
        if len(items) > _MOST_SENTENCES:
            names = (Path(item.file).name.removesuffix(".md") for item in items)
            return [
                f"{len(items)} {self._kind.noun}s are not trusted as they are, so they are not offered: "
                f"{', '.join(make_printable(name, newlines=False) for name in names)}; "
                f"to look at them and trust them: quorum -C {folder} config trust"
            ]
        return [
            f"the {self._kind.noun} {make_printable(item.file)} "
            f"{'has changed since you trusted it' if item.changed else 'is not trusted'}, so it is not "
            f"offered; to look at it and trust it: quorum -C {folder} config trust"
            for item in items
        ]
