"""A scripted agent for the app: each prompt plays the next scene, with real events and real questions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from quorum.application.ports.people import Approver, Observer, ReviewContext, ReviewQuestion
from quorum.application.ports.storage import LineSource
from quorum.application.ports.workspace import FoundFile
from quorum.application.staging.effects_review import EffectsReview
from quorum.domain.calls.diagnostics import LanguageServerStatus
from quorum.domain.calls.execution import Outcome, Seal, SealedFile, ToolExecution, ToolExecutionContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.attachment import Image
from quorum.domain.conversation.context_account import ContextAccount
from quorum.domain.conversation.cost import CapStanding
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.exchanges import ContextExtent, SessionResult, SharedContext
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import LlmResponse, StopKind, StopReason, TextBlock, Usage
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import (
    AnswerRefused,
    AttachmentError,
    BlobError,
    GoalRefused,
    LoginError,
    PlanRefused,
    ProviderError,
    ProviderErrorKind,
    QuorumError,
    ToolError,
)
from quorum.domain.events.event import (
    ConsensusChanged,
    ErrorOccurred,
    Event,
    MemoryAdded,
    MessageAdded,
    ModeChanged,
    ModelChanged,
    ResponseCompleted,
    RetryScheduled,
    SessionRedone,
    SessionRewound,
    TextDelta,
    TurnFinished,
    TurnStarted,
    UsageCounted,
    UserCommandFinished,
    UserCommandProgressed,
    UserCommandStarted,
)
from quorum.domain.events.masking import SecretMask
from quorum.domain.events.report import MAX_TOOL_TURNS, CallRecord, RunReport, RunStatus
from quorum.domain.goal import Goal, GoalCheck, TypedGoal
from quorum.domain.instructions.custom_command import CustomCommand, choose_names, index_commands, parse_command
from quorum.domain.instructions.instruction import MemoryDraft, MemoryProposal
from quorum.domain.instructions.offer_list import AgentDefinition, Skill
from quorum.domain.mcp.offers import ArgumentQuery, OfferedPrompt, OfferedResource, ServerStatus
from quorum.domain.panel.panel_answer import (
    Consensus,
    ConsensusLevel,
    ConsensusRefused,
    Strategy,
    check_consensus,
)
from quorum.domain.plan.plan import PhaseScope, SessionPhase
from quorum.domain.plan.progress import PlanProgress
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.person_question import PersonReply
from quorum.domain.review.questions import DecisionLabel, RejectAndInterrupt, ReviewAnswer, ReviewRequest
from quorum.domain.review.unasked_calls import CallKind
from quorum.domain.sessions.restoration import RestorePlan, RestoreStep
from quorum.domain.sessions.session_summary import NewSession, SessionChoice
from quorum.domain.sessions.state import PastTurn, PastUndo
from quorum.domain.sessions.waiting_review import WaitingReview
from quorum.domain.text.fuzzy import fit
from quorum.domain.text.json_value import JsonObject
from quorum.tui.keys.slash_commands import RESERVED_NAMES
from tests.support.fake_archive import FakeArchive
from tests.support.fake_rules import FakeRules
from tests.support.no_folder import NO_FOLDER
from tests.support.review_contexts import a_review_context


class FakeCustomCommands:
    """Custom commands that are `there`; they are `known` once somebody has looked."""

    def __init__(self) -> None:
        self.there: tuple[CustomCommand, ...] = ()
        self.known: tuple[tuple[str, CustomCommand], ...] = ()

    async def refresh(self) -> None:
        """Look."""
        self.known = choose_names(index_commands(self.there, RESERVED_NAMES))

    async def is_known(self, prompt: str) -> bool:
        """Whether it is one of them."""
        await self.refresh()
        typed = parse_command(prompt)
        return typed is not None and typed.name in index_commands(self.there, RESERVED_NAMES)


@dataclass
class FakeFolders:
    """Added folders: adds what is named, or raises what `fails` holds."""

    added: tuple[str, ...] = ()
    fails: QuorumError | None = None

    async def add(self, path: str) -> str | None:
        """Add it, unless it is there."""
        if self.fails is not None:
            raise self.fails
        if path in self.added:
            return None
        self.added = (*self.added, path)
        return path


@dataclass
class FakeSpending:
    """How far the spend caps are used up."""

    standings: tuple[CapStanding, ...] = ()


class FakePlans:
    """The plan of a session. What is refused is said in `refusal`."""

    def __init__(self) -> None:
        self.phase = SessionPhase()
        self.refusal = ""
        self.withdrawn: list[str] = []

    @property
    def progress(self) -> PlanProgress | None:
        """Nothing of it is done."""
        approved = self.phase.approved
        return PlanProgress.read(approved.plan, None) if approved is not None else None

    async def set_scope(self, scope: PhaseScope) -> None:
        """Enter it."""
        if self.refusal:
            raise PlanRefused(self.refusal)
        self.phase = self.phase.enter(scope)

    async def leave(self) -> None:
        """As before."""
        self.phase = self.phase.enter(self.phase.later)

    async def withdraw(self, reason: str) -> None:
        """There is none any more."""
        if self.refusal:
            raise PlanRefused(self.refusal)
        self.withdrawn.append(reason)
        self.phase = self.phase.withdraw()


class FakeConsensus:
    """How many models answer; tells the observer of changes."""

    def __init__(self, observer: Observer) -> None:
        self.current = Consensus()
        self.refusal = ""
        self._observer = observer

    async def choose(
        self, *, level: ConsensusLevel | None = None, strategy: Strategy | None = None
    ) -> tuple[str, ...]:
        """Choose what goes together, unless it is refused."""
        if self.refusal:
            raise ConsensusRefused(self.refusal)
        wanted = self.current.change(level=level, strategy=strategy)
        warnings = check_consensus(wanted)
        if wanted != self.current:
            self.current = wanted
            self._observer.notify(ConsensusChanged(consensus=wanted))
        return warnings


class FakeExchanges:
    """Exchanges with other sessions: remembers what it was told."""

    def __init__(self) -> None:
        self.opener = ""
        self.depth = 0
        self.result: SessionResult | None = None
        self.shared: list[SharedContext] = []
        self.received: list[SessionResult] = []

    def share(self, extent: ContextExtent) -> SharedContext:
        """Nothing was said so far."""
        return SharedContext(
            session_id="session-1", title="", extent=extent, exchanges=0, depth=self.depth + 1, note=None
        )

    def has(self, result: SessionResult) -> bool:
        """Whether it was received."""
        return result in self.received

    async def receive_context(self, shared: SharedContext) -> None:
        """Remember it."""
        self.shared.append(shared)

    async def receive_result(self, result: SessionResult) -> None:
        """Remember it."""
        self.received.append(result)


class FakeDefinitions:
    """Agent definitions that there are, each with whether it is trusted."""

    def __init__(self) -> None:
        self.surveyed: tuple[tuple[AgentDefinition, bool], ...] = ()

    async def survey(self) -> tuple[tuple[AgentDefinition, bool], ...]:
        """What `surveyed` says."""
        return self.surveyed


class FakeInbox:
    """Decisions that wait, and what was answered; `refusal` is what an answer gets, if any."""

    def __init__(self) -> None:
        self.reviews: list[WaitingReview] = []
        self.answers: list[tuple[str, bool, str | None]] = []
        self.replies: list[tuple[str, PersonReply | str]] = []
        self.seen: list[tuple[str, str]] = []
        self.staged: set[str] = set()
        self.refusal: AnswerRefused | None = None
        self.readings = 0
        self.may_list = asyncio.Event()
        self.may_list.set()

    async def list_staged(self) -> frozenset[str]:
        return frozenset(self.staged)

    async def list_waiting(self, without: Collection[str] = ()) -> tuple[WaitingReview, ...]:
        """Those that wait, once that may be told."""
        self.readings += 1
        await self.may_list.wait()
        return tuple(review for review in self.reviews if review.session.id not in without)

    async def note_seen(self, session_id: str, digest: str) -> None:
        """Take note of what was opened."""
        self.seen.append((session_id, digest))

    async def answer(self, digest: str, *, approves: bool, reason: str | None = None) -> WaitingReview:
        """Take note, and have it wait no more."""
        if self.refusal is not None:
            raise self.refusal
        self.answers.append((digest, approves, reason))
        return self._take(digest)

    async def reply(self, digest: str, reply: PersonReply | str) -> WaitingReview:
        """Take note, and have it wait no more."""
        self.replies.append((digest, reply))
        return self._take(digest)

    def _take(self, digest: str) -> WaitingReview:
        found = next(review for review in self.reviews if review.digest == digest)
        self.reviews.remove(found)
        return found


class FakeGoals:
    """The goal of a session. What is refused is said in `refusal`."""

    def __init__(self) -> None:
        self.goal: Goal | None = None
        self.refusal = ""
        self.looks = 0

    async def set_goal(self, typed: TypedGoal) -> None:
        """Set it, its checks approved."""
        if self.refusal:
            raise GoalRefused(self.refusal)
        checks = tuple(GoalCheck(command=command, digest="") for command in typed.checks)
        self.goal = Goal(text=typed.text, manifest="", checks=checks)

    async def drop(self) -> None:
        """There is none any more."""
        if self.goal is None:
            raise GoalRefused("no goal is set")
        self.goal = None

    async def look_again(self) -> None:
        """Nothing changed."""
        self.looks += 1


class FakeAgent:
    """Plays `scenes`, one per prompt; after the last it answers "done". Remembers prompts and answers."""

    def __init__(
        self,
        person: Approver,
        observer: Observer,
        scenes: Sequence[Scene] = (),
        *,
        model: str = "fake/model-1",
        mode: Mode = Mode.ASK,
    ) -> None:
        self.session_id = "session-1"
        self.form = SessionKind.AGENT
        self.external: object | None = None
        self.effects: EffectsReview | None = None
        self.model = model
        self.effort = Effort.DEFAULT
        self.efforts: dict[str, tuple[Effort, ...]] = {}
        self.mode = mode
        self.error = ""
        self.asked_kinds: tuple[CallKind, ...] = ()
        self.consensus = FakeConsensus(observer)
        self.prompts: list[str] = []
        self.typed_prompts: list[str] = []
        self.called: list[tuple[str, JsonObject]] = []
        self.called_ends = (Outcome.OK, "made\nexit code 0")
        self.answers: list[ReviewAnswer] = []
        self.reports: list[RunReport] = []
        self.outputs = FakeOutputs()
        self.reviewed_files = FakeReviewedFiles()
        self.set_up = ("fake", "other")
        self.listed: dict[str, Sequence[str] | ProviderError] = {"fake": (model,)}
        self.asked = asyncio.Event()
        self.may_list = asyncio.Event()
        self.may_list.set()
        self.refused: set[str] = set()
        self.attached: list[str] = []
        self.known_images: list[Image] = []
        self.reached = asyncio.Event()
        self.put_away = asyncio.Event()
        self.choice: SessionChoice = NewSession()
        self.folder = Path()
        self.past: tuple[Event, ...] = ()
        self.past_at: tuple[int, ...] = ()
        self.in_use = ""
        self.has_pending = False
        self.context_use = (0, 0)
        self.context_account = ContextAccount(tokens=0, window=0, limit=0, freed=0, shares=(), largest=())
        self.spending = FakeSpending()
        self.folders = FakeFolders()
        self.rules = FakeRules()
        self.exchanges = FakeExchanges()
        self.archive = FakeArchive()
        self.turns: tuple[PastTurn, ...] = ()
        self.restore_plans: dict[int, RestorePlan | QuorumError] = {}
        self.diffs: dict[str, str] = {}
        self.restored: list[str] = []
        self.rewound: list[tuple[int, bool, RestorePlan | None, frozenset[str]]] = []
        self.undos: tuple[PastUndo, ...] = ()
        self.redo_plans: dict[int, RestorePlan] = {}
        self.redone: list[tuple[int, RestorePlan, frozenset[str]]] = []
        self.may_rewind = asyncio.Event()
        self.may_rewind.set()
        self.rewind_fails: QuorumError | None = None
        self.compaction: Scene | None = None
        self.focuses: list[str] = []
        self.batch: tuple[ToolExecution, ...] = ()
        self.steered: list[str] = []
        self.left_unsent: tuple[str, ...] = ()
        self.queued: list[tuple[str, ...]] = []
        self.user_commands = FakeUserCommands(self)
        self.jobs = FakeJobs()
        self.plans = FakePlans()
        self.goals = FakeGoals()
        self.memory = FakeMemory(self)
        self.tool_servers = FakeToolServers()
        self.language_servers = FakeLanguageServers()
        self.commands: list[tuple[str, bool]] = []
        self._custom_commands = FakeCustomCommands()
        self.definitions = FakeDefinitions()
        self.waiting = FakeInbox()
        self.titles: list[str] = []
        self.surveyed: tuple[tuple[Skill, bool], ...] = ()
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.closing_fails: QuorumError | None = None
        self.closed = False
        self.told_end = ""
        self.paths: Sequence[str] = ()
        self.queries: list[str] = []
        self.used_files: list[str] = []
        self.may_find = asyncio.Event()
        self.may_find.set()
        self.mask = SecretMask()
        self.mask.learn("X", "hunter2-hunter2")
        self._person, self._observer = person, observer
        self._scenes = list(scenes)

    async def rename(self, title: str) -> None:
        """Take note."""
        self.titles.append(title)

    def describe_error(self) -> tuple[str, ...]:
        """Nothing was judged."""
        return ()

    def describe_error_shortly(self) -> str:
        """What `error` says."""
        return self.error

    def list_asked(self) -> tuple[CallKind, ...]:
        """What `asked_kinds` says."""
        return self.asked_kinds

    def require_goals(self) -> FakeGoals:
        """What sets its goals."""
        return self.goals

    def tell(self, event: Event) -> None:
        """Let the observer hear of an event."""
        self._observer.notify(event)

    async def ask(self, request: ReviewRequest, review_context: ReviewContext | None = None) -> ReviewAnswer:
        """Put a question to the person; without a review context, one where nobody votes."""
        answer = await self._person.ask(ReviewQuestion(request, review_context or a_review_context()))
        assert isinstance(answer, ReviewAnswer)
        self.answers.append(answer)
        return answer

    async def set_mode(self, mode: Mode) -> None:
        """Change the mode, and tell."""
        self.mode = mode
        self.tell(ModeChanged(mode=mode))

    def get_effort(self, model: str) -> Effort:
        """The effort chosen last, of the model that has one."""
        return self.effort if model == self.model else Effort.DEFAULT

    def list_efforts(self, model: str) -> tuple[Effort, ...]:
        """Those of `efforts`."""
        return self.efforts.get(model, ())

    async def choose(self, model: str, effort: Effort | None = None) -> None:
        """Choose the model, unless it is one of `refused`, and tell."""
        if model in self.refused:
            raise ProviderError(f"{model} cannot be had", kind=ProviderErrorKind.CONFIGURATION)
        self.effort = effort or self.get_effort(model)
        self.model = model
        self.tell(ModelChanged(model=model, effort=self.effort))

    @property
    def providers(self) -> tuple[str, ...]:
        """Those that something is listed for."""
        return tuple(self.listed)

    @property
    def configured_providers(self) -> tuple[str, ...]:
        """What `set_up` says."""
        return self.set_up

    async def list_models(self, provider: str) -> tuple[str, ...]:
        """What is listed for the provider, once that may be reported."""
        self.asked.set()
        await self.may_list.wait()
        listed = self.listed[provider]
        if isinstance(listed, ProviderError):
            raise listed
        return tuple(listed)

    # ---------------------------------------------------------------- its parts, most of which it is itself

    @property
    def models(self) -> FakeAgent:
        """It has its model itself."""
        return self

    @property
    def current(self) -> str:
        """The model."""
        return self.model

    @property
    def context(self) -> FakeAgent:
        """It measures its context itself."""
        return self

    @property
    def use(self) -> tuple[int, int]:
        """What `context_use` says."""
        return self.context_use

    @property
    def account(self) -> ContextAccount:
        """What `context_account` says."""
        return self.context_account

    @property
    def review(self) -> FakeAgent:
        """It has its review mode itself."""
        return self

    @property
    def rewind(self) -> FakeAgent:
        """It goes back itself."""
        return self

    @property
    def files(self) -> FakeAgent:
        """It finds files itself."""
        return self

    @property
    def custom_commands(self) -> FakeCustomCommands:
        """Those of the person and the project."""
        return self._custom_commands

    @property
    def skills(self) -> FakeAgent:
        """It has its skills itself."""
        return self

    async def survey(self) -> tuple[tuple[Skill, bool], ...]:
        """What `surveyed` says."""
        return self.surveyed

    @property
    def agents(self) -> FakeDefinitions:
        """The kinds of subagents that there are."""
        return self.definitions

    @property
    def attachments(self) -> FakeAgent:
        """It keeps images itself."""
        return self

    @property
    def inbox(self) -> FakeInbox:
        """The decisions that wait elsewhere."""
        return self.waiting

    @property
    def record(self) -> FakeAgent:
        """It is its own record."""
        return self

    @property
    def run(self) -> FakeAgent:
        """It carries its turns itself."""
        return self

    def steer(self, text: str) -> None:
        """Take note; a scene may deliver it."""
        self.steered.append(text)

    @property
    def executions(self) -> tuple[ToolExecution, ...]:
        """There is no runtime behind the scenes."""
        return self.batch

    @property
    def undelivered(self) -> tuple[str, ...]:
        """What no scene has delivered yet."""
        return tuple(self.steered)

    @property
    def unsent(self) -> tuple[str, ...]:
        """What a process before this one had not sent."""
        return self.left_unsent

    def queue(self, prompts: Sequence[str]) -> None:
        """Take note."""
        self.queued.append(tuple(prompts))

    def take_back(self) -> str | None:
        """The last of it."""
        return self.steered.pop() if self.steered else None

    def deliver(self) -> None:
        """Tell that the model reads what was said into the turn."""
        while self.steered:
            self.tell(MessageAdded(message=UserMessage(self.steered.pop(0)), steers=True))

    async def resume_pending(self) -> RunReport:
        """Play the next scene without a prompt; nothing is pending then."""
        self.has_pending = False
        return await self.execute("")

    async def attach(self, path: str) -> Image:
        """Take note; an image, unless it is one of `refused`."""
        if path in self.refused:
            raise AttachmentError(f"{path} is not an image")
        self.attached.append(path)
        name = path.rpartition("/")[2]
        image = Image(name=name, media_type="image/png", width=4, height=3, size_bytes=64, sha256="0" * 64)
        self.known_images.append(image)
        return image

    def take_over(self, image: Image) -> None:
        """Know it, as if it had been attached here."""
        self.known_images.append(image)

    def build_message(self, text: str) -> UserMessage:
        """With the images that the text names."""
        return UserMessage(text, tuple(each for each in self.known_images if each.label in text))

    async def paste(self) -> Image:
        """What is in the clipboard."""
        return await self.attach("clipboard.png")

    async def compact(self, focus: str) -> str:
        """Play the scene of a compaction, if there is one."""
        self.focuses.append(focus)
        if self.compaction is not None:
            await self.compaction(self)
        return "compacted"

    async def plan(self, turn: int) -> RestorePlan:
        """The plan of that turn among `restore_plans`, or one that changes nothing."""
        plan = self.restore_plans.get(turn, RestorePlan(turn=turn))
        if isinstance(plan, QuorumError):
            raise plan
        return plan

    async def diff(self, step: RestoreStep) -> str:
        """The diff of that path among `diffs`."""
        return self.diffs.get(step.path, "")

    async def restore_together(self, *steps: RestoreStep) -> None:
        """Take note."""
        if self.rewind_fails is not None:
            raise self.rewind_fails
        self.restored += [step.path for step in steps]

    async def rewind_to(
        self, turn: int, *, conversation: bool, plan: RestorePlan | None, overwrite: frozenset[str]
    ) -> None:
        """Take note, and tell, once that may be done."""
        await self.may_rewind.wait()
        if self.rewind_fails is not None:
            raise self.rewind_fails
        self.rewound.append((turn, conversation, plan, overwrite))
        if conversation:
            self.turns = tuple(replace(t, undone=t.undone or t.number >= turn) for t in self.turns)
        self.tell(SessionRewound(turn=turn, conversation=conversation, files=plan is not None))

    @property
    def last_undo(self) -> PastUndo | None:
        """The last of `undos`."""
        return self.undos[-1] if self.undos else None

    async def plan_redo(self, undo: PastUndo) -> RestorePlan:
        """The plan of that undo among `redo_plans`, or one that changes nothing."""
        return self.redo_plans.get(undo.number, RestorePlan(turn=0))

    async def redo(self, undo: PastUndo, plan: RestorePlan, overwrite: frozenset[str]) -> None:
        """Take note, and tell."""
        if self.rewind_fails is not None:
            raise self.rewind_fails
        self.redone.append((undo.number, plan, overwrite))
        self.undos = self.undos[:-1]
        self.turns = tuple(replace(t, undone=t.undone and t.number not in undo.turns) for t in self.turns)
        self.tell(SessionRedone(turns=undo.turns, files=True, turn=undo.turn))

    async def find(self, query: str, limit: int) -> tuple[FoundFile, ...]:
        """Those of `paths` that fit, once they may be reported."""
        self.queries.append(query)
        await self.may_find.wait()
        found = [(fits.score, FoundFile(path, fits.hits)) for path in self.paths if (fits := fit(query, path))]
        return tuple(file for _, file in sorted(found, key=lambda each: -each[0]))[:limit]

    def note_used(self, path: str) -> None:
        """Take note."""
        self.used_files.append(path)

    outlives = True
    place = "/state/quorum/ledger.sqlite"

    async def tell_end(self, reason: str = "closed") -> None:
        """Take note."""
        self.told_end = reason

    async def aclose(self) -> None:
        """Take note."""
        self.closed = True
        if self.closing_fails is not None:
            raise self.closing_fails

    async def retry(self) -> RunReport:
        """Play the next scene without a prompt."""
        return await self.execute("")

    async def call_tool(
        self, tool: str, arguments: JsonObject, *, request: str, conclude: Callable[[Outcome, str], str]
    ) -> RunReport:
        """Take note; the call ends as `called_ends` says, with that output."""
        self.called.append((tool, arguments))
        context = ToolExecutionContext(call_id="set-up", batch_id="b", call_index=0, turn_index=0)
        record = CallRecord(
            context=context, tool=tool, outcome=self.called_ends[0], decision=DecisionLabel.NONE
        )
        self.tell(TurnStarted(prompt=""))
        return self._ended(
            RunReport(
                session_id=self.session_id,
                status=RunStatus.COMPLETED,
                stop_reason=None,
                text=conclude(*self.called_ends),
                turns=1,
                calls=(record,),
            )
        )

    async def execute(self, prompt: str, *, is_typed: bool = False) -> RunReport:
        """Play the next scene to its end, to the interruption or to its failure."""
        self.prompts.append(prompt)
        self.typed_prompts += [prompt] if is_typed else []
        self.tell(TurnStarted(prompt=prompt))
        status = RunStatus.COMPLETED
        scene = self._scenes.pop(0) if self._scenes else say("done")
        try:
            ending = await scene(self)
            if isinstance(ending, RunReport):
                return self._ended(ending)
            if ending is INTERRUPTED:
                status = RunStatus.INTERRUPTED
        except asyncio.CancelledError:
            status = RunStatus.INTERRUPTED
            self.put_away.set()
        report = RunReport(session_id=self.session_id, status=status, stop_reason=None, text="", turns=1)
        return self._ended(report)

    def _ended(self, report: RunReport) -> RunReport:
        self.reports.append(report)
        self.tell(TurnFinished(report=report))
        return report


class FakeOutputs(dict[str, LineSource]):
    """Stored outputs by their ids."""

    async def open_lines(self, blob_id: str) -> LineSource:
        """The output of that id."""
        if blob_id not in self:
            raise BlobError(f"there is no stored output {blob_id}")
        return self[blob_id]


class FakeReviewedFiles(dict[str, str]):
    """What files hold, by the names that findings have for them."""

    async def locate(self, file: str) -> str:
        """The path of a file that is there."""
        await self.read(file)
        return f"/repository/{file}"

    async def read(self, file: str) -> str:
        """What was given."""
        if file not in self:
            raise ToolError(f"{file}: no such file or folder")
        return self[file]


class FakeMemory:
    """Proposes `proposal`, or refuses with `problem`; takes note of what is `added`."""

    def __init__(self, agent: FakeAgent) -> None:
        self._agent = agent
        self.proposal: MemoryProposal | None = None
        self.problem: QuorumError | None = None
        self.asked: list[str] = []
        self.added: list[MemoryDraft] = []

    async def propose(self, text: str) -> MemoryProposal:
        """What was given."""
        self.asked.append(text)
        if self.problem is not None:
            raise self.problem
        assert self.proposal is not None
        return self.proposal

    async def add(self, draft: MemoryDraft) -> None:
        """Take note, and tell."""
        if self.problem is not None:
            raise self.problem
        self.added.append(draft)
        self._agent.tell(
            MemoryAdded(file=draft.target, scope=draft.scope, line=draft.line, sha256=draft.sha256)
        )


class FakeLanguageServers:
    """Shows `servers`; one that is started anew is as it was."""

    def __init__(self) -> None:
        self.servers: tuple[LanguageServerStatus, ...] = ()

    def list_statuses(self) -> tuple[LanguageServerStatus, ...]:
        """Those given."""
        return self.servers

    async def restart(self, name: str) -> LanguageServerStatus | None:
        """The one of this name."""
        return next((each for each in self.servers if each.name == name), None)


class FakeToolServers:
    """Shows `servers`, and takes note of which are started anew."""

    def __init__(self) -> None:
        self.servers: tuple[ServerStatus, ...] = ()
        self.restarted: list[str] = []
        self.listed_resources: tuple[OfferedResource, ...] = ()
        self.listed_prompts: tuple[OfferedPrompt, ...] = ()
        self.values: tuple[str, ...] = ()
        self.completed: list[ArgumentQuery] = []
        self.may_complete = asyncio.Event()
        self.may_complete.set()
        self.login_address = ""
        self.logged_in = asyncio.Event()

    def list_statuses(self) -> tuple[ServerStatus, ...]:
        """Those given."""
        return self.servers

    def list_prompts(self) -> tuple[OfferedPrompt, ...]:
        """Those given."""
        return self.listed_prompts

    def list_resources(self) -> tuple[OfferedResource, ...]:
        """Those given."""
        return self.listed_resources

    async def complete_argument(self, query: ArgumentQuery) -> tuple[str, ...]:
        """Those of `values` that begin with what is typed, once they may be reported."""
        self.completed.append(query)
        await self.may_complete.wait()
        return tuple(value for value in self.values if value.startswith(query.value))

    async def log_in(self, name: str, show: Callable[[str], Awaitable[None]]) -> None:
        """Show `login_address`, and wait until the test has `logged_in`."""
        if not self.login_address:
            raise LoginError(f"there is no MCP server {name}")
        await show(self.login_address)
        await self.logged_in.wait()

    async def restart(self, name: str) -> bool:
        """Take note; whether there is one of the name."""
        self.restarted.append(name)
        return name in {server.name for server in self.servers}


class FakeJobs:
    """Has `foreground` commands that a call waits for; takes note of what is sent away and stopped."""

    def __init__(self) -> None:
        self.foreground = 0
        self.sent = 0
        self.stopped: list[str] = []
        self.problem = ""

    def send_to_background(self) -> int:
        """Take note."""
        if self.problem:
            raise ToolError(self.problem)
        self.sent += self.foreground
        return self.foreground

    async def stop_by_id(self, job_id: str) -> str:
        """Take note."""
        if self.problem:
            raise ToolError(self.problem)
        self.stopped.append(job_id)
        return f"{job_id} was stopped by you after 3.0 s"


class FakeUserCommands:
    """Notes the commands that the person types."""

    def __init__(self, agent: FakeAgent) -> None:
        self._agent = agent

    async def run(self, command: str, *, visible_to_model: bool) -> None:
        """Print a line, and end when it may, or when it is cancelled."""
        self._agent.commands.append((command, visible_to_model))
        id_ = f"command-{len(self._agent.commands)}"
        self._agent.tell(UserCommandStarted(command_id=id_, command=command, told=visible_to_model))
        self._agent.tell(UserCommandProgressed(command_id=id_, text="so far so good"))
        outcome, code = Outcome.OK, 0
        try:
            await self._agent.may_end.wait()
        except asyncio.CancelledError:
            outcome, code = Outcome.CANCELLED, -15
        self._agent.tell(
            UserCommandFinished(
                command_id=id_,
                outcome=outcome,
                exit_code=code,
                output=f"output of {command}\n",
                duration_secs=0.25,
            )
        )


Scene = Callable[[FakeAgent], Awaitable[object]]
INTERRUPTED = object()


def say(text: str, *, usage: Usage | None = None) -> Scene:
    """A scene that answers with this text, streamed in words."""

    async def scene(agent: FakeAgent) -> None:
        for word in text.split(" "):
            agent.tell(TextDelta(text=word + " "))
            await asyncio.sleep(0)
        agent.tell(
            ResponseCompleted(turn_index=0, response=LlmResponse.from_text(" ".join(text.split(" ")) + " "))
        )
        if usage is not None:
            agent.tell(UsageCounted(model=agent.model, usage=usage))

    return scene


def hold(text: str = "thinking") -> Scene:
    """A scene that begins to answer and never ends by itself."""

    async def scene(agent: FakeAgent) -> None:
        agent.tell(TextDelta(text=text))
        agent.reached.set()
        await asyncio.Event().wait()

    return scene


def break_off(text: str, sentence: str = "the stream broke off") -> Scene:
    """A scene whose provider fails in the middle of an answer; without a text, before it."""

    async def scene(agent: FakeAgent) -> RunReport:
        if text:
            agent.tell(TextDelta(text=text))
            cut = StopReason(StopKind.OTHER, "stream cut")
            answer = LlmResponse(content=(TextBlock(text),), stop_reason=cut)
            agent.tell(ResponseCompleted(turn_index=0, response=answer))
        agent.tell(ErrorOccurred(message=sentence))
        return RunReport(
            session_id=agent.session_id,
            status=RunStatus.FAILED,
            stop_reason=None,
            text=text,
            turns=1,
            error=sentence,
            provider_failed=True,
        )

    return scene


def reach_limit(text: str) -> Scene:
    """A scene that ends at the limit of tool turns, with a last word of the model's."""

    async def scene(agent: FakeAgent) -> RunReport:
        agent.tell(ResponseCompleted(turn_index=0, response=LlmResponse.from_text(text)))
        return RunReport(
            session_id=agent.session_id,
            status=RunStatus.LIMIT,
            stop_reason=MAX_TOOL_TURNS,
            text=text,
            turns=1,
        )

    return scene


def wait_for_retry(*, secs: float = 12.0, then: str = "at last") -> Scene:
    """A scene whose request waits to be sent again; it is answered when the model is changed."""

    async def scene(agent: FakeAgent) -> None:
        first = agent.model
        agent.tell(
            RetryScheduled(
                attempt=2,
                delay_secs=secs,
                reason="fake rate limited the request (429): slow down",
                attempts=2,
                kind=ProviderErrorKind.RATE_LIMIT,
            )
        )
        agent.reached.set()
        while agent.model == first:  # noqa: ASYNC110 - a model is set without a word to the scene
            await asyncio.sleep(0.005)
        await say(then)(agent)

    return scene


def review(*requests: ReviewRequest) -> Scene:
    """A scene that asks about these calls, one after the other, and stops when it is asked to."""

    async def scene(agent: FakeAgent) -> object:
        for request in requests:
            agent.reached.set()
            if isinstance(await agent.ask(request), RejectAndInterrupt):
                return INTERRUPTED
        return None

    return scene


def composing(
    agent_box: list[FakeAgent],
    *scenes: Scene,
    model: str = "fake/model-1",
    prepare: Callable[[FakeAgent], object] | None = None,
) -> ComposeFake:
    """What the app composes its agents with; each is prepared and put into the box."""

    async def compose(person: Approver, observer: Observer, choice: SessionChoice, folder: Path) -> FakeAgent:
        agent = FakeAgent(person, observer, scenes, model=model)
        agent.choice, agent.folder = choice, folder
        if prepare is not None:
            prepare(agent)
        agent_box.append(agent)
        return agent

    return compose


def after_gate(gate: asyncio.Event, inner: ComposeFake) -> ComposeFake:
    """The same composition, which waits for the gate first."""

    async def compose(person: Approver, observer: Observer, choice: SessionChoice, folder: Path) -> FakeAgent:
        await gate.wait()
        return await inner(person, observer, choice, folder)

    return compose


def failing(error: Exception) -> ComposeFake:
    """A composition that fails."""

    async def compose(person: Approver, observer: Observer, choice: SessionChoice, folder: Path) -> FakeAgent:
        raise error

    return compose


ComposeFake = Callable[[Approver, Observer, SessionChoice, Path], Awaitable[FakeAgent]]


def a_packet(tool: str, arguments: dict[str, object], seal: Seal, *, index: int = 0) -> ReviewPacket:
    """A sealed call at a place of its batch."""
    context = ToolExecutionContext(call_id=f"call_{index}", batch_id="batch-1", call_index=index, turn_index=0)
    call = ToolCall(tool_name=tool, arguments=arguments, native_id=f"call_{index}")  # type: ignore[arg-type]
    return ReviewPacket(call=call, context=context, seal=seal)


def a_command(command: str, *, index: int = 0, cwd: str = NO_FOLDER, **arguments: object) -> ReviewPacket:
    """A sealed command."""
    unsealed = "what else the command reads, writes or starts"
    seal = Seal(cwd=cwd, executables=("/usr/bin/" + (command.split() or ["sh"])[0],), unsealed=unsealed)
    return a_packet("run_command", {"command": command, **arguments}, seal, index=index)


def an_edit(diff: str, *, path: str = f"{NO_FOLDER}/src/retry.py", index: int = 0) -> ReviewPacket:
    """A sealed edit."""
    seal = Seal(cwd=NO_FOLDER, files=(SealedFile(path=path, sha256="9b1e" + "0" * 57 + "a1c"),), diff=diff)
    arguments: dict[str, object] = {"path": path, "old_text": "a", "new_text": "b"}
    return a_packet("edit_file", arguments, seal, index=index)


ROUTINE = "high risk, and the mode is ask"
"""A reason that says no more than that the mode asks."""


def a_request(
    packet: ReviewPacket,
    *following: ReviewPacket,
    batch_size: int = 1,
    stale: bool = False,
    preamble: str = "",
) -> ReviewRequest:
    """A question about a packet."""
    return ReviewRequest(
        packet=packet,
        reasons=(ROUTINE,),
        routine_reasons=(ROUTINE,),
        batch_size=max(batch_size, 1 + len(following)),
        following=following,
        stale=stale,
        preamble=preamble,
    )
