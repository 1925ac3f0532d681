"""The settings of Claude Code: `settings.json` of a project and of a person."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from quorum.domain.events.masking import SecretMask
from quorum.domain.importing.foreign_rules import EVERY_TOOL, RulePlaces, TranslatedRule, translate_claude_rule
from quorum.domain.importing.takeover_item import TakeoverItem, TakeoverKind
from quorum.domain.review.permission_rules import Answer
from quorum.infrastructure.config.foreign.foreign_file import ForeignFile, read_table
from quorum.infrastructure.config.toml_text import escape_unprintable, shorten_text

CHECKED_WITH = "2.1.197 and 2.1.332"
# Where a file names what commands in the sandbox may not do, and the rule that says the same of every call.
_SANDBOX_LIMITS: tuple[tuple[tuple[str, ...], str, Callable[[str], str]], ...] = (
    (("sandbox", "filesystem"), "denyRead", lambda path: f"Read({_place(path)})"),
    (("sandbox", "filesystem"), "denyWrite", lambda path: f"Edit({_place(path)})"),
    (("sandbox", "network"), "deniedDomains", lambda host: f"WebFetch(domain:{host})"),
)
_STRICTEST_FIRST = (Answer.DENY, Answer.ASK, Answer.ALLOW)


def _place(path: str) -> str:
    return f"/{path}" if path.startswith("/") and not path.startswith("//") else path


def find_claude_rules(file: ForeignFile, places: RulePlaces) -> Iterator[TakeoverItem]:
    """The rules of a file, denials first. What restricts and cannot be read has every call asked about."""
    permissions = file.data.get("permissions", {})
    if not isinstance(permissions, dict):
        yield _find_unreadable(file, "permissions")
        permissions = {}
    for answer in _STRICTEST_FIRST:
        entries = permissions.get(answer.value, [])
        if not isinstance(entries, list):
            yield _find_unreadable(file, f"permissions.{answer}", answer)
            continue
        for entry in entries:
            if isinstance(entry, str):
                yield build_rule_finding(file, entry, translate_claude_rule(entry, answer, places), answer)
            else:
                yield _find_unreadable(file, f"an entry of permissions.{answer}", answer)
    for path, key, write_rule in _SANDBOX_LIMITS:
        entries = read_table(file.data, *path).get(key, [])
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, str):
                rule = translate_claude_rule(write_rule(entry), Answer.DENY, places)
                yield build_rule_finding(file, entry, rule, Answer.DENY, there=f"{key} {entry}")


def build_rule_finding(
    file: ForeignFile, entry: str, rule: TranslatedRule, answer: Answer, *, there: str = ""
) -> TakeoverItem:
    """A rule with its place."""
    shown = there or entry
    shown = shown if there.startswith(f"{answer} ") else f"{answer} {shown}"
    named = shorten_text(escape_unprintable(SecretMask().mask_text(shown)), 100)
    return TakeoverItem(
        kind=TakeoverKind.RULE,
        there=named,
        place=file.locate(entry),
        here=", ".join(f"{rule.answer} {text}" for text in rule.rules),
        why=rule.why,
        rule=rule,
    )


def _find_unreadable(file: ForeignFile, what: str, answer: Answer = Answer.DENY) -> TakeoverItem:
    if answer is Answer.ALLOW:
        rule = TranslatedRule(answer=answer, why="it is not written as quorum knows it")
    else:
        why = "it is not written as quorum knows it, so every call asks"
        rule = TranslatedRule(answer=Answer.ASK, rules=(EVERY_TOOL,), why=why)
    return build_rule_finding(file, what.rpartition(".")[2], rule, answer, there=what)
