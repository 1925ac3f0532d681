"""The composition root: builds a session from its settings, for any front end."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.application.ports.people import Approver, Observer
from quorum.application.program_lookup import note_writable
from quorum.domain.events.masking import SecretMask
from quorum.domain.replacing import replace
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.model_choice import choose_asked_models, choose_roles
from quorum.infrastructure.container import Container, build_container
from quorum.infrastructure.event_observers import log_events, send_telemetry
from quorum.infrastructure.execution.program import close_process_to_inspection
from quorum.infrastructure.own_code import leave_out_workspace
from quorum.infrastructure.secrets.key_ring import KeyRing
from quorum.infrastructure.secrets.known import mask_crashes, mask_logs
from quorum.infrastructure.session_inputs import SessionInputs
from quorum.infrastructure.staging.entered import find_layer_over
from quorum.infrastructure.storage import list_writable_paths, open_empty_record
from quorum.infrastructure.warming_up import start_loading_models, start_warming_up

if TYPE_CHECKING:
    from quorum.application.agents.external_turns import ExternalTurns
    from quorum.application.turn.run_agent import TurnParts
    from quorum.infrastructure.agents.launch import ExternalAgent


def build_session(
    inputs: SessionInputs,
    *,
    mask_outputs: Sequence[Callable[[Callable[[str], str]], None]] = (),
    warm_up: Callable[[], None] | None = None,
    external: ExternalAgent | None = None,
) -> Container:
    """Build a session, complete but for what is loaded on first use. Raises ConfigError and ProviderError.

    Each of `mask_outputs` is handed the function that hides secrets, for a way on which the front end prints.
    `warm_up` imports in the background what the front end needs later. `external` is the agent of another
    vendor that works in it; a session of one is refused without it.
    """
    inputs.record.check_front_end(brings_agent=external is not None)
    close_process_to_inspection()
    for hide in (mask_logs, mask_crashes, *mask_outputs):
        hide(inputs.mask.mask_text)
    loaded, root, keys = inputs.loaded, inputs.root, KeyRing(inputs.mask.learn)

    def build_external(turn_parts: TurnParts) -> ExternalTurns:
        from quorum.infrastructure.agents.session import build_external_turns

        assert external is not None
        return build_external_turns(external, container.parts(), turn_parts)

    container = build_container(
        replace(
            inputs,
            asked=choose_asked_models(
                loaded, inputs.record, choose_roles(loaded, inputs.environ, keys.get_key)
            ),
            observer=send_telemetry(log_events(inputs.observer), loaded.settings),
            stored_key=keys.get_key,
            build_external=build_external if external is not None else None,
            layer=find_layer_over(root),
        )
    )
    parts = container.parts()
    start_loading_models(parts)  # meanwhile the workspace is searched for secrets, before anything is recorded
    parts.build()  # what is wrong is reported now, not at the first prompt
    leave_out_workspace(root)
    note_writable(parts.shared.workspace.folders)
    note_writable(list_writable_paths(loaded.settings, root, inputs.environ))
    start_warming_up(parts, warm_up)
    return container


def build_unused(loaded: LoadedSettings, root: Path, *, approver: Approver, observer: Observer) -> Container:
    """A session that is only looked at: its rules and tools are there, its model and its record are not."""
    mask = SecretMask()
    return build_container(
        SessionInputs(
            loaded=loaded,
            root=root,
            approver=approver,
            observer=observer,
            mask=mask,
            stored_key=KeyRing().get_key,
            record=open_empty_record(loaded.settings.storage, os.environ, mask),
            layer=find_layer_over(root),
        )
    )
