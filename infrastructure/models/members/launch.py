"""How the program of a member is started: settings and environment made definite."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from quorum.application.program_lookup import explain_missing, find_program
from quorum.domain.errors import make_configuration_error
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.models.members.program_identity import ProgramIdentity
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.models.shared.program_environment import read_program_key, select_environment
from quorum.infrastructure.provider_types import ProviderProgram, get_traits, split_program


class MemberLaunch(Struct, frozen=True, kw_only=True):
    """One configured program. `words` are its absolute path and arguments, and `environ` all that it sees of
    the environment. `timeout_secs` bounds the time without progress."""

    provider: str
    about: ProviderProgram
    words: tuple[str, ...]
    environ: Mapping[str, str]
    timeout_secs: float
    secret: str = ""
    identity: ProgramIdentity = field(default_factory=lambda: ProgramIdentity(None))

    @classmethod
    def of(cls, provider: str, settings: ProviderSettings, environ: Mapping[str, str]) -> MemberLaunch:
        """The launch of these settings. Raises ProviderError(CONFIGURATION)."""
        about = get_traits(settings.type).program
        if about is None:
            raise AssertionError(f"{settings.type} is asked through no program")
        _check_unsupported(provider, settings, about)
        secret = _read_key(provider, settings.api_key_env, environ)
        passed_on = (*about.login_env, *((settings.api_key_env,) if settings.api_key_env else ()))
        selected = {**select_environment(environ, passed_on), **about.sets}
        if settings.api_key_env:  # going through the environment does not ask the keyring
            selected[settings.api_key_env] = secret
        return cls(
            provider=provider,
            about=about,
            words=_find_words(provider, settings, about, environ),
            environ=selected,
            timeout_secs=settings.timeout_secs,
            secret=secret,
            identity=ProgramIdentity(locate_state_folder(environ)),
        )


def _check_unsupported(provider: str, settings: ProviderSettings, about: ProviderProgram) -> None:
    given = {"headers": settings.headers, "client": settings.client, "base_url": settings.base_url}
    for key, value in given.items():
        if value:
            raise make_configuration_error(
                f"[providers.{provider}] sets {key}, which {about.name} is not given: it finds its server "
                "itself; remove it"
            )


def _read_key(provider: str, key_env: str | None, environ: Mapping[str, str]) -> str:
    remedy = f"set it, or leave api_key_env out of [providers.{provider}] to use the login of the program"
    return read_program_key(provider, key_env, environ, remedy=remedy)


def _find_words(
    provider: str, settings: ProviderSettings, about: ProviderProgram, environ: Mapping[str, str]
) -> tuple[str, ...]:
    name, *arguments = split_program(settings.type, settings.program or about.default) or ("",)
    if not name:
        raise make_configuration_error(
            f"[providers.{provider}] names no program; set program to the agent and its arguments, for example "
            '"opencode acp"'
        )
    searched = environ.get("PATH", "")
    found = find_program(name, searched)
    if found is None:
        raise make_configuration_error(
            f"{about.name} of provider {provider} cannot be started: {explain_missing(name, searched)} "
            f"({about.install}; program in [providers.{provider}] names it)"
        )
    return (found, *arguments)
