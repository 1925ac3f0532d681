"""Finds files of the workspace by a few letters of their path, at any time, without keeping anybody waiting.

A project's files are those that git would keep or, without git, those that no ignore file leaves out. 100,000
paths are searched in some milliseconds.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias

import re2
from msgspec import Struct

from quorum.application.ports.workspace import FoundFile
from quorum.application.program_lookup import filter_environment, find_program
from quorum.domain.shell.git_commands import GIT_ENVIRONMENT
from quorum.domain.text.fuzzy import fit
from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.execution.commands.environment import build_command_environment
from quorum.infrastructure.execution.program import open_program
from quorum.infrastructure.execution.shell.programs import PROGRAM_FOLDERS
from quorum.infrastructure.files.searching import IgnoreRules

_BYTES = re2.Options()
_BYTES.encoding = re2.Options.Encoding.LATIN1
# How many of a kind are rated: of "as it stands at a beginning", "as it stands", "its letters".
_MOST_OF_A_KIND = 60
_LONGEST_QUERY = 100
# That a file was changed lately is worth less than a better place of a letter, and more than a shorter path.
_FRESH = 6
_MOST_LOOKED_AT = 2_000
_END = b"\0"
_BETWEEN_WORDS = b"\0/_-. "


class FileIndex:
    """Files and folders, searched by name. Never changed; any thread may search it.

    `paths` come in the order of what is likely to be meant; those of folders end with a slash. `fresh` are the
    paths whose files were changed lately.
    """

    def __init__(self, paths: Sequence[str], fresh: Iterable[str] = ()) -> None:
        self._paths = paths
        self._fresh = frozenset(fresh)
        lowered = [_encode_path(path) for path in paths]
        self._whole = _Column(lowered)
        self._names = _Column([_encode_name(path) for path in lowered])

    def __len__(self) -> int:
        return len(self._paths)

    def find(self, query: str, limit: int, bonus: Mapping[str, int]) -> tuple[FoundFile, ...]:
        """The paths that fit the query, best first, at most so many. `bonus` tells of paths that are likelier
        than others to be meant, with points for it."""
        query = query[:_LONGEST_QUERY].removeprefix("./")
        if not query:
            likely = sorted(bonus, key=lambda path: -bonus[path])
            return tuple(FoundFile(path) for path in dict.fromkeys([*likely, *self._paths[:limit]]))[:limit]
        rated = []
        for path in dict.fromkeys([*bonus, *(self._paths[place] for place in self._list_candidates(query))]):
            if (found := fit(query, path)) is not None:
                points = found.score + bonus.get(path, 0) + (_FRESH if path in self._fresh else 0)
                rated.append((-points, len(path), path, found.hits))
        return tuple(FoundFile(path, hits) for _, _, path, hits in sorted(rated)[:limit])

    def _list_candidates(self, query: str) -> Iterator[int]:
        """The places of paths that may fit, the better kinds first; letters alone only where those are few."""
        wanted = _encode_path(query)
        found = dict.fromkeys([*self._names.find_text(wanted), *self._whole.find_text(wanted)])
        yield from found
        if len(found) < _MOST_OF_A_KIND:
            letters = _compile_in_order(query)
            yield from self._names.find_matches(letters)
            yield from self._whole.find_matches(letters)


class _Column:
    """Texts in one, each between two NUL characters, which no path holds."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        self._text = _END + _END.join(texts) + _END
        self._starts = list(accumulate((len(text) + 1 for text in texts), initial=1))

    def find_text(self, wanted: bytes) -> list[int]:
        """The places of the first texts that hold these bytes: at the beginning of a word, and anywhere."""
        at_words: list[int] = []
        inside: list[int] = []
        at = self._text.find(wanted)
        for _ in range(_MOST_LOOKED_AT):
            if at < 0:
                break
            place = self._find_place(at)
            (at_words if self._text[at - 1] in _BETWEEN_WORDS else inside).append(place)
            if len(at_words) == _MOST_OF_A_KIND:
                break
            at = self._text.find(wanted, self._starts[place + 1] - 1)
        else:  # so frequent that its best places may lie further on
            at_words += self._find_beginning(wanted)
        return [*at_words, *inside[:_MOST_OF_A_KIND]]

    def _find_beginning(self, wanted: bytes) -> Iterator[int]:
        at = self._text.find(_END + wanted)
        for _ in range(_MOST_OF_A_KIND):
            if at < 0:
                return
            yield self._find_place(at + 1)
            at = self._text.find(_END + wanted, at + 1)

    def find_matches(self, pattern: re2._Regexp[bytes]) -> Iterator[int]:
        """The places of the first texts that hold a match."""
        last = -1
        left = _MOST_OF_A_KIND
        for found in pattern.finditer(self._text):
            if (place := self._find_place(found.start())) != last:
                last = place
                yield place
                left -= 1
                if not left:
                    return

    def _find_place(self, at: int) -> int:
        return bisect_right(self._starts, at) - 1


def _encode_path(path: str) -> bytes:
    return os.fsencode(path.lower()) if path.isascii() else path.lower().encode("utf-8", "surrogateescape")


def _encode_name(path: bytes) -> bytes:
    return path.rstrip(b"/").rpartition(b"/")[2]


def _compile_in_order(query: str) -> re2._Regexp[bytes]:
    """What holds these letters one after the other, within one text."""
    first, *rest = [_encode_path(letter) for letter in query]
    pieces = [re.escape(first), *(_match_up_to(letter) for letter in rest)]
    return re2.compile(b"".join(pieces), _BYTES)


def _match_up_to(letter: bytes) -> bytes:
    """What is passed over until this letter, and the letter. One way to match makes for a quick scan."""
    if len(letter) == 1:
        return b"[^\\x00\\x%02x]*%s" % (letter[0], re.escape(letter))
    return b"[^\\x00]*?" + re.escape(letter)


MOST_FILES = 200_000
_GIT_SECS, _WALK_SECS = 20.0, 10.0
_MOST_BYTES = 64 * 1024 * 1024
_NEWEST = 40
# Made anew by their programs, or a program's own: nobody names a file in them, and they may hold very many.
_HEAVY = frozenset(
    {".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".pytest_cache",
     ".ruff_cache", ".tox", ".nox", ".gradle", ".cache", ".next", ".nuxt", ".terraform", "bower_components",
     "site-packages"}
)  # fmt: skip
_Place: TypeAlias = tuple[tuple[str, ...], IgnoreRules]
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Listing(Struct, frozen=True):
    """The paths of files from the working directory, each followed by NUL. `walked`: they are not from git.

    Those of the folders `added` are whole paths.
    """

    raw: bytes
    walked: bool = False
    added: tuple[str, ...] = ()

    def with_folder(self, folder: str, inner: Listing) -> Listing:
        """This listing, with that of another folder behind it."""
        prefix = os.fsencode(folder.rstrip("/")) + b"/"
        paths = (prefix + path + b"\0" for path in inner.raw.split(b"\0") if path)
        return Listing(self.raw + b"".join(paths), walked=self.walked, added=(*self.added, folder))


async def list_files(cwd: Path, environ: Mapping[str, str]) -> Listing:
    """The files below the working directory, of a bounded number; those it cannot see are left out."""
    raw = await _list_with_git(cwd, environ)
    if raw:
        return Listing(raw)
    stop = Stop()
    try:
        return Listing(await asyncio.to_thread(walk_files, str(cwd), stop), walked=True)
    finally:
        stop.ask()


async def _list_with_git(cwd: Path, environ: Mapping[str, str]) -> bytes:
    """What `git ls-files` tells; nothing where there is no git, no repository, or no end.

    Listing runs nothing of the repository's own: neither filters nor hooks have a part in it, and a program
    that watches its files is switched off.
    """
    git = find_program("git", os.pathsep.join(PROGRAM_FOLDERS))
    if git is None:
        return b""
    arguments = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    environment = {**filter_environment(build_command_environment(environ, ())), **GIT_ENVIRONMENT}
    pieces, size = [], 0
    try:
        async with (
            open_program((git, *arguments), environment=environment, cwd=cwd) as process,
            asyncio.timeout(_GIT_SECS),
        ):
            assert process.stdout is not None
            while size < _MOST_BYTES and (piece := await process.stdout.read(1 << 18)):
                pieces.append(piece)
                size += len(piece)
            return b"".join(pieces) if size >= _MOST_BYTES or not await process.wait() else b""
    except OSError:  # it cannot be started, or takes too long
        return b""


def walk_files(cwd: str, stop: Stop, clock: Callable[[], float] = time.monotonic) -> bytes:
    """The files below a folder, nearest first, without ignored ones and heavy folders. Follows no links."""
    deadline = clock() + _WALK_SECS
    found: list[bytes] = []
    level: list[_Place] = [((), IgnoreRules())]
    while level and len(found) < MOST_FILES and clock() < deadline:
        below: list[_Place] = []
        for names, rules in level:
            stop.check()
            below += _look_into(cwd, names, rules, found)
            if len(found) >= MOST_FILES or clock() > deadline:
                break
        level = below
    return b"".join(found)


def _look_into(cwd: str, names: tuple[str, ...], rules: IgnoreRules, found: list[bytes]) -> list[_Place]:
    """Add the files of one folder; the folders in it, with the rules that hold there."""
    below: list[_Place] = []
    try:
        folder = os.open(os.path.join(cwd, *names), _FOLDER)
    except OSError:
        return below
    try:
        with os.scandir(folder) as entries:
            held = sorted(entries, key=lambda entry: entry.name)
            kinds = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in held]
        inner_rules = rules.enter(folder, (name for name, _ in kinds), len(names))
        for name, is_folder in kinds:
            inner = (*names, name)
            if (is_folder and name in _HEAVY) or inner_rules.ignore(inner, is_folder=is_folder):
                continue
            if is_folder:
                below.append((inner, inner_rules))
            else:
                found.append(os.fsencode("/".join(inner)) + b"\0")
    except OSError:
        pass  # a folder that went away meanwhile holds nothing any more
    finally:
        os.close(folder)
    return below


def build_index(listing: Listing, cwd: str) -> FileIndex:
    """The index of what was listed: without what is gone from the disk, with the folders, the newest first."""
    times: dict[str, int] = {}
    folders: set[str] = set()
    for raw in listing.raw.split(b"\0")[:MOST_FILES]:
        path = os.fsdecode(raw).rstrip("/")
        try:
            status = os.lstat(os.path.join(cwd, path)) if path else None
        except (OSError, ValueError):
            continue
        if status is None:
            continue
        if stat.S_ISDIR(status.st_mode):  # a repository inside this one
            folders.add(path)
        else:
            times[path] = status.st_mtime_ns
        while path not in listing.added and (path := path.rpartition("/")[0]) and path not in folders:
            folders.add(path)
    newest = nsmallest(_NEWEST, times, key=lambda path: (-times[path], len(path)))
    rest = [*(path for path in times if path not in newest), *(f"{folder}/" for folder in folders)]
    rest.sort(key=len)  # by nothing else: a longer comparison would keep the screen's thread waiting
    return FileIndex([*newest, *rest], fresh=newest)


_FRESH_SECS = 3.0
_PATIENCE_SECS = 0.05
_USED_POINTS, _MOST_USED = 14, 50


class WorkspaceFiles:
    """The files below the folders of a workspace: those of the working directory, the first, by their paths
    from there, those of others by their whole paths. Listed at the first wish, and again where the list is old.

    Whoever asks then gets the new list if it comes at once, and else the one there is. `clock` is in seconds.
    """

    def __init__(
        self, folders: Sequence[str], environ: Mapping[str, str], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folders, self._environ, self._clock = folders, environ, clock
        self._index: FileIndex | None = None
        self._listing = Listing(b"")
        self._listed_at = float("-inf")
        self._listed: tuple[str, ...] = ()
        self._renewal: asyncio.Task[None] | None = None
        self._used: dict[str, None] = {}

    async def find(self, query: str, limit: int) -> tuple[FoundFile, ...]:
        """The files and folders that fit what is typed, best first, at most so many."""
        is_old = self._clock() - self._listed_at > _FRESH_SECS or self._listed != tuple(self._folders)
        if self._renewal is None and is_old:
            self._renewal = asyncio.create_task(self._renew(), name="file index")
        if self._renewal is not None:
            waiting = None if self._index is None else _PATIENCE_SECS
            await asyncio.wait({self._renewal}, timeout=waiting)
        if self._index is None:
            return ()
        recent = list(self._used)
        bonus = {path: _USED_POINTS + place for place, path in enumerate(recent)}
        return await asyncio.to_thread(self._index.find, query, limit, bonus)

    def note_used(self, path: str) -> None:
        self._used.pop(path, None)
        self._used[path] = None
        while len(self._used) > _MOST_USED:
            del self._used[next(iter(self._used))]

    async def aclose(self) -> None:
        if (renewal := self._renewal) is not None:
            renewal.cancel()
            await asyncio.wait({renewal})

    async def _renew(self) -> None:
        self._listed = folders = tuple(self._folders)
        try:
            listing = await list_files(Path(folders[0]), self._environ)
            for added in folders[1:]:
                listing = listing.with_folder(added, await list_files(Path(added), self._environ))
            if listing != self._listing or self._index is None:
                self._index = await asyncio.to_thread(build_index, listing, folders[0])
                self._listing = listing
        finally:
            self._listed_at, self._renewal = self._clock(), None
