"""Loading all settings: which source wins, and where each value came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType

import msgspec

from domain.errors import ConfigError
from infrastructure.config.environment import provider_addresses, settings_in
from infrastructure.config.paths import ConfigLocations, is_present, locate
from infrastructure.config.project_trust import restrained
from infrastructure.config.quorum_table import out_of_reach
from infrastructure.config.schema import Settings
from infrastructure.config.toml_file import TomlFile
from infrastructure.config.toml_text import KeyPath, dotted
from infrastructure.config.validation import (
    MOST_PROBLEMS,
    Assignment,
    Checked,
    PlaceOf,
    checked,
    missing_keys,
    nested,
    table_problem,
)

DEFAULT_ORIGIN = "default"
FLAG_ORIGIN = "flag"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSettings:
    """The settings that count, and how they came about.

    `origins` maps every dotted key to "default", a file, "environment VARIABLE" or "flag"; `warnings` are
    sentences about what a project file wanted and may not; `files` are the files read, weakest first.
    """

    settings: Settings
    origins: Mapping[str, str]
    warnings: tuple[str, ...]
    files: tuple[Path, ...]
    locations: ConfigLocations


def load_settings(
    *,
    cwd: Path,
    environ: Mapping[str, str],
    config_file: Path | None = None,
    overrides: Mapping[str, object] = MappingProxyType({}),
) -> LoadedSettings:
    """Load settings: defaults, then files, then QUORUM_SECTION__KEY variables, then flags; the later win.

    `config_file` (`--config`, or else $QUORUM_CONFIG) replaces the user's and the project's file. `overrides`
    maps dotted keys to the values of flags. Raises ConfigError that names every place and remedy.
    """
    locations = locate(cwd=cwd, environ=environ, config_file=config_file)
    stack = _Stack()
    stack.lay(_defaults())
    for address in provider_addresses(environ):
        stack.lay(address)
    for path in _trusted(locations):
        stack.lay(stack.read(path))
    if locations.named is None and locations.project is not None:
        stack.lay_restrained(stack.read(locations.project), locations.project, locations.user)
    for variable in settings_in(environ, tuple(stack.named_tables)):
        stack.lay(variable)
    for key, value in overrides.items():
        stack.lay(_flag(key, value))
    settings = stack.settings()
    origins = {dotted(path): stack.origin(path) for path, _ in setting_values(settings)}
    return LoadedSettings(
        settings=settings,
        origins=MappingProxyType(origins),
        warnings=tuple(stack.warnings),
        files=tuple(stack.files),
        locations=locations,
    )


def setting_values(settings: Settings) -> Iterator[tuple[KeyPath, object]]:
    """Every setting with its value as plain data, in the order of the schema."""
    for assignment in _plain(settings).assignments:
        yield assignment.path, assignment.value


@dataclass(slots=True)
class _Stack:
    """Sources laid over each other; problems are gathered until `settings` is asked for."""

    values: dict[KeyPath, Assignment] = field(default_factory=dict)
    named_tables: dict[KeyPath, PlaceOf] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)

    def read(self, path: Path) -> Checked:
        file = TomlFile.read(path)
        self.files.append(path)
        return checked(file.data, origin=str(path), place=file.place)

    def lay(self, source: Checked) -> None:
        self.problems += source.problems
        for path, place in source.named_tables.items():
            self.named_tables.setdefault(path, place)
        self.put(source.assignments)

    def lay_restrained(self, source: Checked, file: Path, user_file: Path | None) -> None:
        self.problems += source.problems
        outcome = restrained(source.assignments, self.values, file=file, user_file=user_file)
        self.warnings += outcome.warnings
        self.put(outcome.assignments)

    def put(self, assignments: Iterable[Assignment]) -> None:
        self.values |= {assignment.path: assignment for assignment in assignments}

    def settings(self) -> Settings:
        missing = [
            f"{place(path)}: {sentence}"
            for path, place in self.named_tables.items()
            for sentence in missing_keys(path, self.values.__contains__)
        ]
        if problems := self.problems or missing:
            raise ConfigError("\n".join(problems[:MOST_PROBLEMS]))
        data: dict[str, object] = {}
        for path, assignment in self.values.items():
            _merge(data, nested(path, assignment.value))
        if unfit := [
            f"{place(path)}: {sentence}"
            for path, place in self.named_tables.items()
            if (sentence := table_problem(path, data)) is not None
        ]:
            raise ConfigError("\n".join(unfit[:MOST_PROBLEMS]))
        settings = msgspec.convert(data, Settings, strict=True)
        if problem := out_of_reach(settings.quorum.rule, len(settings.models.review)):
            raise ConfigError(f"{self.origin(('quorum', 'rule'))}: {problem}")
        return settings

    def origin(self, path: KeyPath) -> str:
        return self.values[path].origin if path in self.values else DEFAULT_ORIGIN


def _trusted(locations: ConfigLocations) -> tuple[Path, ...]:
    if locations.named is not None:
        return (locations.named,)
    return (locations.user,) if locations.user is not None and is_present(locations.user) else ()


@cache
def _defaults() -> Checked:
    return _plain(Settings())


def _plain(settings: Settings) -> Checked:
    return checked(msgspec.to_builtins(settings), origin=DEFAULT_ORIGIN, place=lambda _: DEFAULT_ORIGIN)


def _flag(key: str, value: object) -> Checked:
    return checked(nested(tuple(key.split(".")), value), origin=FLAG_ORIGIN, place=lambda _: "command line")


def _merge(into: dict[str, object], data: Mapping[str, object]) -> None:
    for name, value in data.items():
        present = into.get(name)
        if isinstance(present, dict) and isinstance(value, dict):
            _merge(present, value)
        else:
            into[name] = value
