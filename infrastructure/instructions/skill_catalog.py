"""The skills of a session: folders with a `SKILL.md`, trusted by their whole content, and loaded on demand."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from quorum.domain.errors import ToolError
from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.instructions.offer_list import Skill, SkillFile, is_offer_name, shorten
from quorum.domain.replacing import replace
from quorum.domain.sessions.trust import TrustContent
from quorum.domain.text.amounts import format_amount, format_size
from quorum.infrastructure.instructions.markdown_files import (
    BadFrontmatter,
    ContentPlaces,
    decode_text,
    parse_frontmatter,
    read_bytes,
)
from quorum.infrastructure.instructions.trusted_offers import (
    SUMMARY_LENGTH,
    OfferKind,
    OfferTerms,
    TrustedOffers,
)

FOLDERS = (".claude/skills", ".agents/skills")
"""Where a project and a person keep skills; of two of one name, that of the later folder counts."""

MAIN_FILE = "SKILL.md"
_MOST_SKILLS = 100  # of one folder of skills
_MOST_FILES = 200  # of one skill
_MOST_BYTES = 20_000_000  # of one skill
_LARGEST_MAIN = 100_000  # bytes
_DEEPEST = 6
_SETTLED_NS = 2_000_000_000


class UnusableSkill(ValueError):
    """Its folder holds what a skill may not hold; the message says what."""


class SkillFolders:
    """The skills that hold in a working directory. All methods block, and raise nothing but what they say."""

    def __init__(self, cwd: Path, environ: Mapping[str, str], *, is_off: bool = False) -> None:
        self._places = ContentPlaces(cwd, environ, FOLDERS, own="skills", is_off=is_off)
        self._measuring = _Measuring()

    @property
    def project(self) -> Path:
        return self._places.project

    def find(self) -> tuple[Skill, ...]:
        """All of them: the project's from its root to the working directory, then the person's own. One that
        links make appear in several places counts once, where it is found last."""
        found: dict[str, Skill] = {}
        for folder, scope in self._places.folders:
            for path in _list_subfolders(folder):
                canonical = os.path.realpath(path)
                if scope is InstructionScope.PROJECT and not Path(canonical).is_relative_to(self.project):
                    continue
                if os.path.lexists(Path(canonical) / MAIN_FILE):
                    found.pop(canonical, None)
                    found[canonical] = self.read(path, scope)
        return tuple(found.values())

    def read(self, path: Path, scope: InstructionScope) -> Skill:
        """The skill in a folder as it is now."""
        skill = Skill(name=path.name, scope=scope, folder=str(path), label=self._places.label(path, scope))
        try:
            digest, files = self._measuring.measure(Path(os.path.realpath(path)))
            return _parse(replace(skill, digest=digest, files=files))
        except UnusableSkill as problem:
            return replace(skill, problem=f"{path}: {problem}")


def read_skill_file(skill: Skill, name: str) -> str | None:
    """The text of a file of a skill; None where it has no such file with the content that was measured.

    Authors often write a name in capitals that the file does not have, which goes unnoticed on other systems:
    the one file whose name differs in nothing else is meant.
    """
    alike = [each for each in skill.files if each.path.casefold() == name.casefold()]
    file = next((each for each in alike if each.path == name), alike[0] if len(alike) == 1 else None)
    if file is None:
        return None
    folder = Path(os.path.realpath(skill.folder))
    data = read_bytes(folder / file.path, inside=folder, limit=file.size_bytes + 1)
    if data is None or hashlib.sha256(data).hexdigest() != file.sha256:
        return None
    return decode_text(data)


def _list_subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as listing:
            names = [entry.name for entry, _ in zip(listing, range(10 * _MOST_SKILLS), strict=False)]
    except OSError:
        return []
    return [folder / name for name in sorted(names) if not name.startswith(".")][:_MOST_SKILLS]


class _Measuring:
    """Measures the files of skills, and reads none again that has the same status as when it was read last."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, ...], str]] = {}

    def measure(self, folder: Path) -> tuple[str, tuple[SkillFile, ...]]:
        """The digest over all files below a folder, and their list. Raises UnusableSkill."""
        whole = hashlib.sha256()
        files: list[SkillFile] = []
        room = _MOST_BYTES
        for path in _walk(folder):
            name = str(path.relative_to(folder))
            try:
                status = path.lstat()
            except OSError as error:
                raise UnusableSkill(f"{name} cannot be read: {error.strerror}") from error
            room -= status.st_size
            if room < 0:
                raise UnusableSkill(
                    f"it is larger than {format_size(_MOST_BYTES)}; keep large files outside of the skill"
                )
            sha256 = self._compute_sha256(path, folder, status)
            is_executable = bool(status.st_mode & 0o111)
            for each in (os.fsencode(name), b"x" if is_executable else b"-", sha256.encode()):
                whole.update(hashlib.sha256(each).digest())
            files.append(
                SkillFile(path=name, size_bytes=status.st_size, sha256=sha256, is_executable=is_executable)
            )
        return whole.hexdigest(), tuple(files)

    def _compute_sha256(self, path: Path, folder: Path, status: os.stat_result) -> str:
        """The digest of a file's content. Raises UnusableSkill where that is not what its status said."""
        stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        known = self._known.get(str(path))
        if known is not None and known[0] == stamp:
            return known[1]
        data = read_bytes(path, inside=folder, limit=status.st_size + 1)
        if data is None or len(data) != status.st_size:
            raise UnusableSkill(f"{path.name} cannot be read, or changes just now")
        sha256 = hashlib.sha256(data).hexdigest()
        if time.time_ns() - status.st_ctime_ns > _SETTLED_NS:  # a later change has another time for certain
            self._known[str(path)] = stamp, sha256
        return sha256


def _walk(folder: Path) -> list[Path]:
    """All files below a folder, in order. Raises UnusableSkill for what is neither file nor folder, and for
    more than a skill may hold."""
    found: list[Path] = []
    waiting = [(folder, 0)]
    looked_at = 0
    while waiting:
        here, depth = waiting.pop()
        try:
            with os.scandir(here) as listing:
                for entry in listing:
                    looked_at += 1
                    name = str(Path(entry.path).relative_to(folder))
                    if looked_at > 2 * _MOST_FILES or len(found) >= _MOST_FILES:
                        raise UnusableSkill(f"it holds more than {_MOST_FILES} files")
                    if not name.isprintable():
                        raise UnusableSkill("the name of a file in it has characters that cannot be shown")
                    mode = entry.stat(follow_symlinks=False).st_mode
                    if stat.S_ISDIR(mode):
                        if depth == _DEEPEST:
                            raise UnusableSkill(f"{name} is nested deeper than {_DEEPEST} folders")
                        waiting.append((Path(entry.path), depth + 1))
                    elif stat.S_ISREG(mode):
                        found.append(Path(entry.path))
                    else:
                        raise UnusableSkill(f"{name} is a link or no regular file; put the file itself there")
        except OSError as error:
            raise UnusableSkill(f"{here} cannot be read: {error.strerror}") from error
    return sorted(found)


def _parse(skill: Skill) -> Skill:
    """The skill with what its main file says. Raises UnusableSkill."""
    text = read_skill_file(skill, MAIN_FILE)
    if text is None:
        raise UnusableSkill(f"{MAIN_FILE} cannot be read")
    if len(text) > _LARGEST_MAIN:
        raise UnusableSkill(
            f"{MAIN_FILE} is larger than {format_size(_LARGEST_MAIN)}; move parts into files of their own"
        )
    try:
        frontmatter = parse_frontmatter(text)
    except BadFrontmatter as problem:
        raise UnusableSkill(f"{MAIN_FILE}, line {problem.line}: {problem}") from problem
    name, description = frontmatter.fields.get("name"), frontmatter.fields.get("description")
    if description is None or description.is_table or not description.text.strip():
        raise UnusableSkill(
            f"{MAIN_FILE}, line 1: the frontmatter needs a description; it says when to load it"
        )
    if name is not None and not is_offer_name(name.text):
        raise UnusableSkill(
            f"{MAIN_FILE}, line {name.line}: a skill's name is at most 64 letters, digits, _, . and -"
        )
    if name is None and not is_offer_name(skill.name):
        raise UnusableSkill(f"{MAIN_FILE}, line 1: the frontmatter needs a name")
    return replace(
        skill,
        name=name.text if name is not None else skill.name,
        description=description.text,
        body=frontmatter.body.strip(),
    )


_LARGEST_FILE = 100_000  # characters of one file of a skill that the model reads at once


class SkillCatalog:
    """Implements `OfferCatalog`. What the model may load is what was trusted when the present turn began."""

    def __init__(self, terms: OfferTerms) -> None:
        self._folders = SkillFolders(terms.cwd, terms.environ, is_off=terms.is_off)
        self._offers = TrustedOffers(SKILLS, self._folders.find, self._folders.project, terms)

    @property
    def has_any(self) -> bool:
        """Whether there are some now, trusted or not. Blocks."""
        return bool(self._folders.find())

    async def refresh(self) -> tuple[tuple[Skill, ...], tuple[str, ...]]:
        """Those that are trusted now, one of each name, once the person was asked about the others; and
        sentences about what cannot be used."""
        notices = await self._offers.refresh()
        return self._offers.trusted, tuple(notices)

    async def survey(self) -> tuple[tuple[Skill, bool], ...]:
        """All that there are now, one of each name, each with whether the person trusts it as it is. Nobody is
        asked."""
        return await self._offers.survey()

    async def load(self, name: str, file: str = "") -> str:
        return await asyncio.to_thread(self._load, name, file)

    def _load(self, name: str, file: str) -> str:
        skill = self._offers.get_trusted(name)
        if skill is None:
            raise ToolError(
                f"there is no skill {shorten(name, 80)!r}; those that can be loaded: {self._offers.names}"
            )
        present = self._folders.read(Path(skill.folder), skill.scope)
        if present.digest != skill.digest:
            raise ToolError(
                f"the skill {name} has changed since the person trusted it; they are asked about it before "
                "their next prompt is answered"
            )
        if not file:
            return "\n\n".join(
                part for part in (_render_heading(skill), skill.body, _render_file_list(skill)) if part
            )
        content = read_skill_file(skill, file)
        if content is None:
            raise ToolError(f"the skill {name} has no file {shorten(file, 80)!r}; load it to see which it has")
        cut = content[:_LARGEST_FILE]
        rest = len(content) - len(cut)
        return f"{cut}\n[{rest:,} more characters are left out]" if rest else cut


def _list_wants(skill: Skill) -> Iterator[str]:
    total = format_size(sum(file.size_bytes for file in skill.files))
    executable = sum(file.is_executable for file in skill.files)
    runs = f", {executable} executable" if executable else ""
    yield (
        f"the skill {skill.name}, which the model may load: "
        f"{format_amount(len(skill.files), 'file')}, {total}{runs}"
    )
    yield shorten(skill.description, SUMMARY_LENGTH)


def _render_text(skill: Skill) -> Iterator[str]:
    yield f"description: {shorten(skill.description, 2_000)}"
    for file in skill.files:
        runs = ", executable" if file.is_executable else ""
        yield f"file {file.path}: {format_size(file.size_bytes)}{runs}"
    yield from skill.body.splitlines()


def _render_heading(skill: Skill) -> str:
    return f"[skill {skill.name} in {skill.folder}, sha256 {skill.digest}]"


def _render_file_list(skill: Skill) -> str:
    others = [file for file in skill.files if file.path != "SKILL.md"]
    if not others:
        return ""
    lines = [f"- {file.path} ({format_size(file.size_bytes)})" for file in others]
    return "\n".join(
        (
            f"[files of the skill, below {skill.folder}; read one with load_skill and its path as file, run a "
            "script with run_command:]",
            *lines,
        )
    )


def _describe(skill: Skill) -> TrustContent:
    return TrustContent(digest=skill.digest, wants=tuple(_list_wants(skill)), text=tuple(_render_text(skill)))


SKILLS: OfferKind[Skill] = OfferKind("skill", lambda skill: skill.folder, _describe)
