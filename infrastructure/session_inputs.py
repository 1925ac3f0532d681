"""What front ends hand a session."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from quorum.application.ports.models import LlmGateway
from quorum.application.ports.people import Approver, Observer
from quorum.application.session.session_record import SessionRecord
from quorum.application.session_folders import WantedFolder
from quorum.domain.events.masking import SecretMask
from quorum.domain.replacing import replace
from quorum.domain.sessions.session_summary import SessionChoice
from quorum.infrastructure.changes.read_change import ReadChange
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.model_choice import AskedModels, StoredKey, find_no_stored_key
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.staging.waiting_layers import describe_layers
from quorum.infrastructure.storage import open_record
from quorum.infrastructure.trust_decisions import TrustDecisions, open_trust_decisions

if TYPE_CHECKING:
    from quorum.application.agents.external_turns import ExternalTurns
    from quorum.application.turn.run_agent import TurnParts
    from quorum.infrastructure.mcp.server_credentials import ServerCredentials
    from quorum.infrastructure.staging.entered_layer import EnteredLayer


class SessionInputs(Struct, frozen=True, kw_only=True, eq=False):
    """What a session is about and with whom. Environment and trust are by default those of the process.

    Sessions side by side share a mask: what one of them learns to be a secret no other shows. `trust` is what
    the person decided in this run. `sockets` are those we listen at ourselves, `wanted_folders` are to be added
    to the workspace; `reserved_commands` are the names of the front end's own slash commands. `read_change` is
    what a code review is about. `server_credentials` are, by MCP server, what the settings do not hold; the
    mask knows them already. `build_external` makes an agent of another vendor work in it, in place of a model.
    `gateway` opens the sessions with models in place of the providers of the settings. `hook_environ` is what
    hooks get of the environment, None: all that commands get. `layer` is over `root`, which it is then.
    """

    loaded: LoadedSettings
    root: Path
    approver: Approver
    observer: Observer
    record: SessionRecord
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    mask: SecretMask = field(default_factory=SecretMask)
    trust: TrustDecisions = field(default_factory=lambda: open_trust_decisions(os.environ))
    asked: AskedModels = AskedModels()
    hook_environ: Mapping[str, str] | None = None
    stored_key: StoredKey = find_no_stored_key
    sockets: Sequence[Path] = ()
    wanted_folders: Sequence[WantedFolder] = ()
    reserved_commands: Collection[str] = ()
    read_change: ReadChange = field(default_factory=ReadChange)
    server_credentials: Mapping[str, ServerCredentials] = field(default_factory=dict)
    gateway: LlmGateway | None = None
    build_external: Callable[[TurnParts], ExternalTurns] | None = None
    layer: EnteredLayer | None = None

    @property
    def settings(self) -> Settings:
        return self.loaded.settings


def open_session(
    loaded: LoadedSettings, root: Path, choice: SessionChoice, *, fork: bool = False
) -> SessionRecord:
    """The record of a session of this folder, as `open_record` opens it. Blocks."""
    record = open_record(loaded.settings.storage, os.environ, choice, cwd=str(root), fork=fork)
    layers = describe_layers(root, os.environ, record.session_id)
    return replace(record, notices=(*record.notices, *layers))
