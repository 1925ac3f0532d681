"""Logins to MCP servers in the keyring of the operating system, one entry for each server."""

from __future__ import annotations

import time
from collections.abc import Callable

from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import BaseModel, ConfigDict, ValidationError

from quorum.infrastructure.secrets.key_ring import KeyRing

_LEEWAY_SECS = 10.0
_OTHERWISE = "set bearer_token_env in the table of the server to a variable that holds a token"


class StoredLogin(BaseModel):
    """What an authorisation server gave for one address, and where it is renewed. `expires_at` is in seconds
    since 1970, None: not known. `missed_scope` is what the server has wanted since, for the next login."""

    model_config = ConfigDict(frozen=True)

    url: str
    tokens: OAuthToken
    client: OAuthClientInformationFull
    token_endpoint: str
    expires_at: float | None = None
    revocation_endpoint: str | None = None
    resource: str | None = None
    missed_scope: str | None = None

    @property
    def is_expired(self) -> bool:
        """Whether the access token is of no use any more, or will be in a moment."""
        return self.expires_at is not None and time.time() >= self.expires_at - _LEEWAY_SECS


class LoginStore:
    """Each method blocks, and raises ConfigError where the keyring is locked, broken or silent.

    `learn` gets the secrets of each login that is read or written, for the mask.
    """

    def __init__(self, learn: Callable[[str, str], object] = lambda _name, _value: None) -> None:
        self._learn = learn

    def require(self) -> None:
        """Raise ConfigError where no login could be kept."""
        _open_ring().require()

    def load(self, server: str, url: str) -> StoredLogin | None:
        """The login to a server, as the keyring holds it now; None where there is none to this address."""
        text = _open_ring().get_key(_name_entry(server))
        if text is None:
            return None
        try:
            login = StoredLogin.model_validate_json(text)
        except ValidationError:
            return None  # not ours, or of another version: the person logs in again
        if login.url != url:
            return None
        self._learn_secrets(server, login)
        return login

    def save(self, server: str, login: StoredLogin) -> None:
        """Keep a login in place of the one that is there."""
        self._learn_secrets(server, login)
        _open_ring().keep(_name_entry(server), login.model_dump_json(exclude_none=True))

    def remove(self, server: str) -> bool:
        """Take the login out; False where there was none."""
        return _open_ring().remove(_name_entry(server))

    def _learn_secrets(self, server: str, login: StoredLogin) -> None:
        for secret in (login.tokens.access_token, login.tokens.refresh_token, login.client.client_secret):
            if secret:
                self._learn(f"mcp-{server}-token", secret)


def _open_ring() -> KeyRing:
    return KeyRing(
        otherwise=_OTHERWISE
    )  # a new one, as it reads each entry once and another process may change it


def _name_entry(server: str) -> str:
    return f"mcp server {server}"
