"""What can go wrong with the Copilot CLI, each in one sentence and one ProviderError."""

from __future__ import annotations

import re
from collections.abc import Mapping

from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.models.copilot.launch import CliLaunch
from quorum.infrastructure.models.shared.error_bodies import fit_to_line, speaks_of_length

_Kind = ProviderErrorKind
_OF_STATUS: Mapping[int, _Kind] = {
    401: _Kind.AUTHENTICATION,
    402: _Kind.PERMISSION,
    403: _Kind.PERMISSION,
    404: _Kind.NOT_FOUND,
    408: _Kind.TIMEOUT,
    429: _Kind.RATE_LIMIT,
    503: _Kind.OVERLOADED,
    504: _Kind.TIMEOUT,
    529: _Kind.OVERLOADED,
}
_OF_TYPE: Mapping[str, _Kind] = {
    "authentication": _Kind.AUTHENTICATION,
    "authorization": _Kind.PERMISSION,
    "policy": _Kind.PERMISSION,
    "quota": _Kind.PERMISSION,
    "rate_limit": _Kind.RATE_LIMIT,
    "context_limit": _Kind.TOO_LONG,
    "model_not_supported": _Kind.NOT_FOUND,
}
_OF_RETRY: Mapping[str, _Kind] = {
    "rate_limit": _Kind.RATE_LIMIT,
    "transient_auth_error": _Kind.AUTHENTICATION,
    "streaming_error": _Kind.DAMAGED_STREAM,
    "api_error": _Kind.SERVER,
}
_SAYS: Mapping[_Kind, str] = {
    _Kind.TIMEOUT: "did not answer in time",
    _Kind.AUTHENTICATION: "was refused as not logged in",
    _Kind.PERMISSION: "may not do this",
    _Kind.NOT_FOUND: "does not know the model or the address",
    _Kind.BAD_REQUEST: "had its request refused",
    _Kind.TOO_LONG: "had its request refused as too long",
    _Kind.RATE_LIMIT: "was rate limited",
    _Kind.OVERLOADED: "found the service overloaded",
    _Kind.SERVER: "failed",
}
_MAY_PASS = frozenset({_Kind.TIMEOUT, _Kind.RATE_LIMIT, _Kind.OVERLOADED, _Kind.SERVER})
_NOT_LOGGED_IN = re.compile(r"not authenticated|no github oauth token|no authentication", re.IGNORECASE)
NEEDED = "Copilot CLI >= 1.0 (protocol 3) needed"
_INSTALL = "npm install -g @github/copilot"


class CopilotFailures:
    """Words the failures of one configured CLI."""

    def __init__(self, launch: CliLaunch) -> None:
        self._launch = launch

    def explain_reported(
        self, error_type: str, message: str, status: int | None, *, partial: bool
    ) -> ProviderError:
        """The CLI gave a turn up, after it had tried again itself where that could help."""
        kind = self._classify(error_type, message, status)
        number = f" ({status})" if status is not None else ""
        first_line = message.strip().partition("\n")[0]
        remedy = f"; {self._remedy}" if kind is _Kind.AUTHENTICATION else ""
        text = f"{self._launch.provider} {_SAYS[kind]}{number}: {self.clean_text(first_line)}{remedy}"
        may_pass = kind in _MAY_PASS and not partial
        return ProviderError(text, kind=kind, retryable=may_pass, status=status, partial=partial)

    def explain_listing_failure(self, message: str) -> ProviderError:
        """The CLI would not list the models."""
        if _NOT_LOGGED_IN.search(message):
            text = f"{self._launch.provider} lists its models only to whom it knows; {self._remedy}"
            return ProviderError(text, kind=_Kind.AUTHENTICATION)
        text = f"{self._launch.provider} could not list its models: {self.clean_text(message)}"
        return ProviderError(text, kind=_Kind.SERVER, retryable=True)

    def explain_missing_list(self) -> ProviderError:
        """Through the CLI, the models of an own server cannot be asked for."""
        name = self._launch.provider
        text = (
            f"the Copilot CLI lists only the models of GitHub, not those of base_url; write {name}/ and the "
            f"model's name, or set base_url aside and log in with `copilot login` to see GitHub's"
        )
        return ProviderError(text, kind=_Kind.CONFIGURATION)

    def explain_exit(self, why: str, *, partial: bool) -> ProviderError:
        """The CLI's process is gone."""
        text = (
            f"the Copilot CLI of provider {self._launch.provider} ended ({self.clean_text(why)}); the "
            "next request starts it again"
        )
        return ProviderError(text, kind=_Kind.CONNECTION, retryable=not partial, partial=partial)

    def explain_timeout(self, what: str, secs: float) -> ProviderError:
        """The CLI lives but does not answer what it always answers at once."""
        text = f"the Copilot CLI of provider {self._launch.provider} did not {what} within {secs:g} s"
        return ProviderError(text, kind=_Kind.TIMEOUT, retryable=True)

    def explain_silence(self, *, partial: bool) -> ProviderError:
        """Nothing arrived for as long as is waited."""
        text = f"{self._launch.provider} sent nothing for {self._launch.timeout_secs:g} s"
        return ProviderError(text, kind=_Kind.TIMEOUT, retryable=not partial, partial=partial)

    def explain_refusal(self, message: str, *, partial: bool = False) -> ProviderError:
        """The CLI would not do what it was asked."""
        if _NOT_LOGGED_IN.search(message):
            return self.explain_reported("authentication", message, None, partial=partial)
        text = f"the Copilot CLI of provider {self._launch.provider} refused: {self.clean_text(message)}"
        return ProviderError(text, kind=_Kind.BAD_REQUEST, partial=partial)

    def explain_damage(self, what: str, *, partial: bool) -> ProviderError:
        """The CLI's messages contradict each other."""
        text = f"{self._launch.provider}: {self.clean_text(what)}"
        return ProviderError(text, kind=_Kind.DAMAGED_STREAM, retryable=not partial, partial=partial)

    def explain_start_failure(self, why: str) -> ProviderError:
        """The program could not be started, or is no Copilot CLI."""
        said = f"{self._launch.program} did not start as the Copilot CLI: {self.clean_text(why)}"
        return ProviderError(f"{said}; {NEEDED}: {_INSTALL}", kind=_Kind.CONFIGURATION)

    def explain_wrong_version(self, version: str) -> ProviderError:
        """The program speaks another protocol than we."""
        found = f"found {self.clean_text(version)} at {self._launch.program}"
        return ProviderError(f"{NEEDED}, {found}; {_INSTALL}", kind=_Kind.CONFIGURATION)

    def clean_text(self, text: str) -> str:
        """Foreign text made fit for a sentence, without the key."""
        return fit_to_line(text, self._launch.secret) or "it gave no reason"

    @property
    def _remedy(self) -> str:
        if self._launch.key_env is not None:
            return f"set {self._launch.key_env} to a valid key and start again"
        if self._launch.server is not None:
            return f"name the variable of its key with api_key_env in [providers.{self._launch.provider}]"
        return "log in with `copilot login`, or name the variable of a GitHub token with api_key_env"

    def _classify(self, error_type: str, message: str, status: int | None) -> _Kind:
        if error_type == "context_limit" or speaks_of_length(status, message):
            return _Kind.TOO_LONG
        if status is not None and 400 <= status <= 599:
            return _OF_STATUS.get(status, _Kind.BAD_REQUEST if status < 500 else _Kind.SERVER)
        if _NOT_LOGGED_IN.search(message):  # for some of these the CLI's own word is "query"
            return _Kind.AUTHENTICATION
        return _OF_TYPE.get(error_type, _Kind.SERVER)


def classify_retry(reason: str) -> ProviderErrorKind | None:
    """Why the CLI asks again, in a word of ours; None where we have none."""
    return _OF_RETRY.get(reason)
