"""Sessions of Claude Code: one file of JSON lines each, which form a tree with a branch for each rewind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from quorum.domain.importing.foreign_session import (
    ForeignAnswer,
    ForeignCall,
    ForeignItem,
    ForeignPrompt,
    ForeignResult,
    ForeignSession,
    ForeignSummary,
)
from quorum.infrastructure.importing.session_files import (
    ReadSession,
    SessionSource,
    decode_line,
    join_texts,
    list_files,
    parse_time,
    read_lines,
)

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
                model = _find_model(line) or model
    live: set[str] = set()
    place: str | None = leaf
    while place and place not in live:
        live.add(place)
        place = parents.get(place)
    return frozenset(live), first, model


def _name_damage(file: Path, number: int) -> str:
    return f"{file}:{number}: the line is damaged and is left out"


def _find_model(line: bytes) -> str:
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
