"""What was found of another agent, and what it is here."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from quorum.domain.importing.foreign_rules import TranslatedRule


class TakeoverKind(StrEnum):
    """Of what kind it is, in the order of the table: what restricts comes first."""

    RULE = "rule"
    SERVER = "MCP server"
    INSTRUCTIONS = "instructions"
    SKILL = "skill"
    COMMAND = "command"
    AGENT = "agent"
    HOOK = "hook"
    MODEL = "model"
    SETTING = "setting"


class TakeoverItem(Struct, frozen=True, kw_only=True):
    """One thing: as it is `there`, its `place` as file and line, what it is `here`, and `why` that differs.

    What is taken over is a `rule`, for the folder `project` or, None, everywhere; a `server` with the values
    of its table; a `hook` with those of its own; or a file, `source`, that becomes `target`. Without any of
    them it is only named.
    """

    kind: TakeoverKind
    there: str
    place: str
    here: str = ""
    why: str = ""
    rule: TranslatedRule | None = None
    project: str | None = None
    server: Mapping[str, object] = field(default_factory=dict)
    hook: Mapping[str, object] = field(default_factory=dict)
    source: str = ""
    target: str = ""

    @property
    def is_taken_over(self) -> bool:
        """Whether something is written for it."""
        return bool((self.rule is not None and self.rule.rules) or self.server or self.hook or self.target)


class AgentSetup(Struct, frozen=True, kw_only=True):
    """All that was found of one agent. `problems` say what could not be read, and its place."""

    agent: str
    checked_with: str
    findings: tuple[TakeoverItem, ...] = ()
    problems: tuple[str, ...] = ()
