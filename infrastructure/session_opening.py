"""Opens the record of a session for a front end, with what the person is to know of its folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.application.session.session_record import SessionRecord
from quorum.domain.replacing import replace
from quorum.domain.sessions.session_summary import SessionChoice
from quorum.infrastructure.staging.waiting_layers import describe_layers
from quorum.infrastructure.storage import open_record

if TYPE_CHECKING:
    from quorum.infrastructure.config.loading import LoadedSettings


def open_session(
    loaded: LoadedSettings, root: Path, choice: SessionChoice, *, fork: bool = False
) -> SessionRecord:
    """The record of a session of this folder, as `open_record` opens it. Blocks."""
    record = open_record(loaded.settings.storage, os.environ, choice, cwd=str(root), fork=fork)
    layers = describe_layers(root, os.environ, record.session_id)
    return replace(record, notices=(*record.notices, *layers))
