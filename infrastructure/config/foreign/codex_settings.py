"""The settings of Codex: its files of command rules, and the permission profiles in `config.toml`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from quorum.domain.importing.foreign_rules import (
    RulePlaces,
    TranslatedRule,
    read_codex_rules,
    translate_claude_rule,
)
from quorum.domain.importing.takeover_item import TakeoverItem, TakeoverKind
from quorum.domain.review.permission_rules import Answer
from quorum.infrastructure.config.foreign.claude_settings import build_rule_finding
from quorum.infrastructure.config.foreign.foreign_file import ForeignFile, read_foreign_text, read_table
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.config.toml_text import escape_unprintable, shorten_text

CHECKED_WITH = "0.171.0"
_WORKSPACE = (":workspace_roots", ":project_roots", ":cwd")


def read_text_file(path: Path) -> ForeignFile | None:
    """A file of rules, which holds no tables; None where there is no file. Raises ConfigError."""
    text = read_foreign_text(path)
    return ForeignFile(path, text, {}) if text is not None else None


def find_codex_rules(file: ForeignFile, _places: RulePlaces) -> Iterator[TakeoverItem]:
    """The rules of one file."""
    for rule in read_codex_rules(file.text):
        here = ", ".join(f"{rule.translated.answer} {each}" for each in rule.translated.rules)
        yield TakeoverItem(
            kind=TakeoverKind.RULE,
            there=shorten_text(escape_unprintable(rule.text), 100),
            place=f"{escape_path(file.path)}:{rule.line}",
            here=here,
            why=rule.translated.why,
            rule=rule.translated,
        )


def find_profile_limits(file: ForeignFile, places: RulePlaces) -> Iterator[TakeoverItem]:
    """What any permission profile denies: which of them a session there would have is not known here."""
    for profile in read_table(file.data, "permissions").values():
        if not isinstance(profile, Mapping):
            continue
        for path, access in _list_accesses(read_table(profile, "filesystem")):
            tool = {"none": "Read", "deny": "Read", "read": "Edit"}.get(str(access))
            if tool is not None:
                rule = translate_claude_rule(f"{tool}({path})", Answer.DENY, places)
                yield build_rule_finding(file, path, rule, Answer.DENY, there=f"filesystem {path} = {access}")
        for host, access in read_table(profile, "network", "domains").items():
            if access == "deny":
                rule = translate_claude_rule(f"WebFetch(domain:{host})", Answer.DENY, places)
                yield build_rule_finding(file, host, rule, Answer.DENY, there=f"network {host} = deny")
    if file.data.get("web_search") == "disabled":
        rule = TranslatedRule(answer=Answer.DENY, rules=("web_search",))
        yield build_rule_finding(file, "web_search", rule, Answer.DENY, there="web_search = disabled")


def _list_accesses(table: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Paths as rules of Claude Code write them, and what may be done there. What holds for a special place as
    a whole, such as all of the machine, is what more exact entries are laid over, and is left out."""
    for path, access in table.items():
        if isinstance(access, Mapping):  # paths below a special place
            begin = "" if path in _WORKSPACE else "//**/"
            yield from ((f"{begin}{inner}", each) for inner, each in access.items() if inner not in (".", ""))
        elif not path.startswith(":"):
            yield (f"/{path}" if path.startswith("/") else path), access
