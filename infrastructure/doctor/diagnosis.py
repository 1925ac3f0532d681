"""The whole diagnosis: the settings, the models and their providers, the machine."""

from __future__ import annotations

import os
from collections.abc import Mapping

from quorum.domain.errors import ConfigError
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.shell.sandbox import SandboxOff
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.model_choice import StoredKey, choose_roles, find_no_stored_key
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.config.tools_table import RunCommandTable
from quorum.infrastructure.doctor.extras import check_extras
from quorum.infrastructure.doctor.finding import Finding, fail, report_ok, warn
from quorum.infrastructure.doctor.machine import check_machine, check_python
from quorum.infrastructure.doctor.probe import plan_questions
from quorum.infrastructure.doctor.probe import probe as ask_providers
from quorum.infrastructure.doctor.providers import check_readiness, check_roles, is_set_up
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox


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
        *await check_sandbox(settings.tools.run_command, environ),
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
