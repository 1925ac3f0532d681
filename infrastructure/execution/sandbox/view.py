"""What a command sees of the machine: which places it may write, read, or not see, as mounts in their order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from msgspec import Struct

from quorum.domain.errors import ToolError
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.text.paths import is_below_any, lies_in
from quorum.infrastructure.execution.sandbox.guarded_files import (
    GIT_SETTINGS,
    FolderCache,
    GuardedFiles,
    OpenedRepository,
    find_guarded,
    list_folders_around,
    lock_code,
)
from quorum.infrastructure.execution.sandbox.known_files import KnownFiles
from quorum.infrastructure.execution.sandbox.new_protected_paths import ProtectedPathCheck
from quorum.infrastructure.execution.sandbox.preflight import GROUND
from quorum.infrastructure.execution.sandbox.repository_places import list_repository_places
from quorum.infrastructure.execution.sandbox.seatbelt import VisiblePlaces
from quorum.infrastructure.execution.sandbox.session_tmp import SharedTmp
from quorum.infrastructure.files.workspace import list_standing_roots

TMP = "/tmp"
_NONE: Mapping[str, str] = {}
_TRIES = 3


class Surroundings(Struct, frozen=True, kw_only=True):
    """Places of the machine, as absolute paths; those that do not exist are passed over.

    `own` are our state, configuration and sockets; `tools` are folders of programs; `secrets` nobody may read;
    `readable` and `writable` are what the person added, `closed` what of it may only be read; `repositories`
    are git's own folders that they opened, outermost first. `linked` are folders of its main working tree that
    a worktree has links to. `sockets` are closed unless a person added one of them.
    """

    homes: tuple[str, ...]
    private: tuple[str, ...]
    tools: tuple[str, ...]
    secrets: tuple[str, ...]
    own: tuple[str, ...]
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()


class SandboxView:
    """The mounts for one command, made from what exists now. Reads folders; make it off the event loop."""

    def __init__(
        self,
        surroundings: Surroundings,
        policy: PathPolicy,
        program: str | None = None,
        *,
        cache: FolderCache | None = None,
        known: KnownFiles | None = None,
        is_busy: Callable[[Sequence[str]], bool] = lambda _roots: False,
        check: Callable[[], None] = lambda: None,
        is_read_only: bool = False,
    ) -> None:
        """`program` is the command's own: it is readable wherever it lies. `cache` belongs to the policy.
        `is_read_only`: the command writes in its own home and `/tmp` alone.

        `known` is what was guarded before; `is_busy` tells whether another command may be moving it. `check` is
        called now and then, and ends the making by raising. Raises ToolError where what was guarded is gone
        though it may still be there.
        """
        self._known = known
        self._bind = "--ro-bind" if is_read_only else "--bind"
        self._is_read_only = is_read_only
        self.roots = list_standing_roots(policy.roots)
        self._own = _select_existing(surroundings.own)
        homes = (h for h in surroundings.homes if h != "/" and not is_below_any(h, self.roots))
        self._homes = surroundings.homes
        self._hidden = _sort_outermost_first((*surroundings.private, *homes))
        self._opened = _select_existing(surroundings.repositories)
        self._writable = _select_existing((*surroundings.writable, *self._opened))
        asked = _select_existing((*surroundings.readable, *self._writable))
        # What a link leads to counts where it could be changed.
        led = (
            path
            for each in surroundings.closed
            if is_below_any(path := os.path.realpath(each), (*self._writable, *self.roots))
        )
        spelled = dict.fromkeys((*surroundings.closed, *_select_existing(surroundings.closed), *led))
        closed = (path for path in spelled if os.path.exists(path) and not os.path.islink(path))
        self._code = [*lock_code(policy.code, self._writable, self.roots), *closed]
        self._secrets = [p for p in _select_existing(surroundings.secrets) if not is_below_any(p, asked)]
        # A folder that was added opens nothing around it: only the working directory's repository is readable.
        places = [*list_repository_places(self.roots[0]), *surroundings.linked]
        for root in self.roots[1:]:
            places += [place for place in list_repository_places(root) if not is_below_any(root, (place,))]
        self._sockets = [p for p in surroundings.sockets if p not in asked]
        self._kept = self._list_visible_inside(
            (*surroundings.tools, *places, *([program] if program else ())), asked
        )
        # Hidden places of the home and of ours can be moved as well where they lie in the workspace.
        inside = [path for path in (*self._own, *self._secrets) if is_below_any(path, self.roots)]
        read = (*self._kept, *surroundings.linked)  # what is linked need not lie in a hidden place
        searched = (*self.roots, *(p for p in places if not p.endswith(".git") and p in read))
        for _ in range(_TRIES):
            self.guarded: GuardedFiles = find_guarded(searched, policy, cache=cache, check=check)
            if known is None or known.complete(self.guarded, self.roots, inside, is_busy=is_busy, check=check):
                break
        else:
            raise ToolError(
                "nothing was run: a protected or sensitive file was moved and cannot be found, which a command "
                "in the background or of another session may be doing; stop that command, then try again"
            )
        if known is None:
            self.guarded.sensitive += inside

    @property
    def homes(self) -> tuple[str, ...]:
        """The homes that are hidden, that of the environment first."""
        return tuple(home for home in self._homes if home in self._hidden)

    def list_mounts(self, tmp: SharedTmp | None = None, homes: Mapping[str, str] = _NONE) -> Iterator[str]:
        """Arguments for bubblewrap. Each mount covers what earlier ones put in the same place.

        `tmp` is mounted as `/tmp`, and of `homes` each folder in the place of its home; without them the
        command gets empty ones of its own.
        """
        yield from GROUND
        for folder in self._hidden:
            if tmp is not None and folder == TMP:
                yield from ("--bind", tmp.source, folder)
                for name in tmp.covered:
                    yield from ("--tmpfs", f"{folder}/{name}")
            elif folder in homes:
                yield from ("--bind", homes[folder], folder)
            else:
                yield from ("--tmpfs", folder)
        for path in self._kept:
            yield from ("--ro-bind", path, path)
        yield from self._list_opened_outside()
        masked = self._list_masked()
        for path in masked:
            if not is_below_any(path, self.roots):
                yield from _mask(path)
        for root in _sort_outermost_first(self.roots):
            yield from (self._bind, root, root)
        yield from self._list_locked()
        for path in masked:
            if is_below_any(path, self.roots):
                yield from _mask(path)

    def list_places(self) -> VisiblePlaces:
        """The same without mounts. What stands only in memory, such as an empty home, is denied instead."""
        outside = [path for path in self._writable if not is_below_any(path, (*self.roots, *self._own))]
        locked = [path for path in self.guarded.protected if not is_below_any(path, self._writable)]
        for opened in self._list_opened():
            locked += _select_existing(os.path.join(opened, name) for name in GIT_SETTINGS)
        places = tuple(_sort_outermost_first((*self.roots, *outside)))
        return VisiblePlaces(
            writable=() if self._is_read_only else places,
            hidden=tuple(self._hidden),
            visible=(*self._kept, *places) if self._is_read_only else self._kept,
            locked=tuple(dict.fromkeys((*locked, *self._code))),
            masked=tuple(self._list_masked()),
        )

    def list_guards(self) -> Iterator[bytes]:
        """What a supervisor is to see covered in the sandbox before the command begins, as it wants it."""
        # As they were found: what is gone by now was moved, and is seen then not to be covered.
        masked = dict.fromkeys(path for path in self.guarded.sensitive if path not in self.roots)
        for path in masked:
            if is_below_any(path, self.roots) and not lies_in(masked, os.path.dirname(path)):
                yield from self._describe_guard("masked", path)
        for path in self.guarded.protected:
            if (
                is_below_any(path, self.roots)
                and not is_below_any(path, self._writable)
                and not lies_in(masked, path)
            ):
                yield from self._describe_guard("locked", path)

    def _describe_guard(self, kind: str, path: str) -> Iterator[bytes]:
        """As it was found, and not as it is by now: it may have been moved since."""
        if self._known is not None and (place := self._known.describe(path)) is not None:
            yield os.fsencode(" ".join((kind, *map(str, (*place.parent, *place.itself)), path)))

    def list_mounts_in_tmp(self) -> list[str] | None:
        """What else is mounted in `/tmp`, relative to it; None where `/tmp` cannot be shared by commands."""
        masked = self._list_masked()
        mounted = (*self._hidden, *self._kept, *self._writable, *self.roots, *masked)
        below = [path.removeprefix(f"{TMP}/") for path in mounted if path.startswith(f"{TMP}/")]
        # Over a single file in it no folder can be put; and there is none that is hidden.
        has_files = any("/" not in path and not os.path.isdir(f"{TMP}/{path}") for path in below)
        return None if has_files or TMP not in self._hidden or is_below_any(TMP, self.roots) else below

    def is_hidden(self, path: str) -> bool:
        """Whether a path lies in a hidden home, outside of what is seen there. Looks at no file."""
        path = os.path.normpath(path)
        seen = (*self.roots, *self._kept, *self._writable)
        homes = [folder for folder in self._hidden if folder in self._homes]
        return is_below_any(path, homes) and path not in homes and not is_below_any(path, seen)

    def is_seen(self, path: str) -> bool:
        """Whether a path that exists outside is the same inside."""
        real = os.path.realpath(path)
        return is_below_any(real, (*self.roots, *self._kept, *self._writable)) or not is_below_any(
            real, self._hidden
        )

    def check(self, policy: PathPolicy, cache: FolderCache | None) -> ProtectedPathCheck:
        """What compares the protected paths as they are now with those after the command."""
        return ProtectedPathCheck(
            policy,
            self.guarded,
            roots=self.roots,
            opened=self._writable,
            repositories=[OpenedRepository(path, GIT_SETTINGS) for path in self._list_opened()],
            cache=cache,
        )

    def _list_visible_inside(self, tools: Iterable[str], asked: Iterable[str]) -> tuple[str, ...]:
        """What lies in a hidden place and is to be seen there. Never a place that holds a hidden one."""
        closed = (*self._secrets, *self._own)
        wanted = [path for path in _select_existing(tools) if not is_below_any(path, closed)]
        wanted += [path for path in asked if not is_below_any(path, self._own)]
        kept: list[str] = []
        for path in _sort_outermost_first(wanted):
            holds_hidden = any(is_below_any(hidden, (path,)) for hidden in self._hidden)
            if (
                not holds_hidden
                and is_below_any(path, self._hidden)
                and not is_below_any(path, (*self.roots, *kept))
            ):
                kept.append(path)
        return tuple(kept)

    def _list_masked(self) -> list[str]:
        """What is in sight and must not be; of what lies in a masked place only that place. Never a root."""
        found = dict.fromkeys((*self._own, *self._secrets, *self._sockets))
        in_sight = [path for path in found if self.is_seen(path)]
        guarded = (path for path in self.guarded.sensitive if path not in found and os.path.exists(path))
        in_sight += [path for path in guarded if is_below_any(path, self.roots) or self.is_seen(path)]
        in_sight = [path for path in in_sight if path not in self.roots]
        masked: dict[str, None] = {}
        for path in _sort_outermost_first(in_sight):
            if not lies_in(masked, path):
                masked[path] = None
        return list(masked)

    def _list_opened_outside(self) -> Iterator[str]:
        """What the person opened outside of the roots, without quorum's code in it."""
        named = [path for path in self._writable if path not in self._opened]
        outside = [path for path in named if not is_below_any(path, (*self.roots, *self._own))]
        code = [path for path in self._code if is_below_any(path, outside)]
        yield from _mount(outside, opened=outside, protected=(), code=code, bind=self._bind)

    def _list_locked(self) -> Iterator[str]:
        """Protected paths in the roots, read-only; then what the person opened in them."""
        protected = [path for path in self.guarded.protected if is_below_any(path, self.roots)]
        yield from _mount(
            self.roots,
            opened=[
                path for path in self._writable if is_below_any(path, self.roots) and path not in self.roots
            ],
            protected=[path for path in protected if not is_below_any(path, self._writable)],
            code=[path for path in self._code if is_below_any(path, self.roots)],
            bind=self._bind,
        )
        for path in self._list_opened():
            if not is_below_any(path, self.roots):
                yield from (self._bind, path, path)
            for part in _select_existing(os.path.join(path, name) for name in GIT_SETTINGS):
                yield from ("--ro-bind", part, part)

    def _list_opened(self) -> list[str]:
        """Git's own folders that commands may write to, each behind those that hold it."""
        inside = (p for p in self.guarded.protected if p.endswith("/.git") and is_below_any(p, self._writable))
        return list(dict.fromkeys((*inside, *self._opened)))


def _select_existing(paths: Iterable[str]) -> list[str]:
    """Those that exist, each under the name by which its folder is really reached."""
    find_folder = cache(os.path.realpath)  # many lie in the same few folders
    named = (os.path.join(find_folder(os.path.dirname(p)), os.path.basename(p)) for p in paths)
    return list(dict.fromkeys(path for path in named if os.path.exists(path)))


def _sort_outermost_first(paths: Iterable[str]) -> list[str]:
    return sorted(dict.fromkeys(paths), key=lambda path: (path.count("/"), path))


def _mount(
    folders: Sequence[str],
    *,
    opened: Iterable[str],
    protected: Sequence[str],
    code: Sequence[str],
    bind: str,
) -> Iterator[str]:
    """Arguments that make all of this open, by `bind`, or read-only in folders that are open, outermost first.

    So is what lies around code and opened places: a folder that is a mount cannot be renamed.
    """
    opened = tuple(opened)
    around = list_folders_around((*code, *opened), folders)
    around = [path for path in around if not is_below_any(path, protected)]
    flags = dict.fromkeys((*around, *opened), bind) | dict.fromkeys((*protected, *code), "--ro-bind")
    for path in _sort_outermost_first(flags):
        yield from (flags[path], path, path)


def _mask(path: str) -> tuple[str, ...]:
    """An empty folder in a folder's place; in any other's the null device, which mounts so made cannot open."""
    real = os.path.realpath(path)
    if os.path.isdir(real):
        return ("--tmpfs", real, "--remount-ro", real)
    return ("--ro-bind", "/dev/null", real)
