"""Opens the layer of this process for a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext

from quorum.application.calls.batch_state import OneSession
from quorum.application.event_bus import EventBus
from quorum.application.export.effects_report import render_effects
from quorum.application.ports.workspace import FileKeeper
from quorum.application.review.review import Review
from quorum.application.session.session_record import SessionRecord
from quorum.application.staging.effects_review import EffectsReview
from quorum.application.staging.effects_voting import EffectsVoting
from quorum.application.staging.shared_files import SharedFiles
from quorum.application.staging.staged_turns import EffectsInquiry, StagedTurns
from quorum.application.steering import PendingMessage, PendingMessages
from quorum.domain.conversation.history import UserMessage
from quorum.domain.events.event import ErrorOccurred, LayerEntered, NoticeGiven
from quorum.domain.replacing import replace
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.answerer import name_machine
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from quorum.infrastructure.execution.shell.script import read_script
from quorum.infrastructure.files.diff import list_hunks, render_unified_diff
from quorum.infrastructure.language_servers.servers import LanguageServers
from quorum.infrastructure.staging.entered_layer import EnteredLayer
from quorum.infrastructure.staging.merged_work import LeftWork, OwnerRecord, open_stored_records
from quorum.infrastructure.staging.workspace_layer import WorkspaceLayer


def open_staged_turns(  # noqa: PLR0913 - all that a turn does in a layer meets here
    layer: EnteredLayer,
    environ: Mapping[str, str],
    record: SessionRecord,
    protected: Sequence[str],
    paths: PathPolicy,
    review: Review,
    events: EventBus,
    stop_jobs: Callable[[], Awaitable[object]],
    code: LanguageServers | None,
    pending_messages: PendingMessages,
    suspend: Callable[[], AbstractAsyncContextManager[None]],
    sandbox: Sandbox,
    keeper: FileKeeper,
    one_session: OneSession,
) -> StagedTurns:
    """The turns of this session, and the review of their effects. `protected` are the patterns of the person,
    which `paths` leaves out in a layer. `stop_jobs` and the end of `code` end with each turn what sees the
    layer, `suspend` what keeps to it; the `sandbox` is told when files have other numbers, and what the layer
    plants."""
    policy = replace(paths, protected=(*protected, *paths.protected))
    layer.note_session(record.session_id)
    layer.on_renewal(sandbox.forget_files)
    sandbox.list_planted = layer.list_planted
    if code is not None:
        layer.on_renewal(code.renew)

    async def end_programs() -> None:
        await stop_jobs()
        if code is not None:
            await code.aclose()

    async def queue_note(text: str) -> None:
        pending_messages.add(PendingMessage(UserMessage(events.hide(text)), is_notice=True))

    open_stored = open_stored_records(record.storage, layer.folder.workspace, events.open_another)

    def open_record(session_id: str) -> AbstractAsyncContextManager[OwnerRecord | None]:
        if session_id != record.session_id:
            return open_stored(session_id)
        return nullcontext(OwnerRecord(events, record.records))

    async def tell(text: str, is_done: bool) -> None:
        await events.record(NoticeGiven(message=text) if is_done else ErrorOccurred(message=text))

    left = LeftWork(layer, environ, keeper, open_record, tell, one_session.open_another())
    effects = EffectsReview(
        WorkspaceLayer(
            layer.folder,
            environ,
            find_real=lambda: layer.real,
            closed=layer.closed,
            is_protected=policy.is_protected,
            apart=layer.apart,
        ),
        events,
        queue_note=queue_note,
        render_diff=render_unified_diff,
        suspend=suspend,
        read_script=read_script,
        is_guard_on=review.guards.is_on,
        is_sensitive=paths.is_sensitive,
        voting=EffectsVoting(review.voting, events, render=render_effects),
        merge_left=left.merge,
        shared_files=SharedFiles(record.contents, list_hunks, render_unified_diff, paths.is_sensitive),
    )
    waiting = ("changes of an earlier turn wait in it for your review",) if layer.waiting else ()
    machine = name_machine()
    entered = LayerEntered(
        layer=layer.folder.id,
        workspace=layer.folder.workspace,
        machine=machine,
        notices=(*layer.notices, *waiting),
    )
    inquiry = EffectsInquiry(
        effects, review.ask, events, render=render_effects, machine=machine, records=record.records
    )
    return StagedTurns(effects, inquiry, end_programs, events, hold=layer.hold_turn, entered=entered)
