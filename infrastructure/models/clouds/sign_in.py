"""Showing a cloud who asks: its own library finds the credentials, off the event loop, in bounded time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.blocking import run_in_daemon_thread
from quorum.infrastructure.extras import is_installed, render_install_command
from quorum.infrastructure.models.shared.error_bodies import fit_to_line

_Found = TypeVar("_Found")

LONGEST_SIGN_IN_SECS = 15.0


class SignIn(Struct, frozen=True, kw_only=True):
    """How to sign in to one cloud, and the words for when that fails. `remedy` tells the person what to do."""

    provider: str
    cloud: str
    remedy: str

    async def call_in_time(
        self, look_up: Callable[[], _Found], *, secs: float = LONGEST_SIGN_IN_SECS
    ) -> _Found:
        """What a blocking look-up finds.

        The clouds' libraries may ask files, programs, servers and, on a machine that is not theirs, a
        metadata service that never answers. Raises ProviderError, also when that takes too long.
        """
        try:
            async with asyncio.timeout(secs):
                return await run_in_daemon_thread(look_up)
        except TimeoutError as error:
            text = f"{self.provider}: no credentials of {self.cloud} came within {secs:g} s; {self.remedy}"
            raise ProviderError(text, kind=ProviderErrorKind.TIMEOUT) from error

    def explain_missing(self) -> ProviderError:
        """Nobody is signed in."""
        text = f"{self.provider}: no credentials of {self.cloud} were found; {self.remedy}"
        return ProviderError(text, kind=ProviderErrorKind.CONFIGURATION)

    def explain_unusable(self, reason: str) -> ProviderError:
        """What is set up for signing in cannot be used."""
        text = f"{self.provider}: the credentials of {self.cloud} cannot be used: {_format_clause(reason)}"
        return ProviderError(f"{text}; {self.remedy}", kind=ProviderErrorKind.CONFIGURATION)

    def explain_refusal(self, reason: str, *, retryable: bool = False) -> ProviderError:
        """The cloud would not have these credentials."""
        text = f"{self.provider}: {self.cloud} refused the credentials: {_format_clause(reason)}; {self.remedy}"
        return ProviderError(text, kind=ProviderErrorKind.AUTHENTICATION, retryable=retryable)

    def explain_unreachable(self, reason: str) -> ProviderError:
        """The place where credentials are had, or made new, does not answer."""
        text = f"{self.provider}: cannot sign in to {self.cloud}: {_format_clause(reason)}"
        return ProviderError(text, kind=ProviderErrorKind.CONNECTION, retryable=True)


def require_extra(provider: str, extra: str, *modules: str) -> None:
    """Raise ProviderError(CONFIGURATION) unless the packages of an optional part are installed."""
    if all(is_installed(module) for module in modules):
        return
    raise ProviderError(
        f'provider {provider} with client = "{extra}" needs packages that are not installed; '
        f"install them with: {render_install_command(extra)}",
        kind=ProviderErrorKind.CONFIGURATION,
    )


def _format_clause(reason: str) -> str:
    """What a cloud's library says, as part of a sentence of ours."""
    return fit_to_line(reason).rstrip(".")
