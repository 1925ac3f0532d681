"""The state of a session after its recorded events: what a resumed session begins with."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from itertools import takewhile

from msgspec import Struct, field

from quorum.domain.calls.command_end import UserCommand
from quorum.domain.calls.effects import FileChange, FileState
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.job import Job
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.run_state import SeenFile
from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.cost import SpendCap, Spending
from quorum.domain.conversation.history import AssistantMessage, Message, Moment, UserMessage
from quorum.domain.events.session import ToolsListed
from quorum.domain.events.subagents import ContextReceived, SubagentOutcome
from quorum.domain.goal import Goal, WorkEntry
from quorum.domain.instructions.custom_command import ExpandedCommand
from quorum.domain.instructions.prompt_part import PromptPart
from quorum.domain.panel.panel_answer import Consensus, OpenPanel, PlanChoice
from quorum.domain.plan.plan import PlanRound, SessionPhase
from quorum.domain.review.mode import Mode
from quorum.domain.review.rule_offers import ApprovedCall, GitApproval
from quorum.domain.staging.layer_work import LayerWork
from quorum.domain.text.json_value import JsonObject, JsonValue


class CallEnd(Struct, frozen=True, kw_only=True):
    """The result that a call of an open batch has already: what the model is to read, what that shows it of
    files, and how the call ended."""

    outcome: Outcome
    message: str
    seen: tuple[SeenFile, ...] = ()


class OpenCall(Struct, frozen=True, kw_only=True):
    """A call whose result was never given to the model.

    `context` is None where its batch had not been planned; `end` is there when it had ended, `started` tells
    that it had begun to run, and `pending` is the packet of a review that nobody has answered. It was asked
    about under `pending_digest`: where its own is another, something in it was hidden before it was kept.
    `is_edited`: the person had changed its arguments, and was asked about what came of that. `hook_asks` is why
    hooks have them asked. `reply` is what they replied, in words for the model, where it is a question to them.
    It gave a task to the subagent whose session is `subagent_id`; `subagent_outcome` is what came of that, and
    `subagent_end` the end of the call that follows from it.
    """

    call: ToolCall
    context: ToolExecutionContext | None = None
    started: bool = False
    end: CallEnd | None = None
    pending: ReviewPacket | None = None
    pending_digest: str | None = None
    is_edited: bool = False
    hook_asks: tuple[str, ...] = ()
    reply: str | None = None
    subagent_id: str | None = None
    subagent_end: CallEnd | None = None
    subagent_outcome: SubagentOutcome | None = None


class PastTurn(Struct, frozen=True, kw_only=True):
    """One turn of a session, with what there was before it.

    `number` counts all turns of the record from 0, `prompt` is empty where it continued the turn before;
    `changes` are the files its calls changed, in the order of the changes; `unseen` says in words, for each
    call whose changes could not all be seen, why. `manifests` are those of its calls whose changes nobody has
    looked at: they have no end, or were cut short. `edited` are those of its changed files that were not as our
    change before had left them: somebody had edited them in between. `steered` is what the person said while it
    ran. `said`: its prompt, or what came after that, is part of the conversation. `undone`: what was said in it
    was taken back. `command`: the prompt is a custom slash command.
    `before` is the conversation then: where calls were open, they have results in it.
    """

    number: int
    prompt: str
    at_ms: int
    before: Moment
    values_before: Mapping[str, JsonValue]
    changes: tuple[FileChange, ...] = ()
    unseen: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()
    edited: frozenset[str] = frozenset()
    steered: tuple[str, ...] = ()
    said: bool = True
    undone: bool = False
    command: ExpandedCommand | None = None

    @property
    def said_text(self) -> str:
        """The messages that the model gets with the prompt."""
        return self.command.text if self.command is not None else self.prompt


class PastUndo(Struct, frozen=True, kw_only=True):
    """An undo that can be redone.

    `number` counts the undos of the record from 0; `turn` is the turn it went back to, None where it was about
    single files. `changes` are the files it changed, with their states before and after that. `turns` are the
    numbers of those it took out of the conversation, and `messages` and `values` the conversation and the state
    of tools before that; all three are empty where the conversation stayed. `continued`: it did not stay, and
    something was added to it since, so that it cannot come back.
    """

    number: int
    turn: int | None
    changes: tuple[FileChange, ...] = ()
    turns: tuple[int, ...] = ()
    messages: tuple[Message, ...] = ()
    values: Mapping[str, JsonValue] = field(default_factory=dict)
    continued: bool = False


class SessionState(Struct, frozen=True, kw_only=True):
    """A session as it stands after all that its record holds.

    `responses` counts the answers of models; `context_tokens` is what the last request and its answer took of
    the model's window; `blobs` are the stored outputs that the conversation may refer to; `open_calls` are
    those of the last answer, where it ended before their results were given; `finished`: the last turn had come
    to its end. `last_written` is how our last change or restoration left each path, None for no file; a path
    that nobody looked at afterwards is not in it. `mended` says in sentences what of the record did not fit
    together; `user_commands` are those of the person's that have no end, or that the model is still to read of.
    `unsent` is what the person has sent, or had given back to edit, and no request carries yet, oldest first.
    `spending` is what all its requests used; `cap_raises` is what the person raised each spend cap by.
    `jobs` are the background commands that have no end, or whose end is to be reported to the model;
    `jobs_started` counts all that ever were. `approvals` are the last calls that the person approved, oldest
    first; `git_approvals` say where commands were let write to `.git`. `folders` were added to the workspace.
    `layer` is what was done in a layer since its effects were reviewed. `goal` is the one that was set last and
    not taken away, `recent_work` are the latest commands and edits, oldest first.
    `undos` are those that can be redone, the last one last. `phase` says whether a plan is being made, and
    which one is in force. `subagents` counts those that were given tasks. `consensus` is what was chosen of it
    last, None where the session never had any. `plan_rounds` are those in which reviewers judged plans that the
    person has not decided on yet, oldest first; `plan_choice` is that among plans of several models.
    `origin` is what it was told of the session that it was opened from; `unread_notes` are, by id, what it was
    told of others and no request has carried; `results` says for each session whose answer was taken over how
    many answers that had. `left_out` says why a model is not sent an attachment, and `plain_schemas` which
    models are sent plain schemas of tools, as `Conversation` has both.
    `listed_tools` are the lists that requests carried, oldest first, and `tool_schemas` the schemas on the
    record by their SHA-256.
    """

    session_id: str = ""
    cwd: str = ""
    model: str = ""
    mode: Mode = Mode.ASK
    messages: tuple[Message, ...] = ()
    values: Mapping[str, JsonValue] = field(default_factory=dict)
    turns: tuple[PastTurn, ...] = ()
    responses: int = 0
    spending: Spending = field(default_factory=Spending)
    cap_raises: Mapping[SpendCap, Decimal] = field(default_factory=dict)
    context_tokens: int = 0
    blobs: frozenset[str] = frozenset()
    open_calls: tuple[OpenCall, ...] = ()
    finished: bool = True
    last_written: Mapping[str, FileState | None] = field(default_factory=dict)
    mended: tuple[str, ...] = ()
    user_commands: tuple[UserCommand, ...] = ()
    unsent: tuple[str, ...] = ()
    jobs: tuple[Job, ...] = ()
    jobs_started: int = 0
    approvals: tuple[ApprovedCall, ...] = ()
    git_approvals: frozenset[GitApproval] = frozenset()
    folders: tuple[str, ...] = ()
    layer: LayerWork = field(default_factory=LayerWork)
    goal: Goal | None = None
    recent_work: tuple[WorkEntry, ...] = ()
    open_panel: OpenPanel | None = None
    consensus: Consensus | None = None
    undos: tuple[PastUndo, ...] = ()
    phase: SessionPhase = field(default_factory=SessionPhase)
    subagents: int = 0
    plan_rounds: tuple[PlanRound, ...] = ()
    plan_choice: PlanChoice | None = None
    origin: ContextReceived | None = None
    unread_notes: Mapping[str, str] = field(default_factory=dict)
    results: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[tuple[str, str], str] = field(default_factory=dict)
    plain_schemas: frozenset[str] = frozenset()
    system_prompt: tuple[PromptPart, ...] = ()
    listed_tools: tuple[ToolsListed, ...] = ()
    tool_schemas: Mapping[str, JsonObject] = field(default_factory=dict)

    @property
    def prompts(self) -> tuple[str, ...]:
        """The prompts that still hold, each with what was said into its turn, oldest first."""
        held = (turn for turn in self.turns if turn.prompt and not turn.undone)
        return tuple("\n\n".join([turn.said_text, *turn.steered]) for turn in held)

    @property
    def preamble(self) -> str:
        """What the model wrote in the response whose calls have no results yet; empty where nothing."""
        last = self.messages[-1] if self.messages else None
        return last.response.text_content() if isinstance(last, AssistantMessage) else ""

    @property
    def last_command(self) -> ExpandedCommand | None:
        """The custom command that the last prompt is; what it sets holds for turns that continue with it."""
        prompted = (turn for turn in reversed(self.turns) if turn.prompt and not turn.undone)
        last = next(prompted, None)
        return last.command if last is not None else None

    @property
    def unanswered_prompt(self) -> str | None:
        """What was said last, where the process that said it died before anybody answered."""
        last = self.messages[-1] if self.messages and not self.finished else None
        return last.text if isinstance(last, UserMessage) else None

    @property
    def undelivered_prompts(self) -> tuple[str, ...]:
        """The last prompts, oldest first, where the process that took them up died before it could say them."""
        held = (turn for turn in reversed(self.turns) if turn.prompt and not turn.undone)
        return tuple(turn.said_text for turn in takewhile(lambda turn: not turn.said, held))[::-1]
