"""What front ends hand a session."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from quorum.application.ports.models import LlmGateway
from quorum.application.ports.people import Approver, Observer
from quorum.application.session.session_folders import WantedFolder
from quorum.application.session.session_record import SessionRecord
from quorum.domain.conversation.effort import Effort
from quorum.domain.events.masking import SecretMask
from quorum.infrastructure.changes.repository_changes import ReadChange
from quorum.infrastructure.config.model_choice import StoredKey, find_no_stored_key
from quorum.infrastructure.config.policy_table import NO_POLICY, ManagedPolicy
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.trust.decisions import TrustDecisions

if TYPE_CHECKING:
    from quorum.infrastructure.mcp.server_credentials import ServerCredentials


class SessionInputs(Struct, frozen=True, kw_only=True, eq=False):
    """What a session is about and with whom, as `build_session` describes it.

    `gateway` opens the sessions with models in place of the providers of the settings. `hook_environ` is what
    hooks get of the environment, None: all that commands get.
    """

    settings: Settings
    root: Path
    environ: Mapping[str, str]
    approver: Approver
    observer: Observer
    record: SessionRecord
    mask: SecretMask
    trust: TrustDecisions
    hook_environ: Mapping[str, str] | None = None
    models: Sequence[str] = ()
    chosen_efforts: Mapping[str, Effort] = field(default_factory=dict)
    participants: Sequence[str] = ()
    debaters: Sequence[str] = ()
    moderator: str = ""
    config_files: Sequence[Path] = ()
    origins: Mapping[str, str] = field(default_factory=dict)
    covered: Mapping[str, object] = field(default_factory=dict)
    policy: ManagedPolicy = NO_POLICY
    stored_key: StoredKey = find_no_stored_key
    sockets: Sequence[Path] = ()
    wanted_folders: Sequence[WantedFolder] = ()
    reserved_commands: Collection[str] = ()
    read_change: ReadChange = field(default_factory=ReadChange)
    server_credentials: Mapping[str, ServerCredentials] = field(default_factory=dict)
    gateway: LlmGateway | None = None
