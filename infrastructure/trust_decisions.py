"""What the person trusts, from earlier runs and in this one; nobody is asked twice about the same content.

In the state folder `trust.toml` has a digest for each project's file, and `trusted-texts.json` the lines under
each digest, so that a change can be shown.
"""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Protocol
from weakref import WeakSet

import msgspec
from msgspec import Meta, Struct, field

from quorum.application.ports.people import Approver
from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.sessions.trust import Standing, TrustContent, TrustItem, TrustQuestion
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.config.paths import is_present, locate_state_folder
from quorum.infrastructure.config.toml_file import TomlFile, escape_path
from quorum.infrastructure.config.toml_text import escape_unprintable, format_literal
from quorum.infrastructure.files.private_file import PATIENCE_SECS, OwnFile

FILE_NAME = "trust.toml"
TEXTS_NAME = "trusted-texts.json"
_PREAMBLE = """\
# Project files that you trust, each with the SHA-256 of what it contained when you said so. Whatever else it
# contains by now is asked about again. You may remove any of them; comments are not kept.
# docs/trust.md explains them.
"""


class _TrustEntry(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table as it stands in the file."""

    file: Annotated[str, Meta(pattern=r"\A/")]
    sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]


class _Content(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    trusted: tuple[_TrustEntry, ...] = ()


class TrustedFiles(Struct, frozen=True):
    """The digest under which each file is trusted, and what is wrong with the record of it, if anything.

    `worktrees` names the repository of each folder that is a worktree of one. Its files come from there, so
    that what is trusted there is trusted in it, under the same name and with the same content.
    """

    digests: Mapping[str, str] = field(default_factory=dict)
    warning: str | None = None
    worktrees: Mapping[Path, Path] = field(default_factory=dict)

    def find_standing(self, place: Path, digest: str) -> Standing:
        """How this content stands with the person, at the place that `resolve_trusted_place` names."""
        if self.digests.get(str(find_original(place, self.worktrees))) == digest:
            return Standing.TRUSTED
        known = self.digests.get(str(place))
        if known is None:
            return Standing.UNKNOWN
        return Standing.TRUSTED if known == digest else Standing.CHANGED


def find_original(place: Path, worktrees: Mapping[Path, Path]) -> Path:
    """The place in the repository of what lies in a worktree of it; of anything else the place itself."""
    for folder, repository in worktrees.items():
        if place.is_relative_to(folder):
            return repository / place.relative_to(folder)
    return place


class TrustFile:
    """Remembers what the person trusts, beyond the session."""

    def __init__(self, path: Path, *, patience_secs: float = PATIENCE_SECS) -> None:
        self._file = OwnFile(path, patience_secs=patience_secs)
        self._path = path
        self._texts = OwnFile(path.with_name(TEXTS_NAME), patience_secs=patience_secs)

    def load(self) -> TrustedFiles:
        """What is trusted. Never raises: where the file is damaged or not the person's own, it is nothing."""
        try:
            digests = self._read_digests()
            danger = self._file.find_danger() if digests else None
        except (ConfigError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            remedy = f"no project's file is trusted until {escape_path(self._path)} is corrected or removed"
            return TrustedFiles(warning=f"{reason} ({remedy})")
        if danger is not None:
            return TrustedFiles(
                warning=f"{danger}, so no project's file is trusted; say chmod 600 {escape_path(self._path)}"
            )
        return TrustedFiles(digests)

    async def trust(self, question: TrustQuestion) -> None:
        """Remember that the answer was yes. Raises ConfigError, and then nothing is changed."""
        await run_in_thread(lambda _stop: self._file.change(lambda: self._answer(question)))

    def recall(self, places: Collection[str]) -> dict[str, tuple[str, ...]]:
        """The lines that these files had when they were trusted, as far as they are known. Blocks."""
        try:
            texts = self._read_texts() if self._texts.find_danger() is None else {}
            digests = self._read_digests()
        except (ConfigError, OSError):
            return {}  # what changed is not shown; whether something did, is known from elsewhere
        return {place: tuple(texts[digests[place]]) for place in places if digests.get(place) in texts}

    async def forget(self, places: Collection[Path]) -> tuple[Path, ...]:
        """Trust none of these any more; those of them that were. Raises ConfigError."""
        if not is_present(self._path):
            return ()
        forgotten: list[Path] = []

        def without() -> str:
            digests = self._read_digests()
            forgotten.extend(place for place in places if digests.pop(str(place), None) is not None)
            return _render_toml(digests)

        await run_in_thread(lambda _stop: self._file.change(without))
        if is_present(self._texts.path):
            await run_in_thread(
                lambda _stop: self._texts.change(lambda: self._render_texts(self._read_digests(), {}))
            )
        return tuple(forgotten)

    def _answer(self, question: TrustQuestion) -> str:
        """Keep what is trusted from now on, and return the text of the file that says that it is."""
        digests = self._read_digests() | _list_digests(question)
        rendered = _render_toml(digests)
        texts = {item.digest: item.lines for item in question.items}
        self._texts.change(lambda: self._render_texts(digests, texts))
        return rendered

    def _read_texts(self) -> Mapping[str, Sequence[str]]:
        """The lines of contents by their digests. Raises OSError where there are none."""
        try:
            content = json.loads(self._texts.path.read_text(encoding="utf-8"))
            return msgspec.convert(content, dict[str, list[str]])
        except (ValueError, RecursionError):
            return {}  # a damaged file costs a comparison, and is made anew

    def _render_texts(self, digests: Mapping[str, str], added: Mapping[str, Sequence[str]]) -> str:
        """The texts of what is trusted, and of nothing else."""
        texts = {**(self._read_texts() if is_present(self._texts.path) else {}), **added}
        return json.dumps({digest: texts[digest] for digest in sorted({*digests.values()} & texts.keys())})

    def _read_digests(self) -> dict[str, str]:
        if not is_present(self._path):
            return {}
        try:
            content = msgspec.convert(TomlFile.read(self._path).data, _Content, strict=True)
        except msgspec.ValidationError as problem:
            raise ConfigError(
                f"{escape_path(self._path)} is damaged: {escape_unprintable(str(problem))}"
            ) from problem
        return {entry.file: entry.sha256 for entry in content.trusted}


def open_trust_file(environ: Mapping[str, str]) -> TrustFile | None:
    """The file of what is trusted; None where there is no home folder."""
    state = locate_state_folder(environ)
    return TrustFile(state / FILE_NAME) if state is not None else None


def _list_digests(question: TrustQuestion) -> dict[str, str]:
    return {item.file: item.digest for item in question.items}


def _render_toml(digests: Mapping[str, str]) -> str:
    """The text of the file, which must be one that can be read again. Raises ConfigError."""
    tables = (
        f"\n[[trusted]]\nfile = {format_literal(file)}\nsha256 = {format_literal(digest)}\n"
        for file, digest in sorted(digests.items())
    )
    text = "".join((_PREAMBLE, *tables))
    try:
        tomllib.loads(text)
    except ValueError as error:
        raise ConfigError(
            "the name of the folder is not valid Unicode, so that it is trusted cannot be saved"
        ) from error
    return text


class TrustSource(Protocol):
    """What a session asks about before its prompts."""

    @property
    def folder(self) -> Path:
        """The folder of the project that its contents belong to."""
        ...

    def read_wanted(self) -> Mapping[Path, TrustContent]:
        """Its contents as they are now, by their places. Blocks."""
        ...


class TrustDecisions:
    """The decisions of one run, shared by its sessions. `file` remembers them beyond it, where there is one."""

    def __init__(self, file: TrustFile | None) -> None:
        self._file = file
        self._accepted: dict[str, str] = {}
        self._refused: set[tuple[str, str]] = set()
        self._worktrees: dict[Path, Path] = {}
        self.sources: WeakSet[TrustSource] = WeakSet()
        """Those of the sessions there are: one question is about all of a folder."""

    def add_worktree(self, folder: Path, repository: Path) -> None:
        """What was decided about files of a repository holds for the same ones in this worktree of it. Both
        paths are resolved, and the worktree is one that quorum made."""
        self._worktrees[folder] = repository

    def load_trusted(self) -> TrustedFiles:
        """All that is trusted now. Blocks."""
        loaded = self._file.load() if self._file is not None else TrustedFiles()
        return TrustedFiles({**loaded.digests, **self._accepted}, loaded.warning, self._worktrees)

    def list_untrusted(self, wanted: Mapping[Path, TrustContent]) -> tuple[TrustItem, ...]:
        """Of these contents, by their places, those that are not trusted. Blocks."""
        trusted = self.load_trusted()
        standings = {place: trusted.find_standing(place, content.digest) for place, content in wanted.items()}
        return tuple(
            TrustItem(
                file=str(place),
                digest=content.digest,
                wants=content.wants,
                changed=standings[place] is Standing.CHANGED,
                text=content.text,
            )
            for place, content in wanted.items()
            if standings[place] is not Standing.TRUSTED
        )

    async def settle(
        self, wanted: Mapping[Path, TrustContent], folder: Path, person: Approver
    ) -> tuple[tuple[TrustItem, ...], list[str]]:
        """Ask about those of these contents that are not trusted, below `folder`, and with them about what else
        there is in it. What stays untrusted, and sentences about what could not be remembered."""
        items = await asyncio.to_thread(self.list_untrusted, wanted)
        if all(self._is_refused(item) for item in items):
            return items, []
        beside = await asyncio.to_thread(self._list_beside, folder, wanted)
        question = TrustQuestion(folder=str(folder), items=(*items, *beside))
        if not await self.ask(question, person):
            return items, []
        problem = await self.accept(question)
        return (), [] if problem is None else [problem]

    def _is_refused(self, item: TrustItem) -> bool:
        return (str(find_original(Path(item.file), self._worktrees)), item.digest) in self._refused

    def _list_beside(self, folder: Path, wanted: Mapping[Path, TrustContent]) -> tuple[TrustItem, ...]:
        """What else in this folder is not trusted, and was not refused. Blocks."""
        found: dict[Path, TrustContent] = {}
        for source in tuple(self.sources):
            if source.folder == folder:
                found |= source.read_wanted()
        others = {place: content for place, content in found.items() if place not in wanted}
        return tuple(item for item in self.list_untrusted(others) if not self._is_refused(item))

    async def ask(self, question: TrustQuestion, person: Approver) -> bool:
        """The person's answer, which holds for this run; who said "not now" is not asked about it again."""
        contents = {
            (str(find_original(Path(file), self._worktrees)), digest)
            for file, digest in _list_digests(question).items()
        }
        if contents <= self._refused:
            return False
        if await person.ask(await asyncio.to_thread(self.recall, question)) is not True:
            self._refused |= contents
            return False
        return True

    def recall(self, question: TrustQuestion) -> TrustQuestion:
        """The same question, with the lines that files which changed had when they were trusted. Blocks."""
        if self._file is None or not any(item.changed for item in question.items):
            return question
        former = self._file.recall([item.file for item in question.items if item.changed])
        return replace(
            question, items=tuple(replace(item, former=former.get(item.file)) for item in question.items)
        )

    def with_answer(self, question: TrustQuestion) -> TrustDecisions:
        """The same as if the answer to this question were yes; nothing is remembered."""
        answered = TrustDecisions(self._file)
        answered._accepted = {**self._accepted, **_list_digests(question)}
        answered._worktrees = self._worktrees
        return answered

    async def accept(self, question: TrustQuestion) -> str | None:
        """Trust all of it from now on; a sentence where that could not be remembered beyond this run."""
        self._accepted |= _list_digests(question)
        try:
            if self._file is None:
                raise ConfigError("there is no home folder to remember it in; set HOME or XDG_STATE_HOME")
            await self._file.trust(question)
        except ConfigError as error:
            files = ", ".join(make_printable(item.file) for item in question.items)
            verb = "is" if len(question.items) == 1 else "are"
            return f"{files} {verb} trusted in this session only: {error}"
        return None


def open_trust_decisions(environ: Mapping[str, str]) -> TrustDecisions:
    """Those of a run that begins."""
    return TrustDecisions(open_trust_file(environ))
