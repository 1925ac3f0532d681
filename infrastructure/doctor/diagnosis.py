"""The whole diagnosis: the settings, the models and their providers, the machine.

Unless a probe is wanted nothing is sent: it is only seen whether a provider could be asked, by its key, package
and program.
"""

from __future__ import annotations

import asyncio
import ctypes
import importlib
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from quorum.application.program_lookup import explain_missing, find_program
from quorum.domain.conversation.cost import Price
from quorum.domain.conversation.history import Conversation
from quorum.domain.errors import ConfigError, ProviderError
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.shell.sandbox import SandboxOff
from quorum.infrastructure.config.loading import DEFAULT_ORIGIN, LoadedSettings
from quorum.infrastructure.config.model_choice import (
    OFFLINE_MODEL,
    ROLES,
    ModelRoles,
    StoredKey,
    choose_roles,
    find_no_stored_key,
)
from quorum.infrastructure.config.model_tables import ProviderTable
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.config.tools_table import RunCommandTable
from quorum.infrastructure.debug_log import locate_debug_log_folder
from quorum.infrastructure.doctor.finding import Finding, FindingState, fail, report_ok, warn
from quorum.infrastructure.doctor.probe import plan_questions
from quorum.infrastructure.doctor.probe import probe as ask_providers
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from quorum.infrastructure.extras import is_installed, render_install_command
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.language_servers.opening import open_language_servers
from quorum.infrastructure.managed_policy import open_registry
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.prices.model_figures import build_price_table, build_window_lookup, is_paid_by_plan
from quorum.infrastructure.provider_types import (
    ProviderProgram,
    find_public_service,
    get_traits,
    split_program,
)
from quorum.infrastructure.settings_conversion import list_key_names
from quorum.infrastructure.staging.entering import find_obstacle
from quorum.infrastructure.staging.subagent_layer import describe_most_copied

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
    gateway = open_registry(loaded, environ, stored_key)
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
        return _ProviderFact("names no program", 'set program to the agent, for example "opencode acp"')
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


_GET_CHILD_SUBREAPER = 37


def check_python() -> Finding:
    """The interpreter that runs quorum."""
    version = ".".join(map(str, sys.version_info[:3]))
    return report_ok("python", f"{version} ({escape_path(Path(sys.executable))})")


def check_machine(environ: Mapping[str, str]) -> list[Finding]:
    """Look at everything that has nothing to do with models. Changes nothing."""
    return [
        _search_engine(),
        *_check_programs(environ),
        _check_process_cleanup(),
        _check_state_folder(environ),
        *_check_debug_log(environ),
        _check_terminal(environ),
        _check_locale(environ),
        *_check_gated_agents(environ),
    ]


def _search_engine() -> Finding:
    # Loaded rather than looked up: a compiled module that is there may still not fit this machine.
    try:
        importlib.import_module("re2")
    except ImportError as error:
        return fail("search", f"the search engine cannot be loaded: {error}", "install google-re2 anew")
    return report_ok("search", "re2 is loaded")


def _check_programs(environ: Mapping[str, str]) -> list[Finding]:
    path = environ.get("PATH")
    git, bash = (find_program(name, path) for name in ("git", "bash"))
    return [
        report_ok("git", escape_path(Path(git))) if git else warn("git", "not found", "install git"),
        report_ok("bash", escape_path(Path(bash)))
        if bash
        else warn("bash", "not found; commands run in /bin/sh", "install bash"),
    ]


def _check_process_cleanup() -> Finding:
    if sys.platform != "linux":
        text = "best effort on this system: a command's daemonised children may outlive it"
        return warn("processes", text)
    answer = ctypes.c_int()
    if ctypes.CDLL(None, use_errno=True).prctl(_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0) == 0:
        return report_ok("processes", "child subreaper supported: a command leaves no process behind")
    reason = os.strerror(ctypes.get_errno())
    return warn(
        "processes", f"child subreaper not supported ({reason}): daemonised children may outlive a command"
    )


def _check_state_folder(environ: Mapping[str, str]) -> Finding:
    folder = locate_state_folder(environ)
    if folder is None:
        return fail("state", "there is no home folder to keep state in", "set HOME or XDG_STATE_HOME")
    existing = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    if os.path.isdir(existing) and os.access(existing, os.W_OK | os.X_OK):
        return report_ok(
            "state", f"{escape_path(folder)} {'is writable' if existing == folder else 'can be made'}"
        )
    return fail(
        "state", f"{escape_path(folder)}: {escape_path(existing)} cannot be written to", "repair its rights"
    )


def _check_debug_log(environ: Mapping[str, str]) -> list[Finding]:
    folder = locate_debug_log_folder(environ)
    if folder is None:
        return []
    return [report_ok("debug log", f"written with --debug only, to {escape_path(folder)}")]


def _check_terminal(environ: Mapping[str, str]) -> Finding:
    kind = environ.get("TERM", "")
    if not sys.stdout.isatty():
        return warn("terminal", "the output is not a terminal; only `quorum run` works here")
    if kind in ("", "dumb"):
        return fail("terminal", f"TERM is {kind or 'not set'}", "set TERM, for example to xterm-256color")
    columns, rows = os.get_terminal_size(sys.stdout.fileno())
    text = f"{kind}, {_describe_colours(kind, environ)}, {columns}×{rows}"
    if columns < 80 or rows < 24:
        return warn("terminal", text, "make it 80×24 or larger")
    return report_ok("terminal", text)


def _describe_colours(kind: str, environ: Mapping[str, str]) -> str:
    if environ.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if environ.get("COLORTERM") in ("truecolor", "24bit"):
        return "16 million colours"
    return "256 colours" if "256color" in kind else "16 colours"


def _check_locale(environ: Mapping[str, str]) -> Finding:
    variable = next((name for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), None)
    value = environ[variable] if variable else ""
    if re.search(r"utf-?8", value, re.IGNORECASE):
        return report_ok("locale", f"{variable}={value}")
    text = f"{variable}={value} is not UTF-8" if variable else "neither LC_ALL, LC_CTYPE nor LANG is set"
    return warn("locale", text, "set LANG=C.UTF-8, or lines and signs may be drawn wrong")


def _check_gated_agents(environ: Mapping[str, str]) -> list[Finding]:
    """The agents that were probed: whether they ask the gate, and are still those that were probed."""
    from concurrent.futures import ThreadPoolExecutor

    from quorum.infrastructure.gate.agent_probe import read_results, read_version_alone
    from quorum.infrastructure.gate.hook_files import HOOKED_AGENTS
    from quorum.infrastructure.gate.unknown_fields import describe_unknown_fields

    found: list[Finding] = []
    try:
        found += (warn("gate", what, remedy) for what, remedy in describe_unknown_fields(environ))
    except ConfigError as error:
        found.append(warn("gate", str(error), "unknown fields of hooks are listed there"))
    try:
        results = list(read_results(environ))
    except ConfigError as error:
        return [warn("gate", str(error), "repair its rights, or delete it and probe again")]
    with ThreadPoolExecutor(2) as pool:
        versions = list(
            pool.map(lambda each: read_version_alone(HOOKED_AGENTS[each[0]], environ.get("PATH")), results)
        )
    for (name, result), version in zip(results, versions, strict=True):
        again = f"`quorum gate probe {name}`"
        if isinstance(result, ConfigError):
            found.append(warn("gate", str(result), again))
            continue
        about = result.title
        if version != result.version:
            found.append(warn("gate", f"{about} was probed, now it is {version}: a probe is due", again))
        elif result.unprobed:
            missing = f"not probed yet: {', '.join(result.unprobed)}"
            found.append(warn("gate", f"{about}: {missing}: a probe is due", again))
        elif result.is_gated:
            found.append(report_ok("gate", f"{about} asks before each call that was probed, and obeys"))
        else:
            gaps = [f"{path}: {state}" for path, state in result.paths.items() if state != "asked and obeyed"]
            said = "; ".join(gaps) or "it runs calls where quorum is missing or fails"
            found.append(warn("gate", f"{about}: {said}", "docs/gate.md says what is not gated"))
    return found


def check_extras(*, fetches_pages: bool, has_servers: bool) -> list[Finding]:
    """Look for each part. `fetches_pages`: the settings give the model `web_fetch`; `has_servers`: they name
    MCP servers."""
    return [
        _diagnosis_check_extra("acp", "acp", lack="no editor can be served with quorum acp", wanted=False),
        _diagnosis_check_extra(
            "audit", "cbor2", lack="no session can be exported with a signature", wanted=False
        ),
        _diagnosis_check_extra("fleet", "procrastinate", lack="quorum fleet runs no sessions", wanted=False),
        _diagnosis_check_extra("keyring", "keyring", lack="keys come from the environment alone", wanted=False),
        _diagnosis_check_extra("mcp", "mcp", lack="no MCP server is started", wanted=has_servers),
        _diagnosis_check_extra("otel", "opentelemetry.sdk", lack="no telemetry is sent", wanted=False),
        _diagnosis_check_extra(
            "postgres", "psycopg", lack="sessions are kept on this machine alone", wanted=False
        ),
        _diagnosis_check_extra("s3", "obstore", lack="no bucket can keep long outputs", wanted=False),
        _diagnosis_check_extra("serve", "textual_serve", lack="quorum serve opens no browser", wanted=False),
        _diagnosis_check_extra(
            "web", "html_to_markdown", lack="web_fetch shows no HTML pages", wanted=fetches_pages
        ),
    ]


def _diagnosis_check_extra(extra: str, module: str, *, lack: str, wanted: bool) -> Finding:
    if is_installed(module):
        return report_ok(extra, f"the extra {extra} is installed")
    text, remedy = f"the extra {extra} is not installed: {lack}", render_install_command(extra)
    return warn(extra, text, remedy) if wanted else report_ok(extra, f"{text}; to change that: {remedy}")


async def diagnose(
    loaded: LoadedSettings | ConfigError,
    environ: Mapping[str, str],
    *,
    probe: bool = False,
    stored_key: StoredKey = find_no_stored_key,
) -> tuple[Finding, ...]:
    """Look at everything quorum needs here. Changes nothing and tells no key.

    `loaded` is the settings, or the error that loading them raised. Only with `probe` anything is sent: one
    small request to every model that has a role, and to every other provider that could be asked. `stored_key`
    answers with a provider's key where that is kept elsewhere than in the environment.
    """
    findings = [check_python()]
    if isinstance(loaded, ConfigError):
        findings.append(fail("configuration", str(loaded), "correct it, or name another file with --config"))
    else:
        findings += [
            _check_configuration(loaded),
            *await _check_models(loaded, environ, stored_key, probe=probe),
        ]
    settings = Settings() if isinstance(loaded, ConfigError) else loaded.settings
    return (
        *findings,
        *(sandbox := await check_sandbox(settings.tools.run_command, environ)),
        await check_layer(environ, sandbox[0]),
        *check_command_secrets(settings.tools.run_command, environ),
        *await check_language_servers(settings, environ),
        *check_extras(fetches_pages=settings.tools.web.fetch, has_servers=bool(settings.mcp.servers)),
        *check_machine(environ),
    )


def _check_configuration(loaded: LoadedSettings) -> Finding:
    files = ", ".join(map(escape_path, loaded.files)) or "no file: the defaults count"
    if loaded.warnings:
        lines = "\n".join((files, *loaded.warnings))
        return warn("configuration", lines, "`quorum config show` prints every value and its source")
    return report_ok("configuration", files)


async def _check_models(
    loaded: LoadedSettings, environ: Mapping[str, str], stored_key: StoredKey, *, probe: bool
) -> list[Finding]:
    models: Mapping[str, tuple[str, ...]] = {}
    try:
        roles = choose_roles(loaded, environ, stored_key)
    except ConfigError as error:
        findings = [fail("model", str(error), "correct the models, then run `quorum doctor` again")]
    else:
        findings = check_roles(roles)
        models = roles.group_by_model()
    used = {model.partition("/")[0] for model in models}
    known = sorted(
        await check_readiness(loaded, environ, stored_key), key=lambda each: each.provider not in used
    )
    findings += [
        each.build_finding(used=each.provider in used, set_up=is_set_up(loaded, each.provider))
        for each in known
    ]
    if probe:
        asked = plan_questions(models, [each.provider for each in known if each.ready])
        findings += await ask_providers(asked, loaded, environ, stored_key=stored_key)
    return findings


async def check_layer(
    environ: Mapping[str, str],
    sandbox: Finding,
    find: Callable[[Path, Mapping[str, str]], str] = find_obstacle,
) -> Finding:
    """Try a layer over this folder, and tell of the mode that needs one, and the `sandbox` as well."""
    if sandbox.state is not FindingState.OK:
        return warn("mode staged", "cannot be chosen: it needs the sandbox", sandbox.remedy)
    if why := await asyncio.to_thread(find, Path(os.getcwd()), environ):
        return warn("mode staged", f"cannot be chosen: {why}", "work in a worktree, or in another mode")
    return report_ok(
        "mode staged",
        "can be chosen: --mode staged, or /stage in the app; subagents get layers of their own while that of "
        f"the session holds at most {describe_most_copied()}",
    )


def check_command_secrets(table: RunCommandTable, environ: Mapping[str, str]) -> list[Finding]:
    """What keeps the secrets of commands from being handed over. Runs no program that prints one."""
    if not table.secrets:
        return []
    names, found = ", ".join(table.secrets), list[Finding]()
    if isinstance(table.network, str) and table.network != "auto":
        remedy = "give tools.run_command.network a list of hosts"
        found.append(warn("secrets", f"{names}: commands have no proxy that puts secrets in", remedy))
    if not is_installed("cryptography"):
        found.append(warn("secrets", f"{names}: the proxy can open no TLS", render_install_command("serve")))
    missing = [name for name, each in table.secrets.items() if not each.command and not environ.get(name)]
    found += [
        warn("secrets", f"{name} is not set", f"set it, or tools.run_command.secrets.{name}.command")
        for name in missing
    ]
    return found or [report_ok("secrets", f"{names}: put in for their hosts")]


async def check_sandbox(table: RunCommandTable, environ: Mapping[str, str]) -> tuple[Finding, Finding]:
    """Try the sandbox as a session in this folder would, and tell of the mode that needs it.

    To be repaired only where it is required.
    """
    sandbox = Sandbox(choice=table.sandbox, policy=PathPolicy(roots=(os.getcwd(),)), environ=environ)
    state = await sandbox.find_state()
    if not isinstance(state, SandboxOff):
        return (
            report_ok("sandbox", state.description),
            report_ok("mode sandboxed", "can be chosen: --mode sandboxed, or /mode sandboxed in the app"),
        )
    return (
        (fail if state.required else warn)("sandbox", state.description, state.remedy),
        warn("mode sandboxed", f"cannot be chosen: {state.why}", state.remedy),
    )


_REMEDY = "install it, or correct command of [lsp.{}] (docs/language-servers.md)"


async def check_language_servers(settings: Settings, environ: Mapping[str, str]) -> list[Finding]:
    """Whether each of them starts in this folder."""
    workspace, table = Workspace([Path(os.getcwd())]), settings.tools.run_command
    policy = PathPolicy(
        roots=(str(workspace.cwd),), protected=settings.review.protected, sensitive=settings.review.sensitive
    )
    sandbox = Sandbox(
        choice=table.sandbox,
        policy=policy,
        environ=environ,
        readable=table.sandbox_readable,
        writable=table.sandbox_writable,
    )
    try:
        opened = open_language_servers(
            settings.lsp, workspace, policy, environ, list_key_names(settings), sandbox
        )
    except ConfigError as error:
        return [fail("language server", str(error), "correct it")]
    if opened is None:
        return []
    from quorum.infrastructure.language_servers.channel import LanguageServerFailed
    from quorum.infrastructure.language_servers.server import LanguageServer

    async def check(server: LanguageServer) -> Finding:
        try:
            await server.ensure()
        except LanguageServerFailed as error:
            text = f"{server.name} does not start: {error}"
            return fail("language server", text, _REMEDY.format(server.name))
        version = f", {server.version}" if server.version else ""
        return report_ok("language server", f"{server.name} starts{version}")

    try:
        return list(await asyncio.gather(*map(check, opened.find_servers(None))))
    finally:
        await opened.aclose()


class ListedModel(Struct, frozen=True, kw_only=True):
    """A model by its full name. `window` is in tokens; it and `price` are None where they are not known.
    `roles` are those that it has by the settings; `is_by_plan`: a plan pays for it."""

    name: str
    window: int | None
    price: Price | None
    roles: tuple[str, ...] = ()
    is_by_plan: bool = False


async def list_usable_models(
    loaded: LoadedSettings, environ: Mapping[str, str], stored_key: StoredKey, *, only: Sequence[str] = ()
) -> tuple[list[ListedModel], Mapping[str, ProviderError]]:
    """What the providers list, and why others could not be asked. Without `only` those are asked that have all
    that they need. Raises ConfigError."""
    settings = loaded.settings
    readiness = [] if only else await check_readiness(loaded, environ, stored_key)
    names = only or [each.provider for each in readiness if each.ready]
    gateway = open_registry(loaded, environ, stored_key)
    try:
        answers = await asyncio.gather(*(gateway.list_models(name) for name in names), return_exceptions=True)
    finally:
        await gateway.aclose()
    prices = build_price_table(settings.providers, settings.prices, environ)
    find_window = build_window_lookup(settings.providers, settings.context_budget.models)
    roles = choose_roles(loaded, environ, stored_key)
    used: dict[str, list[str]] = {}
    for role in ROLES:
        for choice in roles.get_choices(role):
            used.setdefault(choice.model, []).append(role)
    listed: list[ListedModel] = []
    failed: dict[str, ProviderError] = {}
    for name, answer in zip(names, answers, strict=True):
        if isinstance(answer, ProviderError):
            failed[name] = answer
        elif isinstance(answer, BaseException):
            raise answer
        else:
            listed += (
                ListedModel(
                    name=model,
                    window=find_window(model),
                    price=prices.find_price(model),
                    roles=tuple(used.get(model, ())),
                    is_by_plan=prices.is_by_plan(model),
                )
                for model in answer
            )
    return listed, failed
