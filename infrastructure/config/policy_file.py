"""The managed policy: read only from a place of the administrator's alone, and applied to the settings.

Of two values the tighter one counts, wherever the other one comes from.
"""

from __future__ import annotations

import datetime
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeVar, cast, get_args

import msgspec
from msgspec import Meta, Struct, field

from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import QuorumRule
from quorum.domain.review.guards import DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES
from quorum.domain.review.mode import Mode
from quorum.domain.review.people import PeoplePolicy, Person, SigningRule, find_fingerprint
from quorum.domain.review.permission_rules import Answer, BadRule, Rule
from quorum.domain.settings import BARE_NAME, ProjectRule
from quorum.infrastructure.config.keys import (
    ANY_NAME,
    MOST_PROBLEMS,
    Assignment,
    Checked,
    Key,
    check_source,
    find_key,
    find_missing_keys,
    find_node,
)
from quorum.infrastructure.config.model_tables import ProviderTable
from quorum.infrastructure.config.policy_table import (
    ALLOWED_MODELS,
    LANGUAGE_SERVERS,
    MIN_FAMILIES,
    MIN_REVIEWERS,
    MODES,
    NO_POLICY,
    PROVIDERS,
    REQUIRED_GUARDS,
    SERVERS,
    LanguageServerIdentity,
    ManagedPolicy,
    ModelPattern,
    ProviderIdentity,
    ServerIdentity,
)
from quorum.infrastructure.config.program_tables import SERVER_NAME, GuardName
from quorum.infrastructure.config.project_trust import tighten_value
from quorum.infrastructure.config.toml_file import TomlFile, escape_path
from quorum.infrastructure.config.toml_text import (
    KeyPath,
    format_key,
    format_literal,
    hide_credentials,
    shorten_text,
)

_T = TypeVar("_T")
_ASK: KeyPath = ("permissions", "ask")
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
NETWORK: KeyPath = ("tools", "run_command", "network")
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
        language_servers = self._pop(
            data,
            LANGUAGE_SERVERS,
            dict[Annotated[str, Meta(pattern=SERVER_NAME)], LanguageServerIdentity],
            'tables of language servers, each with command = ["PROGRAM", …]',
        )
        people = self._read_people(data)
        checked = check_source(data, origin=str(self.file.path), place=self.file.locate)
        self.problems += checked.problems
        bounds, prices = self._sort(checked)
        if people.rules:
            asked = tuple(dict.fromkeys(rule.rule.text for rule in people.rules))
            bounds = (*bounds, Assignment(_ASK, asked, str(self.file.path)))
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
            language_servers=language_servers,
            guards=guards or (),
            bounds=bounds,
            prices=prices,
            people=people,
        )

    def _read_people(self, data: dict[str, object]) -> PeoplePolicy:
        tables = self._pop(
            data,
            PEOPLE,
            dict[Annotated[str, Meta(pattern=BARE_NAME)], PersonTable],
            'tables of people, each with keys = ["ssh-ed25519 …"] as in ~/.ssh/*.pub',
        )
        signatures = self._pop(
            data,
            SIGNATURES,
            tuple[SignatureTable, ...],
            'tables [[signatures]], each with calls = ["TOOL(PATTERN)"], needed and people',
        )
        place = self.file.locate(SIGNATURES)
        return build_people(
            tables or {},
            signatures or (),
            place,
            lambda problem: self.problems.append(f"{self.file.locate(PEOPLE)}: {problem}"),
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
    if path == NETWORK and not isinstance(value, str):
        return f"a policy lets {format_key(path)} reach all hosts or none, since people can allow others"
    if path == ("review", "mode"):
        return 'a policy does not choose the mode; say review.modes = ["ask", …], those that are allowed'
    node = find_node(path)
    if isinstance(node, Key) and node.project in BOUNDED and ANY_NAME not in node.path:
        return None
    return f"a policy cannot bound {format_key(path)} (docs/managed-policy.md lists what it can)"


_REVIEWERS: KeyPath = ("models", "review")
_ESCALATE: KeyPath = ("quorum", "escalate")
_MODE: KeyPath = ("review", "mode")
_GUARDS: KeyPath = ("guards",)
_LOOSEST_OF_GUARDS: Mapping[str, bool | int] = {
    "enabled": True,
    "max_bytes": DEFAULT_MAX_BYTES,
    "max_lines": DEFAULT_MAX_LINES,
}
_ONE_MODEL = ("decision", "exploration", "ask", "moderator")
_SEVERAL_MODELS: tuple[KeyPath, ...] = (
    ("models", "decision_fallback"),
    ("models", "review"),
    ("models", "participants"),
    ("debate", "models"),
)


class PolicyLimits(Struct):
    """Settings on their way through a policy.

    `values` are all settings by their paths, and are changed; `default` is the origin of what nobody set.
    `notices` say what was set otherwise and does not count.
    """

    policy: ManagedPolicy
    values: dict[KeyPath, Assignment]
    default: str
    notices: list[str] = field(default_factory=list)

    def apply(self) -> None:
        """Hold all of them to the policy."""
        for bound in self.policy.bounds:
            self._hold_to_bound(bound)
        self._drop_servers()
        self._drop_prices()
        self._drop_models()
        self._keep_guards()
        self._demand_votes()
        self._choose_mode()

    # ---------------------------------------------------------------- single settings

    def _hold_to_bound(self, bound: Assignment) -> None:
        present = self.values[bound.path]
        value = self._tighten(bound, present)
        if find_key(bound.path).project is ProjectRule.ADD and value != present.value:
            origin = f"{present.origin} + {bound.origin}"  # nothing is refused: what was set counts, too
            self.values[bound.path] = replace(bound, value=value, origin=origin)
            return
        self._replace(bound.path, value, bound.path)

    def _tighten(self, bound: Assignment, present: Assignment) -> object:
        key = find_key(bound.path)
        if bound.path == RAISED:
            return max(cast("int", present.value), cast("int", bound.value))
        if bound.path == RULE:
            return self._choose_rule(str(bound.value), str(present.value))
        if bound.path in SWITCHES:
            return bound.value
        if bound.path in PATHS:
            wanted, allowed = cast("tuple[str, ...]", present.value), cast("tuple[str, ...]", bound.value)
            return tuple(path for path in wanted if any(_lies_in(path, each) for each in allowed))
        if key.project is ProjectRule.NARROW:
            wanted, allowed = cast("tuple[str, ...]", present.value), cast("tuple[str, ...]", bound.value)
            return tuple(name for name in wanted if name in allowed) or allowed
        return tighten_value(key, present.value, bound.value)

    def _choose_rule(self, demanded: str, present: str) -> str:
        """The rule that is set if it never needs fewer approvals than the one demanded, and else that."""
        most = max(1, len(self._reviewers))
        own, least = QuorumRule.parse(present), QuorumRule.parse(demanded)
        is_as_strict = all(
            least.holds(approvals, votes) or not own.holds(approvals, votes)
            for votes in range(1, most + 1)
            for approvals in range(votes + 1)
        )
        return present if is_as_strict else demanded

    def _replace(self, path: KeyPath, value: object, demand: KeyPath) -> None:
        """Put another value in force, and say so where somebody had set one."""
        present = self.values[path]
        if value == present.value:
            return
        if present.origin != self.default:
            self.notices.append(
                f"{self.policy.locate(demand)}: {format_key(demand)} holds {format_key(path)} to "
                f"{_show(value)}; {_show(present.value)} ({present.origin}) does not count"
            )
        self.values[path] = Assignment(path, value, self._origin)

    @property
    def _origin(self) -> str:
        return str(self.policy.file.path) if self.policy.file is not None else self.default

    # ---------------------------------------------------------------- what is named

    def _drop_servers(self) -> None:
        names = dict.fromkeys(str(path[2]) for path in self.values if path[:2] == SERVERS)
        for name in names:
            table = (*SERVERS, name)
            command = cast("Sequence[str]", self._get((*table, "command"), ()))
            why = self.policy.explain_server_refusal(name, command, str(self._get((*table, "url"), "")))
            if why is not None:
                self._drop(table)
                self.notices.append(f"the tool server {name} is left out: {why}")

        for name in dict.fromkeys(str(path[1]) for path in self.values if path[:1] == LANGUAGE_SERVERS):
            table = (*LANGUAGE_SERVERS, name)
            command = cast("Sequence[str]", self._get((*table, "command"), ()))
            if (why := self.policy.explain_language_server_refusal(name, command)) is not None:
                self._drop(table)
                self.notices.append(f"the language server {name} is left out: {why}")

    def _drop_prices(self) -> None:
        """A cap on the cost is worth no more than the prices: those of the policy, and the published ones."""
        if self.policy.bounds_cost:
            for name in dict.fromkeys(str(path[1]) for path in self.values if path[0] == "prices"):
                self._drop(("prices", name))
                self.notices.append(
                    f"{self._origin} caps the cost, so [prices.{format_literal(name)}] of the settings does "
                    "not count; prices of your own belong there"
                )
        self.values |= {price.path: price for price in self.policy.prices}

    def _drop_models(self) -> None:
        providers = self._providers
        for role in _ONE_MODEL:
            model = str(self.values[("models", role)].value)
            why = self.policy.explain_model_refusal(model, providers) if model else None
            if why is not None:
                self._replace_model(("models", role), "", why)
        for path in _SEVERAL_MODELS:
            named = cast("tuple[str, ...]", self.values[path].value)
            refusals = [self.policy.explain_model_refusal(model, providers) for model in named]
            kept = tuple(model for model, why in zip(named, refusals, strict=True) if why is None)
            if first := next((why for why in refusals if why is not None), None):
                self._replace_model(path, kept, first)

    def _replace_model(self, path: KeyPath, value: object, why: str) -> None:
        self.notices.append(f"{why}; {format_key(path)} ({self.values[path].origin}) is now {_show(value)}")
        self.values[path] = Assignment(path, value, self._origin)

    @property
    def _providers(self) -> Mapping[str, ProviderTable]:
        """What the settings say of each provider, as far as they say which server it is."""
        tables: dict[str, dict[str, object]] = {}
        for path, assignment in self.values.items():
            if (
                path[:1] == PROVIDERS
                and len(path) == 3
                and path[2] in ("type", "client", "base_url", "program")
            ):
                tables.setdefault(str(path[1]), {})[str(path[2])] = assignment.value
        return {
            name: msgspec.convert(table, ProviderTable) for name, table in tables.items() if "type" in table
        }

    def _drop(self, table: KeyPath) -> None:
        for path in [path for path in self.values if path[: len(table)] == table]:
            del self.values[path]

    def _get(self, path: KeyPath, otherwise: object) -> object:
        return self.values[path].value if path in self.values else otherwise

    # ---------------------------------------------------------------- guards, votes and modes

    def _keep_guards(self) -> None:
        """Those that are demanded look, and at least as closely as they do without any settings."""
        present = self.values[_GUARDS]
        tables = cast("tuple[Mapping[str, object], ...]", present.value)
        kept = tuple(
            self._keep_guard(table, present) if table["name"] in self.policy.guards else table
            for table in tables
        )
        if kept != tables:
            self.values[_GUARDS] = Assignment(_GUARDS, kept, f"{present.origin} + {self._origin}")

    def _keep_guard(self, table: Mapping[str, object], present: Assignment) -> Mapping[str, object]:
        held = dict(table)
        for key, loosest in _LOOSEST_OF_GUARDS.items():
            value = held.get(key, loosest)
            if _is_looser(value, loosest):
                held[key] = loosest
                self.notices.append(
                    f"{self.policy.locate(REQUIRED_GUARDS)}: {format_key(REQUIRED_GUARDS)} demands the guard "
                    f"{held['name']}: its {key} is {_show(loosest)}; {_show(value)} ({present.origin}) "
                    "does not count"
                )
        return held

    @property
    def _reviewers(self) -> tuple[str, ...]:
        return cast("tuple[str, ...]", self.values[_REVIEWERS].value)

    def _demand_votes(self) -> None:
        """So many models must have voted: one alone lets nothing run."""
        least = max(self.policy.min_reviewers, self.policy.min_families)
        demand = MIN_REVIEWERS if self.policy.min_reviewers else MIN_FAMILIES
        if least > 1:
            self._replace(_ESCALATE, False, demand)
        if least > cast("int", self.values[RAISED].value):
            self._replace(RAISED, least, demand)

    def _choose_mode(self) -> None:
        wanted = Mode(str(self.values[_MODE].value))
        if (why := self.policy.explain_mode_refusal(wanted, self._reviewers)) is None:
            return
        mode = choose_stricter_mode(wanted, self.policy, self._reviewers)
        if self.values[_MODE].origin != self.default or mode is not Mode.READ_ONLY:
            self.notices.append(f"{why}; review.mode ({self.values[_MODE].origin}) is now {mode}")
        else:
            self.notices.append(f"{why}; the mode is {mode}: list {wanted} there, or set review.mode")
        self.values[_MODE] = Assignment(_MODE, mode.value, self._origin)


def choose_stricter_mode(wanted: Mode, policy: ManagedPolicy, reviewers: Sequence[str]) -> Mode:
    """The allowed mode that is stricter than the one wanted, and of those the one in which most runs."""
    stricter = [
        mode
        for mode in Mode
        if mode.is_as_strict_as(wanted) and policy.explain_mode_refusal(mode, reviewers) is None
    ]
    return max(stricter, key=lambda mode: mode.traits.rank)


def _lies_in(path: str, allowed: str) -> bool:
    """Whether a path of the settings is an allowed one or lies in it, as both are spelled."""
    path, allowed = path.rstrip("/") or "/", allowed.rstrip("/") or "/"
    if path == allowed:
        return True
    if os.pardir in path.split("/"):  # the rest does not say where it leads
        return False
    if os.path.normpath(allowed) == os.curdir:
        return not os.path.isabs(path) and path.partition("/")[0] != "~"
    return os.path.normpath(path).startswith(os.path.normpath(allowed).rstrip("/") + "/")


def _is_looser(value: object, loosest: bool | int) -> bool:
    """Whether a guard that is set so looks less closely."""
    if isinstance(loosest, bool):
        return value is not loosest
    return isinstance(value, int) and value > loosest


def _show(value: object) -> str:
    plain = list(value) if isinstance(value, tuple) else value
    return shorten_text(hide_credentials(format_literal(plain)), 200)


PEOPLE: KeyPath = ("people",)
SIGNATURES: KeyPath = ("signatures",)
PublicKey = Annotated[
    str, Meta(pattern=r"\A(sk-)?(ssh|ecdsa)-[a-z0-9@.-]+ [A-Za-z0-9+/]{40,2000}=*( [^\n]*)?\Z")
]
_DAY_MS = 24 * 60 * 60 * 1000


class PersonTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One person: public keys as `~/.ssh/*.pub` hold them, and the names of their accounts."""

    keys: tuple[PublicKey, ...]
    revoked: tuple[PublicKey, ...] = ()
    accounts: tuple[str, ...] = ()
    expires: datetime.date | None = None


class SignatureTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Calls, as permission rules name them, and how many of whom must sign each."""

    calls: Annotated[tuple[str, ...], Meta(min_length=1)]
    needed: Annotated[int, Meta(ge=1, le=20)]
    people: tuple[str, ...] = ()


def build_people(
    people: Mapping[str, PersonTable],
    tables: Sequence[SignatureTable],
    source: str,
    complain: Callable[[str], None],
) -> PeoplePolicy:
    """What the tables say; `complain` is told what cannot be."""
    known = {
        name: Person(
            name=name,
            keys=tuple(
                key for key in table.keys if find_fingerprint(key) not in map(find_fingerprint, table.revoked)
            ),
            revoked=table.revoked,
            accounts=table.accounts,
            expires_ms=_read_end(table.expires),
        )
        for name, table in people.items()
    }
    _check_keys(people, complain)
    rules: list[SigningRule] = []
    for number, table in enumerate(tables, 1):
        named = table.people or tuple(people)
        where = f"signatures, table {number}"
        if strangers := [name for name in named if name not in people]:
            complain(f"{where}: people names {', '.join(strangers)}, of whom there is no [people.NAME]")
        if table.needed > len(set(named)):
            complain(f"{where}: needed = {table.needed}, and {len(set(named))} people are named")
        for text in table.calls:
            try:
                rule = Rule.parse(text, Answer.ASK, source)
            except BadRule as problem:
                complain(f"{where}: calls: {text!r} is no rule: {problem}")
            else:
                rules.append(SigningRule(rule=rule, needed=table.needed, people=tuple(dict.fromkeys(named))))
    return PeoplePolicy(people=known, rules=tuple(rules))


def _check_keys(people: Mapping[str, PersonTable], complain: Callable[[str], None]) -> None:
    """One key is one person's, also a revoked one, and an account too: else one could count as two, or not as
    who asked."""
    owners: dict[str, str] = {}
    for name, table in people.items():
        held = [f"account {account}" for account in table.accounts]
        for key in (*table.keys, *table.revoked):
            if fingerprint := find_fingerprint(key):
                held.append(f"key {fingerprint}")
            else:
                complain(f"people.{name}: {key[:60]!a} is no public key: give the line of a file ~/.ssh/*.pub")
        for each in dict.fromkeys(held):
            if (owner := owners.setdefault(each, name)) != name:
                complain(f"people.{name} and people.{owner} have the same {each}: leave it to one of them")


def _read_end(day: datetime.date | None) -> int | None:
    """The end of that day, by universal time, in milliseconds since 1970."""
    if day is None:
        return None
    start = datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC)
    return int(start.timestamp() * 1000) + _DAY_MS
