"""What quorum itself loads and starts: its packages, its interpreter, and the files that settings declare."""

from __future__ import annotations

import os
import site
import stat
import sys
import sysconfig
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.util import cache_from_source
from itertools import chain, islice
from pathlib import Path
from typing import TypeAlias

import quorum
from quorum.application.program_lookup import WORD_PARTS, list_python_modules
from quorum.domain.review.path_policy import OwnCode
from quorum.domain.text.paths import is_below_any
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.files.opened_path import RealPaths
from quorum.infrastructure.provider_types import split_program

_SYSTEM_PREFIXES = frozenset({"/", "/usr", "/usr/local"})
_INSTALLED = ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
_PACKAGE_FOLDERS = frozenset({"site-packages", "dist-packages"})
_MOST_ENTRIES = 300_000
_FEW = 10_000
"""To ask so many files for their names is faster than to list what is installed."""
_NOT_OF_OTHERS = frozenset({"quorum", "__main__", "sitecustomize", "usercustomize"})
# They name programs of the person's own by a path, perhaps with arguments.
_PROGRAM_VARIABLES = ("VISUAL", "EDITOR", "BROWSER")


def find_own_code(settings: Settings, root: Path, environ: Mapping[str, str]) -> OwnCode:
    """What no mode lets anybody write without a question, wherever it lies. `root` is the working directory."""
    fixed = [*_list_interpreter_places(str(root)), *_list_declared_files(settings, root, environ)]
    known = _drop_nested(place for each in fixed for place in _list_names(each))
    folders = tuple(folder for folder in _list_import_folders() if not is_below_any(folder, known))
    return OwnCode(places=LoadedPlaces(known, folders, os.path.realpath(root)), import_folders=folders)


def leave_out_workspace(root: Path, path: list[str] | None = None) -> None:
    """Have nothing more imported from the working directory, unless something of quorum's comes from there.

    Its entries on the import path come from PYTHONPATH, a checkout, or the way quorum was started; quorum's own
    packages are found without them.
    """
    path = sys.path if path is None else path
    workspace = os.path.realpath(root)
    installed = tuple(map(os.path.realpath, _list_installed_folders()))

    def is_needed(entry: str) -> bool:
        real = os.path.realpath(entry)
        return (
            not is_below_any(real, (workspace,))
            or is_below_any(real, installed)
            or real in set(_list_used_folders(_list_loaded_modules()))
        )

    path[:] = [entry for entry in path if is_needed(entry)]


_LoadedModule: TypeAlias = tuple[str, str, tuple[str, ...]]


class LoadedPlaces(Collection[str]):
    """Fixed places, and the packages and modules that were loaded from elsewhere until now.

    Of the folders of the import path those count as a whole from which something of others was loaded: more of
    it may be loaded later. Hard links of such code in `root` count, too. They are looked for once, as is each
    module.
    """

    def __init__(self, fixed: Sequence[str], folders: Sequence[str], root: str) -> None:
        self._fixed = tuple(fixed)
        self._root = root
        self._shared: tuple[str, ...] | None = None
        self._looking = threading.Lock()  # a second thread waits, and does not look for the same
        self._folders = frozenset(folders)
        self._places = self._fixed
        self._modules: set[_LoadedModule] = set()
        self._count = 0

    def __iter__(self) -> Iterator[str]:
        return iter(self._list_now())

    def __len__(self) -> int:
        return len(self._list_now())

    def __contains__(self, place: object) -> bool:
        return place in self._list_now()

    def _list_now(self) -> tuple[str, ...]:
        with self._looking:
            if self._shared is None:
                self._shared = tuple(_find_shared(self._root, self._fixed))
            if self._count != (now := len(sys.modules)):
                new = {each for each in _list_loaded_modules() if each not in self._modules}
                loaded = (place for place in _list_places(new) if not is_below_any(place, self._fixed))
                used = self._folders.intersection(_list_used_folders(new))
                self._places = tuple(_drop_nested((*self._places, *self._shared, *loaded, *used)))
                self._modules |= new
                self._count = now
            return self._places


def _list_places(modules: Iterable[_LoadedModule]) -> Iterator[str]:
    """The folders of packages, and the files of other modules."""
    paths = RealPaths()
    for _, file, folders in modules:
        for folder in folders:
            yield from _list_names(folder, paths)
        if file and not folders:
            yield from _list_names(file, paths)
            if file.endswith(".py"):
                yield from _list_names(cache_from_source(file), paths)


def _list_used_folders(modules: Iterable[_LoadedModule]) -> Iterator[str]:
    """Where modules of others lie, but for packages without a file of their own."""
    paths = RealPaths()
    for name, file, folders in modules:
        if file and name not in _NOT_OF_OTHERS:
            yield os.path.dirname(paths.resolve(os.path.abspath(os.path.dirname(file) if folders else file)))


def _list_loaded_modules() -> Iterator[_LoadedModule]:
    """The names of modules at the top of the import path, with their files and, of packages, folders."""
    for name, module in sys.modules.copy().items():  # threads import meanwhile
        if "." not in name:
            names = object.__getattribute__(module, "__dict__")  # to ask a lazy module would load it
            file, folders = names.get("__file__"), names.get("__path__")
            yield name, file if isinstance(file, str) else "", tuple(folders or ())


def _find_shared(root: str, known: Sequence[str]) -> list[str]:
    """What in the root is the same file as installed code by another name, as package managers make them; of an
    environment the folder of its packages.
    """
    loaded = (_find_status(file) for _, file, _ in _list_loaded_modules() if file)
    if not any(found.st_nlink > 1 for found in loaded if found is not None and stat.S_ISREG(found.st_mode)):
        return []
    files = _walk_files(root, known)
    first = list(islice(files, _FEW))
    if len(first) < _FEW and not any(map(_has_names, first)):
        return []
    inodes, devices = _list_installed_inodes()
    found: list[str] = []
    for entry in chain(first, files):
        if entry.inode() in inodes and not is_below_any(entry.path, found):
            status = entry.stat(follow_symlinks=False)
            if status.st_nlink > 1 and status.st_dev in devices:
                above = (str(each) for each in Path(entry.path).parents if each.name in _PACKAGE_FOLDERS)
                found.append(next(above, entry.path))
    return found


@lru_cache(maxsize=1)
def _list_installed_inodes() -> tuple[frozenset[int], frozenset[int]]:
    """Those of the installed packages and of quorum's own, and the devices that they are on."""
    folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    folders += list_own_folders()
    present = {folder: found.st_dev for folder in folders if (found := _find_status(folder)) is not None}
    inodes = frozenset(entry.inode() for folder in present for entry in _walk_files(folder, ()))
    return inodes, frozenset(present.values())


def _has_names(entry: os.DirEntry[str]) -> bool:
    """Whether a file has names beside this one, or cannot be asked."""
    try:
        return entry.stat(follow_symlinks=False).st_nlink > 1
    except OSError:  # gone meanwhile
        return True


def _find_status(place: str) -> os.stat_result | None:
    """None where nothing is there, or not any more: an update may replace what is installed."""
    try:
        return os.stat(place)
    except OSError:
        return None


def _walk_files(folder: str, known: Sequence[str]) -> Iterator[os.DirEntry[str]]:
    """The files below a folder, but for those in known places. Follows no link, and ends after many."""
    waiting, left = [folder], _MOST_ENTRIES
    while waiting and left > 0:
        try:
            with os.scandir(waiting.pop()) as listing:
                entries = list(listing)
        except OSError:  # gone meanwhile, or closed to us
            continue
        left -= len(entries)
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                yield entry
            elif not is_below_any(entry.path, known):
                waiting.append(entry.path)


def _list_interpreter_places(root: str) -> Iterator[str]:
    yield from list_own_folders()
    yield from _list_installed_folders()
    executables = (sys.executable, getattr(sys, "_base_executable", ""))
    for executable in filter(None, executables):
        yield from _follow_links(executable)
    for prefix in {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}:
        if prefix not in _SYSTEM_PREFIXES and not is_below_any(root, (prefix, os.path.realpath(prefix))):
            yield prefix
        else:
            yield os.path.join(prefix, "pyvenv.cfg")
    if sys.pycache_prefix:
        yield sys.pycache_prefix
    # The script that started this process, which is the `__main__` of a module that is imported by now.
    yield from _follow_links(os.path.abspath(sys.argv[0])) if os.path.isfile(sys.argv[0]) else ()
    yield from (entry for entry in sys.path if os.path.isfile(entry))


def _list_installed_folders() -> Iterator[str]:
    paths = sysconfig.get_paths()
    yield from (paths[kind] for kind in _INSTALLED if paths[kind] not in ("/usr/bin", "/usr/local/bin"))
    yield os.path.join(paths["platstdlib"], "lib-dynload")
    yield from site.getsitepackages()
    if site.ENABLE_USER_SITE:
        yield site.getusersitepackages()


def _list_import_folders() -> list[str]:
    """The folders of the import path, and those of PYTHONPATH, which the next process will look into."""
    entries = (*sys.path, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))
    named = (name for entry in entries for name in _list_names(entry or "."))
    own = (os.path.dirname(folder) for folder in list_own_folders())
    return [folder for folder in dict.fromkeys((*named, *own)) if os.path.isdir(folder)]


def find_name_conflict(module: str | None) -> str:
    """Explain that `module` is found in quorum instead of in the person's code; empty for any other name."""
    if (module or "").partition(".")[0] != "quorum":
        return ""
    return (
        "; quorum itself has this name, and Python finds that one: give yours another name, "
        "or run your code as a command"
    )


def list_own_folders() -> list[str]:
    """The folder of the package `quorum`, as it is spelled and as it is, and those that its links lead to."""
    folders = [place for folder in quorum.__path__ for place in _list_names(folder)]
    for folder in tuple(folders):
        with os.scandir(folder) as listing:
            folders += [os.path.realpath(entry.path) for entry in listing if entry.is_symlink()]
    return list(dict.fromkeys(folders))


def _list_declared_files(settings: Settings, root: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """The files that are named by the command lines which run outside the sandbox, also within a word: in the
    text for a shell, behind an option. A module that Python runs by its name counts with its package."""
    for words in _list_declared_commands(settings, environ):
        for module in list_python_modules(words):
            place = os.path.join(root, module.partition(".")[0])
            yield from (place, f"{place}.py")
        parts = (part for word in words[1:] for part in (word, *WORD_PARTS.split(word)))
        for part in (*(word for word in words[:1] if "/" in word), *parts):
            path = os.path.normpath(os.path.join(root, os.path.expanduser(part)))
            if "\0" not in part and os.path.isfile(path):
                yield from _follow_links(path)


def _list_declared_commands(settings: Settings, environ: Mapping[str, str]) -> Iterator[Sequence[str]]:
    yield from (hook.command for hook in settings.hooks if hook.command and not hook.sandbox)
    yield from (tool.command for tool in settings.tools.custom.values() if not tool.sandbox)
    yield from (table.command for table in settings.diagnostics)
    yield from (table.command for table in settings.agents.values())
    yield from (server.command for server in settings.mcp.servers.values())
    yield from (server.command for server in settings.lsp.values())
    yield from (split_program(table.type, table.program) for table in settings.providers.values())
    yield settings.tui.statusline
    yield from (environ.get(name, "").split() for name in _PROGRAM_VARIABLES)


def _follow_links(path: str) -> Iterator[str]:
    """A path, and each one that leads from it to the file that is meant."""
    yield path
    seen = {path}
    while os.path.islink(path):
        path = os.path.join(os.path.dirname(path), os.readlink(path))
        if path in seen:
            return
        seen.add(path)
        yield path


def _list_names(path: str, paths: RealPaths | None = None) -> Iterator[str]:
    """A path as it is spelled, with the links on its way, and as it is."""
    path = os.path.abspath(path)
    yield path
    real = os.path.realpath(path) if paths is None else paths.resolve(path)
    if real != path:
        yield real
        yield from (str(above) for above in Path(path).parents if os.path.islink(above))


def _drop_nested(places: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for place in sorted(dict.fromkeys(places), key=len):
        if not is_below_any(place, kept):
            kept.append(place)
    return kept
