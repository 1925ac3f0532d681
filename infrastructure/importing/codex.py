"""What Codex keeps: command rules, permission profiles, MCP servers, instructions, prompts and skills."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from domain.errors import ConfigError
from domain.importing.claude_rules import RulePlaces, translate_claude_rule
from domain.importing.codex_rules import read_codex_rules
from domain.importing.finding import AgentSetup, Finding, FindingKind
from domain.importing.translated_rule import TranslatedRule
from domain.review.permissions import Answer
from infrastructure.config.foreign.claude_settings import build_rule_finding
from infrastructure.config.foreign.foreign_file import (
    ForeignFile,
    read_foreign_text,
    read_table,
    read_toml_file,
)
from infrastructure.config.toml_file import escape_path
from infrastructure.config.toml_text import escape_unprintable, shorten_text
from infrastructure.importing.given_server import GivenServer, find_server, read_texts
from infrastructure.importing.places import Collector, ImportPlaces, find_files, find_instructions

CHECKED_WITH = "0.171.0"
_SERVER_KEYS = frozenset(
    {
        *("command", "args", "env", "env_vars", "cwd", "url", "bearer_token_env_var", "http_headers"),
        *("env_http_headers", "enabled", "enabled_tools", "disabled_tools", "startup_timeout_sec"),
        *(
            "startup_timeout_ms",
            "tool_timeout_sec",
            "required",
            "default_tools_approval_mode",
            "tools",
            "scopes",
        ),
    }
)
_WORKSPACE = (":workspace_roots", ":project_roots", ":cwd")
_KNOWN = ("mcp_servers", "model", "permissions", "hooks", "web_search", "notify")


def read_codex(places: ImportPlaces) -> AgentSetup:
    """All that is found of Codex. Blocks."""
    found = Collector()
    folder = places.locate("CODEX_HOME", ".codex")
    for path in sorted((folder / "rules").glob("*.rules")):
        try:
            found.add(find_codex_rules(path))
        except ConfigError as error:
            found.problems.append(str(error))
    if (file := found.read(read_toml_file, folder / "config.toml")) is not None:
        found.add(_find_profile_limits(file, places))
        for name, server in read_table(file.data, "mcp_servers").items():
            found.add(find_server(_read_server(file, name, server), places.servers))
        found.add(_find_rest(file))
        found.name_other_keys(file, _KNOWN)
    for name in ("AGENTS.override.md", "AGENTS.md"):
        if (folder / name).is_file():
            found.add(find_instructions(folder / name, places.own))
            break
    found.add(find_files(FindingKind.COMMAND, folder / "prompts", places.own / "commands"))
    found.add(find_files(FindingKind.SKILL, folder / "skills", places.own / "skills", "*/SKILL.md"))
    return AgentSetup(
        agent="Codex", checked_with=CHECKED_WITH, findings=tuple(found.findings), problems=tuple(found.problems)
    )


def find_codex_rules(path: Path) -> Iterator[Finding]:
    """The rules of one file. Raises ConfigError where it cannot be read."""
    text = read_foreign_text(path)
    for rule in read_codex_rules(text or ""):
        here = ", ".join(f"{rule.translated.answer} {each}" for each in rule.translated.rules)
        yield Finding(
            kind=FindingKind.RULE,
            there=shorten_text(escape_unprintable(rule.text), 100),
            place=f"{escape_path(path)}:{rule.line}",
            here=here,
            why=rule.translated.why,
            rule=rule.translated,
        )


def _find_profile_limits(file: ForeignFile, places: ImportPlaces) -> Iterator[Finding]:
    """What any permission profile denies: which of them a session there would have is not known here."""
    where = RulePlaces(home=str(places.home))
    for profile in read_table(file.data, "permissions").values():
        if not isinstance(profile, Mapping):
            continue
        for path, access in _list_accesses(read_table(profile, "filesystem")):
            tool = {"none": "Read", "deny": "Read", "read": "Edit"}.get(str(access))
            if tool is not None:
                rule = translate_claude_rule(f"{tool}({path})", Answer.DENY, where)
                yield build_rule_finding(file, path, rule, Answer.DENY, there=f"filesystem {path} = {access}")
        for host, access in read_table(profile, "network", "domains").items():
            if access == "deny":
                rule = translate_claude_rule(f"WebFetch(domain:{host})", Answer.DENY, where)
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


def _read_server(file: ForeignFile, name: str, server: object) -> GivenServer:
    place = file.locate(f"mcp_servers.{name}")
    if not isinstance(server, Mapping):
        return GivenServer(name=name, place=place, flaw="it is no table of settings")
    unknown = sorted(set(server) - _SERVER_KEYS)
    flaw = f"quorum does not know its {escape_unprintable(unknown[0])}" if unknown else ""
    if server.get("cwd"):
        flaw = "it starts in a folder of its own; quorum starts servers in the workspace"
    command, url, bearer = server.get("command"), server.get("url"), server.get("bearer_token_env_var")
    variables = read_table(server, "env_http_headers")
    headers = {name: f"${{{value}}}" for name, value in variables.items()}
    return GivenServer(
        name=name,
        place=place,
        command=[command, *read_texts(server.get("args"))] if isinstance(command, str) else (),
        url=url if isinstance(url, str) else "",
        environment=read_table(server, "env"),
        headers={**read_table(server, "http_headers"), **headers},
        bearer_variable=bearer if isinstance(bearer, str) else "",
        passed=read_texts(server.get("env_vars")),
        only=read_texts(server.get("enabled_tools")),
        without=read_texts(server.get("disabled_tools")),
        is_enabled=server.get("enabled") is not False,
        flaw=flaw,
    )


def _find_rest(file: ForeignFile) -> Iterator[Finding]:
    model = file.data.get("model")
    if isinstance(model, str):
        shown = shorten_text(escape_unprintable(model))
        why = f'choose it yourself: models.decision = "openai/{shown}"'
        yield Finding(kind=FindingKind.MODEL, there=shown, place=file.locate("model"), why=why)
    for name in ("hooks", "notify"):
        if name in file.data:
            why = "programs of other agents never run here; write your own hooks: docs/hooks.md"
            yield Finding(kind=FindingKind.HOOK, there=name, place=file.locate(name), why=why)
