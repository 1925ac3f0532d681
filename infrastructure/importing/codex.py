"""What Codex keeps: command rules, permission profiles, MCP servers, instructions, prompts and skills."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from quorum.domain.importing.claude_rules import RulePlaces
from quorum.domain.importing.takeover_item import AgentSetup, TakeoverItem, TakeoverKind
from quorum.infrastructure.config.foreign.codex_settings import (
    CHECKED_WITH,
    find_codex_rules,
    find_profile_limits,
    read_text_file,
)
from quorum.infrastructure.config.foreign.foreign_file import ForeignFile, read_table, read_toml_file
from quorum.infrastructure.config.toml_text import escape_unprintable, shorten_text
from quorum.infrastructure.importing.claude import name_memories
from quorum.infrastructure.importing.given_server import GivenServer, find_server, read_texts
from quorum.infrastructure.importing.named_settings import CODEX, list_tables, name_settings
from quorum.infrastructure.importing.places import Collector, ImportPlaces, find_files, find_instructions

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
_KNOWN = ("mcp_servers", "model", "permissions", "hooks", "web_search", "notify")


def read_codex(places: ImportPlaces) -> AgentSetup:
    """All that is found of Codex. Blocks."""
    found = Collector()
    folder = places.locate("CODEX_HOME", ".codex")
    for path in sorted((folder / "rules").glob("*.rules")):
        if (file := found.read(read_text_file, path)) is not None:
            found.add(find_codex_rules(file, RulePlaces(home=str(places.home))))
    if (file := found.read(read_toml_file, folder / "config.toml")) is not None:
        found.add(find_profile_limits(file, RulePlaces(home=str(places.home))))
        for name, server in read_table(file.data, "mcp_servers").items():
            found.add(find_server(_read_server(file, name, server), places.servers))
        found.add(_find_rest(file))
        found.add(name_settings(file, CODEX))
        found.name_other_keys(file, (*_KNOWN, *list_tables(CODEX)))
    for name in ("AGENTS.override.md", "AGENTS.md"):
        if (folder / name).is_file():
            found.add(find_instructions(folder / name, places.own))
            break
    found.add(name_memories(folder / "memories"))
    found.add(find_files(TakeoverKind.COMMAND, folder / "prompts", places.own / "commands"))
    found.add(find_files(TakeoverKind.SKILL, folder / "skills", places.own / "skills", "*/SKILL.md"))
    return AgentSetup(
        agent="Codex", checked_with=CHECKED_WITH, findings=tuple(found.findings), problems=tuple(found.problems)
    )


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


def _find_rest(file: ForeignFile) -> Iterator[TakeoverItem]:
    model = file.data.get("model")
    if isinstance(model, str):
        shown = shorten_text(escape_unprintable(model))
        why = f'choose it yourself: models.decision = "openai/{shown}"'
        yield TakeoverItem(kind=TakeoverKind.MODEL, there=shown, place=file.locate("model"), why=why)
    for name in ("hooks", "notify"):
        if name in file.data:
            why = "programs of other agents never run here; write your own hooks: docs/hooks.md"
            yield TakeoverItem(kind=TakeoverKind.HOOK, there=name, place=file.locate(name), why=why)
