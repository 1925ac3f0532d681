"""Agent definitions: files that say what kind of agent a subagent is, and what it may have."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.instructions.offer_list import render_offers

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)
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


def is_agent_name(name: str) -> bool:
    """Whether a name is of letters, digits, `_`, `.` and `-`, and at most 64 characters."""
    return _NAME.fullmatch(name) is not None


def render_agents(agents: Sequence[AgentDefinition]) -> str:
    """What every request says of the agents: names and descriptions, as far as there is room for them."""
    return render_offers(_HEADING, agents, rest="which task lists where it is given another name")
