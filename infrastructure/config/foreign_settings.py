"""The rules in settings of other agents, of a project and of a person, and what a project's forbid here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from quorum.domain.errors import ConfigError
from quorum.domain.events.masking import SecretMask
from quorum.domain.importing.foreign_rules import (
    EVERY_TOOL,
    RulePlaces,
    TranslatedRule,
    list_server_tools,
    read_codex_rules,
    translate_claude_rule,
    translate_kimi_rule,
    translate_other_rule,
)
from quorum.domain.importing.foreign_session import TakeoverItem, TakeoverKind
from quorum.domain.replacing import replace
from quorum.domain.review.permission_rules import Answer
from quorum.infrastructure.config.foreign_file import (
    ForeignFile,
    add_linked_paths,
    read_foreign_text,
    read_json_file,
    read_table,
    read_toml_file,
)
from quorum.infrastructure.config.paths import CODEX_RULES, LimitingFile
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.config.toml_text import KeyPath, escape_unprintable, shorten_text

CODEX_CHECKED_WITH = "0.171.0"
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


CLAUDE_CHECKED_WITH = "2.1.197 and 2.1.332"
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


_MOST_RULES = 500
_LONGEST_LIST = 400
_SENSITIVE, _PROTECTED = ("review", "sensitive"), ("review", "protected")
_Find: TypeAlias = Callable[[ForeignFile, RulePlaces], Iterator[TakeoverItem]]
_AGENTS: Mapping[str, tuple[str, Callable[[Path], ForeignFile | None], _Find]] = {
    ".claude/settings.json": ("Claude Code", read_json_file, find_claude_rules),
    ".claude/settings.local.json": ("Claude Code", read_json_file, find_claude_rules),
    ".codex/config.toml": ("Codex", read_toml_file, find_profile_limits),
    CODEX_RULES: ("Codex", read_text_file, find_codex_rules),
    ".gemini/settings.json": ("Gemini CLI", read_json_file, find_gemini_rules),
    ".github/copilot/settings.json": ("Copilot CLI", read_json_file, find_copilot_rules),
    ".github/copilot/settings.local.json": ("Copilot CLI", read_json_file, find_copilot_rules),
    "opencode.json": ("opencode", read_json_file, find_opencode_rules),
    "opencode.jsonc": ("opencode", read_json_file, find_opencode_rules),
    ".opencode/opencode.json": ("opencode", read_json_file, find_opencode_rules),
}
_ANSWER_WORDS = {Answer.DENY: "denied", Answer.ASK: "asked about"}


class ProjectLimits(Struct, frozen=True):
    """What one file adds to lists of the settings, by their keys, and a sentence about it for the person."""

    file: Path
    added: Mapping[KeyPath, tuple[str, ...]]
    notice: str


def read_project_limits(files: Iterable[LimitingFile], environ: Mapping[str, str]) -> Iterator[ProjectLimits]:
    """The limits in these files. Blocks. A file that cannot be read has every call asked about."""
    for limiting in files:
        agent, read, find = _AGENTS[limiting.name if limiting.name in _AGENTS else CODEX_RULES]
        places = RulePlaces(folder=str(limiting.folder), home=environ.get("HOME", ""))
        try:
            file = read(limiting.path)
            found = (
                tuple(_add_linked(each, limiting) for each in find(file, places)) if file is not None else ()
            )
        except ConfigError as error:
            why = f"{error}; what it denies is not known, so every call asks until that is corrected"
            yield ProjectLimits(limiting.path, {_key(Answer.ASK): (EVERY_TOOL,)}, why)
            continue
        if (limits := _collect_limits(limiting.path, agent, found)) is not None:
            yield limits


def _add_linked(finding: TakeoverItem, limiting: LimitingFile) -> TakeoverItem:
    rule = finding.rule
    return finding if rule is None else replace(finding, rule=add_linked_paths(rule, str(limiting.folder)))


def _key(answer: Answer) -> KeyPath:
    return ("permissions", answer.value)


def _collect_limits(path: Path, agent: str, found: tuple[TakeoverItem, ...]) -> ProjectLimits | None:
    restricting = [each for each in found if each.rule is not None and each.rule.answer is not Answer.ALLOW]
    added: dict[KeyPath, list[str]] = {key: [] for key in (*map(_key, _ANSWER_WORDS), _SENSITIVE, _PROTECTED)}
    for each in restricting:
        assert each.rule is not None
        added[_key(each.rule.answer)] += each.rule.rules
        added[_SENSITIVE] += each.rule.sensitive
        added[_PROTECTED] += each.rule.protected
    if sum(map(len, added.values())) > _MOST_RULES:
        why = f"{escape_path(path)} has more than {_MOST_RULES} limits, so every call asks"
        return ProjectLimits(path, {_key(Answer.ASK): (EVERY_TOOL,)}, why)
    kept = {key: tuple(dict.fromkeys(values)) for key, values in added.items() if values}
    if not kept:
        return None
    parts = [
        f"{_ANSWER_WORDS[answer]}: {shorten_text(', '.join(kept[_key(answer)]), _LONGEST_LIST)}"
        for answer in (Answer.DENY, Answer.ASK)
        if _key(answer) in kept
    ]
    odd = [f"{each.place}: {each.there}: {each.why}" for each in restricting if _needs_word(each)]
    return ProjectLimits(
        path, kept, f"{escape_path(path)} of {agent} holds here, too; {'; '.join((*parts, *odd))}"
    )


def _needs_word(found: TakeoverItem) -> bool:
    """Whether the person should read of one rule: it became another answer than it gives there."""
    return found.rule is not None and found.rule.answer is Answer.ASK and bool(found.rule.why)
