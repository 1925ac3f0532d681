"""What an import is about: where other agents keep their things, and what is here already."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct, field

from quorum.domain.errors import ConfigError
from quorum.domain.importing.foreign_session import ForeignItem, ForeignSession, TakeoverItem, TakeoverKind
from quorum.domain.replacing import replace
from quorum.infrastructure.config.foreign_file import ForeignFile
from quorum.infrastructure.config.toml_file import escape_path


class ImportPlaces(Struct, frozen=True, kw_only=True):
    """`home` and `environ` are the person's, `root` is the folder to work in, `own` that of quorum's own
    settings, `servers` are the MCP servers that these name, and `hooks` the tables of their hooks."""

    home: Path
    root: Path
    own: Path
    environ: Mapping[str, str]
    hooks: Sequence[Mapping[str, object]] = ()
    servers: Mapping[str, object] = field(default_factory=dict)

    def locate(self, variable: str, usual: str) -> Path:
        """The folder that an agent's variable names, or its usual one below the home folder."""
        given = self.environ.get(variable, "")
        return Path(given) if Path(given).is_absolute() else self.home / usual

    def locate_data(self, name: str) -> Path:
        """The folder of this name among those in which programs keep data."""
        given = Path(self.environ.get("XDG_DATA_HOME", ""))
        return (given if given.is_absolute() else self.home / ".local/share") / name


class Collector:
    """Collects findings and problems of one agent: what cannot be read stops nothing else."""

    def __init__(self) -> None:
        self.findings: list[TakeoverItem] = []
        self.problems: list[str] = []

    def read(self, read: Callable[[Path], ForeignFile | None], path: Path) -> ForeignFile | None:
        """A file, None where there is none or it cannot be read."""
        try:
            return read(path)
        except ConfigError as error:
            self.problems.append(str(error))
            return None

    def add(self, findings: Iterator[TakeoverItem]) -> None:
        """Take these."""
        self.findings.extend(findings)

    def name_other_keys(self, file: ForeignFile, known: Sequence[str]) -> None:
        """Name the keys of a file that mean nothing here."""
        others = sorted(key for key in file.data if key not in known)
        if others:
            self.findings.append(
                TakeoverItem(
                    kind=TakeoverKind.SETTING,
                    there=", ".join(others),
                    place=escape_path(file.path),
                    why="quorum has no such settings, or does not know them",
                )
            )


def find_instructions(file: Path, own: Path) -> Iterator[TakeoverItem]:
    """A person's instruction file, which becomes theirs here if they have none."""
    if not file.is_file():
        return
    target = own / "AGENTS.md"
    there = [name for name in ("AGENTS.md", "CLAUDE.md") if (own / name).is_file()]
    finding = TakeoverItem(kind=TakeoverKind.INSTRUCTIONS, there=file.name, place=escape_path(file))
    if not there:
        yield _copy(finding, file, target)
    elif _hold_same(file, own / there[0]):
        yield _with_here(finding, "here already")
    else:
        why = f"not taken over: you have {escape_path(own / there[0])}; add to it what you miss"
        yield _with_here(finding, "", why)


def find_files(kind: TakeoverKind, folder: Path, target: Path, pattern: str = "*.md") -> Iterator[TakeoverItem]:
    """The files of a folder, or with `*/SKILL.md` folders of skills, which are copied if none of their name
    is here."""
    for file in sorted(folder.glob(pattern)) if folder.is_dir() else ():
        source = file.parent if file.name == "SKILL.md" else file
        finding = TakeoverItem(kind=kind, there=source.stem, place=escape_path(file))
        place = target / source.name
        if not place.exists():
            yield _copy(finding, source, place)
        elif _hold_same(file, place / file.name if source.is_dir() else place):
            yield _with_here(finding, "here already")
        else:
            yield _with_here(finding, "", f"not taken over: {escape_path(place)} is another one")


def _copy(finding: TakeoverItem, source: Path, target: Path) -> TakeoverItem:
    return replace(finding, here=f"copied to {escape_path(target)}", source=str(source), target=str(target))


def _with_here(finding: TakeoverItem, here: str, why: str = "") -> TakeoverItem:
    return replace(finding, here=here, why=why)


def _hold_same(one: Path, other: Path) -> bool:
    try:
        return one.read_bytes() == other.read_bytes()
    except OSError:
        return False


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
