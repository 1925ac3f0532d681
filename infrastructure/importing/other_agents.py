"""What opencode, Gemini CLI, Copilot CLI and Kimi Code keep: rules, MCP servers, texts, and sessions.

Sessions are those of opencode: rows of `opencode.db`, which is only read.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from quorum.domain.importing.foreign_rules import RulePlaces
from quorum.domain.importing.foreign_session import (
    AgentSetup,
    ForeignAnswer,
    ForeignCall,
    ForeignItem,
    ForeignPrompt,
    ForeignResult,
    ForeignSession,
    ForeignSummary,
    TakeoverItem,
    TakeoverKind,
)
from quorum.domain.replacing import replace
from quorum.infrastructure.config.foreign_file import (
    ForeignFile,
    read_json_file,
    read_table,
    read_toml_file,
)
from quorum.infrastructure.config.foreign_settings import (
    COPILOT_CHECKED,
    GEMINI_CHECKED,
    KIMI_CHECKED,
    OPENCODE_CHECKED,
    find_copilot_rules,
    find_gemini_policies,
    find_gemini_rules,
    find_kimi_rules,
    find_opencode_rules,
)
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.config.toml_text import escape_unprintable, shorten_text
from quorum.infrastructure.importing.claude import read_claude_server
from quorum.infrastructure.importing.given_settings import (
    COPILOT,
    GEMINI,
    GEMINI_READ,
    KIMI,
    KIMI_READ,
    OPENCODE,
    GivenServer,
    find_server,
    list_tables,
    name_settings,
    read_texts,
)
from quorum.infrastructure.importing.places import (
    Collector,
    ImportPlaces,
    ReadSession,
    SessionSource,
    find_files,
    find_instructions,
)

_NO_COMMAND = "not taken over: quorum reads commands in Markdown alone; write it anew: docs/custom-commands.md"


def read_opencode(places: ImportPlaces) -> AgentSetup:
    """All that is found of opencode. Blocks."""
    found = Collector()
    base = Path(places.environ.get("XDG_CONFIG_HOME", ""))
    folder = (base if base.is_absolute() else places.home / ".config") / "opencode"
    for name in ("opencode.json", "opencode.jsonc", "config.json"):
        if (file := found.read(read_json_file, folder / name)) is not None:
            found.add(find_opencode_rules(file, RulePlaces(home=str(places.home))))
            for server, table in read_table(file.data, "mcp").items():
                found.add(find_server(_read_opencode_server(file, server, table), places.servers))
            found.add(_find_model(file))
            found.add(name_settings(file, OPENCODE))
            found.name_other_keys(file, ("$schema", "permission", "tools", "mcp", "model", *OPENCODE))
    found.add(find_instructions(folder / "AGENTS.md", places.own))
    for name in ("command", "commands"):
        found.add(find_files(TakeoverKind.COMMAND, folder / name, places.own / "commands"))
    for name in ("skill", "skills"):
        found.add(find_files(TakeoverKind.SKILL, folder / name, places.own / "skills", "*/SKILL.md"))
    found.add(_name_files(folder, "plugin*/*", TakeoverKind.HOOK, "plug-ins of other agents never run here"))
    return _build_setup("opencode", OPENCODE_CHECKED, found)


def _read_opencode_server(file: ForeignFile, name: str, server: object) -> GivenServer:
    place = file.locate(name)
    if not isinstance(server, Mapping):
        return GivenServer(name=name, place=place, flaw="it is no table of settings")
    known = {"type", "command", "environment", "url", "headers", "enabled", "timeout", "oauth"}
    unknown = sorted(set(server) - known)
    url = server.get("url")
    return GivenServer(
        name=name,
        place=place,
        command=read_texts(server.get("command")),
        url=url if isinstance(url, str) else "",
        environment=read_table(server, "environment"),
        headers=read_table(server, "headers"),
        is_enabled=server.get("enabled") is not False,
        flaw=f"quorum does not know its {escape_unprintable(unknown[0])}" if unknown else "",
    )


def read_gemini(places: ImportPlaces) -> AgentSetup:
    """All that is found of Gemini CLI. Blocks."""
    found = Collector()
    folder = places.home / ".gemini"
    where = RulePlaces(home=str(places.home))
    for directory in (Path("/etc/gemini-cli/policies"), folder / "policies"):
        for path in sorted(directory.glob("*.toml")):
            if (file := found.read(read_toml_file, path)) is not None:
                found.add(find_gemini_policies(file, where))
    for path in (Path("/etc/gemini-cli/settings.json"), folder / "settings.json"):
        if (file := found.read(read_json_file, path)) is not None:
            found.add(find_gemini_rules(file, where))
            for name, table in read_table(file.data, "mcpServers").items():
                found.add(find_server(_read_gemini_server(file, name, table), places.servers))
            found.add(_find_hooks(file))
            found.add(_find_model(file))
            found.add(name_settings(file, GEMINI, GEMINI_READ))
            known = ("mcpServers", "excludeTools", "allowedTools", "hooks", "model", *list_tables(GEMINI))
            found.name_other_keys(file, known)
    found.add(find_instructions(folder / "GEMINI.md", places.own))
    found.add(find_files(TakeoverKind.SKILL, folder / "skills", places.own / "skills", "*/SKILL.md"))
    found.add(_name_files(folder, "commands/**/*.toml", TakeoverKind.COMMAND, _NO_COMMAND))
    return _build_setup("Gemini CLI", GEMINI_CHECKED, found)


def _read_gemini_server(file: ForeignFile, name: str, server: object) -> GivenServer:
    if not isinstance(server, Mapping):
        return read_claude_server(file, name, server)
    extra = ("includeTools", "excludeTools", "trust", "description", "httpUrl")
    plain = {key: value for key, value in server.items() if key not in extra}
    if "httpUrl" in server:
        plain |= {"url": server["httpUrl"], "type": "http"}
    elif "url" in server and "type" not in server:
        plain["type"] = "sse"  # as the program takes it
    return replace(
        read_claude_server(file, name, plain),
        only=read_texts(server.get("includeTools")),
        without=read_texts(server.get("excludeTools")),
    )


def read_copilot(places: ImportPlaces) -> AgentSetup:
    """All that is found of Copilot CLI. Blocks."""
    found = Collector()
    folder = places.locate("COPILOT_HOME", ".copilot")
    for name in ("settings.json", "config.json"):
        if (file := found.read(read_json_file, folder / name)) is not None:
            found.add(find_copilot_rules(file, RulePlaces(home=str(places.home))))
            found.add(_find_hooks(file))
            found.add(_find_model(file))
            found.add(name_settings(file, COPILOT))
            known = ("deniedUrls", "allowedUrls", "hooks", "model", *list_tables(COPILOT))
            found.name_other_keys(file, known)
    if (file := found.read(read_json_file, folder / "mcp-config.json")) is not None:
        for name, table in read_table(file.data, "mcpServers").items():
            found.add(find_server(_read_copilot_server(file, name, table), places.servers))
    why = "approvals that Copilot CLI keeps allow nothing here: it asks"
    found.add(_name_files(folder, "permissions-config.json", TakeoverKind.SETTING, why))
    found.add(find_instructions(folder / "copilot-instructions.md", places.own))
    found.add(find_files(TakeoverKind.SKILL, folder / "skills", places.own / "skills", "*/SKILL.md"))
    found.add(
        _name_files(
            folder, "agents/*.md", TakeoverKind.AGENT, "not taken over: write it anew: docs/subagents.md"
        )
    )
    return _build_setup("Copilot CLI", COPILOT_CHECKED, found)


def _read_copilot_server(file: ForeignFile, name: str, server: object) -> GivenServer:
    if not isinstance(server, Mapping):
        return read_claude_server(file, name, server)
    tools = read_texts(server.get("tools"))
    plain = {key: value for key, value in server.items() if key != "tools"}
    return replace(read_claude_server(file, name, plain), only=[] if "*" in tools else tools)


def read_kimi(places: ImportPlaces) -> AgentSetup:
    """All that is found of Kimi Code, and of the kimi-cli before it. Blocks."""
    found = Collector()
    for folder in (places.locate("KIMI_CODE_HOME", ".kimi-code"), places.home / ".kimi"):
        _read_kimi_folder(folder, found, places)
    return _build_setup("Kimi Code", KIMI_CHECKED, found)


def _read_kimi_folder(folder: Path, found: Collector, places: ImportPlaces) -> None:
    if (file := found.read(read_toml_file, folder / "config.toml")) is not None:
        found.add(find_kimi_rules(file, RulePlaces(home=str(places.home))))
        found.add(_find_model(file, "default_model"))
        if isinstance(hooks := file.data.get("hooks"), list) and hooks:
            why = "hooks of other agents never run here; write your own: docs/hooks.md"
            there, place = f"hooks ({len(hooks)})", file.locate("hooks")
            found.findings.append(TakeoverItem(kind=TakeoverKind.HOOK, there=there, place=place, why=why))
        found.add(name_settings(file, KIMI, KIMI_READ))
        found.name_other_keys(file, ("default_model", "hooks", *list_tables(KIMI)))
    if (file := found.read(read_json_file, folder / "mcp.json")) is not None:
        for name, table in read_table(file.data, "mcpServers").items():
            found.add(find_server(_read_kimi_server(file, name, table), places.servers))
    found.add(find_instructions(folder / "AGENTS.md", places.own))
    found.add(find_files(TakeoverKind.SKILL, folder / "skills", places.own / "skills", "*/SKILL.md"))


def _read_kimi_server(file: ForeignFile, name: str, server: object) -> GivenServer:
    if not isinstance(server, Mapping):
        return read_claude_server(file, name, server)
    plain = dict(server)
    kind = plain.pop("transport", None)
    return read_claude_server(file, name, {**plain, "type": kind} if kind else plain)


def _build_setup(agent: str, checked_with: str, found: Collector) -> AgentSetup:
    return AgentSetup(
        agent=agent,
        checked_with=checked_with,
        findings=tuple(found.findings),
        problems=tuple(found.problems),
    )


def _find_model(file: ForeignFile, key: str = "model") -> Iterator[TakeoverItem]:
    model = file.data.get(key)
    name = model.get("name") if isinstance(model, Mapping) else model
    if isinstance(name, str):
        shown = shorten_text(escape_unprintable(name))
        why = "choose it yourself: models.decision"
        yield TakeoverItem(kind=TakeoverKind.MODEL, there=shown, place=file.locate(key), why=why)


def _name_files(folder: Path, pattern: str, kind: TakeoverKind, why: str) -> Iterator[TakeoverItem]:
    for path in sorted(folder.glob(pattern)):
        if path.is_file():
            yield TakeoverItem(kind=kind, there=path.name, place=escape_path(path), why=why)


AGENT = "opencode"
FILE_NAME = "opencode.db"
_COLUMNS = {
    "session": {"id", "parent_id", "directory", "model", "time_created"},
    "message": {"id", "session_id", "time_created", "data"},
    "part": {"id", "message_id", "session_id", "data"},
}
_SESSIONS = """SELECT s.id, COALESCE((SELECT SUM(LENGTH(p.data)) FROM part p WHERE p.session_id = s.id), 0)
FROM session s WHERE s.parent_id IS NULL ORDER BY s.time_created, s.id"""
_PARTS = """SELECT m.id, m.time_created, m.data, p.data FROM message m LEFT JOIN part p ON p.message_id = m.id
WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.id"""


def list_opencode_sessions(folder: Path) -> Iterator[SessionSource]:
    """All sessions of persons. Raises ValueError for a database of another form, and OSError."""
    file = folder / FILE_NAME
    if not file.is_file():
        return
    with closing(_connect(file)) as connection:
        try:
            for table, columns in _COLUMNS.items():
                found = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
                if missing := columns - found:
                    raise ValueError(
                        f"its table {table} has no {', '.join(sorted(missing))}, as quorum knows it"
                    )
            rows = connection.execute(_SESSIONS).fetchall()
        except sqlite3.Error as error:
            raise ValueError(f"it cannot be read: {error}") from error
    for name, size in rows:
        yield SessionSource(agent=AGENT, file=file, size=size, name=name)


def _connect(file: Path) -> sqlite3.Connection:
    """Without a log beside it, it is opened so that none is made."""
    has_log = os.path.exists(f"{file}-wal")
    address = f"file:{quote(str(file))}?mode=ro{'' if has_log else '&immutable=1'}"
    try:
        return sqlite3.connect(address, uri=True)
    except sqlite3.Error as error:
        raise OSError(f"{file} cannot be opened: {error}") from error


def read_opencode_session(source: SessionSource) -> ReadSession | None:
    """Begin to read one. Raises OSError and ValueError."""
    with closing(_connect(source.file)) as connection:
        try:
            query = "SELECT directory, model, time_created FROM session WHERE id = ?"
            row = connection.execute(query, (source.name,)).fetchone()
        except sqlite3.Error as error:
            raise ValueError(f"it cannot be read: {error}") from error
    if row is None:
        return None
    directory, model, created = row
    session = ForeignSession(
        agent=AGENT,
        source_id=source.name,
        cwd=str(directory),
        model=_name_model(_decode(model)),
        started_ms=int(created or 0),
        file=str(source.file),
    )
    flaws: list[str] = []
    return ReadSession(session=session, items=_read_items(source, flaws), flaws=flaws)


def _name_model(model: Mapping[str, Any]) -> str:
    provider = str(model.get("providerID") or "unknown")
    return f"{provider}/{model.get('id') or model.get('modelID') or 'unknown'}"


def _decode(text: object) -> Mapping[str, Any]:
    try:
        found = msgspec.json.decode(text) if isinstance(text, str | bytes) else None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}


def _read_items(source: SessionSource, flaws: list[str]) -> Iterator[ForeignItem]:
    message: tuple[str, int, Mapping[str, Any]] | None = None
    parts: list[Mapping[str, Any]] = []
    with closing(_connect(source.file)) as connection:
        for name, created, data, part in connection.execute(_PARTS, (source.name,)):
            if message is None or message[0] != name:
                yield from _read_message(message, parts)
                message, parts = (name, int(created or 0), _decode(data)), []
                if not message[2]:
                    flaws.append(f"{source.file}: the message {name} is damaged and is left out")
            parts.append(_decode(part))
        yield from _read_message(message, parts)


def _read_message(
    message: tuple[str, int, Mapping[str, Any]] | None, parts: list[Mapping[str, Any]]
) -> Iterator[ForeignItem]:
    if message is None:
        return
    _, at_ms, data = message
    said = [part for part in parts if part.get("type") == "text" and not part.get("ignored")]
    text = "\n\n".join(str(part.get("text", "")) for part in said if not part.get("synthetic"))
    if data.get("role") == "user":
        if text:
            yield ForeignPrompt(at_ms=at_ms, text=text)
        return
    if data.get("summary") is True:
        yield ForeignSummary(at_ms=at_ms, text=text)
        return
    tools = [part for part in parts if part.get("type") == "tool"]
    thoughts = [str(part.get("text", "")) for part in parts if part.get("type") == "reasoning"]
    yield ForeignAnswer(
        at_ms=at_ms,
        text=text,
        reasoning="\n\n".join(thoughts),
        calls=tuple(_read_call(part) for part in tools),
        model=str(data.get("modelID", "")),
    )
    for part in tools:
        state = part.get("state")
        if isinstance(state, Mapping) and state.get("status") in ("completed", "error"):
            is_error = state["status"] == "error"
            output = str(state.get("error" if is_error else "output") or "")
            yield ForeignResult(at_ms=at_ms, call_id=str(part.get("callID")), output=output, is_error=is_error)


def _read_call(part: Mapping[str, Any]) -> ForeignCall:
    state = part.get("state")
    given = state.get("input") if isinstance(state, Mapping) else None
    return ForeignCall(
        id=str(part.get("callID")),
        tool=str(part.get("tool")),
        arguments=given if isinstance(given, dict) else {},
    )


def _find_hooks(file: ForeignFile) -> Iterator[TakeoverItem]:
    """The hooks of a file in this form: named, and never run."""
    for event, entries in read_table(file.data, "hooks").items():
        count = len(entries) if isinstance(entries, list) else 1
        why = "hooks of other agents never run here; write your own: docs/hooks.md"
        there = f"{escape_unprintable(str(event))[:60]} ({count})"
        yield TakeoverItem(kind=TakeoverKind.HOOK, there=there, place=file.locate(event), why=why)
