"""What Claude Code keeps: rules, MCP servers, instructions; its skills, commands and agents are read where
they lie."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from quorum.domain.importing.claude_rules import RulePlaces
from quorum.domain.importing.takeover_item import AgentSetup, TakeoverItem, TakeoverKind
from quorum.domain.replacing import replace
from quorum.domain.review.permissions import Answer
from quorum.infrastructure.config.foreign.claude_settings import CHECKED_WITH, find_claude_rules
from quorum.infrastructure.config.foreign.foreign_file import ForeignFile, read_json_file, read_table
from quorum.infrastructure.config.paths import list_folders_up_to_repository
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.config.toml_text import escape_unprintable, shorten_text
from quorum.infrastructure.execution.shell.git_index import read_index
from quorum.infrastructure.importing.given_server import GivenServer, find_server, read_texts
from quorum.infrastructure.importing.named_settings import CLAUDE, CLAUDE_READ, list_tables, name_settings
from quorum.infrastructure.importing.places import Collector, ImportPlaces, find_instructions

_MANAGED = Path("/etc/claude-code/managed-settings.json")
_SERVER_KEYS = frozenset({"type", "command", "args", "env", "url", "headers", "timeout", "alwaysLoad", "oauth"})
_KNOWN = ("$schema", "hooks", "model", "env")
_READ_HERE = "read here where it lies"


def read_claude(places: ImportPlaces) -> AgentSetup:
    """All that is found of Claude Code. Blocks."""
    found = Collector()
    folder = places.locate("CLAUDE_CONFIG_DIR", ".claude")
    for path in (_MANAGED, folder / "settings.json"):
        if (file := found.read(read_json_file, path)) is not None:
            found.add(find_claude_rules(file, RulePlaces(home=str(places.home))))
            found.add(find_hooks(file))
            found.add(_find_model(file))
            found.add(name_settings(file, CLAUDE, CLAUDE_READ))
            found.name_other_keys(file, (*_KNOWN, *list_tables(CLAUDE)))
    own = places.root / ".claude/settings.local.json"
    if folder != own.parent and (file := found.read(read_json_file, own)) is not None:
        found.add(_find_local_rules(file, places))
        found.add(name_settings(file, CLAUDE, CLAUDE_READ))
    state = folder / ".claude.json" if "CLAUDE_CONFIG_DIR" in places.environ else places.home / ".claude.json"
    if (file := found.read(read_json_file, state)) is not None:
        for servers in (file.data, read_table(file.data, "projects", str(places.root))):
            found.add(_find_servers(file, read_table(servers, "mcpServers"), places))
    if (file := found.read(read_json_file, places.root / ".mcp.json")) is not None:
        for name in read_table(file.data, "mcpServers"):
            why = f"it belongs to the project: quorum mcp add {name} --from .mcp.json"
            there = escape_unprintable(name)[:80]
            place = file.locate(name)
            found.findings.append(TakeoverItem(kind=TakeoverKind.SERVER, there=there, place=place, why=why))
    found.add(find_instructions(folder / "CLAUDE.md", places.own))
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(places.root))
    found.add(name_memories(folder / "projects" / slug / "memory"))
    if folder == places.home / ".claude":
        found.add(_find_read_here(folder))
    return AgentSetup(
        agent="Claude Code",
        checked_with=CHECKED_WITH,
        findings=tuple(found.findings),
        problems=tuple(found.problems),
    )


def _find_local_rules(file: ForeignFile, places: ImportPlaces) -> Iterator[TakeoverItem]:
    """What the person allowed in this project; its denials hold here at once."""
    is_shared = _may_be_shared(file.path)
    for finding in find_claude_rules(file, RulePlaces(folder=str(places.root), home=str(places.home))):
        if finding.rule is not None and finding.rule.answer is Answer.ALLOW and is_shared:
            why = "git may track this file, so others may have written it: it asks"
            yield replace(finding, rule=None, here="", why=why)
        elif finding.rule is None or finding.rule.answer is Answer.ALLOW:
            yield replace(finding, project=str(places.root))
        else:
            yield replace(finding, rule=None, here=f"holds at once: {finding.here}")


def _may_be_shared(file: Path) -> bool:
    """Whether a repository may have brought a file along: unless its index is sure not to name it."""
    top = list_folders_up_to_repository(file.parent.parent)[-1]
    git = top / ".git"
    if not os.path.lexists(git):
        return False
    if not git.is_dir():
        return True
    try:
        tracked = read_index(str(git / "index")).files
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True
    name = str(file.relative_to(top)).casefold()
    return any(each.casefold() == name for each in tracked)


def _find_servers(
    file: ForeignFile, servers: Mapping[str, object], places: ImportPlaces
) -> Iterator[TakeoverItem]:
    for name, server in servers.items():
        yield from find_server(read_claude_server(file, name, server), places.servers)


def read_claude_server(file: ForeignFile, name: str, server: object) -> GivenServer:
    """A server as `.mcp.json`, and the agents that took over its form, have it."""
    place = file.locate(name)
    if not isinstance(server, dict):
        return GivenServer(name=name, place=place, flaw="it is no table of settings")
    unknown = sorted(set(server) - _SERVER_KEYS)
    kind = server.get("type", "http" if "url" in server else "stdio")
    flaw = f"quorum does not know its {unknown[0]}" if unknown else ""
    if kind not in ("stdio", "local", "http", "streamable-http"):
        named = shorten_text(escape_unprintable(str(kind)))
        flaw = f"it is of the type {named}; quorum speaks stdio and streamable HTTP"
    command, url = server.get("command"), server.get("url")
    return GivenServer(
        name=name,
        place=place,
        command=[command, *read_texts(server.get("args", []))] if isinstance(command, str) else (),
        url=url if isinstance(url, str) else "",
        environment=read_table(server, "env"),
        headers=read_table(server, "headers"),
        flaw=flaw,
    )


def find_hooks(file: ForeignFile) -> Iterator[TakeoverItem]:
    """The hooks of a file in this form: named, and never run."""
    for event, entries in read_table(file.data, "hooks").items():
        count = len(entries) if isinstance(entries, list) else 1
        why = "hooks of other agents never run here; write your own: docs/hooks.md"
        there = f"{escape_unprintable(str(event))[:60]} ({count})"
        yield TakeoverItem(kind=TakeoverKind.HOOK, there=there, place=file.locate(event), why=why)


def _find_model(file: ForeignFile) -> Iterator[TakeoverItem]:
    model = file.data.get("model")
    if isinstance(model, str):
        why = f'choose it yourself: models.decision = "anthropic/{shorten_text(escape_unprintable(model))}"'
        there = shorten_text(escape_unprintable(model))
        yield TakeoverItem(kind=TakeoverKind.MODEL, there=there, place=file.locate("model"), why=why)
    if names := ", ".join(map(escape_unprintable, read_table(file.data, "env"))):
        why = "values of variables are not copied: set them in your environment"
        yield TakeoverItem(
            kind=TakeoverKind.SETTING, there=f"env: {names}"[:100], place=file.locate("env"), why=why
        )


def name_memories(folder: Path) -> Iterator[TakeoverItem]:
    """What the agent noted for itself: named, for the person to choose from."""
    for path in sorted(folder.glob("*.md")):
        why = "a memory of the agent: add what you want of it to AGENTS.md"
        yield TakeoverItem(kind=TakeoverKind.INSTRUCTIONS, there=path.name, place=escape_path(path), why=why)


def _find_read_here(folder: Path) -> Iterator[TakeoverItem]:
    kinds = (
        (TakeoverKind.SKILL, "skills", "*/SKILL.md"),
        (TakeoverKind.COMMAND, "commands", "**/*.md"),
        (TakeoverKind.AGENT, "agents", "*.md"),
    )
    for kind, name, pattern in kinds:
        for file in sorted((folder / name).glob(pattern)):
            there = file.parent.name if file.name == "SKILL.md" else file.stem
            yield TakeoverItem(kind=kind, there=there, place=escape_path(file), here=_READ_HERE)
