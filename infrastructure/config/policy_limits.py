"""Holding settings to the managed policy: the tighter value counts, wherever the other one comes from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import cast

import msgspec
from msgspec import Struct, field

from quorum.domain.replacing import replace
from quorum.domain.review.ballot import QuorumRule
from quorum.domain.review.guards import DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES
from quorum.domain.review.mode import Mode
from quorum.infrastructure.config.about import ProjectRule
from quorum.infrastructure.config.keys import find_key
from quorum.infrastructure.config.model_tables import ProviderTable
from quorum.infrastructure.config.policy_file import PATHS, RAISED, RULE, SWITCHES
from quorum.infrastructure.config.policy_table import (
    MIN_FAMILIES,
    MIN_REVIEWERS,
    PROVIDERS,
    REQUIRED_GUARDS,
    SERVERS,
    ManagedPolicy,
)
from quorum.infrastructure.config.project_trust import tighten_value
from quorum.infrastructure.config.toml_text import (
    KeyPath,
    format_key,
    format_literal,
    hide_credentials,
    shorten_text,
)
from quorum.infrastructure.config.validation import Assignment

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
