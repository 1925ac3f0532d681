"""Finding the class of a hook in Python: on the import path or in the person's own folder, nowhere else."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import sysconfig
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path

from domain.calls.hook import HookPoint
from domain.errors import ConfigError
from infrastructure.own_packages import find_name_conflict


def load_hook_class(named: str, *, where: str, folder: Path | None, workspace: Path) -> type:
    """The class "module:Class". `where` names the setting for errors; `folder` is the person's own.

    A module in the workspace is refused: what stands there may be a stranger's, and a model can write it.
    Raises ConfigError where there is no such class or its module cannot be loaded.
    """
    module_name, _, class_name = named.partition(":")
    if folder is not None and folder.is_dir() and str(folder) not in sys.path:
        sys.path.append(str(folder))  # at the end: it can shadow no module of the program
        importlib.invalidate_caches()
    _refuse_workspace(module_name.partition(".")[0], where, folder, workspace)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise ConfigError(
                f"{where}: the module {module_name} needs {error.name}, which is not there"
                f"{find_name_conflict(error.name)}"
            ) from error
        own = f" nor in {folder}" if folder is not None else ""
        raise ConfigError(
            f"{where}: there is no module {module_name}, neither on the import path{own}"
            f"{find_name_conflict(module_name) or '; put it there'}"
        ) from error
    except ImportError as error:
        raise ConfigError(
            f"{where}: the module {module_name} cannot be loaded: {error}{find_name_conflict(error.name)}"
        ) from error
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"{where}: the module {module_name} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    found: object = getattr(module, class_name, None)
    if not isinstance(found, type):
        names = [name for name, value in vars(module).items() if _is_hook_of(value, module_name)]
        hint = f"; it has {', '.join(names)}" if names else find_name_conflict(module_name)
        raise ConfigError(f"{where}: the module {module_name} has no class {class_name}{hint}")
    return found


def create_instance(kind: type, settings: Mapping[str, object], *, where: str) -> object:
    """An object of the class, made with the settings by name. Raises ConfigError where they do not fit."""
    try:
        inspect.signature(kind).bind(**settings)
    except TypeError as error:
        raise ConfigError(f"{where}.settings do not fit {kind.__name__}: {error}") from error
    try:
        made: object = kind(**settings)
    except Exception as error:
        raise ConfigError(
            f"{where}: {kind.__name__} cannot be made: {type(error).__name__}: {error}"
        ) from error
    return made


def _refuse_workspace(top: str, where: str, folder: Path | None, workspace: Path) -> None:
    if top in sys.modules:  # part of the running program already
        return
    spec = importlib.util.find_spec(top)
    for location in _list_locations(spec):
        if not location.is_relative_to(workspace.resolve()):
            continue
        if not any(location.is_relative_to(place) for place in _list_trusted_folders(folder)):
            own = f"; put it into {folder}" if folder is not None else ""
            raise ConfigError(
                f"{where}: the module {top} is in the workspace, from which no hook is loaded{own}"
            )


def _list_locations(spec: ModuleSpec | None) -> list[Path]:
    if spec is None:
        return []
    named = [spec.origin] if spec.has_location and spec.origin else []
    return [Path(place).resolve() for place in (*named, *(spec.submodule_search_locations or ()))]


def _list_trusted_folders(folder: Path | None) -> list[Path]:
    """Where installed modules are, though the workspace may hold the environment; and the person's own."""
    paths = sysconfig.get_paths()
    installed = [Path(paths[kind]) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
    return [place.resolve() for place in (*installed, *([folder] if folder is not None else []))]


def _is_hook_of(value: object, module_name: str) -> bool:
    own = isinstance(value, type) and value.__module__ == module_name
    return own and any(hasattr(value, point.value) for point in HookPoint)
