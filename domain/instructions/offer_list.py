"""Agent definitions and skills: what is known of each, and what every request says of them.

A definition says what kind of agent a subagent is, and what it may have. A skill is a folder with instructions
for one kind of task, which the model loads when it has such a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from msgspec import Struct

from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.text.pattern import compile_once

_LONGEST_DESCRIPTION = 500  # characters of one thing that every request carries
_MOST_CHARACTERS = 8_000  # of all of them together


class Offered(Protocol):
    """Something that a person or a project keeps in files, and the model chooses by its name."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str:
        """When to choose it."""
        ...

    @property
    def scope(self) -> InstructionScope: ...


_Offered = TypeVar("_Offered", bound=Offered)


def select_by_name(found: Sequence[_Offered]) -> tuple[_Offered, ...]:
    """One of each name, in the order of names: the person's own before a project's, and of a project's the
    nearest, which stands last."""
    chosen: dict[str, _Offered] = {}
    for each in found:
        taken = chosen.get(each.name)
        if taken is None or taken.scope is InstructionScope.PROJECT:
            chosen[each.name] = each
    return tuple(chosen[name] for name in sorted(chosen))


def render_offers(heading: str, offered: Sequence[Offered], *, rest: str) -> str:
    """Names and descriptions below a heading, as far as there is room for them; empty where there are none.

    `rest` says where the others are listed.
    """
    if not offered:
        return ""
    room = _MOST_CHARACTERS
    lines: list[str] = []
    for place, each in enumerate(offered):
        line = f"- {each.name}: {shorten(each.description, _LONGEST_DESCRIPTION)}"
        if len(line) > room:
            line = f"- {each.name}"
        if len(line) > room:
            lines.append(f"- and {len(offered) - place} more, {rest}")
            break
        room -= len(line)
        lines.append(line)
    return "\n".join((heading, "", *lines))


def shorten(text: str, limit: int) -> str:
    """A text on one line, at most so many characters."""
    joined = " ".join(text.split())
    return joined if len(joined) <= limit else f"{joined[: limit - 1]}…"


_NAME = r"(?a)[A-Za-z0-9][\w.-]{0,63}"
_HEADING = """\
# Agents

Kinds of subagents, which the person trusts. Where one of them fits a part of your work, name it as the agent of
task."""


class AgentDefinition(Struct, frozen=True, kw_only=True):
    """A kind of subagent, as its file says it.

    `file` is an absolute path and `label` its short form; `digest` is the SHA-256 of the file's bytes, in
    hexadecimal. `tools` are the names of the tools it may have; None: those that only look.
    `excluded` are those that it never has. `model` is empty
    where that of its owner answers. `instructions` is the text below the frontmatter. `problem` says why the
    definition cannot be used, with file, line and remedy; `notices` what of its file is not followed.
    """

    name: str
    scope: InstructionScope
    file: str
    label: str
    digest: str = ""
    description: str = ""
    tools: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    model: str = ""
    instructions: str = ""
    problem: str = ""
    notices: tuple[str, ...] = ()

    @property
    def means(self) -> str:
        """Which tools it has, in words."""
        if self.tools is not None:
            return f"tools: {', '.join(self.wanted_tools) or 'none'}"
        but = f", but not {', '.join(self.excluded)}" if self.excluded else ""
        return f"tools that only look{but}"

    @property
    def wanted_tools(self) -> tuple[str, ...]:
        """The tools that it names, without those that it never has."""
        return tuple(name for name in self.tools or () if name not in self.excluded)


def is_offer_name(name: str) -> bool:
    """Whether a name is of letters, digits, `_`, `.` and `-`, and at most 64 characters."""
    return compile_once(_NAME).fullmatch(name) is not None


def render_agents(agents: Sequence[AgentDefinition]) -> str:
    """What every request says of the agents: names and descriptions, as far as there is room for them."""
    return render_offers(_HEADING, agents, rest="which task lists where it is given another name")


_SKILL_HEADING = """\
# Skills

Instructions for certain kinds of task, which the person trusts. Before a task that one of them fits, load it
with load_skill and follow it; its scripts are run with run_command, and reviewed like any other."""


class SkillFile(Struct, frozen=True, kw_only=True):
    """A file of a skill: its path from the skill's folder, its size in bytes, and its SHA-256."""

    path: str
    size_bytes: int
    sha256: str
    is_executable: bool = False


class Skill(Struct, frozen=True, kw_only=True):
    """A skill as it was read.

    `folder` is its absolute path, `label` the short form; `digest` is the SHA-256 over the names and contents
    of all its files. `body` is the text of its `SKILL.md` below the frontmatter. `problem` says why it cannot
    be used, with file, line and remedy.
    """

    name: str
    scope: InstructionScope
    folder: str
    label: str
    digest: str = ""
    description: str = ""
    body: str = ""
    files: tuple[SkillFile, ...] = ()
    problem: str = ""


def render_skills(skills: Sequence[Skill]) -> str:
    """What every request says of the skills: names and descriptions, as far as there is room for them."""
    return render_offers(_SKILL_HEADING, skills, rest="which load_skill lists")
