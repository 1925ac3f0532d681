"""Whether each configured provider could be asked: its key, its package, its program. Nothing is sent."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from quorum.application.program_lookup import explain_missing, find_program
from quorum.domain.conversation.history import Conversation
from quorum.domain.errors import ConfigError, ProviderError
from quorum.infrastructure.config.loading import DEFAULT_ORIGIN, LoadedSettings
from quorum.infrastructure.config.model_choice import (
    OFFLINE_MODEL,
    ROLES,
    ModelRoles,
    StoredKey,
    find_no_stored_key,
)
from quorum.infrastructure.config.model_tables import ProviderTable
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.doctor.finding import Finding, fail, report_ok, warn
from quorum.infrastructure.extras import is_installed, render_install_command
from quorum.infrastructure.managed_policy import build_model_check
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.prices.model_figures import is_paid_by_plan
from quorum.infrastructure.provider_types import (
    ProviderProgram,
    find_public_service,
    get_traits,
    split_program,
)
from quorum.infrastructure.settings_conversion import build_provider_settings

_EXTRAS = {"bedrock": "boto3", "vertex": "google.auth"}


class _ProviderFact(Struct, frozen=True):
    """Something a provider has, or, where there is a remedy, something that it lacks."""

    text: str
    remedy: str | None = None


class Readiness(Struct, frozen=True):
    """What a provider has and lacks, for `finding`, and whether it could be asked."""

    provider: str
    facts: tuple[_ProviderFact, ...]

    @property
    def ready(self) -> bool:
        """Whether nothing is lacking."""
        return not self._lacks

    def build_finding(self, *, used: bool, set_up: bool) -> Finding:
        """What to say: a lack is to be repaired where a role uses the provider."""
        unused = "" if used else " (no role uses it)"
        if self.ready:
            return report_ok(
                "provider", f"{self.provider}{unused}: {', '.join(fact.text for fact in self.facts)}"
            )
        text = f"{self.provider}{unused}: {', '.join(fact.text for fact in self._lacks)}"
        remedy = "; ".join(fact.remedy for fact in self._lacks if fact.remedy is not None)
        if used:
            return fail("provider", text, remedy)
        return (
            warn("provider", text, remedy) if set_up else report_ok("provider", f"{text}; to use it: {remedy}")
        )

    @property
    def _lacks(self) -> tuple[_ProviderFact, ...]:
        return tuple(fact for fact in self.facts if fact.remedy is not None)


def check_roles(roles: ModelRoles) -> list[Finding]:
    choice = roles.decision
    if choice.model == OFFLINE_MODEL:
        remedy = "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or configure a server (docs/configuration.md)"
        text = f"{choice.model}: a plain interpreter of simple requests, no model ({choice.reason})"
        decision = warn("model", text, remedy)
    else:
        decision = report_ok("model", f"{choice.model} ({choice.reason})")
    by_models: dict[str, list[str]] = {}
    for role in ROLES[1:]:
        by_models.setdefault(_name_models(roles, role), []).append(role)
    return [
        decision,
        report_ok("roles", "\n".join(f"{', '.join(same)}: {models}" for models, same in by_models.items())),
    ]


async def check_readiness(
    loaded: LoadedSettings, environ: Mapping[str, str], stored_key: StoredKey = find_no_stored_key
) -> list[Readiness]:
    """Whether each provider that is no mere interpreter could be asked, and where its key comes from."""
    tables = loaded.settings.providers
    gateway = ProviderRegistry(
        build_provider_settings(tables),
        environ=environ,
        stored_key=stored_key,
        explain_refusal=build_model_check(loaded.policy, tables),
    )
    found = []
    for name, table in tables.items():
        if table.type != "offline":
            facts = _list_facts(name, table, environ, stored_key)
            lacks = any(fact.remedy is not None for fact in facts)
            found.append(Readiness(name, facts if lacks else (*facts, *_find_refusal(name, gateway))))
    await gateway.aclose()
    return found


def is_set_up(loaded: LoadedSettings, provider: str) -> bool:
    """Whether someone set anything of this provider."""
    prefix = f"providers.{provider}."
    return any(origin != DEFAULT_ORIGIN for key, origin in loaded.origins.items() if key.startswith(prefix))


def _name_models(roles: ModelRoles, role: str) -> str:
    models = [choice.model for choice in roles.get_choices(role)]
    if models == [roles.decision.model]:
        return "as decision"
    return ", ".join(models) or "no model"


def _list_facts(
    name: str, table: ProviderTable, environ: Mapping[str, str], stored_key: StoredKey
) -> tuple[_ProviderFact, ...]:
    if (module := _EXTRAS.get(table.client)) is not None:
        return (
            _check_extra(table.client, module),
            *_check_package(table),
        )  # the cloud's own SDK finds what shows who asks
    if (program := get_traits(table.type).program) is not None:
        return (_check_program(table, program, environ), *_check_package(table))
    if table.client:
        return _check_package(table)
    return (_check_key(name, table, environ, stored_key), *_check_package(table))


def _find_refusal(name: str, gateway: ProviderRegistry) -> tuple[_ProviderFact, ...]:
    """What else would keep a session from being opened, in the words that a person would then read."""
    try:
        gateway.open_session(f"{name}/any", Conversation(), "")
    except ProviderError as error:
        return (_ProviderFact(str(error), "correct that, then run `quorum doctor` again"),)
    return ()


def _check_key(
    name: str, table: ProviderTable, environ: Mapping[str, str], stored_key: StoredKey
) -> _ProviderFact:
    variable = table.api_key_env
    if not variable:
        return _ProviderFact("set up to want no key")
    if environ.get(variable, "").strip():
        return _ProviderFact(f"{variable} is set")
    try:
        if stored_key(name) is not None:
            return _ProviderFact("its key is in the keyring")
    except ConfigError as trouble:
        return _ProviderFact(
            f"{variable} is not set, and {trouble}", f"export {variable}=… with your key for {name}"
        )
    if find_public_service(table.type).local_needs_no_key and _is_loopback(table.base_url):
        return _ProviderFact(f"{variable} is not set; a server on this machine is asked without one")
    return _ProviderFact(
        f"{variable} is not set", f"export {variable}=… with your key for {name}, or `quorum keys set {name}`"
    )


def _check_program(table: ProviderTable, about: ProviderProgram, environ: Mapping[str, str]) -> _ProviderFact:
    name, *_ = split_program(table.type, table.program or about.default) or ("",)
    if not name:
        return _ProviderFact("names no program", 'set program to the agent, for example "gemini --acp"')
    found = find_program(name, environ.get("PATH", ""))
    if found is None:
        return _ProviderFact(explain_missing(name, environ.get("PATH", "")), about.install)
    plan = ", paid by its plan" if is_paid_by_plan(table) else ""
    return _ProviderFact(f"{about.name} is {escape_path(Path(found))}{plan}")


def _check_extra(extra: str, module: str) -> _ProviderFact:
    if is_installed(module):
        return _ProviderFact(f"the extra {extra} is installed")
    text = f"the extra {extra} is not installed (there is no Python package {module})"
    return _ProviderFact(text, render_install_command(extra))


def _check_package(table: ProviderTable) -> tuple[_ProviderFact, ...]:
    module = get_traits(table.type).package
    if module is None:
        return ()
    if module == "copilot" and not is_installed(module):
        return (_check_extra(module, module),)
    if is_installed(module):
        return (_ProviderFact(f"the package {module} is installed"),)
    return (
        _ProviderFact(
            f"the Python package {module} is not installed", "install quorum anew, with what it needs"
        ),
    )


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
