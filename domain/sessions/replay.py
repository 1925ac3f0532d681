"""A session's state from its record: every durable event in its order, taken in one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from quorum.domain.conversation.cost import Spending
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.spend_caps import SpendCap
from quorum.domain.events.event import (
    AttachmentLeftOut,
    BatchPlanned,
    CallFinished,
    CallStarted,
    ChangeReviewed,
    ConsensusChanged,
    ContextReceived,
    ConversationCompacted,
    EffectsObserved,
    Event,
    FilesKept,
    FilesRestored,
    FinalReviewDropped,
    FolderAdded,
    HookRan,
    JobEnded,
    JobStarted,
    MessageAdded,
    ModeChanged,
    ModelChanged,
    OutputStored,
    PanelConcluded,
    PanelEvent,
    PhaseScopeChanged,
    PlanApproved,
    PlanProposed,
    PlanReviewStarted,
    PlanWithdrawn,
    PromptsQueued,
    QuorumConcluded,
    ResponseCompleted,
    ResultReceived,
    ReviewDecided,
    ReviewRequested,
    SessionRedone,
    SessionResumed,
    SessionRewound,
    SessionStarted,
    SpendCapRaised,
    StateMerged,
    SubagentFinished,
    SubagentStarted,
    SystemPromptSet,
    ToolsListed,
    TurnFinished,
    TurnStarted,
    UsageCounted,
    UserCommandFinished,
    UserCommandStarted,
    VoteCast,
)
from quorum.domain.instructions.prompt_part import PromptPart
from quorum.domain.panel.consensus import Consensus
from quorum.domain.panel.open_panel import OpenPanel
from quorum.domain.plan.phase import SessionPhase
from quorum.domain.plan.progress import drop_progress
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.past_session import LedgerRecord
from quorum.domain.sessions.replayed_approvals import ReplayedApprovals
from quorum.domain.sessions.replayed_conversation import ReplayedConversation
from quorum.domain.sessions.replayed_exchanges import ReplayedExchanges
from quorum.domain.sessions.replayed_folders import ReplayedFolders
from quorum.domain.sessions.replayed_jobs import ReplayedJobs
from quorum.domain.sessions.replayed_panels import close_concluded, follow_panel
from quorum.domain.sessions.replayed_phase import ReplayedPhase
from quorum.domain.sessions.replayed_plan_rounds import ReplayedPlanRounds
from quorum.domain.sessions.replayed_turns import ReplayedTurns
from quorum.domain.sessions.replayed_undos import ReplayedUndos
from quorum.domain.sessions.replayed_user_commands import ReplayedUserCommands
from quorum.domain.sessions.state import SessionState
from quorum.domain.text.json_value import JsonObject, JsonValue


class Replay:
    """Keeps up with a session while it happens, or brings one back. Taking an event in costs next to nothing,
    and so does asking twice for the same state. No record makes it fail: see `SessionState.mended`."""

    def __init__(self) -> None:
        self._session_id = self._cwd = self._model = ""
        self._mode = Mode.ASK
        self._conversation = ReplayedConversation()
        self._turns = ReplayedTurns()
        self._undos = ReplayedUndos()
        self._user_commands = ReplayedUserCommands()
        self._exchanges = ReplayedExchanges()
        self._jobs = ReplayedJobs()
        self._approvals = ReplayedApprovals()
        self._folders = ReplayedFolders()
        self._values: Mapping[str, JsonValue] = {}
        self._spending = Spending()
        self._cap_raises: Mapping[SpendCap, Decimal] = {}
        self._left_out: Mapping[tuple[str, str], str] = {}
        self._blobs: set[str] = set()
        self._unsent: tuple[str, ...] = ()
        self._responses = 0
        self._finished = True
        self._open_panel: OpenPanel | None = None
        self._phase = ReplayedPhase()
        self._plan_rounds = ReplayedPlanRounds()
        self._subagents = 0
        self._system_prompt: tuple[PromptPart, ...] = ()
        self._listed_tools: tuple[ToolsListed, ...] = ()
        self._tool_schemas: Mapping[str, JsonObject] = {}
        self._consensus: Consensus | None = None
        self._state: SessionState | None = None

    @property
    def phase(self) -> SessionPhase:
        """Where the session stands with plans. It may be read in any thread."""
        return self._phase.current

    @property
    def state(self) -> SessionState:
        """The state of the session after all events so far."""
        if self._state is None:
            self._state = SessionState(
                session_id=self._session_id,
                cwd=self._cwd,
                model=self._model,
                mode=self._mode,
                messages=self._conversation.messages,
                values=self._values,
                turns=self._turns.list_past_turns(),
                responses=self._responses,
                spending=self._spending,
                cap_raises=self._cap_raises,
                context_tokens=self._conversation.context_tokens,
                blobs=frozenset(self._blobs),
                open_calls=self._conversation.open_calls,
                finished=self._finished,
                last_written=dict(self._turns.last_written),
                mended=(*self._conversation.mended, *self._phase.mended),
                user_commands=self._user_commands.left,
                unread_notes=self._exchanges.unread,
                origin=self._exchanges.origin,
                results=self._exchanges.results,
                unsent=self._unsent,
                jobs=self._jobs.left,
                jobs_started=self._jobs.started,
                approvals=self._approvals.calls,
                git_approvals=self._approvals.git,
                folders=self._folders.folders,
                open_panel=self._open_panel,
                consensus=self._consensus,
                undos=self._undos.list_past_undos(),
                phase=self._phase.current,
                plan_rounds=self._plan_rounds.rounds,
                plan_choice=self._plan_rounds.choice,
                subagents=self._subagents,
                left_out=self._left_out,
                system_prompt=self._system_prompt,
                listed_tools=self._listed_tools,
                tool_schemas=self._tool_schemas,
            )
        return self._state

    def apply(self, event: Event, at_ms: int) -> None:  # noqa: C901, PLR0912, PLR0915 - a flat match
        """Apply the next event. `at_ms` is its time in milliseconds since 1970, UTC."""
        self._state = None
        match event:
            case SystemPromptSet():
                self._system_prompt = event.parts
            case ToolsListed():
                new = {tool.sha256: tool.schema for tool in event.tools if tool.schema is not None}
                self._listed_tools = (*self._listed_tools, event)
                self._tool_schemas = {**self._tool_schemas, **new}
            case SessionStarted() | SessionResumed():
                self._session_id, self._cwd = event.session_id, event.cwd
                self._model, self._mode = event.model, event.mode
                self._consensus = event.consensus or self._consensus
                self._approvals.begin_session(event.session_id, event.cwd)
                self._undos.begin_process()
            case ModeChanged():
                self._mode = event.mode
            case FolderAdded():
                self._folders.add(event.folder)
            case ConsensusChanged():
                self._consensus = event.consensus
            case ModelChanged():
                self._model = event.model
            case TurnStarted():
                self._turns.begin(event, at_ms, self._conversation.capture_moment(), self._values)
                self._phase.begin_turn(is_another_task=bool(event.prompt))
                self._approvals.begin_turn()
                self._folders.begin_turn()
                self._undos.clear()
                self._plan_rounds.begin_turn(is_another_task=self._finished and bool(event.prompt))
                self._send(event.prompt)
                self._finished = False
            case PromptsQueued():
                self._unsent = event.prompts
            case MessageAdded():
                self._add(event)
            case UserCommandStarted():
                self._user_commands.start(event)
            case UserCommandFinished():
                self._user_commands.finish(event)
                self._blobs.update([event.blob_id] if event.blob_id and event.note else [])
            case ContextReceived() | ResultReceived():
                self._exchanges.apply(event)
            case JobStarted():
                self._jobs.start(event, self._turns.start_job(event.job_id))
            case JobEnded():
                self._jobs.end(event)
                self._blobs.update([event.blob_id] if event.blob_id else [])
            case ResponseCompleted():
                self._undos.continue_conversation()
                self._conversation.answer(event.response)
                self._open_panel = close_concluded(self._open_panel)
                self._responses += 1
            case ConversationCompacted():
                self._undos.continue_conversation()
                self._conversation.compact(event)
                self._blobs.update(event.blobs)
            case SessionRewound():
                self._rewind(event)
            case SessionRedone():
                self._redo(event)
            case CallStarted():
                self._conversation.follow(event)
                self._turns.apply(event)
                self._approvals.apply(event)
            case CallFinished():
                self._conversation.follow(event)
                self._turns.apply(event)
            case ReviewRequested() | ReviewDecided():
                self._conversation.follow(event)
                self._approvals.apply(event)
                self._plan_rounds.apply(event)
            case BatchPlanned() | HookRan() | SubagentFinished():
                self._conversation.follow(event)
            case SubagentStarted():
                self._subagents += 1
                self._conversation.follow(event)
            case OutputStored():
                self._conversation.follow(event)
                self._blobs.add(event.blob_id)
            case FilesRestored():
                self._restore_files(event)
            case FilesKept() | EffectsObserved():
                self._turns.apply(event)
            case StateMerged():
                merged = {**self._values, **event.changed}
                self._values = {key: value for key, value in merged.items() if value is not None}
            case AttachmentLeftOut():
                self._left_out = {**self._left_out, (event.model, event.sha256): event.reason}
            case UsageCounted():
                self._spending = self._spending.with_request(event.usage, event.cost_usd)
            case SpendCapRaised(cap=cap) if not cap.is_per_turn:
                self._cap_raises = {**self._cap_raises, cap: self._cap_raises.get(cap, Decimal(0)) + event.by}
            case PanelEvent():
                if isinstance(event, PanelConcluded):
                    self._plan_rounds.conclude(self._open_panel, event)
                if isinstance(event, ChangeReviewed):
                    self._phase.apply(event, self._values)
                self._open_panel = follow_panel(self._open_panel, event)
            case PhaseScopeChanged() | PlanApproved() | PlanWithdrawn() | FinalReviewDropped():
                self._phase.apply(event, self._values)
                if isinstance(event, PlanApproved):
                    self._plan_rounds.apply(event)
                    self._values = drop_progress(self._values)
            case PlanReviewStarted() | VoteCast() | QuorumConcluded() | PlanProposed():
                self._plan_rounds.apply(event)
            case TurnFinished():
                self._phase.end_turn()
                self._finished = True
            case _:
                return  # what it tells is in no state that a session continues from

    def _add(self, event: MessageAdded) -> None:
        self._undos.continue_conversation()
        self._conversation.add(event.message)
        if event.steers and isinstance(event.message, UserMessage):
            self._turns.steer(event.message.text)
            self._send(event.message.text)
        if event.command_id is not None:
            self._user_commands.mark_as_read(event.command_id)
            self._exchanges.mark_as_read(event.command_id)
            self._jobs.mark_as_read(event.command_id)
        elif not event.is_notice:
            self._turns.say(event.message.text if isinstance(event.message, UserMessage) else None)

    def _send(self, text: str) -> None:
        """Note that a message is in a request and waits no more."""
        if text in self._unsent:
            place = self._unsent.index(text)
            self._unsent = (*self._unsent[:place], *self._unsent[place + 1 :])

    def _rewind(self, event: SessionRewound) -> None:
        self._approvals.undo(event.turn)
        undo = self._undos.rewind(event.turn, files=event.files)
        if not event.conversation:  # commands of these turns may run on, in the folders added since
            return
        self._folders.undo(event.turn)
        standing, before = self._turns.list_standing(event.turn), self._conversation.capture_moment()
        turn = self._turns.undo(event.turn)
        if turn is None:
            self._conversation.mended.append(f"a return to turn {event.turn} was left out: there is none")
        else:
            self._undos.take_out(undo, event.turn, standing, before, self._values)
            self._conversation.restore(turn.before)
            self._values = turn.values_before
            self._phase.rewind(event.turn, standing)
            self._plan_rounds.rewind(standing)
            self._unsent = (turn.prompt, *self._unsent) if turn.prompt else self._unsent
            self._finished = True

    def _restore_files(self, event: FilesRestored) -> None:
        if not event.redo:
            self._undos.restore(event.changes, self._turns.last_written)
            self._turns.apply(event)
            return
        # What was edited by somebody before the undo is so again: the next undo asks about it.
        self._turns.apply(event)
        self._turns.reset_written([change.path for change in event.changes], self._undos.list_written_before())

    def _redo(self, event: SessionRedone) -> None:
        undo = self._undos.redo(event)
        if undo is None:
            self._conversation.mended.append("a redo was left out: there is no undo that it belongs to")
        elif event.turns and undo.before is not None:
            self._conversation.restore(undo.before)
            self._values = undo.values_before
            self._phase.redo(undo.turns)
            self._plan_rounds.redo(undo.turns)
            self._turns.redo(undo.turns)
            if undo.turn is not None:
                self._send(self._turns.find_prompt(undo.turn))
            self._finished = True


def replay_state(records: Iterable[LedgerRecord]) -> SessionState:
    """Return the state that a session's records lead to. Records that cannot be read are skipped."""
    replay = Replay()
    for record in records:
        if record.event is not None:
            replay.apply(record.event, record.at_ms)
    return replay.state
