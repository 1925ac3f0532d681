"""Reads the records of a session once and tells what happened as an account.

Unlike a view, a document tells each record as it was kept: also redacted ones, each block and each step.

All texts here are without secrets and safe to draw (`quorum.domain.text.printable`). They still have to be
escaped for the syntax they are put into. Those called lines hold no line feed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import TypeAlias, assert_never

from msgspec import Struct, field

from quorum.application.export.session_json import mask_json
from quorum.application.export.wording import (
    DECISIONS,
    NO_OUTCOME,
    OUTCOMES,
    describe_call_event,
    describe_compaction,
    describe_effects,
    describe_ending,
    describe_job_ending,
    describe_redo,
    describe_restoration,
    describe_review_request,
    describe_rewind,
    describe_user_command_end,
    format_cost,
    format_time,
    format_usage,
)
from quorum.application.view.wording import (
    describe_answer,
    describe_debate_step,
    describe_missing_review,
    describe_objection,
    describe_part_review,
    describe_review_result,
    describe_total_cost,
)
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.cost import Spending
from quorum.domain.conversation.effort import format_model
from quorum.domain.conversation.history import ToolResults, UserMessage
from quorum.domain.conversation.response import LlmResponse, OpaqueBlock, ReasoningBlock, StopKind, TextBlock
from quorum.domain.events.event import (
    AnswerDefended,
    AnswerRevised,
    BatchPlanned,
    CallFinished,
    CallStarted,
    ChangeReviewed,
    ConversationCompacted,
    EffectsObserved,
    ErrorOccurred,
    Event,
    FilesKept,
    FilesRestored,
    FindingsTried,
    HookRan,
    InstructionsLoaded,
    JobEnded,
    JobStarted,
    MemoryAdded,
    MemoryApproved,
    MessageAdded,
    ModeChanged,
    ModelChanged,
    ObjectionsRaised,
    ObjectionsRuled,
    OutputStored,
    PanelAnswered,
    PanelConcluded,
    PanelReviewed,
    PanelStarted,
    PartReviewed,
    PlanReviewStarted,
    QuorumConcluded,
    ResponseCompleted,
    ReviewDecided,
    ReviewerLooked,
    ReviewRequested,
    SandboxChecked,
    SessionFinished,
    SessionRedone,
    SessionResumed,
    SessionRewound,
    SessionStarted,
    SpendCapRaised,
    SubagentFinished,
    SubagentStarted,
    TurnFinished,
    TurnStarted,
    UsageCounted,
    UserCommandFinished,
    UserCommandStarted,
    VoteCast,
)
from quorum.domain.events.panels import PanelEvent
from quorum.domain.events.report import RunStatus
from quorum.domain.panel.panel_answer import BEST_SCORE, AnswerReview
from quorum.domain.replacing import replace
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.sessions.session_summary import LedgerRecord, SessionSummary
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import make_printable


class TurnHead(Struct, frozen=True, kw_only=True):
    """A turn begins. `number` counts from 1; an empty `prompt`: it continues with the turn before.

    `taken_back`: the person undid it later, and the conversation continued without it.
    """

    number: int
    at: str
    prompt: str
    taken_back: bool = False


class Said(Struct, frozen=True, kw_only=True):
    """What a model answered. `model` is a line."""

    model: str
    text: str


class Thought(Struct, frozen=True):
    """What a model let be read of its reasoning."""

    text: str


class CallCard(Struct, frozen=True, kw_only=True):
    """One call, from what was asked for to what came back.

    `tool`, `outcome`, `decision` and `history` are lines. `arguments` are JSON; `ran_with` are those it ran
    with, where they are others. `output` is None where none was recorded, `duration_secs` where it did not run
    to its end.
    """

    tool: str
    arguments: str
    ran_with: str | None = None
    diff: str | None = None
    outcome: str
    decision: str
    duration_secs: float | None = None
    output: str | None = None
    history: tuple[str, ...] = ()


class ExportRemark(Struct, frozen=True):
    """A sentence about the session itself, on one line, with the text it is about, if any."""

    line: str
    body: str = ""


Entry: TypeAlias = TurnHead | Said | Thought | CallCard | ExportRemark


class Account(Struct, frozen=True, kw_only=True):
    """A session: its title, facts about it as label and value, and what happened. Title and facts are lines."""

    title: str
    facts: tuple[tuple[str, str], ...]
    entries: tuple[Entry, ...]


def describe_panel_event(event: PanelEvent) -> tuple[str, str]:
    """A line, and the text below it."""
    match event:
        case PanelStarted():
            models = [f"{each.label}: {each.model}" for each in event.participants]
            cost = describe_total_cost(event.costs)
            return "a panel was asked:", "\n".join([*models, *([f"estimated: {cost}"] if cost else [])])
        case PanelAnswered(answer=answer):
            return describe_answer(answer), answer.text
        case PanelReviewed(review=review) if review.error:
            return describe_missing_review(review), ""
        case PanelReviewed(review=review):
            lines = [line for each in review.reviews for line in _describe_review(each)]
            return f"{review.label} {review.model} reviewed the other answers:", "\n".join(lines)
        case PanelConcluded():
            return _describe_conclusion(event)
        case ReviewerLooked():
            arguments = json.dumps(event.arguments, ensure_ascii=False)
            return f"{event.label} looked: {event.tool} {arguments} · {event.outcome.value}", ""
        case PartReviewed():
            return describe_part_review(event.review), ""
        case FindingsTried(error=""):
            trials = (f"{one.finding}: {one.ruling.value}. {one.reason}" for one in event.trials)
            return f"{event.label} tried findings of others:", "\n".join(trials)
        case FindingsTried():
            return f"{event.label} tried no findings: {event.error}", ""
        case ObjectionsRaised() | AnswerDefended() | ObjectionsRuled() | AnswerRevised():
            return describe_debate_step(event), _render_debate_step(event)
        case ChangeReviewed():
            return describe_review_result(event.result), ""
        case _:
            return "", ""


def _describe_conclusion(event: PanelConcluded) -> tuple[str, str]:
    points = "\n".join(f"{', '.join(each.answers)}: {each.text}" for each in event.additions)
    if event.merged:
        return f"one text was made of the drafts{'; they differ:' if points else ''}", points
    if event.additions:
        return f"answer {event.chosen} stands; what the others add:", points
    if event.synthesis is not None:
        return "the panel ended with a synthesis", ""
    if event.chosen is not None and not event.reason:
        return f"answer {event.chosen} stands", ""
    return f"the panel ended without a synthesis: {event.reason}", ""


def _render_debate_step(event: ObjectionsRaised | AnswerDefended | ObjectionsRuled | AnswerRevised) -> str:
    match event:
        case ObjectionsRaised(raised=raised):
            lines = [f"{describe_objection(each)}\n{each.evidence}" for each in raised.objections]
        case AnswerDefended(defence=defence):
            lines = [
                f"{each.objection} {'conceded' if each.is_conceded else 'contested'}: {each.text}"
                for each in defence.responses
            ]
        case ObjectionsRuled(ruled=ruled):
            lines = [f"{each.objection} {each.ruling.value}: {each.reason}" for each in ruled.rulings]
        case AnswerRevised(revised=revised):
            lines = [revised.text]
    return "\n".join(lines)


def _describe_review(review: AnswerReview) -> Iterator[str]:
    agrees = review.agreement.value
    yield f"{review.answer}: {review.score} of {BEST_SCORE}, agrees: {agrees}. {review.comment}"
    yield from (f"  danger: {danger}" for danger in review.dangers)


def list_facts(summary: SessionSummary, records: Sequence[LedgerRecord]) -> Iterator[tuple[str, str]]:
    """Label and value of each fact, as the records have it."""
    events = [record.event for record in records]
    opened = next((event for event in events if isinstance(event, SessionStarted | SessionResumed)), None)
    counted = [event for event in events if isinstance(event, UsageCounted)]
    spent = reduce(lambda spent, event: event.add_to(spent), counted, Spending())
    yield "Session", summary.id
    if summary.parent is not None:
        yield "Copied from", summary.parent
    if summary.owner is not None:
        yield "A task of", summary.owner
    if subagents := [event.subagent_id for event in events if isinstance(event, SubagentStarted)]:
        yield "Its tasks", ", ".join(subagents)
    yield "Folder", summary.cwd
    yield "Model", summary.model
    if opened is not None:
        yield "Mode at the start", opened.mode.value
    yield "Began", format_time(summary.started_ms)
    yield "Last used", format_time(summary.updated_ms)
    yield "Turns", f"{summary.turns:,}"
    yield "Tokens", format_usage(spent.usage)
    yield "Cost", format_cost(spent)
    yield "Records", _format_records(records)


def _format_records(records: Sequence[LedgerRecord]) -> str:
    redacted = sum(record.redacted for record in records)
    unread = sum(record.event is None for record in records)
    text = format_amount(len(records), "record")
    if redacted:
        text += f", something was taken out of {redacted:,}"
    why = "a newer quorum may have written them, or they are damaged; quorum sessions verify tells"
    return f"{text}, {unread:,} cannot be understood: {why}" if unread else text


_UNDECIDED = "nothing is recorded about it"
_UNANSWERED = "put to review, and no answer is recorded"


class ExportedCall(Struct, kw_only=True):
    """What is known of a call so far. `mask` takes secrets out of a text."""

    call_id: str
    tool: str
    arguments: JsonObject
    mask: Callable[[str], str]
    decision: str = _UNDECIDED
    outcome: str = NO_OUTCOME
    duration_secs: float | None = None
    history: list[str] = field(default_factory=list)
    _ran_with: JsonObject | None = None
    _diff: str | None = None
    _output: str | None = None

    @property
    def is_closed(self) -> bool:
        """Whether its end is recorded."""
        return self._output is not None

    def record_review(self, event: ReviewRequested) -> None:
        """It was put to review: with this diff, if it is an edit."""
        self._diff = event.packet.seal.diff or self._diff
        self.decision = _UNANSWERED

    def record_decision(self, event: ReviewDecided) -> None:
        """It was decided about; this stands where no end of the call is recorded."""
        self.decision = DECISIONS[event.decision]

    def record_start(self, event: CallStarted) -> None:
        """It began to run, perhaps with other arguments than the model's."""
        self._diff = event.diff or self._diff
        if event.arguments != self.arguments:
            self._ran_with = event.arguments

    def record_end(self, event: CallFinished) -> None:
        """It ended. The end that is recorded for a killed process knows no decision, but its review does."""
        self.outcome = OUTCOMES[event.outcome]
        if event.decision is not DecisionLabel.NONE or self.decision == _UNDECIDED:
            self.decision = DECISIONS[event.decision]
        self.duration_secs, self._output = event.duration_secs, event.output

    def record_result(self, result: ToolResultMessage) -> None:
        """This is what the model read; it counts where no end of the call is recorded."""
        self._output = result.output
        self.outcome = f"{NO_OUTCOME}; the model read of it"

    def build_card(self) -> CallCard:
        """The call as it is shown."""
        return CallCard(
            tool=self._make_line(self.tool),
            arguments=self._render_json(self.arguments),
            ran_with=None if self._ran_with is None else self._render_json(self._ran_with),
            diff=None if self._diff is None else make_printable(self.mask(self._diff)),
            outcome=self.outcome,
            decision=self.decision,
            duration_secs=self.duration_secs,
            output=None if self._output is None else self._mask_output(self._output),
            history=tuple(map(self._make_line, self.history)),
        )

    def _mask_output(self, output: str) -> str:
        """Secrets are hidden in what is left without terminal sequences, which may have taken them apart."""
        return make_printable(self.mask(make_printable(output, strip_ansi=True)))

    def _make_line(self, text: str) -> str:
        return make_printable(self.mask(text), newlines=False)

    def _render_json(self, arguments: JsonObject) -> str:
        return make_printable(json.dumps(mask_json(arguments, self.mask), ensure_ascii=False, indent=2))


_Draft: TypeAlias = Entry | ExportedCall
_CallEvent: TypeAlias = (
    CallStarted
    | CallFinished
    | ReviewRequested
    | PlanReviewStarted
    | VoteCast
    | QuorumConcluded
    | ReviewDecided
    | FilesKept
    | EffectsObserved
    | OutputStored
    | SubagentStarted
    | SubagentFinished
    | HookRan
)


def build_account(
    summary: SessionSummary, records: Sequence[LedgerRecord], mask: Callable[[str], str]
) -> Account:
    """What these records tell; `mask` takes secrets out of each text of them."""
    narration = _Narration(mask)
    for record in records:
        narration.read(record)
    return Account(
        title=narration.make_line(summary.title or "A session without a prompt"),
        facts=tuple((label, narration.make_line(value)) for label, value in list_facts(summary, records)),
        entries=narration.list_entries(),
    )


class _Narration:
    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask
        self._drafts: list[_Draft] = []
        self._turns: list[int] = []  # where in the drafts each turn begins
        self._calls: dict[str, ExportedCall] = {}  # by id, the latest call of that id
        self._prompt: str | None = None  # of the turn, until its message has passed

    def make_line(self, text: str) -> str:
        return make_printable(self._mask(text), newlines=False)

    def list_entries(self) -> tuple[Entry, ...]:
        return tuple(each.build_card() if isinstance(each, ExportedCall) else each for each in self._drafts)

    def read(self, record: LedgerRecord) -> None:
        if record.redacted:
            self._add_remark(f"something was taken out of record {record.seq} later")
        match record.event:
            case None:
                self._add_remark(f"record {record.seq} cannot be understood")
            case event:
                self._narrate(event, record.at_ms)

    def _narrate_turn(self, prompt: str, at_ms: int) -> None:
        self._turns.append(len(self._drafts))
        self._prompt = prompt or self._prompt  # whoever continues with a turn may have to say its prompt
        head = TurnHead(number=len(self._turns), at=format_time(at_ms), prompt=self._resolve_text(prompt))
        self._drafts.append(head)

    def _narrate(self, event: Event, at_ms: int) -> None:
        if not event.durable:
            return
        match event:
            case TurnStarted(prompt=prompt):
                self._narrate_turn(prompt, at_ms)
            case MessageAdded():
                self._narrate_message(event)
            case ResponseCompleted(response=response, is_notice=True):
                self._add_remark("said to the model by quorum:", response.text_content())
            case ResponseCompleted(response=response):
                self._answer(response)
            case BatchPlanned(lanes=lanes):
                for lane in lanes:
                    if lane.context.call_id not in self._calls:
                        self._call(lane.context.call_id, lane.tool).arguments = lane.arguments
            case TurnFinished(report=report) if report.status is not RunStatus.COMPLETED:
                self._add_remark(describe_ending(report))
            case (
                CallStarted()
                | CallFinished()
                | ReviewRequested()
                | PlanReviewStarted()
                | VoteCast()
                | QuorumConcluded()
                | ReviewDecided()
                | FilesKept()
                | EffectsObserved()
                | OutputStored()
                | SubagentStarted()
                | SubagentFinished()
                | HookRan()
            ):
                self._tell_of_call(event)
            case PanelEvent():
                self._add_remark(*describe_panel_event(event))
            case _:
                self._tell_of_session(event)

    def _narrate_message(self, event: MessageAdded) -> None:
        match event.message:
            case UserMessage(text, files=files):
                self._narrate_added(event, text)
                for file in files:
                    self._add_remark(f"{'attached: ' if file.is_attached else ''}{file.label}", file.content)
            case ToolResults(results):
                for result in results:
                    call = self._calls.get(result.tool_use_id)
                    if call is not None and not call.is_closed:
                        call.record_result(result)

    def _narrate_added(self, event: MessageAdded, text: str) -> None:
        if event.command_id is not None:
            return  # the end of the command has reported it
        if event.is_notice:
            self._add_remark("said to the model by quorum:", text)
            return
        if event.steers:
            self._add_remark("said into the running turn:", text)
        elif text != self._prompt:
            self._add_remark("said to the model by the program or a hook:", text)
        self._prompt = None

    def _tell_of_call(self, event: _CallEvent) -> None:
        match event:
            case CallStarted():
                self._find_call(event.context, event.tool).record_start(event)
            case CallFinished():
                self._find_call(event.context, event.tool).record_end(event)
            case ReviewRequested():
                self._find_call(event.context, event.packet.call.tool_name).record_review(event)
                self._find_call(event.context).history.append(describe_review_request(event))
            case ReviewDecided():
                self._find_call(event.context).record_decision(event)
                self._find_call(event.context).history.append(describe_call_event(event))
            case EffectsObserved():
                self._find_call(event.context).history.extend(describe_effects(event.effects))
            case (
                PlanReviewStarted()
                | VoteCast()
                | QuorumConcluded()
                | FilesKept()
                | OutputStored()
                | SubagentStarted()
                | SubagentFinished()
            ):
                self._find_call(event.context).history.append(describe_call_event(event))
            case HookRan():
                self._narrate_hook(event)
            case _:
                assert_never(event)

    def _tell_of_session(self, event: Event) -> None:
        match event:
            case SessionResumed(model=model, mode=mode, told=text, effort=effort):
                shown = format_model(model, effort)
                self._add_remark(f"resumed with {shown} in the mode {mode.value}", "\n".join(text))
            case SessionFinished():
                self._add_remark("the session was closed")
            case UserCommandStarted(command=command):
                kept = "" if event.told else ", kept from the model"
                self._add_remark(f"the person ran a command of their own{kept}:", command)
            case UserCommandFinished():
                self._add_remark(describe_user_command_end(event), event.output)
            case JobStarted(job_id=job_id, command=command):
                what = "subagent" if event.subagent_id else "command"
                self._add_remark(f"the background {what} {job_id} began:", command)
            case JobEnded():
                self._add_remark(describe_job_ending(event), event.output)
            case ConversationCompacted():
                self._add_remark(*describe_compaction(event))
            case FilesRestored(changes=changes):
                self._add_remark(*describe_restoration(changes))
            case SessionRewound() | SessionRedone():
                self._narrate_undo(event)
            case ErrorOccurred(message=message):
                self._add_remark(f"error: {message}")
            case _:
                self._tell_of_surroundings(event)

    def _tell_of_surroundings(self, event: Event) -> None:
        match event:
            case SandboxChecked(told=text):
                self._add_remark(text)
            case InstructionsLoaded():
                self._add_remark(event.description, "\n".join(event.notices))
            case MemoryApproved(file=file, line=line, sha256=sha256):
                self._add_remark(f"the person approved a line for {file} (new content: sha256 {sha256}):", line)
            case MemoryAdded(file=file, notices=notices):
                self._add_remark(f"the line was added to {file}", "\n".join(notices))
            case ModeChanged(mode=mode):
                self._add_remark(f"the mode is {mode.value} from here on")
            case ModelChanged(model=model, effort=effort):
                self._add_remark(f"the model is {format_model(model, effort)} from here on")
            case SpendCapRaised(cap=cap, limit=limit):
                self._add_remark(f"the person raised agent.{cap} to {cap.render(limit)}")
            case _ if event.sentence:
                self._add_remark(event.sentence, event.details)
            case _:
                return  # the facts or other events tell it

    def _answer(self, response: LlmResponse) -> None:
        self._prompt = None
        for block in response.content:
            match block:
                case TextBlock(text) if text.strip():
                    model = self.make_line(response.model)
                    self._drafts.append(Said(model=model, text=self._resolve_text(text)))
                case ReasoningBlock(text=text) if text.strip():
                    self._drafts.append(Thought(self._resolve_text(text)))
                case OpaqueBlock(provider=provider):
                    self._add_remark(f"a block of {provider}'s own kind, kept but not read")
        for call in response.tool_calls():
            self._call(call.native_id, call.tool_name).arguments = call.arguments
        if response.stop_reason.kind not in (StopKind.END_TURN, StopKind.TOOL_USE):
            self._add_remark(f"the answer stopped there: {response.stop_reason}")

    def _call(self, call_id: str, tool: str) -> ExportedCall:
        draft = ExportedCall(call_id=call_id, tool=tool, arguments={}, mask=self._mask)
        self._calls[call_id] = draft
        self._drafts.append(draft)
        return draft

    def _find_call(self, context: ToolExecutionContext, tool: str = "a call") -> ExportedCall:
        return self._calls.get(context.call_id) or self._call(context.call_id, tool)

    def _narrate_hook(self, event: HookRan) -> None:
        reason = f": {event.reason}" if event.reason else ""
        edited = "; it changed what it was given" if event.edited is not None else ""
        text = f"hook {event.hook} at {event.point.value} answered {event.answer}{reason}{edited}"
        if event.context is None:
            self._add_remark(text)
        else:
            self._find_call(event.context).history.append(text)

    def _narrate_undo(self, event: SessionRewound | SessionRedone) -> None:
        if isinstance(event, SessionRedone):
            self._mark_turns(event.turns, taken_back=False)
            self._add_remark(describe_redo(event))
            return
        if event.conversation:
            self._mark_turns(range(max(event.turn, 0), len(self._turns)), taken_back=True)
        self._add_remark(describe_rewind(event))

    def _mark_turns(self, turns: Iterable[int], *, taken_back: bool) -> None:
        for place in (self._turns[turn] for turn in turns if 0 <= turn < len(self._turns)):
            if isinstance(head := self._drafts[place], TurnHead):
                self._drafts[place] = replace(head, taken_back=taken_back)

    def _add_remark(self, line: str, body: str = "") -> None:
        self._drafts.append(ExportRemark(self.make_line(line), self._resolve_text(body)))

    def _resolve_text(self, text: str) -> str:
        return make_printable(self._mask(text))
