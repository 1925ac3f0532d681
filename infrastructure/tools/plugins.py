"""Tools in Python from other distributions, found through the entry point group `quorum.tools`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from domain.errors import ConfigError
from infrastructure.own_packages import name_conflict
from infrastructure.tools.registration import ToolSource

GROUP = "quorum.tools"


def plugin_tools(root: Path) -> tuple[ToolSource, ...]:
    """What every installed distribution adds, in the order of distributions and entry points.

    An entry point names a callable, such as a class or a function, that gives one tool or several. It is given
    the workspace's root if it needs an argument. Raises ConfigError that names the distribution where one
    cannot be loaded or called, or gives something else.
    """
    found = sorted(entry_points(group=GROUP), key=lambda entry: (_distribution(entry), entry.name))
    return tuple(_source(entry, root) for entry in found)


def _source(entry: EntryPoint, root: Path) -> ToolSource:
    origin = f"the plug-in {_distribution(entry)} ({entry.name} = {entry.value})"
    remedy = f"repair or uninstall {_distribution(entry)}"
    try:
        factory = entry.load()
    except (ImportError, AttributeError) as error:
        conflict = name_conflict(error.name if isinstance(error, ImportError) else entry.module)
        raise ConfigError(f"{origin} cannot be loaded: {_shown(error)}{conflict or '; ' + remedy}") from error
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{origin} cannot be loaded: {_shown(error)}; {remedy}") from error
    if not callable(factory):
        raise ConfigError(
            f"{origin} names an object of type {type(factory).__name__}, which cannot be called; {remedy}"
        )
    try:
        given = _called(factory, root)
        tools = tuple(given) if isinstance(given, Iterable) else (given,)
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{origin} gives no tools: {_shown(error)}; {remedy}") from error
    return ToolSource(origin, tools)


def _called(factory: Callable[..., object], root: Path) -> object:
    try:
        inspect.signature(factory).bind()
    except TypeError:
        return factory(root)
    return factory()


def _distribution(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "of an unknown distribution"


def _shown(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
