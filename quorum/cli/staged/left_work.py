"""Merges what subagents left in a layer before a command reviews it, on the record of their session."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.domain.errors import StagingError

if TYPE_CHECKING:
    from quorum.infrastructure.config.schema import Settings
    from quorum.infrastructure.staging.entered_layer import EnteredLayer
    from quorum.infrastructure.staging.stored_layers import StoredLayer


def merge_left(stored: StoredLayer, settings: Settings, files: Sequence[Path]) -> Sequence[str]:
    """Sentences about it. `files` are those of the settings. No storage may be open: it is done in a fork."""
    from quorum.infrastructure.staging.layer_folder import hold_layer
    from quorum.infrastructure.staging.left_work import merge_from_outside
    from quorum.infrastructure.staging.subagent_layer import describe_unmerged
    from quorum.infrastructure.staging.workspace_layer import recover

    async def merge(layer: EnteredLayer) -> Sequence[str]:
        return await _merge(layer, settings, files)

    if stored.is_held or not os.path.isdir(stored.workspace):
        return ()
    try:
        with hold_layer(stored.folder) as folder:
            if not describe_unmerged(folder):
                return ()
            return [*recover(folder, os.environ), *merge_from_outside(folder, merge)]
    except StagingError as error:
        return [str(error)]


async def _merge(layer: EnteredLayer, settings: Settings, files: Sequence[Path]) -> Sequence[str]:
    from quorum.application.event_bus import EventBus
    from quorum.application.ports.storage import Ledger
    from quorum.domain.events.masking import SecretMask
    from quorum.domain.sessions.session_summary import LedgerRecord
    from quorum.infrastructure.files.workspace import Workspace
    from quorum.infrastructure.secrets.known import SessionSecrets, build_secret_test
    from quorum.infrastructure.staging.left_work import LeftWork, open_stored_records
    from quorum.infrastructure.storage import build_path_policy, list_own_paths, open_keeper, open_storage

    workspace = Workspace(roots=[Path(layer.folder.workspace)])
    own = list_own_paths(settings, workspace.roots, os.environ, files)
    policy = build_path_policy(settings, workspace.roots, own, files)
    mask = SecretMask()
    secrets = SessionSecrets(mask, settings=settings, environ=os.environ, policy=policy)
    secrets.gather()
    said = list[str]()

    def open_events(ledger: Ledger, past: Sequence[LedgerRecord]) -> EventBus:
        return EventBus((), ledger=ledger, mask=mask, past=past)

    async def tell(text: str, _is_done: bool) -> None:
        said.append(text)

    storage = open_storage(settings.storage, os.environ)
    try:
        said += storage.notices
        keeper = open_keeper(storage, workspace, policy, build_secret_test(mask), secrets.learn_from_file)
        open_record = open_stored_records(storage, layer.folder.workspace, open_events)
        try:
            await LeftWork(layer, os.environ, keeper, open_record, tell).merge()
        finally:
            await keeper.aclose()
    finally:
        storage.close()
    return said
