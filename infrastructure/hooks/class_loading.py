"""Finding the class of a hook in Python: on the import path or in the person's own folder, nowhere else."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import sysconfig
from collections.abc import Mapping
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from quorum.domain.calls.hook import HookPoint
from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.hook_table import find_current_name
from quorum.infrastructure.own_code import find_name_conflict, list_own_folders


def load_hook_class(named: str, *, where: str, folder: Path | None, workspace: Path) -> type:
    """The class "module:Class". `where` names the setting for errors; `folder` is the person's own.

    A module in the workspace is refused: what stands there may be a stranger's, and a model can write it.
    Raises ConfigError where there is no such class or its module cannot be loaded.
    """
    module_name, _, class_name = (find_current_name(named) or named).partition(":")
    if folder is not None and folder.is_dir() and str(folder) not in sys.path:
        sys.path.append(str(folder))  # at the end: it can shadow no module of the program
        importlib.invalidate_caches()
    top = module_name.partition(".")[0]
    spec = None if top in sys.modules else _find_package(top)
    _refuse_workspace(spec, where, folder, workspace)
    try:
        if spec is not None and top not in sys.modules:
            _load_package(top, spec)
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


def _find_package(top: str) -> ModuleSpec | None:
    """Where a module at the top of the import path is; in a checkout, quorum's layers are not meant by it."""
    spec = importlib.util.find_spec(top)
    own = {Path(place).resolve() for place in list_own_folders()}
    if own.isdisjoint(_list_locations(spec)):
        return spec
    checkout = {place.parent for place in own}
    return PathFinder.find_spec(top, [entry for entry in sys.path if Path(entry).resolve() not in checkout])


def _load_package(top: str, spec: ModuleSpec) -> None:
    if spec.loader is None:
        return
    module = sys.modules[top] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[top]
        raise


def _refuse_workspace(spec: ModuleSpec | None, where: str, folder: Path | None, workspace: Path) -> None:
    for location in _list_locations(spec):
        if not location.is_relative_to(workspace.resolve()):
            continue
        if spec is not None and not any(
            location.is_relative_to(place) for place in _list_trusted_folders(folder)
        ):
            own = f"; put it into {folder}" if folder is not None else ""
            raise ConfigError(
                f"{where}: the module {spec.name} is in the workspace, from which no hook is loaded{own}"
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
