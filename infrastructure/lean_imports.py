"""Imports that leave out what quorum does not use of a library, so that a start need not load it.

A library may import others wherever they are installed (`without`), its packages may import all of their
modules to offer each name in one place (`import_lazily`), and a module may name types of an interface that
quorum does not use (`standing_in`).
"""

from __future__ import annotations

import ast
import importlib
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import resolve_name
from types import ModuleType
from typing import NamedTuple

from quorum.domain.text.python_syntax import parse_module


class _Absence:
    """Finds no such module, for the thread that it is made in; others import theirs meanwhile."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names, self._thread = names, threading.get_ident()

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Raise ModuleNotFoundError for one of these modules, and leave all others to be found."""
        if name in self._names and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"{name} is not needed here", name=name)


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Meanwhile, have this thread find none of these modules, as if they were not installed."""
    absence = _Absence(frozenset(names))
    sys.meta_path.insert(0, absence)
    try:
        yield
    finally:
        sys.meta_path.remove(absence)


@contextmanager
def standing_in(*packages: str) -> Iterator[None]:
    """Meanwhile, have what this thread imports from these packages be empty classes of the same names.

    They serve where types are named in annotations, unions and checks of instances, of which there are none.
    Whoever imports the packages later has what they hold.
    """
    finder = _StandInFinder(packages)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in finder.made:
            parent, _, own = name.rpartition(".")
            module = sys.modules.pop(name, None)
            if parent in sys.modules and vars(sys.modules[parent]).get(own) is module:
                delattr(sys.modules[parent], own)


class _StandInFinder(Loader):
    """Finds modules of the packages, and makes them of whatever is asked of them."""

    def __init__(self, packages: Sequence[str]) -> None:
        self._packages, self._thread = packages, threading.get_ident()
        self.made: list[str] = []

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """A package of stand-ins, where it is one of these; None for all else."""
        if threading.get_ident() != self._thread or not any(
            name == package or name.startswith(f"{package}.") for package in self._packages
        ):
            return None
        self.made.append(name)
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A module that makes what it is asked for."""
        return _StandInModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing in it."""


class _StandInModule(ModuleType):
    """Has an empty class for every name, but for those that Python gives a meaning."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        made = type(name, (_StandIn,), {"__module__": self.__name__})
        setattr(self, name, made)
        return made


class _StandIn:
    """Of no type is there an instance."""

    def __class_getitem__(cls, _of: object) -> type[_StandIn]:
        return cls


def import_lazily(library: str) -> None:
    """From now on, have the packages of a library import what is asked of them, name by name.

    An SDK imports a thousand modules of types in its `__init__.py` files, of which a client needs a third. A
    package that is loaded lazily looks into that file for the module which a name comes from, and imports that
    one. It runs the whole file once it is asked for anything else, so each name means what it always does.
    No effect on packages that are imported already, or private.
    """
    if not any(isinstance(finder, _LazyFinder) and finder.library == library for finder in sys.meta_path):
        sys.meta_path.insert(0, _LazyFinder(library))


class _LazyFinder:
    """Finds the packages of one library, to be loaded lazily."""

    def __init__(self, library: str) -> None:
        self.library = library

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The package as the interpreter finds it, with another loader; None for all else."""
        inside, *below = name.split(".")
        if inside != self.library or name in sys.modules or any(part.startswith("_") for part in below):
            return None  # one that is in `sys.modules` is being loaded again, as a whole
        spec = PathFinder.find_spec(name, path)
        if spec is None or not spec.submodule_search_locations or not isinstance(spec.loader, SourceFileLoader):
            return None
        spec.loader = _LazyLoader(spec.loader)
        return spec


class _LazyLoader(Loader):
    """Makes a module that has run nothing yet."""

    def __init__(self, loader: SourceFileLoader) -> None:
        self._loader = loader

    def exec_module(self, module: ModuleType) -> None:
        """Leave the file for later."""
        assert module.__spec__ is not None  # it was made from one
        module.__loader__ = module.__spec__.loader = self._loader
        module.__class__ = _LazyPackage


class _LazyPackage(ModuleType):
    """A package whose `__init__.py` has not run."""

    def __setattr__(self, name: str, value: object) -> None:
        """Take a module that was imported, or what hides it: a function in it with its own name."""
        if isinstance(value, ModuleType) and name in vars(value) and name in _read_origins(self):
            value = vars(value)[name]
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> object:
        package = self.__name__
        if (origin := _read_origins(self).get(name)) is not None:
            with suppress(ImportError, AttributeError):  # the whole file says what is wrong, or does without
                setattr(self, name, origin.load(package))
                return vars(self)[name]
        elif PathFinder.find_spec(f"{package}.{name}", self.__path__) is not None:
            return importlib.import_module(f"{package}.{name}")
        elif name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=self)
        module: ModuleType = self
        module.__class__ = ModuleType
        try:
            importlib.reload(module)
        except BaseException:  # as where memory is short: the file is run for whoever asks next
            module.__class__ = _LazyPackage
            raise
        return getattr(module, name)


class _Origin(NamedTuple):
    """What a file imports a name from: `from module import attribute`."""

    module: str
    attribute: str

    def load(self, package: str) -> object:
        """What the name means. Raises ImportError and AttributeError."""
        if self.module == package:  # `from . import attribute`
            return importlib.import_module(f"{package}.{self.attribute}")
        return getattr(importlib.import_module(self.module), self.attribute)


def _read_origins(package: ModuleType) -> Mapping[str, _Origin]:
    """By the name that a package offers, where it comes from.

    Only what its file imports and does not bind to anything else.
    """
    spec = package.__spec__
    assert spec is not None
    assert isinstance(spec.loader, SourceFileLoader)
    if spec.loader_state is None:
        origins: dict[str, _Origin] = {}
        for statement in parse_module(spec.loader.get_data(spec.loader.path)).body:
            if isinstance(statement, ast.ImportFrom):
                module = resolve_name("." * statement.level + (statement.module or ""), package.__name__)
                for each in statement.names:
                    origins[each.asname or each.name] = _Origin(module, each.name)
            else:
                for name in _list_bound_names(statement):
                    origins.pop(name, None)
        spec.loader_state = origins
    known: Mapping[str, _Origin] = spec.loader_state
    return known


def _list_bound_names(node: ast.AST) -> Iterator[str]:
    """What a statement binds in its module. What the body of a function or a class binds is its own."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.alias(name=name, asname=other_name):
            yield other_name or name
    own = node.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else ()
    for below in ast.iter_child_nodes(node):
        if below not in own:
            yield from _list_bound_names(below)
