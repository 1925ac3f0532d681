"""The skills of a session: found, trusted by the content of their whole folders, and loaded on demand."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from application.ports.people import Approver
from domain.errors import ToolError
from domain.instructions.skill import Skill, select_by_name, shorten
from domain.sessions.trust import TrustContent, TrustItem, TrustQuestion
from domain.text.amounts import format_amount, format_size
from domain.text.printable import printable
from infrastructure.config.paths import resolve_trusted_place
from infrastructure.instructions.skill_folders import SkillFolders, read_skill_file
from infrastructure.trust.decisions import TrustDecisions

_LARGEST_FILE = 100_000  # characters of one file of a skill that the model reads at once
_MOST_NAMED = 50
_SUMMARY = 140  # characters of a description that stand in a summary of many skills
_MOST_SENTENCES = 3


class SkillCatalog:
    """Implements `SkillPort`. What the model may load is what was trusted when the present turn began."""

    def __init__(
        self, folders: SkillFolders, *, decisions: TrustDecisions, approver: Approver, cwd: Path
    ) -> None:
        self._folders = folders
        self._decisions = decisions
        self._approver = approver
        self._cwd = cwd
        self._trusted: tuple[Skill, ...] = ()

    async def refresh(self) -> tuple[tuple[Skill, ...], tuple[str, ...]]:
        """Those that are trusted now, one of each name, once the person was asked about the others; and
        sentences about what cannot be used."""
        skills = await asyncio.to_thread(self._folders.find)
        notices = [f"the skill in {skill.problem}" for skill in skills if skill.problem]
        usable = select_by_name([skill for skill in skills if not skill.problem])
        items = await asyncio.to_thread(self._decisions.items, list_wanted_skills(usable))
        if items:
            question = TrustQuestion(folder=str(self._folders.project), items=items)
            if await self._decisions.ask(question, self._approver.trust):
                problem = await self._decisions.accept(question)
                notices += [] if problem is None else [problem]
                items = ()
        folder = shlex.quote(printable(str(self._cwd), newlines=False))
        notices += _list_untrusted(items, folder)
        refused = {item.file for item in items}
        self._trusted = tuple(s for s in usable if str(resolve_trusted_place(Path(s.folder))) not in refused)
        return self._trusted, tuple(notices)

    async def survey(self) -> tuple[tuple[Skill, bool], ...]:
        """All that there are now, one of each name, each with whether the person trusts it as it is. Nobody is
        asked."""
        return await asyncio.to_thread(self._survey)

    def _survey(self) -> tuple[tuple[Skill, bool], ...]:
        skills = select_by_name(self._folders.find())
        open_items = {item.file for item in self._decisions.items(list_wanted_skills(skills))}
        return tuple(
            (skill, not skill.problem and str(resolve_trusted_place(Path(skill.folder))) not in open_items)
            for skill in skills
        )

    async def load(self, name: str, file: str = "") -> str:
        """The text of a skill and the list of its files, or one of these files. Raises ToolError."""
        return await asyncio.to_thread(self._load, name, file)

    def _load(self, name: str, file: str) -> str:
        skill = next((each for each in self._trusted if each.name == name), None)
        if skill is None:
            names = ", ".join(each.name for each in self._trusted[:_MOST_NAMED]) or "none"
            raise ToolError(f"there is no skill {shorten(name, 80)!r}; those that can be loaded: {names}")
        present = self._folders.read(Path(skill.folder), skill.scope)
        if present.digest != skill.digest:
            raise ToolError(
                f"the skill {name} has changed since the person trusted it; they are asked about it before "
                "their next prompt is answered"
            )
        if not file:
            return "\n\n".join(part for part in (_heading(skill), skill.body, _file_list(skill)) if part)
        content = read_skill_file(skill, file)
        if content is None:
            raise ToolError(f"the skill {name} has no file {shorten(file, 80)!r}; load it to see which it has")
        cut = content[:_LARGEST_FILE]
        rest = len(content) - len(cut)
        return f"{cut}\n[{rest:,} more characters are left out]" if rest else cut


def _list_untrusted(items: Sequence[TrustItem], folder: str) -> list[str]:
    if len(items) > _MOST_SENTENCES:
        names = ", ".join(printable(Path(item.file).name, newlines=False) for item in items)
        return [
            f"{len(items)} skills are not trusted as they are, so they are not offered: {names}; "
            f"to look at them and trust them: quorum -C {folder} config trust"
        ]
    return [
        f"the skill {printable(item.file)} "
        f"{'has changed since you trusted it' if item.changed else 'is not trusted'}, so it is not "
        f"offered; to look at it and trust it: quorum -C {folder} config trust"
        for item in items
    ]


def list_wanted_skills(skills: Iterable[Skill]) -> dict[Path, TrustContent]:
    """For each skill that can be used its place, and what it holds.

    The person's own are among them: most were written by somebody else.
    """
    return {
        resolve_trusted_place(Path(skill.folder)): TrustContent(
            digest=skill.digest, wants=tuple(_wants(skill)), text=tuple(_text(skill))
        )
        for skill in skills
        if not skill.problem
    }


def _wants(skill: Skill) -> Iterator[str]:
    total = format_size(sum(file.size_bytes for file in skill.files))
    executable = sum(file.is_executable for file in skill.files)
    runs = f", {executable} executable" if executable else ""
    yield (
        f"the skill {skill.name}, which the model may load: "
        f"{format_amount(len(skill.files), 'file')}, {total}{runs}"
    )
    yield shorten(skill.description, _SUMMARY)


def _text(skill: Skill) -> Iterator[str]:
    yield f"description: {shorten(skill.description, 2_000)}"
    for file in skill.files:
        runs = ", executable" if file.is_executable else ""
        yield f"file {file.path}: {format_size(file.size_bytes)}{runs}"
    yield from skill.body.splitlines()


def _heading(skill: Skill) -> str:
    return f"[skill {skill.name} in {skill.folder}, sha256 {skill.digest}]"


def _file_list(skill: Skill) -> str:
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
