"""Opens the layer of this process for a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from quorum.application.background_jobs import BackgroundJobs
from quorum.application.event_bus import EventBus
from quorum.application.staging.effects_review import EffectsReview
from quorum.application.staging.staged_turns import StagedTurns
from quorum.application.turn.steering import PendingMessage, PendingMessages
from quorum.domain.conversation.history import UserMessage
from quorum.domain.events.event import LayerEntered
from quorum.domain.replacing import replace
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.execution.shell.script import read_script
from quorum.infrastructure.files.diff import render_unified_diff
from quorum.infrastructure.staging.entered_layer import EnteredLayer
from quorum.infrastructure.staging.workspace_layer import WorkspaceLayer

if TYPE_CHECKING:
    from quorum.infrastructure.language_servers.servers import LanguageServers


def open_staged_turns(
    layer: EnteredLayer,
    environ: Mapping[str, str],
    session_id: str,
    protected: Sequence[str],
    paths: PathPolicy,
    events: EventBus,
    jobs: BackgroundJobs,
    pending_messages: PendingMessages,
    servers: LanguageServers | None = None,
) -> StagedTurns:
    """The turns of this session, and the review of their effects. `protected` are the patterns of the person,
    which `paths` leaves out in a layer. `servers` see the layer, so they end with each turn as `jobs` do."""
    policy = replace(paths, protected=(*protected, *paths.protected))
    layer.note_session(session_id)

    async def queue_note(text: str) -> None:
        pending_messages.add(PendingMessage(UserMessage(events.hide(text)), is_notice=True))

    async def end_programs() -> None:
        await jobs.stop_with_turn()
        if servers is not None:
            await servers.aclose()

    if servers is not None:
        layer.on_renewal(servers.renew)
    review = EffectsReview(
        WorkspaceLayer(
            layer.folder,
            environ,
            find_real=lambda: layer.real,
            closed=layer.closed,
            is_protected=policy.is_protected,
        ),
        events,
        queue_note=queue_note,
        render_diff=render_unified_diff,
        read_script=read_script,
    )
    entered = LayerEntered(layer=layer.folder.id, workspace=layer.folder.workspace, notices=layer.notices)
    return StagedTurns(review, end_programs, events, hold=layer.hold_turn, entered=entered)
