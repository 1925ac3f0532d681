"""The skills of a session: found, trusted by the content of their whole folders, and loaded on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from quorum.application.ports.people import Approver
from quorum.domain.errors import ToolError
from quorum.domain.instructions.offer_list import shorten
from quorum.domain.instructions.skill import Skill
from quorum.domain.sessions.trust import TrustContent
from quorum.domain.text.amounts import format_amount, format_size
from quorum.infrastructure.instructions.skill_folders import SkillFolders, read_skill_file
from quorum.infrastructure.instructions.trusted_offers import SUMMARY_LENGTH, OfferKind, TrustedOffers
from quorum.infrastructure.trust.decisions import TrustDecisions

_LARGEST_FILE = 100_000  # characters of one file of a skill that the model reads at once


class SkillCatalog:
    """Implements `SkillPort`. What the model may load is what was trusted when the present turn began."""

    def __init__(
        self, folders: SkillFolders, *, decisions: TrustDecisions, approver: Approver, cwd: Path
    ) -> None:
        self._folders = folders
        self._offers = TrustedOffers(
            SKILLS, folders.find, project=folders.project, decisions=decisions, approver=approver, cwd=cwd
        )

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
