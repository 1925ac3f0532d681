"""A session's state from its record: every durable event in its order, taken in one by one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias, assert_never

from msgspec import UNSET

from quorum.domain.calls.effects import FileState
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.cost import SpendCap, Spending
from quorum.domain.conversation.history import Conversation, Message, Moment, ToolResults, UserMessage
from quorum.domain.conversation.response import LlmResponse, OpaqueBlock, ReasoningBlock
from quorum.domain.errors import ConversationError
from quorum.domain.events.event import (
    AttachmentLeftOut,
    BatchPlanned,
    CallFinished,
    CallStarted,
    ChangeReviewed,
    ChecksApproved,
    ConsensusChanged,
    ContextReceived,
    ConversationCompacted,
    EffectsObserved,
    EffectsReviewed,
    EffectsVoted,
    Event,
    FilesKept,
    FilesRestored,
    FinalReviewDropped,
    FolderAdded,
    GoalChecked,
    GoalDropped,
    GoalReceiptOutdated,
    GoalSet,
    HookRan,
    JobEnded,
    JobStarted,
    LayerEntered,
    MessageAdded,
    ModeChanged,
    ModelChanged,
    OutputStored,
    PanelConcluded,
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
    SchemasMadePlain,
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
from quorum.domain.events.masking import holds_mask
from quorum.domain.events.panels import PanelEvent
from quorum.domain.fact import PersonInput
from quorum.domain.instructions.prompt_part import PromptPart
from quorum.domain.panel.panel_answer import Consensus, OpenPanel
from quorum.domain.plan.plan import SessionPhase
from quorum.domain.plan.progress import drop_progress
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.permission_rules import COMMAND_TOOL
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.review.rule_offers import ApprovedCall, GitApproval
from quorum.domain.sessions.replayed_calls import (
    CallEvent,
    ReplayedCalls,
    ReplayedExchanges,
    ReplayedJobs,
    ReplayedUserCommands,
)
from quorum.domain.sessions.replayed_goal import ReplayedGoal, ReplayedWork
from quorum.domain.sessions.replayed_layer import ReplayedLayer
from quorum.domain.sessions.replayed_panels import close_concluded, follow_panel
from quorum.domain.sessions.replayed_plans import ReplayedPhase, ReplayedPlanRounds
from quorum.domain.sessions.replayed_turns import ReplayedTurns, ReplayedUndos
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.sessions.state import OpenCall, SessionState
from quorum.domain.shell.sandbox import OFFERS_GIT, OPENS_GIT
from quorum.domain.text.json_value import JsonObject, JsonValue


class ReplayedFolders:
    """Collects the folders that were added, until the session goes back to before that.

    A redo does not bring them back: the person is asked about their files again.
    """

    def __init__(self) -> None:
        self._turn = -1
        self._added: dict[str, int] = {}

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that belong to the workspace now, oldest first."""
        return tuple(self._added)

    def begin_turn(self) -> None:
        """Start another turn: what is added later belongs to it."""
        self._turn += 1

    def add(self, folder: str) -> None:
        """Add a folder; one that was added before keeps its place."""
        self._added.setdefault(folder, self._turn)

    def undo(self, turn: int) -> None:
        """Forget the folders that were added in this turn or later."""
        self._added = {folder: added for folder, added in self._added.items() if added < turn}


class ReplayedConversation:
    """Grows with a record. `mended` tells, in sentences, what of it did not fit.

    A conversation that is taken apart gives way to another, so that each moment can be had again without a
    copy of it.
    """

    def __init__(self) -> None:
        self.context_tokens = 0
        self.mended: list[str] = []
        self._conversation = Conversation()
        self._length = 0
        self._calls = ReplayedCalls()

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, oldest first."""
        return self._conversation.messages

    @property
    def open_calls(self) -> tuple[OpenCall, ...]:
        """The calls of the last answer that have no result yet."""
        return self._calls.open_calls

    def follow(self, event: CallEvent) -> None:
        self._calls.apply(event)

    def add(self, message: UserMessage | ToolResults) -> None:
        """Append a message of the person, or the results of the open calls."""
        match message:
            case UserMessage():
                self._close_calls()
                self._conversation.add_user(message)
                self._length += 1
            case ToolResults(results):
                self._give(results)
            case _:
                assert_never(message)

    def answer(self, response: LlmResponse) -> None:
        """Append an answer, as far as it may be part of a conversation."""
        self._close_calls()
        try:
            self._conversation.add_response(_drop_masked_blocks(response))
        except ConversationError as error:
            self.mended.append(f"a recorded answer was left out: {error}")
            return
        self._length += bool(response.without_unfinished_calls().content)
        self.context_tokens = response.usage.context
        self._calls.open(self._conversation.open_calls)

    def compact(self, event: ConversationCompacted) -> None:
        """Put other messages in place of the first ones."""
        if not 0 <= event.replaced <= self._length:
            self.mended.append(
                f"a recorded compaction was left out: it is of {event.replaced} messages, and there were"
                f" {self._length}"
            )
            return
        compacted = Conversation(self._conversation.messages)
        try:
            compacted.compact(event.replaced, event.by)
        except ConversationError as error:
            self.mended.append(f"a recorded compaction was left out: {error}")
            return
        if event.replaced == self._length:  # the last answer is another now
            self._calls.open(compacted.open_calls)
        self._put(compacted, self._length - event.replaced + len(event.by))
        self.context_tokens = event.tokens_after

    def capture_moment(self) -> Moment:
        """Return the present moment of the conversation."""
        results = self._calls.build_results()
        closing = (ToolResults(results),) if results else ()
        return Moment(self._conversation, self._length, self.context_tokens, closing)

    def restore(self, moment: Moment) -> None:
        """Return to an earlier moment."""
        messages = moment.messages
        self._put(Conversation(messages), len(messages))
        self._calls.open(())
        self.context_tokens = moment.context_tokens

    def _put(self, conversation: Conversation, length: int) -> None:
        self._conversation, self._length = conversation, length

    def _give(self, results: Sequence[ToolResultMessage]) -> None:
        expected = [result.tool_use_id for result in self._calls.build_results()]
        if not expected:
            self.mended.append("recorded results were left out: no call waited for them")
            return
        if expected != [result.tool_use_id for result in results]:
            self.mended.append("recorded results did not fit their calls; those that are missing were closed")
            given = {result.tool_use_id: result for result in results}
            results = [given.get(result.tool_use_id, result) for result in self._calls.build_results()]
        self._conversation.add_results(results)
        self._length += 1
        self._calls.open(())

    def _close_calls(self) -> None:
        """Nothing may follow open calls but their results: what is missing of those is said in their place."""
        if results := self._calls.build_results():
            self.mended.append(f"recorded calls had no results and were closed: {len(results)} of them")
            self._give(results)


def _drop_masked_blocks(response: LlmResponse) -> LlmResponse:
    """The answer without the blocks of its provider in which something was hidden before they were kept.

    They may be signed, and would be refused.
    """
    kept = tuple(
        block
        for block in response.content
        if not (isinstance(block, ReasoningBlock | OpaqueBlock) and holds_mask(block.payload))
    )
    return response if len(kept) == len(response.content) else replace(response, content=kept)


ApprovalEvent: TypeAlias = ReviewRequested | ReviewDecided | CallStarted

_MOST_KEPT = 300
_BY_THE_PERSON = frozenset({DecisionLabel.APPROVED, DecisionLabel.EDITED})


class ReplayedApprovals:
    """Collects the latest approved calls. A call counts once it has begun; those of undone turns do not count.

    What a file tool writes is known from the packet that was asked about: an edit that was approved together
    with a call before it was not asked about by itself, and is left out.
    """

    def __init__(self) -> None:
        self._session_id = self._workspace = ""
        self._git: list[tuple[int, GitApproval]] = []
        self._turn = -1
        self._asked: dict[ToolExecutionContext, ReviewRequested] = {}
        self._approved: dict[ToolExecutionContext, str] = {}
        self._calls: deque[tuple[int, ApprovedCall]] = deque(maxlen=_MOST_KEPT)

    @property
    def calls(self) -> tuple[ApprovedCall, ...]:
        """The approved calls, oldest first."""
        return tuple(call for _, call in self._calls)

    @property
    def git(self) -> frozenset[GitApproval]:
        """Where commands were let write to `.git`, and by which session."""
        return frozenset(approval for _, approval in self._git)

    def begin_session(self, session_id: str, workspace: str) -> None:
        """Start a session: later events happen in it, in this workspace."""
        self._session_id, self._workspace = session_id, workspace

    def begin_turn(self) -> None:
        """Start another turn: later events belong to it."""
        self._turn += 1
        self._asked.clear()
        self._approved.clear()

    def undo(self, turn: int) -> None:
        """Forget the approvals of this turn and of all later ones."""
        kept = [(number, call) for number, call in self._calls if number < turn]
        self._calls = deque(kept, maxlen=_MOST_KEPT)
        self._git = [(number, approval) for number, approval in self._git if number < turn]

    def apply(self, event: ApprovalEvent) -> None:
        match event:
            case ReviewRequested():
                self._asked[event.context] = event
            case ReviewDecided() if event.decision in _BY_THE_PERSON:
                self._approved[event.context] = event.digest
            case ReviewDecided():
                self._approved.pop(event.context, None)
            case CallStarted():
                self._start(event)
            case _:
                assert_never(event)

    def _start(self, event: CallStarted) -> None:
        asked = self._asked.pop(event.context, None)
        if (digest := self._approved.pop(event.context, None)) is None:
            return
        files = asked.packet.seal.files if asked is not None and asked.digest == digest else ()
        if asked is not None and _opens_git(event, asked, digest):
            self._git.append((self._turn, GitApproval(session_id=self._session_id, workspace=self._workspace)))
        call = ApprovedCall.of(event.tool, event.arguments, [file.path for file in files])
        if call is not None:
            self._calls.append((self._turn, call))


def _opens_git(event: CallStarted, asked: ReviewRequested, digest: str) -> bool:
    """Whether the person approved this very packet, and read in it that the call opens `.git`."""
    packet = asked.packet
    return (
        event.tool == COMMAND_TOOL
        and event.arguments == packet.call.arguments
        and packet.digest == digest
        and packet.seal.sandbox is not None
        and packet.seal.sandbox.endswith((OPENS_GIT, OFFERS_GIT))
    )


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
        self._layer = ReplayedLayer()
        self._goal = ReplayedGoal()
        self._work = ReplayedWork()
        self._values: Mapping[str, JsonValue] = {}
        self._spending = Spending()
        self._cap_raises: Mapping[SpendCap, Decimal] = {}
        self._left_out: Mapping[tuple[str, str], str] = {}
        self._plain_schemas: frozenset[str] = frozenset()
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
        self.askers: frozenset[str] = frozenset()
        """The accounts of all who said something into the session, also into turns that are undone."""

    @property
    def phase(self) -> SessionPhase:
        """Where the session stands with plans. It may be read in any thread."""
        return self._phase.current

    @property
    def own_files(self) -> Mapping[str, FileState]:
        """The files that calls of the session made, each as its last change left it, unless somebody else is
        known to have changed it."""
        written = self._turns.last_written
        left = ((path, written.get(path)) for path in self._turns.own_files)
        return {path: state for path, state in left if state is not None}

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
                layer=self._layer.work,
                goal=self._goal.goal,
                recent_work=self._work.entries,
                open_panel=self._open_panel,
                consensus=self._consensus,
                undos=self._undos.list_past_undos(),
                phase=self._phase.current,
                plan_rounds=self._plan_rounds.rounds,
                plan_choice=self._plan_rounds.choice,
                subagents=self._subagents,
                left_out=self._left_out,
                plain_schemas=self._plain_schemas,
                system_prompt=self._system_prompt,
                listed_tools=self._listed_tools,
                tool_schemas=self._tool_schemas,
            )
        return self._state

    def apply(self, event: Event, at_ms: int) -> None:  # noqa: C901, PLR0912, PLR0915 - a flat match
        """Apply the next event. `at_ms` is its time in milliseconds since 1970, UTC."""
        self._state = None
        if isinstance(event, PersonInput) and event.asked_by is not UNSET:
            self.askers |= frozenset(event.asked_by)
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
                self._work.begin_session(event.cwd)
                if isinstance(event, SessionResumed):
                    self._layer.apply(event)
            case ModeChanged():
                self._mode = event.mode
            case FolderAdded():
                self._folders.add(event.folder)
            case LayerEntered() | EffectsVoted() | EffectsReviewed():
                self._layer.apply(event)
            case ConsensusChanged():
                self._consensus = event.consensus
            case ModelChanged():
                self._model = event.model
            case TurnStarted():
                self._turns.begin(event, at_ms, self._conversation.capture_moment(), self._values)
                self._phase.begin_turn(is_another_task=bool(event.prompt))
                self._goal.begin_turn(continues=not self._finished)
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
                self._work.apply(event)
            case UserCommandFinished():
                self._user_commands.finish(event)
                self._work.apply(event)
                self._blobs.update([event.blob_id] if event.blob_id and event.note else [])
            case ContextReceived() | ResultReceived():
                self._exchanges.apply(event)
            case JobStarted():
                self._jobs.start(event, self._turns.start_job(event))
                self._work.apply(event)
                self._layer.apply(event)
            case JobEnded():
                self._jobs.end(event)
                self._work.apply(event)
                self._layer.apply(event)
                self._blobs.update([event.blob_id] if event.blob_id else [])
            case ResponseCompleted():
                self._layer.apply(event)
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
                self._layer.apply(event)
                self._approvals.apply(event)
                self._work.apply(event)
            case CallFinished():
                self._conversation.follow(event)
                self._turns.apply(event)
                self._layer.apply(event)
                self._work.apply(event)
            case ReviewRequested() | ReviewDecided():
                self._conversation.follow(event)
                self._approvals.apply(event)
                self._plan_rounds.apply(event)
                self._goal.follow_review(event)
            case BatchPlanned() | HookRan():
                self._conversation.follow(event)
            case SubagentFinished():
                self._layer.apply(event)
                self._conversation.follow(event)
                self._work.apply(event)
            case SubagentStarted():
                self._subagents += 1
                self._layer.apply(event)
                self._conversation.follow(event)
                self._work.apply(event)
            case OutputStored():
                self._conversation.follow(event)
                self._blobs.add(event.blob_id)
            case FilesRestored():
                self._restore_files(event)
                self._work.apply(event)
            case FilesKept():
                self._turns.apply(event)
            case EffectsObserved():
                self._turns.apply(event)
                self._work.apply(event)
                self._layer.apply(event)
            case StateMerged():
                merged = {**self._values, **event.changed}
                self._values = {key: value for key, value in merged.items() if value is not None}
            case AttachmentLeftOut():
                self._left_out = {**self._left_out, (event.model, event.sha256): event.reason}
            case SchemasMadePlain(model=model):
                self._plain_schemas |= {model}
            case UsageCounted():
                self._spending = event.add_to(self._spending)
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
            case GoalSet() | ChecksApproved() | GoalChecked() | GoalReceiptOutdated() | GoalDropped():
                self._goal.apply(event)
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
        self._work.forget()
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
