"""The managed policy: what an administrator demands of every session, whatever the settings say."""

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, cast

from msgspec import Meta, Struct, field

from quorum.domain.conversation.cost import SpendCap
from quorum.domain.review.ballot import guess_family
from quorum.domain.review.mode import Mode
from quorum.domain.review.people import PeoplePolicy
from quorum.domain.text.paths import is_below_any
from quorum.infrastructure.config.keys import Assignment
from quorum.infrastructure.config.model_tables import ProviderTable, load_built_in_providers
from quorum.infrastructure.config.program_tables import GuardName
from quorum.infrastructure.config.toml_file import TomlFile, escape_path
from quorum.infrastructure.config.toml_text import KeyPath, format_key, format_literal
from quorum.infrastructure.provider_types import CloudClient, ProviderType

MODES: KeyPath = ("review", "modes")
MIN_REVIEWERS: KeyPath = ("quorum", "min_reviewers")
MIN_FAMILIES: KeyPath = ("quorum", "min_families")
REQUIRED_GUARDS: KeyPath = ("review", "guards")
ALLOWED_MODELS: KeyPath = ("models", "allowed")
PROVIDERS: KeyPath = ("providers",)
SERVERS: KeyPath = ("mcp", "servers")
LANGUAGE_SERVERS: KeyPath = ("lsp",)

ModelPattern = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-]+/[!-~]+\Z", max_length=200)]


class ProviderIdentity(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a provider of one name must be. None: as the provider of that name is without any settings."""

    type: ProviderType | None = None
    client: CloudClient | None = None
    base_url: str | None = None
    program: str | None = None


class ServerIdentity(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a tool server of one name must be: this very command with its arguments, or this very address."""

    command: tuple[str, ...] = ()
    url: str = ""


class LanguageServerIdentity(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a language server of one name must be: this very command with its arguments."""

    command: Annotated[tuple[str, ...], Meta(min_length=1)]


class ManagedPolicy(Struct, frozen=True, kw_only=True):
    """The demands of one policy file; those of the default are none.

    `file` is the file as it was read. `modes` and `allowed_models`, patterns of "provider/model", are None
    where all are allowed, `servers` and `language_servers` likewise. `guards` are those that nobody switches
    off. `bounds` are settings by their own names, beyond which none may go; `prices` are those that a cap on
    the cost is kept with. `people` are those who sign, and what.
    """

    file: TomlFile | None = None
    modes: tuple[Mode, ...] | None = None
    min_reviewers: int = 0
    min_families: int = 0
    allowed_models: tuple[str, ...] | None = None
    providers: Mapping[str, ProviderIdentity] = field(default_factory=dict)
    servers: Mapping[str, ServerIdentity] | None = None
    language_servers: Mapping[str, LanguageServerIdentity] | None = None
    guards: tuple[GuardName, ...] = ()
    bounds: tuple[Assignment, ...] = ()
    prices: tuple[Assignment, ...] = ()
    people: PeoplePolicy = field(default_factory=PeoplePolicy)

    def locate(self, path: KeyPath) -> str:
        """The file and the line of a key, for the person."""
        return self.file.locate(path) if self.file is not None else "the managed policy"

    @property
    def spend_limits(self) -> Mapping[SpendCap, float]:
        """What nobody can raise a spend cap above, in US dollars or tokens."""
        table = {one.path[1]: one.value for one in self.bounds if one.path[0] == "agent"}
        return {
            cap: value for cap in SpendCap if isinstance(value := table.get(cap.value), int | float) and value
        }

    @property
    def bounds_cost(self) -> bool:
        """Whether it caps US dollars."""
        return any(cap.is_cost for cap in self.spend_limits)

    def explain_no_links(self) -> str | None:
        """Why commands may not read more folders in the sandbox, a clause; None where they may."""
        path = ("tools", "run_command", "sandbox_readable")
        if not any(bound.path == path for bound in self.bounds):
            return None
        return f"{self.locate(path)} bounds what commands may read"

    def explain_folder_refusal(self, folder: str, expand: Callable[[str], str]) -> str | None:
        """Why a canonical folder may not be added to a workspace, where commands write, a clause; None where it
        may. `expand` makes a path of the settings canonical."""
        path = ("tools", "run_command", "sandbox_writable")
        allowed = [cast("Sequence[str]", bound.value) for bound in self.bounds if bound.path == path]
        if all(is_below_any(folder, map(expand, paths)) for paths in allowed):
            return None
        return f"{self.locate(path)} bounds what commands may write"

    def explain_mode_refusal(self, mode: Mode, reviewers: Sequence[str]) -> str | None:
        """Why a review mode is not allowed with these reviewers, one clause; None where it is.

        `read-only` always is: nothing that is risky runs in it.
        """
        if mode is Mode.READ_ONLY:
            return None
        if self.modes is not None and mode not in self.modes:
            allowed = ", ".join(dict.fromkeys((*self.modes, Mode.READ_ONLY)))
            return f"{self.locate(MODES)}: review.modes allows only {allowed}, not {mode}"
        if mode.traits.votes_decide and (lack := self.explain_lack(reviewers)) is not None:
            return f"the mode {mode} is not allowed: {lack}"
        return None

    def explain_lack(self, reviewers: Sequence[str]) -> str | None:
        """Why the votes of these models cannot let a call run, one clause; None where they can."""
        families = len({guess_family(model) for model in reviewers})
        if len(reviewers) < self.min_reviewers:
            place, named = self.locate(MIN_REVIEWERS), len(reviewers) or "none"
            return f"{place}: quorum.min_reviewers demands {self.min_reviewers}, models.review names {named}"
        if families < self.min_families:
            place, found = self.locate(MIN_FAMILIES), families or "none"
            return (
                f"{place}: quorum.min_families demands reviewers of {self.min_families} families of models, "
                f"those of models.review are of {found}"
            )
        return None

    def explain_model_refusal(self, model: str, providers: Mapping[str, ProviderTable]) -> str | None:
        """Why "provider/model" may not be asked, one sentence; None where it may.

        `providers` says where each provider is. Without the name of a model it is about the provider alone.
        """
        provider, _, own_name = model.partition("/")
        allowed = self.allowed_models
        if allowed is None and provider not in self.providers:
            return None
        if allowed is not None and own_name and not any(fnmatchcase(model, each) for each in allowed):
            listed = ", ".join(allowed)
            return f"{self.locate(ALLOWED_MODELS)}: models.allowed does not list {model}, only: {listed}"
        if allowed is not None and provider not in {each.partition("/")[0] for each in allowed}:
            return f"{self.locate(ALLOWED_MODELS)}: models.allowed lists no model of the provider {provider}"
        return self._explain_foreign_provider(provider, providers.get(provider))

    def _explain_foreign_provider(self, name: str, table: ProviderTable | None) -> str | None:
        """Why the provider of this name is not the one that is meant."""
        if table is None:
            return None  # whoever opens a session with it says so better
        usual, demanded = load_built_in_providers().get(name), self.providers.get(name)
        if usual is None and demanded is None:
            return (
                f"{self.locate(ALLOWED_MODELS)}: models.allowed lists models of the provider {name}, but "
                f"[providers.{name}] there does not say which server that is"
            )
        for key in ("type", "client", "base_url", "program"):
            wanted = getattr(demanded, key) if demanded is not None else None
            if wanted is None:
                wanted = (
                    getattr(usual, key) if usual is not None else getattr(table, key) if key == "type" else ""
                )
            if (found := getattr(table, key)) != wanted:
                where = self.locate((*PROVIDERS, name, key) if demanded is not None else ALLOWED_MODELS)
                return (
                    f"{where}: the provider {name} is allowed with {key} = {format_literal(wanted)}, and "
                    f"{format_key((*PROVIDERS, name, key))} is {format_literal(found)}"
                )
        return None

    def explain_server_refusal(self, name: str, command: Sequence[str], url: str) -> str | None:
        """Why a tool server may not be used, one clause; None where it may."""
        if self.servers is None:
            return None
        if (identity := self.servers.get(name)) is None:
            listed = ", ".join(self.servers) or "none"
            return f"{self.locate(SERVERS)}: mcp.servers does not list it, only: {listed}"
        if tuple(command) != identity.command or url != identity.url:
            wanted = format_literal(identity.command) if identity.command else format_literal(identity.url)
            return f"{self.locate((*SERVERS, name))}: mcp.servers.{name} allows it for {wanted} alone"
        return None

    def explain_language_server_refusal(self, name: str, command: Sequence[str]) -> str | None:
        """Why a language server may not be used, one clause; None where it may."""
        if self.language_servers is None:
            return None
        if (identity := self.language_servers.get(name)) is None:
            listed = ", ".join(self.language_servers) or "none"
            return f"{self.locate(LANGUAGE_SERVERS)}: lsp does not list it, only: {listed}"
        if tuple(command) != identity.command:
            wanted = format_literal(identity.command)
            return f"{self.locate((*LANGUAGE_SERVERS, name))}: lsp.{name} allows it for {wanted} alone"
        return None

    def describe(self) -> tuple[str, ...]:
        """The demands that are no bounds of single settings, each with its place."""
        if self.file is None:
            return ()
        found: list[tuple[KeyPath, object]] = []
        if self.modes is not None:
            found.append((MODES, tuple(self.modes)))
        if self.min_reviewers:
            found.append((MIN_REVIEWERS, self.min_reviewers))
        if self.min_families:
            found.append((MIN_FAMILIES, self.min_families))
        if self.guards:
            found.append((REQUIRED_GUARDS, self.guards))
        if self.allowed_models is not None:
            found.append((ALLOWED_MODELS, self.allowed_models))
        demands = [
            f"{format_key(path)} = {format_literal(value)} ({self.locate(path)})" for path, value in found
        ]
        for rule in self.people.rules:
            whom = ", ".join(rule.people)
            demands.append(f"{rule.rule.text} takes {rule.needed} signatures of {whom} ({rule.rule.source})")
        if self.servers is not None:
            demands.append(f"mcp.servers: {', '.join(self.servers) or 'none'} ({self.locate(SERVERS)})")
        if self.language_servers is not None:
            listed = ", ".join(self.language_servers) or "none"
            demands.append(f"lsp: {listed} ({self.locate(LANGUAGE_SERVERS)})")
        return (f"{escape_path(self.file.path)} holds on this machine, whatever is set elsewhere", *demands)


NO_POLICY = ManagedPolicy()
"""Nothing is demanded: there is no policy file."""
