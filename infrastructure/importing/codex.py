"""What Codex keeps: command rules, permission profiles, MCP servers, instructions, prompts, skills, sessions.

A session is a file of JSON lines, `rollout-TIME-ID.jsonl`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

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
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.config.foreign_file import ForeignFile, read_table, read_toml_file
from quorum.infrastructure.config.foreign_settings import (
    CODEX_CHECKED_WITH,
    find_codex_rules,
    find_profile_limits,
    read_text_file,
)
from quorum.infrastructure.config.toml_text import escape_unprintable, shorten_text
from quorum.infrastructure.importing.claude import name_memories
from quorum.infrastructure.importing.given_settings import (
    CODEX,
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
    decode_line,
    find_files,
    find_instructions,
    join_texts,
    list_files,
    parse_time,
    read_lines,
)

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
        agent="Codex",
        checked_with=CODEX_CHECKED_WITH,
        findings=tuple(found.findings),
        problems=tuple(found.problems),
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


AGENT = "Codex"
_MOST_LINES_BEFORE_MODEL = 200
# What is put before the person's words in their name.
_CONTEXT = ("<environment_context>", "<user_instructions>", "<skills_instructions>", "# AGENTS.md instructions")


class _CodexLine(Struct):
    type: str = ""
    timestamp: str = ""
    payload: Any = None


_LINES = msgspec.json.Decoder(_CodexLine)


def list_codex_sessions(folder: Path) -> Iterator[SessionSource]:
    """All sessions, also those that were archived."""
    for name in ("sessions", "archived_sessions"):
        yield from list_files(folder / name, "**/rollout-*.jsonl", AGENT)


def read_codex_session(source: SessionSource) -> ReadSession | None:
    """Begin to read one. Raises OSError, and ValueError where its beginning is not known."""
    flaws: list[str] = []
    meta: Mapping[str, Any] | None = None
    model, at_ms = "", 0
    for number, line in enumerate(_decode(source.file, [])):
        if line.type == "session_meta" and meta is None:
            meta = line.payload if isinstance(line.payload, dict) else {}
            at_ms = parse_time(line.timestamp)
        if line.type == "turn_context":
            model = str(line.payload.get("model", "")) if isinstance(line.payload, dict) else ""
        if (meta is not None and model) or number > _MOST_LINES_BEFORE_MODEL:
            break
    if meta is None:
        raise ValueError("it does not begin with session_meta, as quorum knows it")
    if isinstance(meta.get("source"), Mapping):
        return None
    session = ForeignSession(
        agent=AGENT,
        source_id=str(meta.get("id") or source.file.stem),
        cwd=str(meta.get("cwd", "")),
        model=f"openai/{model or 'unknown'}",
        started_ms=at_ms,
        file=str(source.file),
    )
    return ReadSession(session=session, items=_read_items(source.file, model, flaws), flaws=flaws)


def _decode(file: Path, flaws: list[str]) -> Iterator[_CodexLine]:
    for number, line in enumerate(read_lines(file, flaws), 1):
        try:
            yield decode_line(line, _LINES, _CodexLine)
        except ValueError:
            flaws.append(f"{file}:{number}: the line is damaged and is left out")


def _read_items(file: Path, model: str, flaws: list[str]) -> Iterator[ForeignItem]:
    """What was said. The text and the calls of an answer come one after the other."""
    answer = _Answer(model)
    for line in _decode(file, flaws):
        item = line.payload
        if line.type not in ("response_item", "compacted") or not isinstance(item, Mapping):
            continue
        now = parse_time(line.timestamp)
        if line.type == "compacted":
            yield from answer.take()
            yield ForeignSummary(at_ms=now, text=str(item.get("message") or "(the summary is not readable)"))
        else:
            yield from _read_item(item, now, answer)
        answer.at_ms = now
    yield from answer.take()


def _read_item(item: Mapping[str, Any], now: int, answer: _Answer) -> Iterator[ForeignItem]:
    match item.get("type"), item.get("role"):
        case "message", "user":
            if text := _find_prompt(item):
                yield from answer.take()
                yield ForeignPrompt(at_ms=now, text=text)
        case "message", "assistant":
            if answer.calls:
                yield from answer.take()
            answer.texts.append(join_texts(item.get("content")))
        case "reasoning", _:
            answer.thoughts += filter(None, [join_texts(item.get("summary") or [])])
        case (("function_call" | "custom_tool_call" | "local_shell_call"), _):
            answer.calls.append(_read_call(item))
        case (("function_call_output" | "custom_tool_call_output"), _):
            yield from answer.take()
            yield _read_result(item, now)
        case _:
            pass


class _Answer(Struct):
    """What came of an answer so far."""

    model: str
    at_ms: int = 0
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[ForeignCall] = field(default_factory=list)

    def take(self) -> Iterator[ForeignItem]:
        """The answer, if there is any; the next begins."""
        if self.texts or self.calls or self.thoughts:
            yield ForeignAnswer(
                at_ms=self.at_ms,
                text="\n\n".join(self.texts),
                reasoning="\n\n".join(self.thoughts),
                calls=tuple(self.calls),
                model=self.model,
            )
        for pending in (self.texts, self.thoughts, self.calls):
            pending.clear()


def _find_prompt(item: Mapping[str, Any]) -> str:
    """What the person said; empty for what Codex says in their name."""
    text = join_texts(item.get("content"))
    told = item.get("internal_chat_message_metadata_passthrough")
    kinds = told.get("content_item_kinds") if isinstance(told, Mapping) else None
    if isinstance(kinds, list) and kinds:
        return text if any(str(kind).startswith("user") for kind in kinds) else ""
    return "" if text.lstrip().startswith(_CONTEXT) else text


def _read_call(item: Mapping[str, Any]) -> ForeignCall:
    given = item.get("arguments", item.get("input", item.get("action")))
    arguments: JsonObject = {}
    if isinstance(given, Mapping):
        arguments = dict(given)
    elif isinstance(given, str):
        try:
            parsed = json.loads(given)
        except (ValueError, RecursionError):
            parsed = None
        arguments = parsed if isinstance(parsed, dict) else {"input": given}
    tool = str(item.get("name") or item.get("type"))
    return ForeignCall(id=str(item.get("call_id") or item.get("id")), tool=tool, arguments=arguments)


def _read_result(item: Mapping[str, Any], at_ms: int) -> ForeignResult:
    output = item.get("output")
    if isinstance(output, Mapping):
        return ForeignResult(
            at_ms=at_ms,
            call_id=str(item.get("call_id")),
            output=join_texts(output.get("content")),
            is_error=output.get("success") is False,
        )
    return ForeignResult(at_ms=at_ms, call_id=str(item.get("call_id")), output=join_texts(output))
