"""Sees that quorum was changed on disk while it runs, where one of its modules is first needed then.

An update replaces modules that a running process has not loaded yet. One of another version beside those that
are loaded would fail in ways that nobody has tried, and one that is gone cannot be loaded at all. All of these
are one error, whose text says what to do. Nothing is imported with this module: it is there from the start.
"""

from __future__ import annotations

import os
import sys
import time
from _frozen_importlib_external import PathFinder, SourceFileLoader, spec_from_file_location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _frozen_importlib import ModuleSpec
    from collections.abc import Mapping, Sequence
    from types import ModuleType

CHANGED = "quorum was changed on disk while it ran; restart it"
_PACKAGE = __name__.partition(".")[0]
_BEGINNING = f"{_PACKAGE}."
_COARSE_SECS = 0.01
"""How far the times of files lag behind, at most."""
_OF_ANOTHER_VERSION = (ImportError, SyntaxError, AttributeError, NameError, TypeError)


def watch_own_code() -> None:
    """From now on, refuse to load a module of quorum that was changed or removed since.

    A process that is forked began with the modules of its parent.
    """
    if _identify(__file__) is not None and not any(isinstance(each, _OwnFinder) for each in sys.meta_path):
        own = _OwnFinder()
        place = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else 0
        sys.meta_path.insert(place, own)
        sys.meta_path.append(_MissingFinder(own))


class _OwnFinder:
    """Finds the modules of quorum, as the interpreter does, for as long as they are those it began with.

    Each folder is listed once: the interpreter looks it up, and what may be in it, for every module. What is
    not in a list is left to the interpreter.
    """

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._installed = _identify(__file__)
        self._listed: dict[str, frozenset[str]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module; None for one that is not quorum's or was never there. Raises ImportError."""
        if not name.startswith(_BEGINNING):
            return None
        if self.is_replaced():
            raise build_error(name)
        if path is not None and len(path) == 1 and (listed := self._find_listed(name, path[0])) is not None:
            return listed
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _OwnLoader(spec.loader.name, spec.loader.path, self)
        elif any(map(self.is_changed, path or () if spec is None or spec.origin is None else (spec.origin,))):
            raise build_error(name)
        return spec

    def _find_listed(self, name: str, folder: str) -> ModuleSpec | None:
        own = name.rpartition(".")[2]
        names = self._list(folder)
        package = f"{folder}/{own}"
        if own in names and "__init__.py" in self._list(package):
            file, inside = f"{package}/__init__.py", [package]
        elif own not in names and f"{own}.py" in names:
            file, inside = f"{package}.py", None
        else:
            return None
        loader = _OwnLoader(name, file, self)
        return spec_from_file_location(name, file, loader=loader, submodule_search_locations=inside)

    def _list(self, folder: str) -> frozenset[str]:
        names = self._listed.get(folder)
        if names is None:
            try:
                names = frozenset(os.listdir(folder))
            except OSError:
                names = frozenset()
            self._listed[folder] = names
        return names

    def is_replaced(self) -> bool:
        """Whether all of quorum was: an update puts each file there anew."""
        return _identify(__file__) != self._installed

    def is_changed(self, place: str) -> bool:
        """Whether a file or folder is gone or has another content since."""
        return (found := _find_status(place)) is None or self.is_later(found.st_mtime)

    def may_be_changed(self, place: str) -> bool:
        """The same, also for one with an older time; one that was linked from elsewhere looks so, too."""
        return (found := _find_status(place)) is None or self.is_later(found.st_ctime)

    def is_later(self, changed_at: float) -> bool:
        """Whether that was since this began, measured back from now: the clock may have been set."""
        return 0 <= time.time() - changed_at < time.monotonic() - self._began + _COARSE_SECS


class _MissingFinder:
    """Comes last: what nothing else finds went with an update, where there was one."""

    def __init__(self, own: _OwnFinder) -> None:
        self._own = own

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Raise ImportError, or find nothing."""
        if self._own.is_replaced():
            raise build_error(name)


class _OwnLoader(SourceFileLoader):
    """Loads one module; what fails as code of another version does is the error that says so."""

    def __init__(self, name: str, path: str, finder: _OwnFinder) -> None:
        super().__init__(name, path)
        self._finder = finder

    def path_stats(self, path: str) -> Mapping[str, float]:
        """The time and size of the file, which say whether its compiled code is of it. Raises ImportError
        where it was changed."""
        found: Mapping[str, float] = super().path_stats(path)
        if self._finder.is_later(found["mtime"]):
            raise build_error(self.name)
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Run it. Raises ImportError where it is not of the version that runs."""
        try:
            super().exec_module(module)
        except FileNotFoundError:  # it was there a moment ago
            raise build_error(module.__name__) from None
        except _OF_ANOTHER_VERSION as error:
            is_of_others = isinstance(error, ImportError) and not (error.name or "").startswith(_PACKAGE)
            if is_of_others or is_changed_error(error) or not self._finder.may_be_changed(self.path):
                raise
            raise build_error(module.__name__) from error


def build_error(module: str) -> ImportError:
    """The error, one of quorum's own where their module is loaded."""
    errors = sys.modules.get(f"{_PACKAGE}.domain.errors")
    kind: type[ImportError] = ImportError if errors is None else errors.ProgramChanged
    return kind(CHANGED, name=module)


def is_changed_error(error: BaseException) -> bool:
    """Whether it says that quorum was changed."""
    return isinstance(error, ImportError) and error.msg == CHANGED


def _identify(file: str) -> tuple[int, int, int] | None:
    found = _find_status(file)
    return None if found is None else (found.st_ino, found.st_mtime_ns, found.st_size)


def _find_status(place: str) -> os.stat_result | None:
    try:
        return os.stat(place)
    except OSError:
        return None
