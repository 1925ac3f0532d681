"""Loading all settings: which source wins, and where each value came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import TypeAlias, cast

import msgspec
from msgspec import Struct, field

from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.sessions.trust import Standing, TrustItem, TrustQuestion
from quorum.infrastructure.config.keys import (
    MOST_PROBLEMS,
    Assignment,
    Checked,
    PlaceOf,
    Table,
    check_source,
    find_missing_keys,
    find_table_problem,
    load_schema_tree,
    nest_value,
)
from quorum.infrastructure.config.model_tables import explain_unreachable_rule
from quorum.infrastructure.config.paths import (
    ConfigLocations,
    is_present,
    list_limiting_files,
    locate,
    resolve_trusted_place,
)
from quorum.infrastructure.config.policy_file import PolicyLimits, PolicyPlace, read_policy
from quorum.infrastructure.config.policy_table import NO_POLICY, ManagedPolicy
from quorum.infrastructure.config.program_tables import describe_former_names
from quorum.infrastructure.config.project_trust import (
    WHY,
    Restrained,
    accept_assignments,
    describe_passwords,
    is_needed,
    keep_restrictions,
    restrict,
)
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.config.toml_file import TomlFile
from quorum.infrastructure.config.toml_text import KeyPath, escape_unprintable, format_key, parse_value

_PREFIX = "QUORUM_"
_SEPARATOR = "__"
_ADDRESSES = {"ANTHROPIC_BASE_URL": "anthropic", "OPENAI_BASE_URL": "openai"}

StandingOf: TypeAlias = Callable[[Path, str], Standing]
"""How the content of this digest stands with the person, at a place as `resolve_trusted_place` names it."""

SAFE_NOTICE = (
    "safe start (--safe): no hooks, MCP servers, plug-ins, instructions, skills, commands, agents or tools of "
    "your own, no themes, keys or rules that allow; what denies and restricts counts"
)
DEFAULT_ORIGIN = "default"
FLAG_ORIGIN = "flag"
_ADDED = " + "
# Two threads that look at a type for the first time at once end the process: msgspec 0.22 does not expect it.
_CONVERTING = Lock()


class LoadedSettings(Struct, frozen=True, kw_only=True):
    """The settings that count, and how they came about.

    `origins` maps every dotted key to "default", a file, "environment VARIABLE" or "flag"; `warnings` are
    sentences about what a project file wanted and may not; `files` are the files read, weakest first.
    `standing` is that of the project's file, None where none was read; `question` is to be put to the person
    where an untrusted one wants what only a trusted one may have. `sources` are the files by their origin.
    `covered` are the values that an untrusted project's file replaced, by their dotted keys: they count where
    its own turn out to be wrong only when they are used. `left_out` says why the project's file is not among
    them although there is one; it is also a warning. `policy` is what the administrator of the machine demands:
    all settings keep to it already. `is_safe`: nothing that the person or the project added is used.
    """

    settings: Settings
    origins: Mapping[str, str]
    warnings: tuple[str, ...]
    files: tuple[Path, ...]
    locations: ConfigLocations
    standing: Standing | None = None
    question: TrustQuestion | None = None
    sources: Mapping[str, TomlFile] = field(default_factory=dict)
    covered: Mapping[str, object] = field(default_factory=dict)
    left_out: str = ""
    policy: ManagedPolicy = NO_POLICY
    is_safe: bool = False

    def locate(self, path: KeyPath) -> str:
        """Where a value came from, as `origins` says it, with the line where that is a file."""
        parts = self.origins.get(format_key(path), DEFAULT_ORIGIN).split(_ADDED)
        places = (self.sources[part].locate(path) if part in self.sources else part for part in parts)
        return _ADDED.join(places)


def _answer_unknown(_place: Path, _digest: str) -> Standing:
    return Standing.UNKNOWN


def load_settings(
    *,
    cwd: Path,
    environ: Mapping[str, str],
    config_file: Path | None = None,
    overrides: Mapping[str, object] = MappingProxyType({}),
    standing: StandingOf = _answer_unknown,
    instead: TomlFile | None = None,
    needs_project: bool = True,
    policy_place: PolicyPlace | None = None,
    is_safe: bool = False,
) -> LoadedSettings:
    """Load settings: defaults, then files, then QUORUM_SECTION__KEY variables, then flags; the later win. What
    comes of that is held to the managed policy.

    `config_file` (`--config`, or else $QUORUM_CONFIG) replaces the user's and the project's file. `overrides`
    maps dotted keys to the values of flags. `standing` is asked about the project's file: about the very bytes
    that are then laid, for it is read once. `instead` counts in place of the file of its name, or as if there
    were that one. Without `needs_project` a file of the project that is not TOML, or cannot be read, is left
    out: the person cannot have trusted it. With `is_safe` files and variables only tighten, but for what models
    are reached by and where things are kept. `policy_place` is where tests have their policy. Raises
    ConfigError that names every place and remedy.
    """
    policy = read_policy(policy_place)
    locations = locate(cwd=cwd, environ=environ, config_file=config_file)
    if instead is not None and locations.named is None and instead.path in locations.project_search:
        locations = replace(locations, project=instead.path)
    stack = _Stack(instead=instead, is_safe=is_safe)
    stack.lay(build_defaults())
    for address in read_provider_addresses(environ):
        stack.lay(address)
    for path in _list_own_files(locations, instead):
        stack.lay_own(stack.read(path))
    if locations.named is None and locations.project is not None:
        stack.add_project(locations, standing, is_needed=needs_project)
    for variable in read_environment_settings(environ, tuple(stack.named_tables)):
        stack.lay_own(variable)
    for key, value in overrides.items():
        stack.lay(_check_flag(key, value))
    stack.lay_project_limits(cwd, environ)
    if is_safe:
        stack.warnings, stack.left_out = [SAFE_NOTICE], ""
    settings = stack.build_settings()
    if policy.file is not None:
        stack.hold_to(policy)
        settings = stack.convert()
    stack.warnings += describe_former_names(settings.hooks)
    origins = {format_key(path): stack.find_origin(path) for path, _ in list_setting_values(settings)}
    return LoadedSettings(
        settings=settings,
        origins=MappingProxyType(origins),
        warnings=tuple(stack.warnings),
        files=tuple(stack.files),
        locations=locations,
        standing=stack.standing,
        question=None if is_safe else stack.question,
        is_safe=is_safe,
        sources=MappingProxyType(stack.sources),
        left_out=stack.left_out,
        policy=policy,
        covered=MappingProxyType(
            {
                key: value
                for key, value in stack.covered.items()
                if str(locations.project) in origins[key].split(_ADDED)
            }
        ),
    )


def list_setting_values(settings: Settings) -> Iterator[tuple[KeyPath, object]]:
    """Every setting with its value as plain data, in the order of the schema."""
    for assignment in _check_defaults(settings).assignments:
        yield assignment.path, assignment.value


class _Stack(Struct):
    """Sources laid over each other; problems are gathered until `settings` is asked for."""

    instead: TomlFile | None = None
    is_safe: bool = False
    values: dict[KeyPath, Assignment] = field(default_factory=dict)
    sources: dict[str, TomlFile] = field(default_factory=dict)
    named_tables: dict[KeyPath, PlaceOf] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    standing: Standing | None = None
    question: TrustQuestion | None = None
    covered: dict[str, object] = field(default_factory=dict)
    left_out: str = ""

    def read(self, path: Path) -> Checked:
        return self.check(self.read_file(path))

    def read_file(self, path: Path) -> TomlFile:
        is_meant = self.instead is not None and self.instead.path == path
        return self.instead if self.instead is not None and is_meant else TomlFile.read(path)

    def check(self, file: TomlFile) -> Checked:
        self.files.append(file.path)
        self.sources[str(file.path)] = file
        return check_source(file.data, origin=str(file.path), place=file.locate)

    def lay(self, source: Checked) -> None:
        self.problems += source.problems
        for path, place in source.named_tables.items():
            self.named_tables.setdefault(path, place)
        self.put(source.assignments)

    def add_project(self, locations: ConfigLocations, standing: StandingOf, *, is_needed: bool) -> None:
        """Lay the project's file; one that cannot be read is left out unless `is_needed`."""
        assert locations.project is not None
        try:
            project = self.read_file(locations.project)
        except ConfigError as error:
            if is_needed and not self.is_safe:
                raise
            self.leave_out(str(error))
        else:
            self.lay_project(project, locations.user, _answer_unknown if self.is_safe else standing)

    def lay_own(self, source: Checked) -> None:
        """Lay what is the person's own; of a safe start only what is needed and what tightens."""
        if not self.is_safe:
            self.lay(source)
            return
        self.problems += source.problems
        for path, place in source.named_tables.items():
            if is_needed(path):
                self.named_tables.setdefault(path, place)
        self.put(keep_restrictions(source.assignments, self.values))

    def leave_out(self, problem: str) -> None:
        self.left_out = f"{problem}; here the file is left out, and no session begins until that is corrected"
        self.warnings.append(self.left_out)

    def lay_project(self, file: TomlFile, user_file: Path | None, standing: StandingOf) -> None:
        path, place = file.path, resolve_trusted_place(file.path)
        source, known = self.check(file), standing(place, file.digest)
        self.standing = known
        if known is Standing.TRUSTED:
            self.problems += describe_passwords(source.assignments, file.locate)
            outcome = accept_assignments(source.assignments, self.values, file=path, user_file=user_file)
            self.lay(replace(source, assignments=list(outcome.assignments)))
        else:
            # Whoever made the file is a stranger: what is wrong in it must not keep the person from their work.
            self.warnings += [
                f"{problem}; the file {WHY[known]}, so this is ignored" for problem in source.problems
            ]
            outcome = restrict(source.assignments, self.values, file=path, user_file=user_file, standing=known)
            self.covered = {format_key(one.path): self.values[one.path].value for one in outcome.assignments}
            self.put(outcome.assignments)
            self.question = _build_question(place, file.digest, known, outcome)
        self.warnings += outcome.warnings

    def lay_project_limits(self, cwd: Path, environ: Mapping[str, str]) -> None:
        """Add what the project's settings for other agents forbid, whatever else is set."""
        if not (files := list_limiting_files(cwd)):
            return
        from quorum.infrastructure.config.foreign_settings import read_project_limits

        for limits in read_project_limits(files, environ):
            for path, names in limits.added.items():
                present = self.values[path]
                values = tuple(dict.fromkeys((*cast("tuple[str, ...]", present.value), *names)))
                self.put([Assignment(path, values, f"{present.origin}{_ADDED}{limits.file}")])
            self.warnings.append(limits.notice)

    def put(self, assignments: Iterable[Assignment]) -> None:
        self.values |= {assignment.path: assignment for assignment in assignments}

    def build_settings(self) -> Settings:
        missing = [
            f"{place(path)}: {sentence}"
            for path, place in self.named_tables.items()
            for sentence in find_missing_keys(path, self.values.__contains__)
        ]
        if problems := self.problems or missing:
            raise ConfigError("\n".join(problems[:MOST_PROBLEMS]))
        data = self._nest()
        if unfit := [
            f"{place(path)}: {sentence}"
            for path, place in self.named_tables.items()
            if (sentence := find_table_problem(path, data)) is not None
        ]:
            raise ConfigError("\n".join(unfit[:MOST_PROBLEMS]))
        settings = self.convert()
        if problem := explain_unreachable_rule(settings.quorum.rule, len(settings.models.review)):
            raise ConfigError(f"{self.find_origin(('quorum', 'rule'))}: {problem}")
        return settings

    def convert(self) -> Settings:
        """The settings that the values make, which are known to fit."""
        with _CONVERTING:
            return msgspec.convert(self._nest(), Settings, strict=True)

    def hold_to(self, policy: ManagedPolicy) -> None:
        """Tighten what the policy does not allow, with a warning about each."""
        limits = PolicyLimits(policy, self.values, DEFAULT_ORIGIN)
        limits.apply()
        self.warnings += limits.notices
        if policy.file is not None:
            self.files.append(policy.file.path)
            self.sources[str(policy.file.path)] = policy.file

    def _nest(self) -> dict[str, object]:
        data: dict[str, object] = {}
        for path, assignment in self.values.items():
            _merge(data, nest_value(path, assignment.value))
        return data

    def find_origin(self, path: KeyPath) -> str:
        return self.values[path].origin if path in self.values else DEFAULT_ORIGIN


def _build_question(place: Path, digest: str, standing: Standing, outcome: Restrained) -> TrustQuestion | None:
    if not outcome.wants:
        return None
    item = TrustItem(file=str(place), digest=digest, wants=outcome.wants, changed=standing is Standing.CHANGED)
    return TrustQuestion(folder=str(place.parent), items=(item,))


def _list_own_files(locations: ConfigLocations, instead: TomlFile | None) -> tuple[Path, ...]:
    if locations.named is not None:
        return (locations.named,)
    if locations.user is None or not (
        is_present(locations.user) or (instead is not None and instead.path == locations.user)
    ):
        return ()
    return (locations.user,)


@cache
def build_defaults() -> Checked:
    return _check_defaults(Settings())


def _check_defaults(settings: Settings) -> Checked:
    return check_source(msgspec.to_builtins(settings), origin=DEFAULT_ORIGIN, place=lambda _: DEFAULT_ORIGIN)


def _check_flag(key: str, value: object) -> Checked:
    return check_source(
        nest_value(tuple(key.split(".")), value), origin=FLAG_ORIGIN, place=lambda _: "command line"
    )


def _merge(into: dict[str, object], data: Mapping[str, object]) -> None:
    for name, value in data.items():
        present = into.get(name)
        if isinstance(present, dict) and isinstance(value, dict):
            _merge(present, value)
        else:
            into[name] = value


def read_provider_addresses(environ: Mapping[str, str]) -> list[Checked]:
    """The addresses that the providers' own variables give; every file and setting counts more."""
    return [
        _read_variable(variable, ("providers", provider, "base_url"), environ[variable])
        for variable, provider in _ADDRESSES.items()
        if environ.get(variable)
    ]


def read_environment_settings(environ: Mapping[str, str], names: Iterable[KeyPath]) -> list[Checked]:
    """What the QUORUM_SECTION__KEY variables say, in the order of their names.

    A variable cannot spell every name: where a table has names of the user's own, the one of `names` that
    differs only in case or in `-` for `_` is meant, and otherwise the lower-case word with `-` for `_`.
    """
    known = tuple(names)
    return [
        _read_variable(
            variable, _parse_path(variable.removeprefix(_PREFIX), known), parse_value(environ[variable])
        )
        for variable in sorted(environ)
        if variable.startswith(_PREFIX) and _SEPARATOR in variable
    ]


def _read_variable(variable: str, path: KeyPath, value: object) -> Checked:
    origin = f"environment {escape_unprintable(variable)}"
    return check_source(nest_value(path, value), origin=origin, place=lambda _: origin)


def _parse_path(name: str, known: tuple[KeyPath, ...]) -> KeyPath:
    path: KeyPath = ()
    node: object = load_schema_tree()
    for part in name.split(_SEPARATOR):
        own = isinstance(node, Table) and node.has_free_names
        word = _quote_as_written(path, part, known) if own else part.lower()
        path = (*path, word)
        node = node.find_entry(word) if isinstance(node, Table) else None
    return path


def _quote_as_written(table: KeyPath, part: str, known: tuple[KeyPath, ...]) -> str:
    place = len(table)
    meant = part.lower().replace("_", "-")
    for path in known:
        if path[:place] == table and len(path) > place and path[place].lower().replace("_", "-") == meant:
            return path[place]
    return meant


def is_flag(origins: Mapping[str, str], key: str) -> bool:
    """Whether a setting has its value from the command line. `origins` says where each has it from."""
    return origins.get(key) == FLAG_ORIGIN
