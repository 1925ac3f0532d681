"""The hooks that the settings declare, in Python or as commands, loaded and in their places.

Plain functions of hooks run in a thread that nobody has to wait for.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import sysconfig
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TypeVar, cast

from msgspec import Struct

from quorum.application.calls.hook_chain import HookMatcher, HookRegistration
from quorum.application.calls.hooks import (
    Hook,
    HookSubject,
    UniformHook,
    bind_method,
    copy_subject,
    explain_refused_answer,
    explain_unusable_edit,
    find_point,
    restore,
)
from quorum.domain.calls.hook_points import (
    Abort,
    AnyAnswer,
    ContinueWithMessages,
    HookPoint,
    OnHookError,
    Skip,
    describe_point,
)
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ConfigError, HookFailure, QuorumError
from quorum.infrastructure.blocking import run_in_daemon_thread
from quorum.infrastructure.config.paths import locate_user_file
from quorum.infrastructure.config.program_tables import HookTable, find_current_name
from quorum.infrastructure.execution.commands.environment import build_command_environment
from quorum.infrastructure.execution.commands.sealing import (
    expand_declared_command,
)
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from quorum.infrastructure.hooks.command_hook import CommandHook
from quorum.infrastructure.own_code import find_name_conflict, list_own_folders

_Result = TypeVar("_Result")


class PythonHook(UniformHook):
    """Wraps any object that has some of the methods of `Hook`; those it lacks change nothing.

    Plain methods run in a thread, on a copy of the draft whose edits count once the method has returned, so
    that one that hangs can change nothing later. `answer` raises HookFailure, naming class and method,
    where the object raised, answered something else than its point allows (None is Continue or Finish), or
    left behind a draft that cannot be used.
    """

    def __init__(self, inner: object) -> None:
        self._inner = inner

    async def answer(self, subject: HookSubject) -> AnyAnswer:
        """As the object answers; the default of the point where it has no such method."""
        point = find_point(subject)
        default = describe_point(point).default
        if not hasattr(self._inner, point):
            return default
        try:
            answer = await _call_hook(cast("Hook", self._inner), subject)
        except QuorumError:
            raise
        except Exception as error:
            raise self._build_failure(point, f"raised {type(error).__name__}: {error}") from error
        if answer is None:
            answer = default
        if problem := explain_refused_answer(answer, point) or explain_unusable_edit(subject):
            raise self._build_failure(point, problem)
        if isinstance(answer, ContinueWithMessages):
            return ContinueWithMessages(tuple(answer.messages))
        return cast("AnyAnswer", answer)

    def _build_failure(self, point: HookPoint, what: str) -> HookFailure:
        return HookFailure(f"{type(self._inner).__name__}.{point.value} {what}")


async def _call_hook(inner: Hook, subject: HookSubject) -> object:
    method: Callable[[], object] = bind_method(inner, subject)
    if inspect.iscoroutinefunction(method):
        return await cast("Awaitable[object]", method())
    own = copy_subject(subject)
    answer: object = await run_in_daemon_thread(bind_method(inner, own))
    if inspect.isawaitable(answer):  # a plain function that gave away a coroutine
        answer = await answer
    restore(subject, own)  # all of it: the chain refuses what may not be edited
    return answer


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


def locate_hooks_folder(environ: Mapping[str, str]) -> Path | None:
    """The folder for the person's own hook modules, beside their quorum.toml; None without a home folder."""
    file = locate_user_file(environ)
    return None if file is None else file.parent / "hooks"


def build_hook_registrations(
    tables: Sequence[HookTable],
    *,
    workspace: Path,
    environ: Mapping[str, str],
    secret_names: Collection[str] = (),
    sandbox: Sandbox | None = None,
    session_id: str = "",
) -> tuple[HookRegistration, ...]:
    """Every enabled hook, in the order of the settings. Imports the modules of hooks in Python.

    Commands run in the workspace with the environment that `environ` and `secret_names` leave of ours, those
    declared for it in the sandbox.
    Raises ConfigError that names the table, as `hooks[0]`, and the remedy.
    """
    bench = _Bench(
        workspace=workspace,
        folder=locate_hooks_folder(environ),
        environment=build_command_environment(environ, secret_names),
        sandbox=sandbox,
        session_id=session_id,
    )
    names: dict[str, int] = {}
    registrations = []
    for place, table in enumerate(tables):
        if table.enabled:
            name = _choose_name(table, place, names)
            names[name] = place
            registrations.append(_build_registration(table, f"hooks[{place}]", name, bench))
    return tuple(registrations)


class _Bench(Struct, frozen=True, kw_only=True):
    """What all hooks are made from."""

    workspace: Path
    folder: Path | None
    environment: Mapping[str, str]
    sandbox: Sandbox | None
    session_id: str


def _build_registration(table: HookTable, where: str, name: str, bench: _Bench) -> HookRegistration:
    points = frozenset((table.event,) if isinstance(table.event, HookPoint) else table.event)
    if table.on_error == "closed" and (point := _find_observed(points)) is not None:
        raise ConfigError(
            f'{where}.on_error is "closed", but nothing can be held back at {point}; leave it out there'
        )
    return HookRegistration(
        name=name,
        hook=_build_command_hook(table, where, points, bench)
        if table.command
        else _build_python_hook(table, where, points, bench),
        priority=table.priority,
        timeout_secs=table.timeout_secs,
        on_error=OnHookError(table.on_error) if table.on_error else None,
        matcher=HookMatcher(
            tools=table.tools, risk=RiskLevel(table.risk) if table.risk else None, paths=table.paths
        ),
        points=points,
    )


def _find_observed(points: Collection[HookPoint]) -> HookPoint | None:
    """One of the points at which a hook can hold back nothing; None where there is none among these."""
    holding = {Skip, Abort}
    return next((p for p in HookPoint if p in points and not holding & {*describe_point(p).answers}), None)


def _build_command_hook(
    table: HookTable, where: str, points: Collection[HookPoint], bench: _Bench
) -> UniformHook:
    argv = expand_declared_command(table.command, where, bench.environment)
    sandbox = bench.sandbox if table.sandbox else None
    if not table.dialect:
        return CommandHook(
            argv,
            cwd=bench.workspace,
            environment=bench.environment,
            timeout_secs=table.timeout_secs,
            sandbox=sandbox,
        )
    from quorum.infrastructure.hooks import claude_dialect

    if other := [point for point in HookPoint if point in points and not claude_dialect.has_claude_form(point)]:
        events = ", ".join(claude_dialect.CLAUDE_EVENTS.values())
        raise ConfigError(f"{where}.event is {other[0]}, which dialect does not know; it knows {events}")
    if problem := claude_dialect.find_matcher_problem(table.matcher):
        raise ConfigError(f"{where}.matcher cannot be used: {problem}")
    return claude_dialect.ClaudeCommandHook(
        argv,
        matcher=table.matcher,
        session_id=bench.session_id,
        cwd=bench.workspace,
        environment=bench.environment,
        timeout_secs=table.timeout_secs,
        sandbox=sandbox,
    )


def _build_python_hook(
    table: HookTable, where: str, points: frozenset[HookPoint], bench: _Bench
) -> UniformHook:
    kind = load_hook_class(
        table.python, where=f"{where}.python", folder=bench.folder, workspace=bench.workspace
    )
    present = [point for point in HookPoint if _defines(kind, point)]
    for point in HookPoint:
        if point in points and point not in present:
            has = f"it has {', '.join(present)}" if present else f"it needs one of {', '.join(HookPoint)}"
            raise ConfigError(f"{where}.event is {point}, but {kind.__name__} has no such method; {has}")
    return PythonHook(create_instance(kind, table.settings, where=where))


def _defines(kind: type, point: HookPoint) -> bool:
    """Whether a class has a method for a point, other than the one of Hook that does nothing."""
    method = getattr(kind, point.value, None)
    return callable(method) and method is not getattr(Hook, point.value)


def _choose_name(table: HookTable, place: int, taken: Mapping[str, int]) -> str:
    if table.name:
        if table.name in taken:
            raise ConfigError(
                f'hooks[{place}].name is "{table.name}", and so is that of hooks[{taken[table.name]}]; '
                "give it another"
            )
        return table.name
    name = base = table.python.partition(":")[2] or Path(table.command[0]).name
    count = 1
    while name in taken:
        count += 1
        name = f"{base}-{count}"
    return name
