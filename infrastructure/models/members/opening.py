"""Makes the client of a member, by the type of its provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from quorum.infrastructure.models.members.acp import AcpAgent
from quorum.infrastructure.models.members.api_client import MemberApiClient
from quorum.infrastructure.models.members.claude_cli import ClaudeCli
from quorum.infrastructure.models.members.codex import CodexExec
from quorum.infrastructure.models.members.dialect import MemberDialect
from quorum.infrastructure.models.members.failures import MemberFailures
from quorum.infrastructure.models.members.launch import MemberLaunch
from quorum.infrastructure.models.shared.api_client import ProviderSettings

_DIALECTS: Mapping[str, Callable[[MemberFailures], MemberDialect]] = {
    "claude-cli": ClaudeCli,
    "codex": CodexExec,
    "acp": AcpAgent,
}


def open_member(provider: str, settings: ProviderSettings, environ: Mapping[str, str]) -> MemberApiClient:
    """The client of the program that the settings name. Raises ProviderError(CONFIGURATION)."""
    return MemberApiClient(MemberLaunch.of(provider, settings, environ), _DIALECTS[settings.type])
