"""Which environment variables and settings hold secrets, judging by their names."""

from __future__ import annotations

import re

from quorum.domain.secrets.forms import is_random

CLOUD_KEYS = frozenset(
    {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_SECURITY_TOKEN",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AZURE_OPENAI_API_KEY",
        "AZURE_OPENAI_AD_TOKEN",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_FOUNDRY_API_KEY",
        "ANTHROPIC_FOUNDRY_AUTH_TOKEN",
        "ANTHROPIC_CUSTOM_HEADERS",
        "OPENAI_API_KEY",
        "OPENAI_ADMIN_KEY",
        "OPENAI_CUSTOM_HEADERS",
        "OPENAI_WEBHOOK_SECRET",
        "COPILOT_GITHUB_TOKEN",
        "GH_TOKEN",
        "GITHUB_TOKEN",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    }
)
"""Variables that our providers and exporters, or the SDKs below them, read a key from by themselves."""

_TELLING = re.compile(
    r"(?:API|ACCESS|PRIVATE|SECRET|SIGNING|ENCRYPTION|MASTER|ACCOUNT|ADMIN)_?KEY(?:_ID|_BASE)?\Z"
    r"|TOKEN\Z|SECRET|PASSW|PASSPHRASE|CREDENTIAL|CONNECTION_?STRING|_PWD\Z|_PASS\Z|_PAT\Z|_AUTH\Z|AUTH_?TOKEN"
)
_TELLING_IN_FILES = re.compile(_TELLING.pattern + r"|\AAUTH\Z|\APASS\Z|KEY\Z|\APWD\Z|DSN\Z|SALT\Z|PEPPER\Z")
_HINTS = frozenset(
    {
        "KEY",
        "KEYS",
        "APIKEY",
        "TOKEN",
        "PWD",
        "PASS",
        "AUTH",
        "CRED",
        "CREDS",
        "COOKIE",
        "JWT",
        "BEARER",
        "SALT",
    }
)
_SHORTEST_RANDOM = 16
_PUBLIC = re.compile(r"PUBLIC|FINGERPRINT|CHECKSUM|SHA\d*\Z|HASH\Z|DIGEST|INTEGRITY|VERSION|_FILE\Z|_PATH\Z")


def is_secret_name(variable: str) -> bool:
    """Whether an environment variable of this name holds a secret."""
    name = variable.upper()
    return variable in CLOUD_KEYS or (_TELLING.search(name) is not None and _PUBLIC.search(name) is None)


def holds_a_secret(variable: str, value: str) -> bool:
    """Whether an environment variable does, by its name; or by a word in it, if its value looks random."""
    if is_secret_name(variable):
        return True
    words = re.split(r"[^A-Z]+", variable.upper())
    return (
        len(value) >= _SHORTEST_RANDOM
        and not _HINTS.isdisjoint(words)
        and not is_public_name(variable)
        and is_random(value)
    )


def is_secret_name_in_file(key: str) -> bool:
    """Whether a key of this name holds a secret, in a file that is there to hold some."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|-", "_", key).upper()
    return _TELLING_IN_FILES.search(name) is not None and _PUBLIC.search(name) is None


def is_public_name(key: str) -> bool:
    """Return whether the value of this key is meant to be public, however random it looks."""
    return _PUBLIC.search(key.upper()) is not None
