"""Reads a git repository with git's plumbing: no hook, filter, textconv, external diff or watcher of it runs.

Contents are taken from the object store as they are, so that attributes decide nothing: neither which filter a
file goes through, nor whether a diff of it is shown.
"""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from msgspec import Struct

from quorum.application.program_lookup import filter_environment, find_program
from quorum.domain.errors import ToolError
from quorum.domain.shell.git_commands import GIT_ENVIRONMENT
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.execution.commands.environment import build_command_environment
from quorum.infrastructure.execution.shell.programs import PROGRAM_FOLDERS

_SECS = 120.0
_HELD = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_BYTES = 64 * 1024 * 1024
_LONGEST_REASON = 300
_OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# What a repository could replace objects with, and whose settings could change how a diff looks. Git looks up
# programs by names that settings hold: no folder of a project is searched for them.
_MORE_ENVIRONMENT = {
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "LC_ALL": "C",
    "PATH": os.pathsep.join(PROGRAM_FOLDERS),
}
_NO_SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


class TreeEntry(Struct, frozen=True):
    """A file of a commit. `mode` is git's, such as 100644; `path` is from the repository's root."""

    mode: str
    oid: str
    size: int
    path: str


class GitReader:
    """Reads the repository that a folder lies in. All methods block, and raise ToolError where git fails.

    Each git shares the lock of the file `held` while it runs, which may be longer than we do.
    """

    def __init__(
        self, root: Path, environ: Mapping[str, str], stop: Stop | None = None, held: Path | None = None
    ) -> None:
        git = find_program("git", os.pathsep.join(PROGRAM_FOLDERS))
        if git is None:
            raise ToolError("git is not installed, and a change cannot be read without it")
        self._git = git
        self._stop = stop or Stop()
        self._environment = {
            **filter_environment(build_command_environment(environ, ())),
            **GIT_ENVIRONMENT,
            **_MORE_ENVIRONMENT,
        }
        self._root, self._held = root, held
        self.top = Path(os.fsdecode(self.run("rev-parse", "--show-toplevel").removesuffix(b"\n")))
        self._root = self.top

    def run(self, *arguments: str, given: bytes = b"", fine: Sequence[int] = (0,)) -> bytes:
        """What a command of git prints; `fine` are the exit codes that are no failure."""
        output, code, errors = self._run(arguments, given, self._root, {})
        if code not in fine:
            said = make_printable(errors.decode("utf-8", "replace").strip(), newlines=False)[:_LONGEST_REASON]
            raise ToolError(f"git {arguments[0]} failed: {said or f'exit code {code}'}")
        return output

    def resolve(self, revision: str) -> str:
        """The id of the commit that this names. Raises ToolError where there is none."""
        if revision.startswith("-"):
            raise ToolError(f"{make_printable(revision, newlines=False)} is no revision")
        name = f"{revision}^{{commit}}"
        output, code, _ = self._run(
            ("rev-parse", "--verify", "--quiet", "--end-of-options", name), b"", self._root, {}
        )
        found = output.decode("ascii", "replace").strip()
        if code != 0 or not _OBJECT.fullmatch(found):
            raise ToolError(f"there is no commit {make_printable(revision, newlines=False)} in this repository")
        return found

    def find_commit(self, revision: str) -> str:
        """The id of the commit that this names; empty where there is none."""
        try:
            return self.resolve(revision)
        except ToolError:
            return ""

    def find_merge_base(self, one: str, other: str) -> str:
        """The commit at which two commits part; empty where there is none, or it is not here."""
        found = self.run("merge-base", one, other, fine=(0, 1, 128)).decode("ascii", "replace").split()
        return found[0] if found and _OBJECT.fullmatch(found[0]) else ""

    def is_ancestor(self, one: str, other: str) -> bool:
        """Whether a commit is part of the history of another."""
        return self._run(("merge-base", "--is-ancestor", one, other), b"", self._root, {})[1] == 0

    def find_empty_tree(self) -> str:
        """The id of a tree without files."""
        return self.run("hash-object", "-t", "tree", "--stdin").decode("ascii").strip()

    def list_tree(self, commit: str) -> tuple[TreeEntry, ...]:
        """All files of a commit, its submodules left out."""
        entries = []
        for line in self.run("ls-tree", "-r", "-z", "-l", "--full-tree", commit).split(b"\0"):
            head, _, path = line.partition(b"\t")
            fields = head.decode("ascii", "replace").split()
            if len(fields) == 4 and fields[1] == "blob":
                size = int(fields[3]) if fields[3].isdigit() else 0
                entries.append(TreeEntry(fields[0], fields[2], size, os.fsdecode(path)))
        return tuple(entries)

    def read_blobs(self, oids: Sequence[str], most_bytes: int) -> Iterator[tuple[str, bytes | None]]:
        """The contents of these objects, each with its id; None where one is missing or larger than that."""
        wanted = list(dict.fromkeys(oids))
        listed = "".join(f"{oid}\n" for oid in wanted).encode()
        sizes = self.run("cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)", given=listed)
        small = []
        for line in sizes.decode("ascii", "replace").splitlines():
            oid, _, rest = line.partition(" ")
            kind, _, size = rest.partition(" ")
            if kind == "blob" and size.isdigit() and int(size) <= most_bytes:
                small.append(oid)
        missing = set(wanted).difference(small)
        yield from ((oid, None) for oid in wanted if oid in missing)
        if not small:
            return
        with self._start(("cat-file", "--batch"), "".join(f"{oid}\n" for oid in small).encode()) as output:
            for oid in small:
                self._stop.check()
                head = output.readline().split()
                if len(head) != 3:
                    raise ToolError("git cat-file ended before it had shown all objects")
                content = output.read(int(head[2]) + 1)
                if len(content) != int(head[2]) + 1:
                    raise ToolError("git cat-file ended in the middle of an object")
                yield oid, content[:-1]

    def diff_folders(self, folder: Path, lines_around: int) -> str:
        """The unified diff of the folders `old` and `new` in a folder that is in no repository."""
        arguments = (
            "diff", "--no-index", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
            f"-U{lines_around}", "--src-prefix=", "--dst-prefix=", "--", "old", "new",
        )  # fmt: skip
        ours = {**_NO_SETTINGS, "GIT_CEILING_DIRECTORIES": str(folder.parent), "HOME": str(folder)}
        output, code, errors = self._run(arguments, b"", folder, ours)
        if code not in (0, 1):
            raise ToolError(f"git diff failed: {errors.decode('utf-8', 'replace').strip()[:_LONGEST_REASON]}")
        return output.decode("utf-8", "replace")

    def _run(
        self, arguments: Sequence[str], given: bytes, folder: Path, more: Mapping[str, str]
    ) -> tuple[bytes, int, bytes]:
        with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as errors:
            stdin.write(given)
            stdin.seek(0)
            process = self._open(arguments, stdin, errors, folder, more)
            timer = threading.Timer(_SECS, process.kill)
            timer.start()
            try:
                assert process.stdout is not None
                pieces, size = [], 0
                while piece := process.stdout.read(1 << 18):
                    self._stop.check()
                    pieces.append(piece)
                    size += len(piece)
                    if size > _MOST_BYTES:
                        raise ToolError(f"git {arguments[0]} prints more than {_MOST_BYTES >> 20} MB")
                code = process.wait()
            finally:
                timer.cancel()
                process.kill()
                process.wait()
                if process.stdout is not None:
                    process.stdout.close()
            errors.seek(0)
            return b"".join(pieces), code, errors.read(4096)

    @contextmanager
    def _start(self, arguments: Sequence[str], given: bytes) -> Iterator[IO[bytes]]:
        with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as errors:
            stdin.write(given)
            stdin.seek(0)
            process = self._open(arguments, stdin, errors, self._root, {})
            timer = threading.Timer(_SECS, process.kill)
            timer.start()
            try:
                assert process.stdout is not None
                yield process.stdout
            finally:
                timer.cancel()
                process.kill()
                process.wait()
                if process.stdout is not None:
                    process.stdout.close()

    def _open(
        self,
        arguments: Sequence[str],
        stdin: IO[bytes],
        errors: IO[bytes],
        folder: Path,
        more: Mapping[str, str],
    ) -> subprocess.Popen[bytes]:
        try:
            locks = [os.open(self._held, _HELD, 0o600)] if self._held is not None else []
        except OSError as error:
            raise ToolError(f"git could not be started: {error.strerror or error}") from error
        try:
            for lock in locks:
                fcntl.flock(lock, fcntl.LOCK_SH)
            return subprocess.Popen(
                (self._git, *arguments),
                cwd=folder,
                env={**self._environment, **more},
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,  # a Ctrl+C at the terminal is ours to act on
                pass_fds=locks,
            )
        except OSError as error:
            raise ToolError(f"git could not be started: {error.strerror or error}") from error
        finally:
            for lock in locks:
                os.close(lock)


_BASES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
_TREE_DIFF = ("-r", "--name-only", "-z", "--no-renames", "--no-ext-diff")


class BranchFiles(Struct, frozen=True, kw_only=True):
    """The files that a branch changes, committed or staged, with the working tree `top`. `since_ms` is when the
    commit was made from which it parted, in milliseconds since 1970, UTC."""

    top: str
    paths: frozenset[str]
    since_ms: int

    def may_hold(self, cwd: str) -> bool:
        """Whether a session of this folder worked in the working tree."""
        real = os.path.realpath(cwd)
        return real == self.top or real.startswith(f"{self.top}{os.sep}")

    def touches(self, changed: Collection[str]) -> bool:
        """Whether one of these files, by their whole paths, is one that the branch changes."""
        return not self.paths.isdisjoint(map(os.path.realpath, changed))


def read_branch_files(root: Path, environ: Mapping[str, str], base: str) -> BranchFiles:
    """Blocks. Raises ToolError outside of a repository, and where the base of the branch is not found."""
    git = GitReader(root, environ)
    head = git.resolve("HEAD")
    parted = git.find_merge_base(git.resolve(base), head) if base else _find_base(git, head)
    if not parted:
        raise ToolError(
            "what the branch parted from is not found; name it with --base, such as --base origin/develop"
        )
    committed = git.run("diff-tree", *_TREE_DIFF, parted, head)
    staged = git.run("diff-index", "--cached", *_TREE_DIFF[1:], head)
    top = os.path.realpath(git.top)
    names = {os.fsdecode(name) for name in (*committed.split(b"\0"), *staged.split(b"\0")) if name}
    seconds = git.run("rev-list", "-1", "--timestamp", parted).split()[0]
    return BranchFiles(
        top=top,
        paths=frozenset(os.path.realpath(os.path.join(top, name)) for name in names),
        since_ms=int(seconds) * 1000,
    )


def _find_base(git: GitReader, head: str) -> str:
    """Where the branch parted from the first of the usual bases that is there; empty where none is."""
    commits = (git.find_commit(name) for name in _BASES)
    return next((found for each in commits if each and (found := git.find_merge_base(each, head))), "")
