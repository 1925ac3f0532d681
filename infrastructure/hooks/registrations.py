"""The hooks that the settings declare, loaded and in their places."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from quorum.application.calls.hook_registration import HookMatcher, HookRegistration
from quorum.application.calls.hooks import Hook, UniformHook
from quorum.domain.calls.hook import HookPoint, OnHookError
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.hook_table import HookTable
from quorum.infrastructure.config.paths import locate_user_file
from quorum.infrastructure.execution.commands.declared_program import expand_declared_command
from quorum.infrastructure.execution.commands.environment import build_command_environment
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from quorum.infrastructure.hooks.class_loading import create_instance, load_hook_class
from quorum.infrastructure.hooks.command_hook import CommandHook
from quorum.infrastructure.hooks.python_hook import PythonHook


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


def _build_registration(table: HookTable, where: str, name: str, bench: _Bench) -> HookRegistration:
    points = frozenset((table.event,) if isinstance(table.event, HookPoint) else table.event)
    return HookRegistration(
        name=name,
        hook=_build_command_hook(table, where, bench)
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


def _build_command_hook(table: HookTable, where: str, bench: _Bench) -> UniformHook:
    return CommandHook(
        expand_declared_command(table.command, where, bench.environment),
        cwd=bench.workspace,
        environment=bench.environment,
        timeout_secs=table.timeout_secs,
        sandbox=bench.sandbox if table.sandbox else None,
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
