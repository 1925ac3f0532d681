"""What Claude Code keeps: rules, MCP servers, instructions, and sessions.

Its skills, commands and agents are read where they lie. A session is a file of JSON lines, which form a tree
with a branch for each rewind.

A command that may run a file of whatever folder is open is never taken over: a hook has the person's rights,
and the folder may be a stranger's.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

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
from quorum.domain.review.permission_rules import Answer
from quorum.infrastructure.config.foreign_file import ForeignFile, read_json_file, read_table
from quorum.infrastructure.config.foreign_settings import CLAUDE_CHECKED_WITH, find_claude_rules
from quorum.infrastructure.config.paths import list_folders_up_to_repository
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.config.toml_text import escape_unprintable, shorten_text
from quorum.infrastructure.execution.shell.git_index import read_index
from quorum.infrastructure.hooks.claude_dialect import CLAUDE_EVENTS, find_matcher_problem
from quorum.infrastructure.importing.given_settings import (
    CLAUDE,
    CLAUDE_READ,
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
    find_instructions,
    join_texts,
    list_files,
    parse_time,
    read_lines,
)

_MANAGED = Path("/etc/claude-code/managed-settings.json")
_SERVER_KEYS = frozenset({"type", "command", "args", "env", "url", "headers", "timeout", "alwaysLoad", "oauth"})
_KNOWN = ("$schema", "hooks", "disableAllHooks", "model", "env")
_READ_HERE = "read here where it lies"


def read_claude(places: ImportPlaces) -> AgentSetup:
    """All that is found of Claude Code. Blocks."""
    found = Collector()
    folder = places.locate("CLAUDE_CONFIG_DIR", ".claude")
    for path in (_MANAGED, folder / "settings.json"):
        if (file := found.read(read_json_file, path)) is not None:
            found.add(find_claude_rules(file, RulePlaces(home=str(places.home))))
            found.add(find_claude_hooks(file, places))
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
            there = shorten_text(escape_unprintable(name), 80)
            place = file.locate(name)
            found.findings.append(TakeoverItem(kind=TakeoverKind.SERVER, there=there, place=place, why=why))
    found.add(find_instructions(folder / "CLAUDE.md", places.own))
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(places.root))
    found.add(name_memories(folder / "projects" / slug / "memory"))
    if folder == places.home / ".claude":
        found.add(_find_read_here(folder))
    return AgentSetup(
        agent="Claude Code",
        checked_with=CLAUDE_CHECKED_WITH,
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


def _find_model(file: ForeignFile) -> Iterator[TakeoverItem]:
    model = file.data.get("model")
    if isinstance(model, str):
        why = f'choose it yourself: models.decision = "anthropic/{shorten_text(escape_unprintable(model))}"'
        there = shorten_text(escape_unprintable(model))
        yield TakeoverItem(kind=TakeoverKind.MODEL, there=there, place=file.locate("model"), why=why)
    if names := ", ".join(map(escape_unprintable, read_table(file.data, "env"))):
        why = "values of variables are not copied: set them in your environment"
        there = shorten_text(f"env: {names}", 100)
        yield TakeoverItem(kind=TakeoverKind.SETTING, there=there, place=file.locate("env"), why=why)


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


AGENT = "Claude Code"
_MODEL = re.compile(rb'"model"\s*:\s*"([^"\\]{1,200})"')
_SAID = frozenset({"user", "assistant"})


class _Link(Struct):
    """What says where a line belongs; the rest of it is passed over."""

    type: str = ""
    uuid: str | None = None
    parent: str | None = msgspec.field(default=None, name="parentUuid")
    logical_parent: str | None = msgspec.field(default=None, name="logicalParentUuid")
    is_sidechain: bool = msgspec.field(default=False, name="isSidechain")
    timestamp: str = ""
    cwd: str = ""


class _Message(Struct):
    content: Any = None
    id: str = ""
    model: str = ""


class _ClaudeLine(_Link):
    message: _Message | None = None
    is_meta: bool = msgspec.field(default=False, name="isMeta")
    is_summary: bool = msgspec.field(default=False, name="isCompactSummary")


_LINKS = msgspec.json.Decoder(_Link)
_LINES = msgspec.json.Decoder(_ClaudeLine)


def list_claude_sessions(folder: Path) -> Iterator[SessionSource]:
    """The sessions of all projects; those of subagents are none."""
    return (each for each in list_files(folder / "projects", "*/*.jsonl", AGENT) if not _is_agents(each.file))


def _is_agents(file: Path) -> bool:
    return file.name.startswith("agent-")


def read_claude_session(source: SessionSource) -> ReadSession | None:
    """Begin to read one. Raises OSError."""
    flaws: list[str] = []
    live, first, model = _find_branch(source.file, flaws)
    if first is None:
        return None
    session = ForeignSession(
        agent=AGENT,
        source_id=source.file.stem,
        cwd=first.cwd,
        model=f"anthropic/{model or 'unknown'}",
        started_ms=parse_time(first.timestamp),
        file=str(source.file),
    )
    return ReadSession(session=session, items=_read_items(source.file, live, flaws), flaws=flaws)


def _find_branch(file: Path, flaws: list[str]) -> tuple[frozenset[str], _Link | None, str]:
    """The lines of the branch that was used last, the first line that says something, and the last model."""
    parents: dict[str, str | None] = {}
    first: _Link | None = None
    leaf, model = "", ""
    for number, line in enumerate(read_lines(file, flaws), 1):
        try:
            link = decode_line(line, _LINKS, _Link)
        except ValueError:
            flaws.append(_name_damage(file, number))
            continue
        if link.uuid is None or link.is_sidechain:
            continue
        parents[link.uuid] = link.parent or link.logical_parent
        if link.type in _SAID:
            leaf = link.uuid
            first = first if first is not None else link
            if link.type == "assistant":
                model = _find_session_model(line) or model
    live: set[str] = set()
    place: str | None = leaf
    while place and place not in live:
        live.add(place)
        place = parents.get(place)
    return frozenset(live), first, model


def _name_damage(file: Path, number: int) -> str:
    return f"{file}:{number}: the line is damaged and is left out"


def _find_session_model(line: bytes) -> str:
    """The name of the model in a line, without decoding the rest."""
    found = _MODEL.search(line)
    name = found[1].decode("utf-8", "replace") if found is not None else ""
    return "" if name.startswith("<") else name


def _read_items(file: Path, live: frozenset[str], flaws: list[str]) -> Iterator[ForeignItem]:
    """What was said on that branch. The lines of one answer come one after the other, each with one block."""
    answer: list[_ClaudeLine] = []
    for number, line in enumerate(read_lines(file, []), 1):
        try:
            found = decode_line(line, _LINES, _ClaudeLine)
        except ValueError:
            if (flaw := _name_damage(file, number)) not in flaws:
                flaws.append(flaw)
            continue
        message = found.message
        if found.type not in _SAID or message is None or found.is_sidechain:
            continue
        is_live = found.uuid in live
        if found.type == "assistant":
            if not is_live:
                continue
            if answer and _find_id(answer[-1]) != _find_id(found):
                yield _join_answer(answer)
                answer = []
            answer.append(found)
            continue
        results = list(_find_results(found)) if is_live or found.parent in live else []
        if answer and (is_live or results):
            yield _join_answer(answer)
            answer = []
        yield from results
        if is_live and not results and not found.is_meta:
            text, at_ms = join_texts(message.content), parse_time(found.timestamp)
            yield (
                ForeignSummary(at_ms=at_ms, text=text)
                if found.is_summary
                else ForeignPrompt(at_ms=at_ms, text=text)
            )
    if answer:
        yield _join_answer(answer)


def _find_id(line: _ClaudeLine) -> str:
    return line.message.id if line.message is not None else ""


def _join_answer(lines: list[_ClaudeLine]) -> ForeignAnswer:
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[ForeignCall] = []
    for line in lines:
        content = line.message.content if line.message is not None else None
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content or ():
            if not isinstance(block, Mapping):
                continue
            match block.get("type"):
                case "text":
                    texts.append(str(block.get("text", "")))
                case "thinking":
                    thoughts.append(str(block.get("thinking", "")))
                case "tool_use":
                    given = block.get("input")
                    arguments = given if isinstance(given, dict) else {}
                    call = ForeignCall(
                        id=str(block.get("id")), tool=str(block.get("name")), arguments=arguments
                    )
                    calls.append(call)
                case _:
                    pass
    last = lines[-1]
    return ForeignAnswer(
        at_ms=parse_time(last.timestamp),
        text="".join(texts),
        reasoning="\n\n".join(thoughts),
        calls=tuple(calls),
        model=last.message.model if last.message is not None else "",
    )


def _find_results(line: _ClaudeLine) -> Iterator[ForeignResult]:
    content = line.message.content if line.message is not None else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping) and block.get("type") == "tool_result":
            yield ForeignResult(
                at_ms=parse_time(line.timestamp),
                call_id=str(block.get("tool_use_id")),
                output=join_texts(block.get("content")),
                is_error=block.get("is_error") is True,
            )


_KNOWN_KEYS = frozenset({"type", "command", "args", "timeout", "statusMessage", "async"})
_MEANINGS: Mapping[str, str] = {
    "PreToolUse": "it can deny and change calls; what it allows is decided on as any other",
    "PermissionRequest": "it can deny, and what it would allow is asked",
    "Stop": "it can make a turn go on, also one of a subagent",
}
_GATE = "quorum gate "
_IS_OWN = "it is quorum's own, for the calls of Claude Code"
_USUAL_TIMEOUT, _MOST_TIMEOUT = 60.0, 3600.0
_PLAIN = re.compile(r"""[\w@%+=:,./ ~'"-]+""", re.ASCII)
_SEPARATORS = re.compile(r"[\s;&|<>()`\"'={}]+")
_FIXED = ("/", "~/", "$HOME/", "${HOME}/")
_SCRIPT = re.compile(r".+\.(py|sh|bash|zsh|fish|js|cjs|mjs|ts|rb|pl|php|lua|ps1)", re.IGNORECASE)
_SHELLS = ("sh", "bash", "dash", "zsh", "fish")
# Programs that read what the working directory holds as code: scripts, modules, recipes, settings.
_RUNNERS = frozenset(
    {
        *_SHELLS,
        *("env", "source", ".", "exec", "nohup", "sudo", "xargs", "time", "timeout", "nice"),
        *("python", "node", "deno", "bun", "ruby", "perl", "php", "lua", "tsx", "ts-node", "pwsh"),
        *(
            "uv",
            "uvx",
            "pipx",
            "pipenv",
            "poetry",
            "npm",
            "npx",
            "pnpm",
            "pnpx",
            "yarn",
            "bunx",
            "bundle",
            "rake",
        ),
        *(
            "make",
            "cmake",
            "ninja",
            "just",
            "task",
            "cargo",
            "go",
            "mvn",
            "gradle",
            "docker",
            "git",
            "hg",
            "svn",
        ),
    }
)


def find_claude_hooks(file: ForeignFile, places: ImportPlaces) -> Iterator[TakeoverItem]:
    """All hooks of a file of settings, each with what it becomes here."""
    are_off = file.data.get("disableAllHooks") is True
    for event, groups in read_table(file.data, "hooks").items():
        place, named = file.locate(event), escape_unprintable(str(event))[:60]
        if isinstance(groups, list) and groups and all(map(_is_gate, groups)):
            there = f"{named}: {_GATE.strip()}"
            yield TakeoverItem(kind=TakeoverKind.HOOK, there=there, place=place, why=_IS_OWN)
            continue
        if event not in CLAUDE_EVENTS or are_off:
            count = len(groups) if isinstance(groups, list) else 1
            why = (
                "hooks are switched off there"
                if are_off
                else "hooks of this event do not run here; write your own: docs/hooks.md"
            )
            yield TakeoverItem(kind=TakeoverKind.HOOK, there=f"{named} ({count})", place=place, why=why)
            continue
        for group in groups if isinstance(groups, list) else (groups,):
            matcher = group.get("matcher", "") if isinstance(group, dict) else ""
            entries = group.get("hooks") if isinstance(group, dict) else None
            for entry in entries if isinstance(entries, list) else (entries,):
                yield _translate(str(event), matcher, entry, place, places)


def _is_gate(group: object) -> bool:
    """Whether all hooks of a group ask quorum."""
    entries = group.get("hooks") if isinstance(group, dict) else None
    return (
        isinstance(entries, list)
        and bool(entries)
        and all(isinstance(entry, dict) and _GATE in str(entry.get("command", "")) for entry in entries)
    )


def _translate(event: str, matcher: object, entry: object, place: str, places: ImportPlaces) -> TakeoverItem:
    given = entry if isinstance(entry, Mapping) else {}
    text = given.get("command")
    there = f"{event}: {shorten_text(escape_unprintable(text)) if isinstance(text, str) else '-'}"

    def name(why: str) -> TakeoverItem:
        return TakeoverItem(kind=TakeoverKind.HOOK, there=there, place=place, why=why)

    if given.get("type", "command") != "command" or not isinstance(text, str) or not text.strip():
        return name("only commands run here")
    if unknown := sorted(set(map(str, given)) - _KNOWN_KEYS):
        return name(f"quorum does not know its {escape_unprintable(unknown[0])[:60]}")
    if not isinstance(matcher, str) or find_matcher_problem(matcher):
        return name("its matcher is not understood")
    args = given.get("args", [])
    if not isinstance(args, list) or not all(isinstance(each, str) for each in args):
        return name("its args are not understood")
    if _GATE in text:
        return name(_IS_OWN)
    if may_run_open_folder(" ".join([text, *args])):
        return name("it may run a file of whatever folder is open; write your own: docs/hooks.md")
    command = [text, *args] if "args" in given else _split_command(text)
    table: dict[str, object] = {
        "event": CLAUDE_EVENTS[event].value,
        "command": command,
        "dialect": "claude",
        **({"matcher": matcher} if matcher not in ("", "*") else {}),
        "timeout_secs": _read_timeout(given.get("timeout")),
    }
    here = f"[[hooks]] {table['event']}: {shorten_text(escape_unprintable(shlex.join(command)), 200)}"
    if any(all(_as_list(known.get(key)) == value for key, value in table.items()) for known in places.hooks):
        return TakeoverItem(kind=TakeoverKind.HOOK, there=there, place=place, here=here, why="is here already")
    why = f"runs with your rights; {_MEANINGS.get(event, 'in its own form')}"
    return TakeoverItem(kind=TakeoverKind.HOOK, there=there, place=place, here=here, why=why, hook=table)


def may_run_open_folder(text: str) -> bool:
    """Whether a command line may run what the working directory holds: by a relative path, by the variable of
    the project's folder, or as the script of an interpreter."""
    if "CLAUDE_PROJECT_DIR" in text or "CLAUDE_PLUGIN_ROOT" in text or "$PWD" in text or "$(" in text:
        return True
    words = [word for word in _SEPARATORS.split(text) if word]
    for before, word in zip(["", *words], words, strict=False):
        if word.startswith(_FIXED) or "://" in word:
            continue
        runner = before.rpartition("/")[2].rstrip(".0123456789")
        is_shell_text = word == "-c" and runner in _SHELLS
        if "/" in word or _SCRIPT.fullmatch(word) or (runner in _RUNNERS and not is_shell_text):
            return True
    return False


def _as_list(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _split_command(text: str) -> list[str]:
    """The words of a command; of one that needs a shell, the shell and it."""
    if _PLAIN.fullmatch(text):
        try:
            words = shlex.split(text)
        except ValueError:
            words = []
        if words and not any(word.startswith("~") for word in words[1:]) and "=" not in words[0]:
            return words
    return ["sh", "-c", text]


def _read_timeout(given: object) -> float:
    if isinstance(given, int | float) and not isinstance(given, bool) and given > 0:
        return min(float(given), _MOST_TIMEOUT)
    return _USUAL_TIMEOUT
