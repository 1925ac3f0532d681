"""Which program a member is, by its content: told with each answer, and said where it is another than before.

The digest covers the program's file and, of an npm package, all its files with those of the packages that it
needs.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

_RECORD = "member-programs.json"
_MOST_FILES = 50_000


class KnownProgram(Struct, frozen=True):
    """A program as it was last asked: its digest, and how it looks without being read."""

    digest: str
    looks: str


class TooManyFiles(Exception):
    """The program has more files than are read."""


class ProgramIdentity:
    """Knows programs by their absolute paths. What was known is kept in the `state` folder, if there is one."""

    def __init__(self, state: Path | None) -> None:
        self._record = state / _RECORD if state is not None else None
        self._changed: set[str] = set()

    def describe(self, program: str) -> str:
        """Its digest in words, with a remark where it has changed since it was last asked; empty where it
        cannot be read. Blocks."""
        try:
            now = self._look(program)
        except (OSError, TooManyFiles):
            return ""
        remark = "; changed since it was last asked" if program in self._changed else ""
        return f"SHA-256 {now.digest}{remark}"

    def _look(self, program: str) -> KnownProgram:
        """Raises OSError and TooManyFiles."""
        files = sorted(set(_list_files(program)))
        looks = hashlib.sha256(repr([_describe(file) for file in files]).encode()).hexdigest()
        kept = self._read_record()
        before = kept.get(program)
        if before is not None and before.looks == looks:
            return before
        now = KnownProgram(_compute_digest(files), looks)
        if before is not None and before.digest != now.digest:
            self._changed.add(program)
        self._keep({**kept, program: now})
        return now

    def _read_record(self) -> Mapping[str, KnownProgram]:
        """Empty where there is none, or a damaged one: then each program is one that was never asked."""
        if self._record is None:
            return {}
        try:
            return msgspec.json.decode(self._record.read_bytes(), type=dict[str, KnownProgram])
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return {}

    def _keep(self, known: Mapping[str, KnownProgram]) -> None:
        """What cannot be kept is found out anew the next time."""
        if self._record is None:
            return
        with suppress(OSError):
            self._record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            made = self._record.with_suffix(f".{os.getpid()}")
            made.write_bytes(msgspec.json.encode(known))
            made.replace(self._record)


def _list_files(program: str) -> Iterator[str]:
    """Its file, and those of the npm package in which that lies and of the packages that this needs."""
    real = os.path.realpath(program)
    yield real
    package, counted = _find_package(real), 0
    waiting, seen = [package] if package else [], {package}
    while waiting:
        folder = waiting.pop()
        for place, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name != "node_modules"]
            counted += len(names)
            if counted > _MOST_FILES:
                raise TooManyFiles
            yield from (path for name in names if os.path.isfile(path := os.path.join(place, name)))
        for needed in _list_needed(folder):
            found = _find_needed(folder, needed)
            if found and found not in seen:
                seen.add(found)
                waiting.append(found)


def _find_package(file: str) -> str:
    """The folder of the npm package that a file lies in; empty where it lies in none."""
    before, mark, after = file.rpartition("/node_modules/")
    if not mark:
        return ""
    names = after.split("/")
    return f"{before}{mark}{'/'.join(names[: 2 if names[0].startswith('@') else 1])}"


def _list_needed(folder: str) -> Iterator[str]:
    try:
        about = msgspec.json.decode(Path(folder, "package.json").read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return
    for field in ("dependencies", "optionalDependencies"):
        named = about.get(field) if isinstance(about, dict) else None
        yield from named if isinstance(named, dict) else ()


def _find_needed(folder: str, name: str) -> str:
    """Where a package is that another one needs, as Node looks for it; empty where it is nowhere."""
    while folder != "/":
        if os.path.isdir(found := os.path.join(folder, "node_modules", name)):
            return os.path.realpath(found)
        folder = os.path.dirname(folder)
    return ""


def _describe(file: str) -> tuple[str, int, int, int, int]:
    """How a file looks; its time of change too, as anybody can set the other one back."""
    status = os.stat(file)
    return file, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _compute_digest(files: Sequence[str]) -> str:
    """The digest of one file, and of several that of their names and digests. Raises OSError."""
    digests = []
    for name in files:
        with open(name, "rb") as file:
            digests.append((name, hashlib.file_digest(file, "sha256").hexdigest()))
    if len(digests) == 1:
        return digests[0][1]
    common = os.path.commonpath(files)
    listed = "".join(f"{digest}  {os.path.relpath(name, common)}\n" for name, digest in digests)
    return hashlib.sha256(listed.encode("utf-8", "surrogateescape")).hexdigest()
