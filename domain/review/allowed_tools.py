"""What a custom command allows its turn: a list of tools that can only withhold what could run otherwise."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from quorum.domain.calls.tool import RiskLevel
from quorum.domain.calls.tool_traits import translate_tool_name
from quorum.domain.review.permissions import Answer, BadRule, Rule, Subject, is_covered

_ENTRY = re.compile(r"(?P<tool>[^()]+)(?:\((?P<pattern>.*)\))?", re.DOTALL)
_EVERYTHING = frozenset({"*", ":*", "**"})


class AllowedTools(Struct, frozen=True):
    """What a command allows besides what only reads. `command` is its name, without the slash."""

    command: str
    rules: tuple[Rule, ...]

    @classmethod
    def parse(cls, command: str, entries: Sequence[str]) -> AllowedTools:
        """Read entries such as `Bash(git log:*)`, `Write` and `run_command(make *)`.

        An entry that cannot be understood allows nothing.
        """
        rules = (rule for entry in entries if (rule := _parse_rule(entry, command)) is not None)
        return cls(command, tuple(rules))

    def withholds(self, subject: Subject, roots: Sequence[str]) -> bool:
        """Whether the command does not allow a call, which it does of all that only reads."""
        if subject.risk is RiskLevel.LOW or (subject.shell is not None and subject.shell.is_read_only):
            return False
        return not is_covered(self.rules, subject, roots)

    @property
    def reason(self) -> str:
        """Why a call is withheld."""
        listed = ", ".join(rule.text for rule in self.rules) or "nothing"
        return f"the command /{self.command} allows {listed} besides what only reads (its allowed-tools)"


def _parse_rule(entry: str, command: str) -> Rule | None:
    found = _ENTRY.fullmatch(entry.strip())
    if found is None:
        return None
    tool = translate_tool_name(found["tool"].strip())
    pattern = (found["pattern"] or "").strip()
    text = tool if not pattern or pattern in _EVERYTHING else f"{tool}({pattern})"
    try:
        return Rule.parse(text, Answer.ALLOW, f"allowed-tools of /{command}")
    except BadRule:
        return None
