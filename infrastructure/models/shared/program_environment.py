"""The environment of programs that talk to models in the place of quorum."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from quorum.application.program_lookup import filter_environment

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
