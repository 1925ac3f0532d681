"""The sessions that other agents keep, and how each is read, line by line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from quorum.domain.importing.foreign_session import ForeignItem, ForeignSession

LARGEST_LINE = 64 << 20
_READ_AHEAD = 1 << 20  # lines are longer than the usual buffer


class SessionSource(Struct, frozen=True, kw_only=True):
    """One session as it is kept: by which `agent`, in what `file`, of how many bytes, and its `name` in it."""

    agent: str
    file: Path
    size: int
    name: str = ""


class ReadSession(Struct, frozen=True, kw_only=True):
    """A session that is being read. `flaws` grows with sentences about what of it could not be."""

    session: ForeignSession
    items: Iterator[ForeignItem]
    flaws: list[str]


_Kind = TypeVar("_Kind")
ReadSource = Callable[[SessionSource], ReadSession | None]
"""Begins to read a session; None for one of no person, such as a subagent's. Raises OSError and ValueError."""


def list_files(folder: Path, pattern: str, agent: str) -> Iterator[SessionSource]:
    """The files of sessions below a folder, in the order of their names."""
    for path in sorted(folder.glob(pattern)):
        try:
            status = path.stat()
        except OSError:
            continue
        if path.is_file() and status.st_size:
            yield SessionSource(agent=agent, file=path, size=status.st_size)


def read_lines(file: Path, flaws: list[str]) -> Iterator[bytes]:
    """The lines of a file. One that is too long to be a message is left out, and said."""
    with file.open("rb", buffering=_READ_AHEAD) as lines:
        for number, line in enumerate(lines, 1):
            if len(line) > LARGEST_LINE:
                flaws.append(f"{file}:{number}: the line is longer than {LARGEST_LINE:,} bytes and is left out")
            elif not line.isspace():
                yield line


def decode_line(line: bytes, decoder: msgspec.json.Decoder[_Kind], kind: type[_Kind]) -> _Kind:
    """A line as what it is read as. Halves of surrogate pairs, as programs write them that cut texts
    anywhere, need the slower way. Raises ValueError for a damaged one."""
    try:
        return decoder.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    try:
        return msgspec.convert(json.loads(line), kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ValueError("the line is damaged") from error


def parse_time(text: object) -> int:
    """A time as milliseconds since 1970; 0 where there is none."""
    if isinstance(text, int | float) and not isinstance(text, bool):
        return int(text)
    try:
        return int(datetime.fromisoformat(str(text)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0


def join_texts(content: object) -> str:
    """The text in what a message holds: a text, or a list of parts, of which those that are none are named."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else json.dumps(content, ensure_ascii=False)
    pieces: list[str] = []
    for part in content:
        if isinstance(part, str):
            pieces.append(part)
        elif isinstance(part, Mapping):
            text = part.get("text")
            pieces.append(text if isinstance(text, str) else f"[{part.get('type', 'content')}]")
    return "\n".join(pieces)
