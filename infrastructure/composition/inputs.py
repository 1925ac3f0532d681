"""What front ends hand a session."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from quorum.application.ports.models import LlmGateway
from quorum.application.ports.people import Approver, Observer
from quorum.application.session.session_folders import WantedFolder
from quorum.application.session.session_record import SessionRecord
from quorum.domain.events.masking import SecretMask
from quorum.infrastructure.changes.repository_changes import ReadChange
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.model_choice import StoredKey, find_no_stored_key
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.config.session_choices import AskedModels
from quorum.infrastructure.trust_decisions import TrustDecisions

if TYPE_CHECKING:
    from quorum.application.agents.agent_run import AgentRun
    from quorum.infrastructure.mcp.server_credentials import ServerCredentials
    from quorum.infrastructure.staging.entered_layer import EnteredLayer


class SessionInputs(Struct, frozen=True, kw_only=True, eq=False):
    """What a session is about and with whom, as `build_session` describes it.

    `build_external` makes an agent of another vendor work in it, in place of a model.
    `gateway` opens the sessions with models in place of the providers of the settings. `hook_environ` is what
    hooks get of the environment, None: all that commands get. `layer` is over `root`, which it is then.
    """

    loaded: LoadedSettings
    root: Path
    environ: Mapping[str, str]
    approver: Approver
    observer: Observer
    record: SessionRecord
    mask: SecretMask
    trust: TrustDecisions
    asked: AskedModels = AskedModels()
    hook_environ: Mapping[str, str] | None = None
    stored_key: StoredKey = find_no_stored_key
    sockets: Sequence[Path] = ()
    wanted_folders: Sequence[WantedFolder] = ()
    reserved_commands: Collection[str] = ()
    read_change: ReadChange = field(default_factory=ReadChange)
    server_credentials: Mapping[str, ServerCredentials] = field(default_factory=dict)
    gateway: LlmGateway | None = None
    build_external: Callable[[], AgentRun] | None = None
    layer: EnteredLayer | None = None

    @property
    def settings(self) -> Settings:
        return self.loaded.settings
