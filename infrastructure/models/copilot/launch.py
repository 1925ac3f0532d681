"""How the GitHub Copilot CLI is started: settings and environment made definite."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from quorum.application.program_lookup import explain_missing, find_program
from quorum.domain.errors import make_configuration_error
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.models.shared.program_environment import read_program_key, select_environment

_DEFAULT_PROGRAM = "copilot"
# Who the person is at GitHub; of no concern to a server of one's own.
_LOGIN = frozenset({"COPILOT_HOME", "COPILOT_GITHUB_TOKEN", "GH_HOST", "COPILOT_GH_HOST"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnServer:
    """A server that the CLI asks instead of GitHub; it speaks Chat Completions. An empty key is none."""

    address: str
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CliLaunch:
    """One configured CLI. `token` is a GitHub token; "" means the login that the CLI itself keeps.

    `key_env` names the variable that the token, or the key of the own server, was taken from.
    """

    provider: str
    program: str
    environ: Mapping[str, str] = field(repr=False)
    token: str = field(default="", repr=False)
    server: OwnServer | None = None
    key_env: str | None = None
    timeout_secs: float
    max_output_tokens: int | None = None

    @classmethod
    def of(cls, provider: str, settings: ProviderSettings, environ: Mapping[str, str]) -> CliLaunch:
        """The launch of these settings. Raises ProviderError(CONFIGURATION)."""
        _check_unsupported(provider, settings)
        key = _read_key(provider, settings.api_key_env, environ)
        address = settings.base_url or ""
        if address:
            _check_address(provider, address)
        return cls(
            provider=provider,
            program=_find_program(provider, settings.program or _DEFAULT_PROGRAM, environ),
            environ=_select_environment(environ, with_login=not address and not key),
            token="" if address else key,
            server=OwnServer(address=address.rstrip("/"), key=key) if address else None,
            key_env=settings.api_key_env or None,
            timeout_secs=settings.timeout_secs,
            max_output_tokens=settings.max_output_tokens,
        )

    @property
    def uses_own_login(self) -> bool:
        """Whether the CLI shows GitHub the login that it keeps itself."""
        return self.server is None and not self.token

    @property
    def secret(self) -> str:
        """What may appear in no sentence; "" where there is nothing to hide."""
        return self.server.key if self.server is not None else self.token


def _check_unsupported(provider: str, settings: ProviderSettings) -> None:
    if settings.headers:
        raise make_configuration_error(
            f"[providers.{provider}] sets headers, which the Copilot CLI does not take; remove them"
        )
    if settings.client:
        raise make_configuration_error(
            f'[providers.{provider}] sets client = "{settings.client}", but the Copilot CLI knows no cloud of '
            "that kind; remove it"
        )


def _check_address(provider: str, address: str) -> None:
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise make_configuration_error(
            f"base_url of [providers.{provider}] is not the address of a server; write it like "
            "http://localhost:11434/v1, or leave it out to use GitHub"
        )


def _read_key(provider: str, key_env: str | None, environ: Mapping[str, str]) -> str:
    remedy = (
        f"set it, store the key with `quorum keys set {provider}`, or leave api_key_env out of "
        f"[providers.{provider}] to use what `copilot login` stored"
    )
    return read_program_key(provider, key_env, environ, remedy=remedy)


def _find_program(provider: str, program: str, environ: Mapping[str, str]) -> str:
    searched = environ.get("PATH", "")
    named = os.path.abspath(program) if "/" in program else program  # the CLI is started in another folder
    found = find_program(named, searched)
    if found is not None:
        return found
    raise make_configuration_error(
        f"the GitHub Copilot CLI of provider {provider} cannot be started: "
        f"{explain_missing(named, searched)} (`npm install -g @github/copilot` installs it; program in "
        f"[providers.{provider}] names it)"
    )


def _select_environment(environ: Mapping[str, str], *, with_login: bool) -> dict[str, str]:
    kept = select_environment(environ, _LOGIN if with_login else frozenset())
    return {**kept, "COPILOT_AUTO_UPDATE": "false"}
