"""Reading the managed policy: only from a place that nobody but the administrator can write to."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, TypeVar, get_args

import msgspec
from msgspec import Meta, Struct, field

from quorum.domain.errors import ConfigError
from quorum.domain.review.mode import Mode
from quorum.infrastructure.config.about import BARE_NAME, ProjectRule
from quorum.infrastructure.config.keys import ANY_NAME, Key, find_node
from quorum.infrastructure.config.policy_table import (
    ALLOWED_MODELS,
    MIN_FAMILIES,
    MIN_REVIEWERS,
    MODES,
    NO_POLICY,
    PROVIDERS,
    REQUIRED_GUARDS,
    SERVERS,
    ManagedPolicy,
    ModelPattern,
    ProviderIdentity,
    ServerIdentity,
)
from quorum.infrastructure.config.program_tables import SERVER_NAME, GuardName
from quorum.infrastructure.config.toml_file import TomlFile, escape_path
from quorum.infrastructure.config.toml_text import KeyPath, format_key, format_literal, shorten_text
from quorum.infrastructure.config.validation import (
    MOST_PROBLEMS,
    Assignment,
    Checked,
    check_source,
    find_missing_keys,
)

_T = TypeVar("_T")
_PRICES = "prices"
_Count = Annotated[int, Meta(ge=1, le=100)]
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH

BOUNDED = frozenset(
    {ProjectRule.LOWER, ProjectRule.CAP, ProjectRule.STRICTER, ProjectRule.ADD, ProjectRule.NARROW}
)
"""The kinds of settings that have an order, so that one value is tighter than another."""
RAISED: KeyPath = ("quorum", "min_votes")
RULE: KeyPath = ("quorum", "rule")
SWITCHES: Mapping[KeyPath, object] = {
    ("quorum", "escalate"): False,
    ("tools", "web", "fetch"): False,
    ("tools", "web", "search"): "",
    ("tools", "references"): False,
}
"""Settings that a policy can only switch off, and the value that does it."""
PATHS: frozenset[KeyPath] = frozenset(
    {("tools", "run_command", "sandbox_readable"), ("tools", "run_command", "sandbox_writable")}
)
"""Lists of paths, of which a policy says in which ones they must lie."""


class PolicyPlace(Struct, frozen=True):
    """Where the policy is, and the user id of the administrator whose it must be.

    Nothing that an ordinary user sets leads elsewhere: no variable, no flag, no setting. Whoever packages
    quorum for a system with another place changes `POLICY_PLACE`.
    """

    file: Path
    owner: int = 0


POLICY_PLACE = PolicyPlace(Path("/etc/quorum/requirements.toml"))


def read_policy(place: PolicyPlace | None = None) -> ManagedPolicy:
    """The policy of this machine, `NO_POLICY` where there is no such file.

    Raises ConfigError for one that cannot be read, is not wholly understood, or that others than the
    administrator could have written: what it demands is unknown then, and nothing may act.
    """
    place = place or POLICY_PLACE
    try:
        os.lstat(place.file)
    except (FileNotFoundError, NotADirectoryError):
        return NO_POLICY
    except OSError as error:
        raise ConfigError(
            f"{escape_path(place.file)} cannot be looked at: {error.strerror}; {_WITHOUT_IT}"
        ) from error
    _require_owner(place)
    try:
        file = TomlFile.read(place.file)
    except ConfigError as error:
        raise ConfigError(f"{error}; {_WITHOUT_IT}") from error
    return parse_policy(file)


_WITHOUT_IT = (
    "it holds the managed policy of this machine, and nothing is started without it: ask its administrator"
)


def _require_owner(place: PolicyPlace) -> None:
    """Raise ConfigError where somebody else could have written the file, or put another one in its place."""
    try:
        real = Path(os.path.realpath(place.file, strict=True))
        for path in (place.file.parent, *place.file.parent.parents, real, *real.parents):
            status = os.stat(path)
            if status.st_uid not in (0, place.owner):
                whose = "is not owned by root"
            elif not status.st_mode & _OTHERS_MAY_WRITE or (path != real and status.st_mode & stat.S_ISVTX):
                continue
            else:
                whose = "can be written by others than its owner"
            raise ConfigError(
                f"{escape_path(path)} {whose}, so {escape_path(place.file)} is refused as a policy; "
                f"{_WITHOUT_IT} (chown root {escape_path(path)}; chmod go-w {escape_path(path)})"
            )
        if os.stat(real).st_uid != place.owner:
            raise ConfigError(f"{escape_path(real)} is not owned by user {place.owner}; {_WITHOUT_IT}")
    except OSError as error:
        raise ConfigError(
            f"{escape_path(place.file)} cannot be read: {error.strerror}; {_WITHOUT_IT}"
        ) from error


def parse_policy(file: TomlFile) -> ManagedPolicy:
    """The policy that a file holds. Raises ConfigError that names everything wrong in it."""
    return _PolicyReading(file).read_policy()


class _PolicyReading(Struct):
    """Takes the policy's own keys out of a file, and checks what is left as settings."""

    file: TomlFile
    problems: list[str] = field(default_factory=list)

    def read_policy(self) -> ManagedPolicy:
        data = dict(self.file.data)
        modes = self._pop(data, MODES, tuple[Mode, ...], f"a list of {', '.join(Mode)}")
        reviewers = self._pop(data, MIN_REVIEWERS, _Count, "a whole number from 1 to 100")
        families = self._pop(data, MIN_FAMILIES, _Count, "a whole number from 1 to 100")
        guards = self._pop(
            data,
            REQUIRED_GUARDS,
            tuple[GuardName, ...],
            f"a list of {', '.join(get_args(GuardName))}, those that must stay on",
        )
        allowed = self._pop(
            data,
            ALLOWED_MODELS,
            tuple[ModelPattern, ...],
            'a list of "provider/model", in which * stands for any text',
        )
        providers = self._pop(
            data,
            PROVIDERS,
            dict[Annotated[str, Meta(pattern=BARE_NAME)], ProviderIdentity],
            "tables of providers with type, client, base_url and program, which say which server is meant",
        )
        servers = self._pop(
            data,
            SERVERS,
            dict[Annotated[str, Meta(pattern=SERVER_NAME)], ServerIdentity],
            'tables of servers, each with command = ["PROGRAM", …] or url = "https://…"',
        )
        for name, identity in (servers or {}).items():
            if bool(identity.command) == bool(identity.url):
                where = (*SERVERS, name)
                self.problems.append(
                    f"{self.file.locate(where)}: {format_key(where)} needs either command or url"
                )
        checked = check_source(data, origin=str(self.file.path), place=self.file.locate)
        self.problems += checked.problems
        bounds, prices = self._sort(checked)
        if self.problems:
            raise ConfigError("\n".join((*self.problems[:MOST_PROBLEMS], _WITHOUT_IT.capitalize())))
        return ManagedPolicy(
            file=self.file,
            modes=modes,
            min_reviewers=reviewers or 0,
            min_families=families or 0,
            allowed_models=allowed,
            providers=providers or {},
            servers=servers,
            guards=guards or (),
            bounds=bounds,
            prices=prices,
        )

    def _pop(self, data: dict[str, object], path: KeyPath, wanted: type[_T], expected: str) -> _T | None:
        """The value at a path, which is taken out; None where there is none, or one that does not fit."""
        *tables, name = path
        inside = data
        for table in tables:
            inner = inside.get(table)
            if not isinstance(inner, Mapping):
                return None
            inside[table] = inside = dict(inner)
        if name not in inside:
            return None
        value = inside.pop(name)
        try:
            return msgspec.convert(value, wanted, strict=True)
        except msgspec.ValidationError as error:
            found = shorten_text(str(error), 200)
            self.problems.append(f"{self.file.locate(path)}: {format_key(path)} must be {expected} ({found})")
            return None

    def _sort(self, checked: Checked) -> tuple[tuple[Assignment, ...], tuple[Assignment, ...]]:
        """The bounds and the prices among these settings; what a policy cannot bound is a problem."""
        bounds: list[Assignment] = []
        prices: list[Assignment] = []
        for assignment in checked.assignments:
            if assignment.path[0] == _PRICES:
                prices.append(assignment)
            elif (refusal := _explain_unbounded(assignment)) is None:
                bounds.append(assignment)
            else:
                self.problems.append(f"{self.file.locate(assignment.path)}: {refusal}")
        given = {one.path for one in prices}
        self.problems += self._list_missing_prices(checked, given)
        return tuple(bounds), tuple(prices)

    def _list_missing_prices(self, checked: Checked, given: set[KeyPath]) -> Iterator[str]:
        for path, place in checked.named_tables.items():
            for sentence in find_missing_keys(path, given.__contains__):
                yield f"{place(path)}: {sentence}"


def _explain_unbounded(assignment: Assignment) -> str | None:
    """Why a policy cannot set this, None where it can."""
    path, value = assignment.path, assignment.value
    if path in (RAISED, RULE) or path in PATHS:
        return None
    if path in SWITCHES:
        off = SWITCHES[path]
        return None if value == off else f"a policy can only set {format_key(path)} = {format_literal(off)}"
    if path == ("review", "mode"):
        return 'a policy does not choose the mode; say review.modes = ["ask", …], those that are allowed'
    node = find_node(path)
    if isinstance(node, Key) and node.project in BOUNDED and ANY_NAME not in node.path:
        return None
    return f"a policy cannot bound {format_key(path)} (docs/managed-policy.md lists what it can)"
