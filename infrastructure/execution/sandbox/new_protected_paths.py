"""Finds protected paths that a command made, and sets them aside where nobody was asked about it.

Nothing can be mounted over a name that does not exist, so a command in the sandbox can make one. Once nothing
of it is alive, and from time to time while it runs in the background, what it made is renamed to a name that no
program obeys. A command may still run then, so no link is followed on the way. What there was before each
command is kept on disk while it runs.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from quorum.domain.review.path_policy import PathPolicy, extract_last_names, is_git_folder_name
from quorum.domain.text.paths import is_below_any
from quorum.infrastructure.execution.sandbox.guarded_files import (
    GIT_SETTINGS,
    HEAD,
    KERNEL_TICK_NS,
    MOST_ENTRIES,
    FolderCache,
    GuardedFiles,
    OpenedRepository,
    PathIdentity,
    find_guarded,
)

_SUFFIX, _INCOMPLETE = ".command", ".new"
_TOLD = ".told"  # another session has named what is new
_UNLOCKED = ".json"  # of versions that lock nothing: whether the command still runs cannot be seen
_TRIES = 3
_UNKNOWN = "whether a command ran when quorum was killed cannot be told"
_UNREADABLE = (
    "a command ran unasked in the sandbox when quorum was killed; which protected paths it made cannot be "
    "told, because the list of those before it cannot be read: look for new ones before any program obeys them"
)


class UnfinishedCommand(Struct, frozen=True, kw_only=True):
    """What was found before a command in these folders, and the paths that it was let write."""

    roots: tuple[str, ...]
    before: GuardedFiles
    opened: tuple[str, ...]
    began_ns: int
    is_own: bool
    """Whether it was of the session that is resumed."""


class UnfinishedCommands:
    """Those of one session, in a `folder` of its own beside those of other sessions. Blocks.

    Each file is locked by its process: one that can be locked was left by a process that was killed. An earlier
    quorum locks none, nor can it be done on each file system: of those, only the session's own are taken.
    """

    def __init__(self, folder: Path, policy: PathPolicy) -> None:
        self._folder = folder
        self._own: dict[Path, int] = {}
        self._policy = policy

    def begin(self, before: GuardedFiles, opened: Sequence[str], roots: Sequence[str]) -> Callable[[], None]:
        """Keep this until what is returned is called. The command runs also where it cannot be kept."""
        places = {path: [each.itself, each.parent, each.link] for path, each in before.places.items()}
        kept = {"roots": list(roots), "places": places, "opened": list(opened)}
        file = self._folder / f"{secrets.token_hex(8)}{_SUFFIX}"
        with suppress(OSError):
            self._own[file] = self._open(file.with_suffix(_INCOMPLETE))
            with os.fdopen(os.dup(self._own[file]), "wb") as written:
                written.write(json.dumps(kept).encode("utf-8", "surrogateescape"))
            os.rename(file.with_suffix(_INCOMPLETE), file)
        return lambda: self._end(file)

    def _open(self, file: Path) -> int:
        """Make a file and lock it. Raises OSError."""
        for _ in range(_TRIES):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # another process has just found the folder empty
                descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                with suppress(OSError):
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                if os.fstat(descriptor).st_nlink:
                    return descriptor
                os.close(descriptor)  # it was taken for abandoned before it was locked
        raise OSError(f"{self._folder} is removed again and again")

    def _end(self, file: Path) -> None:
        descriptor = self._own.pop(file, None)
        for each in (file, file.with_suffix(_INCOMPLETE)):
            with suppress(OSError):
                each.unlink()
        if descriptor is not None:
            os.close(descriptor)

    def pop_all(self) -> tuple[list[UnfinishedCommand], list[str]]:
        """Those in this workspace whose process was killed, whichever session they were of, and what is to be
        said of others of this session, a sentence each. Those of this session are not kept any more; those of
        others are, for these sessions alone.
        """
        found: list[UnfinishedCommand] = []
        said: list[str] = []
        try:
            files = sorted(self._folder.parent.glob("*/*"))
        except OSError as error:
            return [], [f"{_UNKNOWN}: {self._folder.parent} cannot be read ({error.strerror or error})"]
        for file in files:
            is_own = file.parent == self._folder
            if file.suffix not in (_SUFFIX, _INCOMPLETE, _TOLD, *((_UNLOCKED,) if is_own else ())):
                continue
            with suppress(OSError), _lock_abandoned(file, is_own=is_own) as is_abandoned:
                if is_abandoned and self._collect(file, found, said, is_own=is_own):
                    file.unlink()
            with suppress(OSError):
                file.parent.rmdir()
        return found, list(dict.fromkeys(said))

    def _collect(self, file: Path, found: list[UnfinishedCommand], said: list[str], *, is_own: bool) -> bool:
        """Add the command in a file, or what is to be said of it; whether the file is needed no more."""
        if file.suffix == _INCOMPLETE:  # the command had not begun
            return True
        if file.suffix == _TOLD and not is_own:
            return _is_workspace_gone(file)
        try:
            command = self._read(file, is_own=is_own)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            if not is_own:
                return _is_workspace_gone(file)
            said.append(_UNREADABLE)
            return True
        if not is_own:
            file.rename(file.with_suffix(_TOLD))
        found.append(command)
        return is_own

    def _read(self, file: Path, *, is_own: bool) -> UnfinishedCommand:
        kept = json.loads(file.read_text(encoding="utf-8", errors="surrogateescape"))
        first, *added = map(str, kept["roots"])
        if first != os.path.realpath(self._policy.roots[0]):
            raise ValueError("another workspace")
        # Nothing is renamed in a folder that does not belong to the workspace any more.
        roots = (first, *(folder for folder in added if folder in self._policy.roots))
        places = {
            str(path): PathIdentity(_pair(itself), _pair(parent), str(link))
            for path, (itself, parent, link) in kept["places"].items()
        }
        return UnfinishedCommand(
            roots=roots,
            before=GuardedFiles(places=places),
            opened=tuple(map(str, kept["opened"])),
            began_ns=file.stat().st_mtime_ns,
            is_own=is_own,
        )

    def clear(self) -> None:
        """Keep nothing of this process any more: its commands have ended. Another may have the session open."""
        for file in tuple(self._own):
            self._end(file)
        with suppress(OSError):
            self._folder.rmdir()


@contextmanager
def _lock_abandoned(file: Path, *, is_own: bool) -> Iterator[bool]:
    """Hold the lock of a file whose process is gone; whether that is so. Nobody else writes the session whose
    `is_own` it is: where nothing can be locked, that tells. Raises OSError.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    except OSError:
        yield is_own
    else:
        yield True
    finally:
        os.close(descriptor)


def _is_workspace_gone(file: Path) -> bool:
    try:
        kept = json.loads(file.read_text(encoding="utf-8", errors="surrogateescape"))
        return not os.path.lexists(str(kept["roots"][0]))
    except (ValueError, TypeError, KeyError, IndexError):
        return False


def _pair(numbers: Sequence[int]) -> tuple[int, int]:
    device, inode = numbers
    return int(device), int(inode)


# A command may have made many, to hide one behind them.
_MOST_ENTRIES_AFTER = 4 * MOST_ENTRIES
_PLACE = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_TOLD = 20
_TOO_LARGE = (
    "after the command the workspace is too large to be looked through: protected paths that it made deep in "
    "it may still be there"
)
_MOST_SAME_NAMES = 10_000


class ProtectedPathCheck:
    """Compares the protected paths of the workspace before and after one command.

    `before` is what was found before it in these `roots`, None: in those of the policy. `opened` are paths that
    the person lets commands write, where nothing is compared; `repositories` are those among them of which
    parts stay closed all the same. The command began at `began_ns`, None: it begins after this.
    """

    def __init__(
        self,
        policy: PathPolicy,
        before: GuardedFiles,
        *,
        roots: Sequence[str] | None = None,
        opened: Sequence[str] = (),
        repositories: Sequence[OpenedRepository] = (),
        cache: FolderCache | None = None,
        began_ns: int | None = None,
    ) -> None:
        self._began_ns = time.time_ns() if began_ns is None else began_ns
        self._policy = policy
        self._before = before
        self._opened = tuple(opened)
        self._repositories = tuple(repositories)
        self._cache = cache
        self._roots = tuple(dict.fromkeys(map(os.path.realpath, policy.roots if roots is None else roots)))
        self._is_protected_name = extract_last_names(policy.protected)

    def keep_in(self, unfinished: UnfinishedCommands) -> Callable[[], None]:
        """Have what was found before the command kept until what is returned is called. Blocks."""
        return (
            unfinished.begin(self._before, self._opened, self._roots) if self._before.complete else _do_nothing
        )

    def list_links(self) -> list[str]:
        """The links among these paths. A command can replace them: nothing can be mounted over one."""
        links = (path for path, each in self._before.places.items() if each.link)
        return [path for path in links if not is_below_any(path, self._opened)]

    def finish(self, *, was_asked: bool) -> list[str]:
        """What there is to say of what the command has made until now, a sentence each.

        `was_asked` tells that a person approved this very command: what it made is then left where it is. Reads
        and renames files; call it off the event loop.
        """
        said: list[str] = []
        for repository in self._repositories:  # a request to open one is answered that these stay closed
            inside, is_whole = repository.find_made()
            said += self._set_aside(inside) if inside else []
            said += [] if is_whole else ["the .git folder is too large to be looked through for links"]
        if not self._before.complete:
            return said  # what was there before is not known
        made, complete = self._find_made()
        if made and was_asked:
            said.append(f"made by the command, though protected: {_join_items(made)} (it was not there before)")
        elif made:
            said += self._set_aside(made)
        return said if complete else [*said, _TOO_LARGE]

    def name_new(self) -> list[str]:
        """What is new since the command began, a sentence each. Others may have made it since, so it stays."""
        if not self._before.complete:
            return []
        new, complete = self._find_made()
        said = [
            f"protected paths that were not there before it: {_join_items(new)}. If nobody else made them, the "
            "command did: look at them before any program obeys them"
        ]
        return (said if new else []) + ([] if complete else [_TOO_LARGE])

    def _find_made(self) -> tuple[list[str], bool]:
        """Protected paths that are new or another than before, the innermost first; whether all were found."""
        after = find_guarded(
            self._roots, self._policy, entries=_MOST_ENTRIES_AFTER, most=_MOST_ENTRIES_AFTER, cache=self._cache
        )
        known = {each.itself for each in self._before.places.values() if not each.link}
        made = [path for path, now in after.places.items() if self._is_new(path, now, known)]
        # Without its HEAD a folder is no repository, and what else is in it may be the person's.
        heads = {os.path.dirname(path) for path in made if os.path.basename(path) == HEAD}
        made = [p for p in made if os.path.dirname(p) not in heads or os.path.basename(p) not in GIT_SETTINGS]
        # Under another name, too, git would obey a repository's own folder from inside.
        made += [os.path.join(path, HEAD) for path in made if _is_repository_folder(path)]
        behind = [self._find_cause(path, after.links) for path in made]
        return sorted(dict.fromkeys(behind), key=lambda path: (-path.count("/"), path)), after.complete

    def _find_cause(self, path: str, links: Mapping[str, PathIdentity]) -> str:
        """What the command made that a protected path is there: a link on the way to it, or what stands behind
        one that was there before."""
        names = path.split("/")
        above = ("/".join(names[:end]) for end in range(2, len(names)))
        link = next((folder for folder in above if folder in links), None)
        if link is None:
            return path
        if self._before.links.get(link) != links[link]:
            return link
        return os.path.join(os.path.realpath(os.path.dirname(path)), names[-1])

    def _is_new(self, path: str, now: PathIdentity, known: set[tuple[int, int]]) -> bool:
        if any(path == place or path.startswith(f"{place}/") for place in self._opened):
            return False
        before = self._before.places.get(path)
        if before == now:
            return False
        if before is not None and not before.link and before.parent == now.parent:
            return False  # the command could not replace it in its folder: somebody else did
        was_moved = now.itself in known and not now.link and not _has_other_names(path)
        return not was_moved and not self._is_named_since(path)

    def _is_named_since(self, path: str) -> bool:
        """Whether this was there before, and somebody else has a link or a setting lead to it since: it is
        protected by no name of its own, and no command has touched it."""
        if path in self._before.places or self._policy.is_protected(path):
            return False
        with suppress(OSError):
            # Where a folder above was moved here, only that one has changed.
            while path not in self._roots and path != "/":
                if os.lstat(path).st_ctime_ns >= self._began_ns - KERNEL_TICK_NS:
                    return False
                path = os.path.dirname(path)
            return True
        return False

    def _set_aside(self, made: Sequence[str]) -> list[str]:
        renamed: list[str] = []
        failed: list[str] = []
        for path in made:
            try:
                renamed.append(f"{path} is now {self._rename(path)}")
            except OSError as error:
                failed.append(f"{path} ({error.strerror or error})")
        said: list[str] = []
        if renamed:
            said.append(
                "protected paths that the command made were renamed, because nobody was asked about them: "
                f"{_join_items(renamed)}. To have such a file, write it with write_file, which asks the person"
            )
        if failed:
            said.append(
                "protected paths that the command made could not be renamed: "
                f"{_join_items(failed)}. The person should look at them before any program obeys them"
            )
        return said

    def _rename(self, path: str) -> str:
        """Give a path a name that no program obeys. Raises OSError where that cannot be done."""
        folder, name = os.path.split(path)
        roots = (*self._roots, *(repository.folder for repository in self._repositories))
        root = next((root for root in roots if is_below_any(folder, (root,))), None)
        if root is None:
            raise OSError("it does not lie in the workspace")
        place = _open_folder(root, folder)
        try:
            new = self._find_free_name(name, place)
            with _make_writable(".", place), _make_writable(name, place):
                os.rename(name, new, src_dir_fd=place, dst_dir_fd=place)
            return new
        finally:
            os.close(place)

    def _find_free_name(self, name: str, place: int) -> str:
        stem = f"set-aside-{name.lstrip('.')}"[:200]
        for number in range(1, _MOST_SAME_NAMES):
            new = f"{stem}~{number}"
            if self._is_protected_name.covers(new) or is_git_folder_name(new):
                raise OSError(f"review.protected covers the name {new} too")
            try:
                os.stat(new, dir_fd=place, follow_symlinks=False)
            except FileNotFoundError:
                return new
        raise OSError("there are too many of that name")


def _do_nothing() -> None:
    """There is nothing to end."""


def _open_folder(root: str, folder: str) -> int:
    """A folder below a root, opened without following a link: another command may continue beside.

    Raises OSError.
    """
    place = os.open(root, _PLACE)
    for name in filter(None, folder.removeprefix(root).split("/")):
        try:
            inner = os.open(name, _PLACE, dir_fd=place)
        finally:
            os.close(place)
        place = inner
    return place


@contextmanager
def _make_writable(name: str, place: int) -> Iterator[None]:
    """For a moment a folder of ours may be changed, which the command may have forbidden; not through links."""
    try:
        folder = os.open(name, _PLACE, dir_fd=place)
    except OSError:  # no folder
        yield
        return
    try:
        mode = stat.S_IMODE(os.fstat(folder).st_mode)
        if mode & 0o300 == 0o300:
            yield
            return
        os.chmod(f"/proc/self/fd/{folder}", mode | 0o700)
        try:
            yield
        finally:
            os.chmod(f"/proc/self/fd/{folder}", mode)
    finally:
        os.close(folder)


def _is_repository_folder(path: str) -> bool:
    is_folder = is_git_folder_name(os.path.basename(path)) and not os.path.islink(path)
    return is_folder and os.path.lexists(os.path.join(path, HEAD))


def _has_other_names(path: str) -> bool:
    """Whether a file has a hard link, by which a command could have changed it."""
    return os.path.isfile(path) and os.lstat(path).st_nlink > 1


def _join_items(items: Sequence[str]) -> str:
    more = len(items) - _MOST_TOLD
    return ", ".join(items[:_MOST_TOLD]) + (f" and {more} more" if more > 0 else "")
