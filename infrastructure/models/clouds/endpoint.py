"""Where a provider is reached, and with what key: settings and environment made definite."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

import httpx2
from msgspec import Struct

from quorum.domain.errors import ProviderError, make_configuration_error
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.models.shared.failures import Failures
from quorum.infrastructure.provider_types import PublicService

if TYPE_CHECKING:  # most providers are no clouds
    from quorum.infrastructure.models.clouds.amazon_bedrock import BedrockAccess
    from quorum.infrastructure.models.clouds.google_vertex import VertexAccess

_NO_KEY = "none"
_LONGEST_CONNECT_SECS = 10.0


class AzureAccess(Struct, frozen=True, kw_only=True):
    """What Azure has to know. `has_token` says that the key is a token of Entra ID."""

    api_version: str
    has_token: bool


Cloud: TypeAlias = "BedrockAccess | VertexAccess | AzureAccess"


class Endpoint(Struct, frozen=True, kw_only=True):
    """A provider's address and the key for it. `key` is "none" where the server wants none.

    `cloud` is the one that serves it, where that is one.
    """

    provider: str
    address: str
    host: str
    key: str
    key_env: str | None
    headers: Mapping[str, str]
    timeout_secs: float
    cloud: Cloud | None = None

    @classmethod
    def of(
        cls, provider: str, settings: ProviderSettings, environ: Mapping[str, str], public: PublicService
    ) -> Endpoint:
        """The endpoint of these settings. Raises ProviderError(CONFIGURATION) when the key is missing."""
        given = settings.base_url or ""
        address = given or environ.get(public.address_env, "") or public.address
        key_env = settings.api_key_env
        if key_env is None and not given:
            key_env = public.key_env  # another server's key is its own: this one goes to its owner only
        host = _read_host(provider, address)
        local_needs_no_key = public.local_needs_no_key and _is_loopback(host)
        key = _read_key(provider, key_env, environ, may_lack=local_needs_no_key)
        _check_headers(provider, settings.headers)
        return cls(
            provider=provider,
            address=address.rstrip("/"),
            host=host,
            key=key,
            key_env=key_env or None,
            headers=settings.headers,
            timeout_secs=settings.timeout_secs,
        )

    @property
    def timeout(self) -> httpx2.Timeout:
        """Bounds of one read, one write and the connecting."""
        return httpx2.Timeout(self.timeout_secs, connect=min(self.timeout_secs, _LONGEST_CONNECT_SECS))

    @property
    def is_on_this_machine(self) -> bool:
        """Whether the server listens on the loopback address."""
        return _is_loopback(self.host)

    @property
    def needs_certificates(self) -> bool:
        """Whether a server has to prove who it is: not one on this machine that is asked without encryption."""
        return not (self.is_on_this_machine and self.address.startswith("http:"))

    @property
    def has_key(self) -> bool:
        """Whether there is a key at all."""
        return self.key != _NO_KEY

    def build_failures(self, path: str) -> Failures:
        """The sentences for what goes wrong here. `path` is what a client adds to the address for no cloud."""
        signed_in = None if isinstance(self.cloud, AzureAccess) else self.cloud
        return Failures(
            provider=self.provider,
            address=_hide_password(self.address),
            path=path if self.cloud is None else "",
            key_env=self.key_env,
            secret=self.key if self.has_key else "",
            timeout_secs=self.timeout_secs,
            sign_in=signed_in.sign_in.remedy if signed_in is not None else "",
        )


def _read_key(provider: str, key_env: str | None, environ: Mapping[str, str], *, may_lack: bool) -> str:
    if not key_env:
        return _NO_KEY
    key = environ.get(key_env, "").strip()
    if not key and may_lack:
        return _NO_KEY
    if not key:
        raise make_configuration_error(
            f"the environment variable {key_env} is not set; set it to your key for provider {provider}, "
            f"store the key with `quorum keys set {provider}`, or name another variable with api_key_env in "
            f"[providers.{provider}]"
        )
    if not (key.isascii() and key.isprintable()):
        raise make_configuration_error(
            f"the environment variable {key_env} holds characters that no key has; copy the key for provider "
            f"{provider} again"
        )
    return key


def _check_headers(provider: str, headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not (name.isascii() and name.isprintable() and value.isascii() and value.isprintable()):
            raise make_configuration_error(
                f"header {name!r} of [providers.{provider}] holds characters other than printable ASCII; "
                "remove them"
            )


def _read_host(provider: str, address: str) -> str:
    try:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0):
            return parts.hostname
    except ValueError as error:
        raise _build_no_address(provider) from error
    raise _build_no_address(provider)


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _hide_password(address: str) -> str:
    scheme, _, rest = address.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


def _build_no_address(provider: str) -> ProviderError:
    return make_configuration_error(
        f"base_url of [providers.{provider}] is not the address of a server; write it like "
        "http://localhost:11434/v1"
    )
