"""The rules in settings of opencode, Gemini CLI, Copilot CLI and Kimi Code, of a project and of a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from quorum.domain.importing.foreign_rules import (
    EVERY_TOOL,
    RulePlaces,
    TranslatedRule,
    list_server_tools,
    translate_kimi_rule,
    translate_other_rule,
)
from quorum.domain.importing.takeover_item import TakeoverItem
from quorum.domain.review.permission_rules import Answer
from quorum.infrastructure.config.foreign.claude_settings import build_rule_finding
from quorum.infrastructure.config.foreign.foreign_file import ForeignFile, read_table

OPENCODE_CHECKED = "1.18.33"
GEMINI_CHECKED = "0.61.0"
COPILOT_CHECKED = "1.0.102"
KIMI_CHECKED = "2.1.0 (Kimi Code) and 1.49.0 (kimi-cli)"

_ANSWERS = {"allow": Answer.ALLOW, "ask": Answer.ASK, "deny": Answer.DENY, "ask_user": Answer.ASK}
_UNKNOWN = "it is not written as quorum knows it, so every call asks"
_CONDITIONS = ("modes", "interactive", "subagent", "toolAnnotations", "argsPattern", "commandRegex")


def find_opencode_rules(file: ForeignFile, places: RulePlaces) -> Iterator[TakeoverItem]:
    """`permission`, and the tools that `tools` switches off. Exceptions from what is denied are denied as
    well."""
    permission = file.data.get("permission", {})
    if isinstance(permission, str):
        permission = {EVERY_TOOL: permission}
    if not isinstance(permission, Mapping):
        yield _find_unknown(file, "permission")
        permission = {}
    for tool, patterns in permission.items():
        for pattern, action in (patterns if isinstance(patterns, Mapping) else {"": patterns}).items():
            answer = _ANSWERS.get(action) if isinstance(action, str) else None
            if answer is None:
                yield _find_unknown(file, f"permission.{tool}")
                continue
            rule = translate_other_rule(tool, pattern, answer, places)
            named = f"{tool}({pattern})" if pattern else tool
            yield build_rule_finding(file, pattern or tool, rule, answer, there=f"{answer} {named}")
    for tool, is_on in read_table(file.data, "tools").items():
        if is_on is False:
            rule = translate_other_rule(tool, "", Answer.DENY, places)
            yield build_rule_finding(file, tool, rule, Answer.DENY, there=f"tools.{tool} = false")


def find_gemini_rules(file: ForeignFile, places: RulePlaces) -> Iterator[TakeoverItem]:
    """What `settings.json` excludes and allows."""
    lists = (
        (Answer.DENY, ("tools", "exclude"), "excludeTools"),
        (Answer.ALLOW, ("tools", "allowed"), "allowedTools"),
    )
    for answer, path, old in lists:
        for given in (read_table(file.data, *path[:-1]).get(path[-1], []), file.data.get(old, [])):
            if not isinstance(given, list):
                yield _find_unknown(file, old, answer)
                continue
            for entry in given:
                tool, _, pattern = str(entry).partition("(")
                prefix = pattern.removesuffix(")").strip()
                rule = translate_other_rule(tool.strip(), f"{prefix}:*" if prefix else "", answer, places)
                yield build_rule_finding(file, str(entry), rule, answer, there=f"{answer} {entry}")
    excluded = read_table(file.data, "mcp").get("excluded", [])
    for server in excluded if isinstance(excluded, list) else ():
        rule = TranslatedRule(answer=Answer.DENY, rules=list_server_tools(str(server)))
        yield build_rule_finding(file, str(server), rule, Answer.DENY, there=f"deny the MCP server {server}")


def find_gemini_policies(file: ForeignFile, places: RulePlaces) -> Iterator[TakeoverItem]:
    """The rules of a policy file. A condition that cannot be kept makes a rule that restricts wider, and one
    that allows nothing. What has a higher priority there does not lift a denial here."""
    rules = file.data.get("rule", [])
    for table in rules if isinstance(rules, list) else [None]:
        answer = _ANSWERS.get(str(table.get("decision"))) if isinstance(table, Mapping) else None
        if answer is None or not isinstance(table, Mapping):
            yield _find_unknown(file, "rule")
            continue
        names = _list_texts(table.get("toolName")) or [""]
        prefixes = _list_texts(table.get("commandPrefix")) or [""]
        conditions = [name for name in _CONDITIONS if table.get(name) not in (None, [], "")]
        for name, prefix in ((name, prefix) for name in names for prefix in prefixes):
            rule = _translate_policy(table, name, prefix, answer, places)
            if conditions:
                rule = _drop_conditions(rule, ", ".join(conditions))
            shown = " ".join(filter(None, [str(table.get("mcpName") or ""), name, prefix]))
            yield build_rule_finding(file, prefix or name or shown, rule, answer, there=f"{answer} {shown}")


def _drop_conditions(rule: TranslatedRule, conditions: str) -> TranslatedRule:
    """The rule without its conditions, which asks where it would deny every call of a tool."""
    if rule.answer is Answer.ALLOW:
        return TranslatedRule(answer=Answer.ALLOW, why="it depends on what cannot be told here, so it asks")
    if rule.answer is Answer.DENY and any("(" not in text for text in rule.rules):
        why = f"it denies only some, depending on {conditions}, so every call asks"
        return TranslatedRule(answer=Answer.ASK, rules=rule.rules, why=why)
    return TranslatedRule(
        answer=rule.answer, rules=rule.rules, why=f"wider: it does not depend on {conditions}"
    )


def _translate_policy(
    table: Mapping[str, object], name: str, prefix: str, answer: Answer, places: RulePlaces
) -> TranslatedRule:
    server = table.get("mcpName")
    if isinstance(server, str):
        if answer is Answer.ALLOW:
            why = "tools of MCP servers run unasked only where read_only names them: docs/mcp.md"
            return TranslatedRule(answer=answer, why=why)
        return TranslatedRule(answer=answer, rules=list_server_tools(server, name or "*"))
    if prefix:
        end = ":*" if answer is Answer.ALLOW else "*"
        return translate_other_rule("run_shell_command", f"{prefix}{end}", answer, places)
    return translate_other_rule(name or "run_shell_command", "", answer, places)


def find_copilot_rules(file: ForeignFile, places: RulePlaces) -> Iterator[TakeoverItem]:
    """The addresses that `settings.json` denies and allows."""
    for key, answer in (("deniedUrls", Answer.DENY), ("allowedUrls", Answer.ALLOW)):
        given = file.data.get(key, [])
        if not isinstance(given, list):
            yield _find_unknown(file, key, answer)
            continue
        for entry in map(str, given):
            rule = translate_other_rule("url", entry, answer, places)
            yield build_rule_finding(file, entry, rule, answer, there=f"{answer} url {entry}")


def find_kimi_rules(file: ForeignFile, places: RulePlaces) -> Iterator[TakeoverItem]:
    """`[permission]`: its lists, and its `rules`."""
    permission = read_table(file.data, "permission")
    for word in ("deny", "ask", "allow", "rules"):
        entries = permission.get(word, [])
        for entry in entries if isinstance(entries, list) else [None]:
            given = entry if isinstance(entry, Mapping) else {"pattern": entry}
            answer = _ANSWERS.get(str(given.get("decision", word)))
            pattern = given.get("pattern")
            if answer is None or not isinstance(pattern, str):
                yield _find_unknown(file, f"permission.{word}")
                continue
            yield build_rule_finding(file, pattern, translate_kimi_rule(pattern, answer, places), answer)


def _find_unknown(file: ForeignFile, what: str, answer: Answer = Answer.DENY) -> TakeoverItem:
    if answer is Answer.ALLOW:
        rule = TranslatedRule(answer=answer, why="it is not written as quorum knows it, so it asks")
    else:
        rule = TranslatedRule(answer=Answer.ASK, rules=(EVERY_TOOL,), why=_UNKNOWN)
    return build_rule_finding(file, what.rpartition(".")[2], rule, answer, there=what)


def _list_texts(value: object) -> list[str]:
    return [value] if isinstance(value, str) else list(map(str, value)) if isinstance(value, list) else []
