"""`dataclass` as the standard library has it, for the many classes that a process defines and rarely uses.

The standard library compiles each method of a dataclass when it defines the class: a third of a millisecond,
and four hundred such classes are defined before the first request. Here the methods are functions over the
fields, and `__init__` is compiled once a class is used often: of most classes a process makes a handful of
objects, which costs a hundredth of compiling it.
"""

from __future__ import annotations

import dataclasses
import inspect
import reprlib
from collections.abc import Callable
from operator import attrgetter
from types import MethodType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # what type checkers know about dataclasses holds here too

OBJECTS_BEFORE_COMPILING = 256
"""How many objects of a class are made without compiling its `__init__`: together they cost what that costs."""

_WRITTEN = frozenset(
    ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__getstate__", "__setstate__")
)


def define_dataclass(
    *, frozen: bool = False, slots: bool = False, kw_only: bool = False, eq: bool = True
) -> Callable[[type], type]:
    """Return a decorator that does what `dataclasses.dataclass` does with these arguments.

    The standard library keeps what has no shorter way: a class that defines one of the methods itself or has an
    InitVar, and what keeps a frozen class frozen that derives from another: it refuses to mix them.
    """

    def decorate(cls: type) -> type:
        if not _is_plain(cls):
            return dataclasses.dataclass(frozen=frozen, slots=slots, kw_only=kw_only, eq=eq)(cls)
        if cls.__doc__ is None:
            cls.__doc__ = cls.__name__  # the standard library would work out a signature for it
        is_derived = any(map(dataclasses.is_dataclass, cls.__bases__))
        collect = dataclasses.dataclass(
            init=False, repr=False, eq=False, slots=slots, kw_only=kw_only, frozen=frozen and is_derived
        )
        made: type[Any] = collect(cls)
        methods: dict[str, object] = {"__init__": _UnwrittenInit(made, frozen=frozen), "__repr__": _render}
        if eq:
            methods |= _define_equality(made, frozen=frozen)
        if frozen:
            methods |= _define_freezing(made, slots=slots)
        for name, method in methods.items():
            setattr(made, name, method)
        parameters = made.__dataclass_params__  # what derives from it asks these
        parameters.init, parameters.repr, parameters.eq, parameters.frozen = True, True, eq, frozen
        return made

    return decorate


if not TYPE_CHECKING:
    dataclass = define_dataclass


def _is_plain(cls: type) -> bool:
    if not _WRITTEN.isdisjoint(vars(cls)):
        return False
    return not any("InitVar" in str(kind) for kind in inspect.get_annotations(cls).values())


class _UnwrittenInit:
    """Stands for the `__init__` of a dataclass until that is compiled: for many objects, or for a signature."""

    def __init__(self, cls: type[Any], *, frozen: bool) -> None:
        self._cls, self._frozen = cls, frozen
        self._objects = 0
        self._fill: Callable[..., None] | None = None

    def __get__(self, instance: object, owner: type) -> object:
        self._objects += 1
        if instance is None or self._objects > OBJECTS_BEFORE_COMPILING:
            return self._compile().__get__(instance, owner)
        if self._fill is None:
            self._fill = _make_fill(self._cls, self._compile, frozen=self._frozen)
        return MethodType(self._fill, instance)

    def _compile(self) -> Any:
        """Put the compiled function in the place of this object."""
        self._cls.__init__ = compiled = self._write()
        return compiled

    def _write(self) -> Any:
        cls = self._cls
        body: dict[str, object] = {
            "__module__": cls.__module__,
            "__qualname__": cls.__qualname__,
            "__doc__": "",
        }
        body["__annotations__"] = {field.name: field.type for field in dataclasses.fields(cls)}
        for field in dataclasses.fields(cls):
            body[field.name] = dataclasses.field(
                default=field.default,
                default_factory=field.default_factory,
                init=field.init,
                kw_only=field.kw_only,
            )
        if hasattr(cls, "__post_init__"):
            body["__post_init__"] = cls.__post_init__
        same_fields = type(cls.__name__, (), body)
        return vars(dataclasses.dataclass(frozen=self._frozen, repr=False, eq=False)(same_fields))["__init__"]


def _make_fill(cls: type[Any], compile_init: Callable[[], Any], *, frozen: bool) -> Callable[..., None]:
    """A function that does what `__init__` does, slower, without compiling one.

    What does not fit, such as arguments that are missing, is left to the compiled function: it says so in the
    words of the standard library.
    """
    fields = dataclasses.fields(cls)
    if not all(field.init for field in fields) or not _are_defaults_last(fields):
        return lambda self, *values, **named: compile_init()(self, *values, **named)
    names = frozenset(field.name for field in fields)
    positional = tuple(field.name for field in fields if not field.kw_only)
    defaults = tuple((field.name, field.default, field.default_factory) for field in fields)
    assign = object.__setattr__ if frozen else setattr
    has_post_init = hasattr(cls, "__post_init__")
    missing = dataclasses.MISSING

    def fill(self: Any, /, *values: object, **named: object) -> None:
        given = dict(zip(positional, values, strict=False)) | named
        if len(given) != len(values) + len(named) or not names.issuperset(given):
            compile_init()(self, *values, **named)
            return
        complete = []
        for name, default, make_default in defaults:
            if name in given:
                value = given[name]
            elif make_default is not missing:
                value = make_default()
            elif default is not missing:
                value = default
            else:
                compile_init()(self, *values, **named)
                return
            complete.append((name, value))
        for name, value in complete:
            assign(self, name, value)
        if has_post_init:
            self.__post_init__()

    return fill


def _are_defaults_last(fields: tuple[dataclasses.Field[Any], ...]) -> bool:
    missing = dataclasses.MISSING
    positional = [field for field in fields if not field.kw_only]
    have_default = [f.default is not missing or f.default_factory is not missing for f in positional]
    return have_default == sorted(have_default)


def _define_equality(cls: type, *, frozen: bool) -> dict[str, object]:
    fields = dataclasses.fields(cls)
    compared = _read_fields([field.name for field in fields if field.compare])
    hashed = _read_fields([f.name for f in fields if (f.compare if f.hash is None else f.hash)])

    def are_equal(self: object, other: object) -> object:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def compute_hash(self: object) -> int:
        return hash(hashed(self))

    return {"__eq__": are_equal, "__hash__": compute_hash if frozen else None}


def _read_fields(names: list[str]) -> Callable[[object], tuple[object, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _define_freezing(cls: type[Any], *, slots: bool) -> dict[str, object]:
    names = frozenset(field.name for field in dataclasses.fields(cls))

    def refuse_to_assign(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def refuse_to_delete(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    methods: dict[str, object] = {"__setattr__": refuse_to_assign, "__delattr__": refuse_to_delete}
    if slots:
        methods |= {"__getstate__": _read_state, "__setstate__": _write_state}
    return methods


@reprlib.recursive_repr()
def _render(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _read_state(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _write_state(self: Any, state: list[object]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
