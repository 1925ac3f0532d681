"""The environment of programs that talk to models in the place of quorum, and the keys in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from quorum.application.program_lookup import filter_environment
from quorum.domain.errors import make_configuration_error

# What such a program needs of the environment. Everything else stays here: above all the keys of providers.
_PASSED_ON = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "LANG", "LANGUAGE",
        "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
        "DBUS_SESSION_BUS_ADDRESS", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
        "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    }
)  # fmt: skip


def select_environment(environ: Mapping[str, str], more: Collection[str]) -> dict[str, str]:
    """What a program is given of the environment: what all of them need, and the variables named in `more`."""
    kept = {
        name: value
        for name, value in filter_environment(environ).items()
        if name in _PASSED_ON or name in more or name.startswith("LC_")
    }
    return {**kept, "NO_COLOR": "1"}


def read_program_key(provider: str, key_env: str | None, environ: Mapping[str, str], *, remedy: str) -> str:
    """The key that a program is given, empty where none is to be. Raises ProviderError(CONFIGURATION), with the
    `remedy` where it is not set."""
    if not key_env:
        return ""
    key = environ.get(key_env, "").strip()
    if not key:
        raise make_configuration_error(f"the environment variable {key_env} is not set; {remedy}")
    if not (key.isascii() and key.isprintable()):
        raise make_configuration_error(
            f"the environment variable {key_env} holds characters that no key has; copy the key for provider "
            f"{provider} again"
        )
    return key
