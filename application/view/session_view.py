"""The one reduction of events for people: entries, the present turn, status and timings, for any front end.

Two other folds of events stay, for they answer other questions. `quorum.domain.sessions.replay` leads to the
state that a session continues from: what the model is to read, kept whole and never cut for a screen.
`quorum.application.export` tells a record as it was kept, with what was redacted or cannot be understood.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from quorum.application.view.batches import Batches, extend_run
from quorum.application.view.entries import (
    AnswerEntry,
    Batch,
    Call,
    Entry,
    Kept,
    Notice,
    NoticeKind,
    PanelEntry,
    PanelMember,
    Phase,
    PromptEntry,
    Restoration,
    StoredOutput,
)
from quorum.application.view.present import Present, SessionStatus
from quorum.application.view.turn_timings import TurnTimings, describe_length
from quorum.application.view.wording import (
    PROCESS_ENDED,
    build_hook_remark,
    describe_compaction,
    describe_ending,
    describe_redo,
    describe_resumption,
    describe_rewind,
)
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.calls.tool_traits import OutputKind, find_traits
from quorum.domain.conversation.effort import format_model
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import LlmResponse, ReasoningBlock, StopKind
from quorum.domain.events import event as ev
from quorum.domain.events.event import (
    AnswerProgressed,
    ChangeReviewed,
    PanelAnswered,
    PanelConcluded,
    PanelResumed,
    PanelReviewed,
    PanelStarted,
)
from quorum.domain.events.panels import PanelEvent, follow_debate
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.events.subagents import SubagentEvent
from quorum.domain.panel.panel_answer import PanelForm
from quorum.domain.staging.effects_answer import is_about_effects


class UserCommandCards:
    """Adds the cards to the entries it is given, and keeps them up to date."""

    def __init__(self, entries: list[Entry], clock: Callable[[], float]) -> None:
        self._entries = entries
        self._clock = clock
        self._open: dict[str, Batch] = {}

    @property
    def running(self) -> list[Batch]:
        return [batch for batch in self._open.values() if batch.is_running]

    def take_over(self, others: UserCommandCards) -> None:
        """Continue with the cards of others that have no end yet."""
        self._open = others._open
        self._entries += self._open.values()

    def start(self, event: ev.UserCommandStarted) -> None:
        call = Call(
            index=0,
            tool="!" if event.told else "!!",
            arguments={"command": event.command},
            risk=RiskLevel.HIGH,
        )
        call.enter(Phase.RUNNING, self._clock())
        batch = Batch(event.command_id, [call], is_own=True)
        self._open[event.command_id] = batch
        self._entries.append(batch)

    def show_progress(self, event: ev.UserCommandProgressed) -> None:
        if (batch := self._open.get(event.command_id)) is not None:
            batch.calls[0].progress.show(event.text, event.styles)
            batch.version += 1

    def finish(self, event: ev.UserCommandFinished) -> None:
        if (batch := self._open.pop(event.command_id, None)) is None:
            return
        (call,) = batch.calls
        # As with a command of a model's, another exit code than 0 is shown, and is no failure of the call.
        exited = event.exit_code is not None and event.outcome is Outcome.ERROR
        call.outcome = Outcome.OK if exited else event.outcome
        call.output = Kept.of(_render_result(event), event.styles)
        call.stored = StoredOutput(event.blob_id, event.size_bytes) if event.blob_id is not None else None
        call.duration = event.duration_secs
        call.enter(Phase.FINISHED, self._clock())
        batch.version += 1

    def rest(self) -> None:
        """Nothing of the past runs any more; of what has no end, one may still arrive."""
        for batch in self._open.values():
            batch.calls[0].enter(Phase.ABANDONED, self._clock())
            batch.version += 1


def _render_result(event: ev.UserCommandFinished) -> str:
    """What it printed, and below it how it ended: in the words of a command's result."""
    exited = []
    if event.exit_code is not None:
        code = event.exit_code
        exited = [f"exit code {code}" if code >= 0 else f"killed by signal {-code}"]
    output = event.output.rstrip("\n")
    return "\n".join([*([output] if output else []), *exited, *event.remarks])


def mark_undone(entries: Sequence[Entry], begin: int) -> None:
    """Mark the entries from this place on, but for the restorations at the end: they are part of the undo."""
    end = len(entries)
    while end and isinstance(entries[end - 1], Restoration):
        end -= 1
    for entry in entries[begin:end]:
        if isinstance(entry, Batch) and entry.is_own:
            continue  # what the person ran themselves is not taken back
        _mark(entry, is_undone=True)


def mark_redone(entries: Sequence[Entry], begins: Sequence[int], turns: Collection[int]) -> None:
    """Have the entries of these turns count again. `begins` is the place of each turn's first entry."""
    for turn, begin in enumerate(begins):
        if turn in turns:
            end = begins[turn + 1] if turn + 1 < len(begins) else len(entries)
            for entry in entries[begin:end]:
                if entry.undone:
                    _mark(entry, is_undone=False)


def _mark(entry: Entry, *, is_undone: bool) -> None:
    entry.undone = is_undone
    entry.version += 1


def describe_diagnostics(event: ev.DiagnosticsReported) -> tuple[NoticeKind, str]:
    """How loud the report is, and its text with the first of its lines."""
    if event.failure is not None:
        return NoticeKind.ERROR, event.sentence
    if not event.new:
        return NoticeKind.INFO, event.sentence
    first = f": {event.lines[0].strip()}" if event.lines else ""
    return NoticeKind.WARNING, f"{event.sentence}{first}"


_BROKE_OFF = "the answer broke off here; what arrived is kept · /retry continues, /model chooses who answers"
# What may happen while an attempt is waited for.
_BESIDE_A_WAIT = (ev.ModeChanged, ev.SandboxChecked, ev.ErrorOccurred, ev.NoticeGiven)
_FAILED = "/retry sends the request again, /model chooses who answers"


class SessionView:
    """What the person sees of a session: its entries, oldest first, and what is shown beside them.

    Entries are only ever added or changed in place. `clock` is in seconds. `is_followed`: nobody can send
    anything to the session, as to a subagent's.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.entries: list[Entry] = []
        self.present = Present(self._read_clock)
        self.status = SessionStatus()
        self.clock = clock
        self.is_followed = False
        self.timings = TurnTimings()
        # The time of the past event that is applied, and of the one before it.
        self._moment: float | None = None
        self._moment_before: float | None = None
        self._in_past = False
        self._begins: list[int] = []  # for each turn of the session, the place of its first entry
        self._undone: set[int] = set()  # the numbers of turns that do not count
        self._in_turn = False
        self._answer: AnswerEntry | None = None
        self._batches = Batches(self.entries, self._read_clock)
        self._user_commands = UserCommandCards(self.entries, self._read_clock)
        self._panels = Panels(self.entries, self._read_clock)
        self._countdown: Notice | None = None
        self._mode_notice: Entry | None = None
        self._last_error = ""
        self._broke_off = False
        """The text of the last complete response: what the model wrote before the calls that it asks for."""
        self._cwd = ""

    @property
    def live(self) -> list[Entry]:
        """Entries whose drawing changes as time passes: running calls, a countdown."""
        counting: list[Entry] = [self._countdown] if self._countdown else []
        return counting + self._batches.running + self._user_commands.running + self._panels.running

    def create_successor(self) -> SessionView:
        """A view without entries that continues with the same session."""
        view = SessionView(self.clock)
        view.timings, view.present, view.status = self.timings, self.present, self.status
        view._batches.take_over(self._batches)
        view._user_commands.take_over(self._user_commands)
        view._panels.take_over(self._panels)
        view._cwd, view.is_followed = self._cwd, self.is_followed
        view._begins, view._undone = [0] * len(self._begins), self._undone
        view._in_turn = self._in_turn
        return view

    def begin_past(self) -> None:
        """The next events come from a record."""
        self._in_past = True

    def end_past(self, cut: str) -> None:
        """What comes from now on happens now. A turn of the past without an end is shown as `cut`."""
        self._break_off(cut)
        self._user_commands.rest()
        self.present.rest_jobs()
        self._in_past, self._moment = False, None

    def _read_clock(self) -> float:
        return self.clock() if self._moment is None else self._moment

    def apply(self, event: ev.Event, at: float | None = None) -> None:
        """Take one event in; `at` is when it happened by the clock, for events of the past."""
        self._moment_before, self._moment = self._moment, at
        self._batches.untimed = self._in_past and at is None
        self.timings.apply(event, self._read_clock())
        if not isinstance(event, _BESIDE_A_WAIT):
            self.status.wait(None)
        self.status.read_prompt(event if isinstance(event, ev.PromptProgressed) else None)
        self._apply(event)

    def _apply(self, event: ev.Event) -> None:  # noqa: C901, PLR0912, PLR0915 - a flat match
        if isinstance(event, SubagentEvent):
            self._batches.follow_subagent(event, is_live=not self._in_past)
            return
        match event:
            case ev.TextDelta():
                self._open_answer().pieces.append(event.text)
            case ev.ReasoningDelta():
                self._think(event.text)
            case ev.ToolCallDelta():
                self._settle_countdown()
                self._batches.compose(event)
            case ev.ResponseCompleted(is_notice=True):
                self.status.touch()
            case ev.ResponseCompleted():
                self.status.touch()
                self._complete(event.response)
            case ev.TurnStarted():
                self._end_answer()
                self._broke_off = False
                self.present.begin_turn(is_continued=not event.prompt)
                self.status.begin_turn(event.prompt)
                self._begins.append(len(self.entries))
                self._in_turn = True
                prompt = PromptEntry(event.prompt) if event.prompt else None
                self.timings.begin(prompt, self._read_clock(), timed=not self._batches.untimed)
                if prompt is not None:
                    self.entries.append(prompt)
                elif len(self._begins) > 1:
                    self._note(NoticeKind.INFO, "continuing")
            case ev.MessageAdded():
                self._handle(event)
            case ev.UserCommandStarted():
                self._user_commands.start(event)
            case ev.UserCommandProgressed():
                self._user_commands.show_progress(event)
            case ev.UserCommandFinished():
                self._user_commands.finish(event)
            case ev.JobStarted():
                self._batches.detach(event)
                self.present.start_job(event)
            case ev.JobProgressed():
                self.present.show_job_progress(event)
            case ev.JobEnded():
                self._note(NoticeKind.INFO, self.present.end_job(event))
            case ev.InstructionsLoaded():
                self.status.instructions = event
                if event.files:
                    self._note(NoticeKind.INFO, event.description)
                for notice in event.notices:
                    self._note(NoticeKind.WARNING, notice)
            case ev.MemoryAdded():
                self._note(NoticeKind.INFO, event.sentence)
                for notice in event.notices:
                    self._note(NoticeKind.WARNING, notice)
            case ev.ContextReceived(note=None) | ev.AttachmentLeftOut():
                return  # there is nothing to tell, or it is shown elsewhere on the screen
            case ev.ModeChanged():
                self.status.choose_mode(event.mode.value)
                self._note_mode(f"mode: {event.mode.value} · {event.mode.traits.meaning}")
            case ev.ModelChanged():
                self.status.choose(model=event.model, effort=event.effort)
                self._note(NoticeKind.INFO, f"model: {format_model(event.model, event.effort)}")
            case ev.ModelFellBack():
                self.status.fall_back(event.model)
                self._tell(event)
            case ev.RequestRepeated() | ev.AnswerBrokeOff():
                self._end_answer()
                self._tell(event)
            case ev.CallLeaked():
                if event.parser:
                    self.status.leaked_call = event
                self._tell(event)
            case ev.RetryScheduled():
                self._count_down(event)
                self.status.wait(event)
            case ev.BatchPlanned():
                batch = self._batches.plan(event, self._cwd)
                self.timings.add(batch)
                self.present.follow(batch)
            case ev.CallQueued():
                self.present.follow(self._batches.queue(event))
            case ev.CallStarted():
                self.present.follow(self._batches.start(event))
            case ev.CallProgressed():
                self.present.follow(self._batches.show_progress(event))
            case ev.CallFinished():
                batch, call = self._batches.finish(event)
                self.present.follow(batch)
                if not batch.is_open:
                    extend_run(self.entries, batch)
                if call.diff is not None and call.outcome is Outcome.OK:
                    self.present.change_files(call.diff)
                if find_traits(call.tool).output is OutputKind.PLAN and call.outcome is Outcome.OK:
                    self.present.update_plan(call)
            case ev.SessionStarted():
                self._cwd = event.cwd
            case ev.SessionResumed():
                resumed_at, self._moment = self._moment, self._moment_before or self._moment
                self._break_off(PROCESS_ENDED)
                self._moment = resumed_at
                self._cwd = event.cwd
                self._note(NoticeKind.INFO, describe_resumption(event))
            case ev.ConversationCompacted():
                self.status.touch()
                self._note(NoticeKind.INFO, describe_compaction(event))
            case ev.SessionRewound():
                self.status.touch()
                self._take_back(event)
            case ev.SessionRedone():
                self.status.touch()
                self.present.redo(event)
                mark_redone(self.entries, self._begins, event.turns)
                self._undone.difference_update(event.turns)
                self._note(NoticeKind.INFO, describe_redo(event))
            case ev.FilesRestored():
                self.entries.append(Restoration(event.changes, self._cwd))
            case ev.EffectsObserved():
                self._batches.receive(event, self._cwd)
                root = self._cwd.rstrip("/") + "/"
                changes = event.effects.changes
                self.present.change_unread_files(
                    [change.path.removeprefix(root) for change in changes if change.is_surprise]
                )
            case ev.OutputStored():
                self._batches.store(event)
            case ev.HookRan():
                self._add_remark(event)
            case ev.ReviewRequested() | ev.ReviewDecided() if is_about_effects(event.context):
                pass  # what waits and what becomes of it is said
            case ev.ReviewRequested():
                self.present.follow(self._batches.ask(event))
            case ev.VoteCast():
                self.present.follow(self._batches.vote(event))
            case ev.QuorumConcluded():
                self.status.spare(event)
                self.present.follow(self._batches.conclude(event))
            case ev.ReviewDecided():
                self.present.follow(self._batches.decide(event))
            case PanelEvent():
                self._panels.apply(event)
            case ev.SandboxChecked():
                self.status.check_sandbox(event.on)
            case ev.AgentConnected():
                self.status.connect_agent(is_confined=event.is_confined is True)
                self._tell(event)
            case ev.UsageCounted():
                self.status.count(event)
            case ev.SpendCapRaised():
                self._note(NoticeKind.INFO, f"agent.{event.cap} is raised to {event.cap.render(event.limit)}")
            case ev.StateMerged():
                self.present.merge(event.changed)
            case ev.DiagnosticsReported():
                self._note(*describe_diagnostics(event))
            case ev.ErrorOccurred():
                self._last_error = event.message
                self._fail(event.message)
            case ev.TurnFinished():
                self._end_turn(event.report)
            case _:
                self._tell(event)

    def _note_mode(self, text: str) -> None:
        """Show the mode. One passed on the way to it, with nothing in between, is shown no more."""
        last = self.entries[-1] if self.entries else None
        if isinstance(last, Notice) and last is self._mode_notice:
            last.text = text
            last.version += 1
            return
        self._note(NoticeKind.INFO, text)
        self._mode_notice = self.entries[-1]

    def warn(self, sentence: str) -> None:
        """Show what the person should know and no event says."""
        self._note(NoticeKind.WARNING, sentence)

    def _tell(self, event: ev.Event) -> None:
        """Show its sentence, where it has one."""
        if event.sentence:
            self._note(NoticeKind.WARNING if event.is_warning else NoticeKind.INFO, event.sentence)

    def _handle(self, event: ev.MessageAdded) -> None:
        """What the person said into the running turn stands where the model read it."""
        if event.steers:
            self.status.touch()
        if not isinstance(event.message, UserMessage):
            return
        if event.steers:
            self._settle_countdown()
            self._end_answer()
            self.entries.append(PromptEntry(event.message.text, steers=True, files=event.message.files))
        elif event.message.files and (prompt := self._find_prompt(event.message.text)) is not None:
            prompt.files = event.message.files
            prompt.version += 1

    def _find_prompt(self, text: str) -> PromptEntry | None:
        """The newest prompt of this text."""
        said = (each for each in reversed(self.entries) if isinstance(each, PromptEntry))
        return next((each for each in said if each.text == text), None)

    def _think(self, text: str) -> None:
        answer = self._open_answer()
        answer.reasoning.append(text)
        if answer.thought_from is None:
            answer.thought_from = self._read_clock()
        answer.thought_secs = self._read_clock() - answer.thought_from

    def _open_answer(self) -> AnswerEntry:
        self._settle_countdown()
        if self._answer is None:
            self._answer = AnswerEntry()
            self.entries.append(self._answer)
        self._answer.version += 1
        return self._answer

    def _end_answer(self) -> None:
        if self._answer is not None:
            self._answer.finished = True
            self._answer.version += 1
            self._answer = None
        self._batches.abandon_composed()

    def _complete(self, response: LlmResponse) -> None:
        """The whole answer: what streamed is kept if it says the same, and replaced if it does not."""
        self._settle_countdown()
        self._broke_off = response.stop_reason.kind is StopKind.OTHER
        text = response.text_content()
        reasoning = [b.text for b in response.content if isinstance(b, ReasoningBlock) and b.text]
        if self._answer is not None or text or reasoning:
            answer = self._open_answer()
            if text and answer.text != text:
                answer.pieces = [text]
                answer.edition += 1
            answer.reasoning = answer.reasoning or reasoning
            answer.finished = True
            self._answer = None
            self.timings.say(answer)
        if response.stop_reason.kind is not StopKind.TOOL_USE:
            self._batches.abandon_composed()

    def _break_off(self, cut: str) -> None:
        """Nobody is at work on an open turn any more."""
        if self._in_turn:
            self._settle_countdown()
            self._end_answer()
            self._batches.rest()
            self._panels.rest()
            self.present.rest()
            self.timings.rest(self._read_clock())
            self._note(NoticeKind.WARNING, cut)
            self._in_turn = False

    def _take_back(self, event: ev.SessionRewound) -> None:
        """Entries of turns that are forgotten stay in sight, but must not look as if they counted."""
        if event.conversation:
            self.present.take_back(event.turn)
        if event.files:
            self.present.give_back_files(event.turn)
        counting = [turn for turn in range(event.turn, len(self._begins)) if turn not in self._undone]
        if event.conversation and event.turn < len(self._begins):
            mark_undone(self.entries, self._begins[event.turn])
            self._undone.update(counting)
        self._note(NoticeKind.INFO, describe_rewind(event, len(counting)))

    def _add_remark(self, event: ev.HookRan) -> None:
        """A hook's answer belongs to its call; elsewhere only one that changed something is shown."""
        remark = build_hook_remark(event)
        self.present.add_hook_run(event, remark)
        if event.context is not None:
            self._batches.add_remark(event.context, remark)
            if event.edited is not None and isinstance(output := event.edited.get("output"), str):
                self._batches.revise(event.context, output)
        elif not remark.quiet:
            self._note(remark.kind, remark.text)

    def _note(self, kind: NoticeKind, text: str) -> None:
        self._settle_countdown()
        self.entries.append(Notice(kind, text))

    def _fail(self, message: str) -> None:
        """Show an error, in the place of the attempts where it is the last one's."""
        waited = self._countdown
        reason, _, attempt = waited.text.rpartition("; attempt ") if waited is not None else ("", "", "")
        self._settle_countdown()
        if waited is None or self.entries[-1] is not waited or reason != message.rstrip("."):
            self._note(NoticeKind.ERROR, message)
        else:
            waited.kind, waited.text = NoticeKind.ERROR, f"{reason}; {attempt} attempts"

    def _count_down(self, event: ev.RetryScheduled) -> None:
        if self._countdown is None:
            self._countdown = Notice(NoticeKind.WARNING, "")
            self.entries.append(self._countdown)
        self._countdown.text = f"{event.reason.rstrip('.')}; attempt {event.attempt + 1}"
        self._countdown.until = self.clock() + event.delay_secs
        self._countdown.version += 1

    def _settle_countdown(self) -> None:
        if self._countdown is not None:
            self._countdown.until = None
            self._countdown.version += 1
            self._countdown = None

    def _end_turn(self, report: RunReport) -> None:
        self.status.end_turn()
        self._settle_countdown()
        self._end_answer()
        self._batches.close()
        self._panels.rest()
        self.present.rest()
        self._in_turn = False
        if (text := describe_ending(report, self._last_error)) is not None:
            loud = report.status in (RunStatus.FAILED, RunStatus.REFUSED)
            self._note(NoticeKind.ERROR if loud else NoticeKind.WARNING, text)
        if report.provider_failed and report.status is RunStatus.FAILED and not self.is_followed:
            self._note(*((NoticeKind.WARNING, _BROKE_OFF) if self._broke_off else (NoticeKind.INFO, _FAILED)))
        if self.timings.turns and (length := describe_length(self.timings.turns[-1], self._read_clock())):
            self._note(NoticeKind.INFO, length)
        self._last_error = ""


class Panels:
    """Adds panels to the entries it is given, and keeps them up to date. `clock` is in seconds."""

    def __init__(self, entries: list[Entry], clock: Callable[[], float]) -> None:
        self._entries = entries
        self._clock = clock
        self._panel: PanelEntry | None = None

    @property
    def running(self) -> list[PanelEntry]:
        return [self._panel] if self._panel is not None and self._panel.is_running else []

    def take_over(self, others: Panels) -> None:
        """Continue with the panel of another view that is at work."""
        self._panel = others._panel
        self._entries += others.running

    def rest(self) -> None:
        if self._panel is not None and self._panel.is_running:
            self._panel.ended = self._clock()
            self._panel.version += 1

    def apply(self, event: PanelEvent) -> None:
        """Take an event in; one of a panel that nobody began is left out."""
        if isinstance(event, PanelStarted):
            self.rest()
            members = [PanelMember(participant) for participant in event.participants]
            self._panel = PanelEntry(
                event.panel_id, event.moderator, members, self._clock(), event.costs, event.form
            )
            self._entries.append(self._panel)
            return
        panel = self._panel
        if panel is None or panel.panel_id != event.panel_id:
            return
        panel.version += 1
        if panel.ended is not None:  # one that was cut off is continued; nobody waited in between
            panel.began += self._clock() - panel.ended
            panel.ended = None
        if isinstance(event, PanelResumed):
            _forget_failures(panel)
        else:
            self._follow(panel, event)

    def _follow(self, panel: PanelEntry, event: PanelEvent) -> None:
        match event:
            case AnswerProgressed():
                if (member := panel.find_member(event.label)) is not None:
                    member.writing, member.characters = event.text, event.characters
            case PanelAnswered():
                if (member := panel.find_member(event.answer.label)) is not None:
                    member.answer, member.writing = event.answer, ""
            case PanelReviewed():
                if (member := panel.find_member(event.review.label)) is not None:
                    member.review = event.review
            case PanelConcluded():
                panel.is_concluded, panel.reason, panel.ended = True, event.reason, self._clock()
                panel.chosen, panel.additions = event.chosen, event.additions
                panel.synthesis = event.synthesis
            case ChangeReviewed():
                panel.result = event.result
            case _:
                panel.debate = follow_debate(panel.debate, event)


def _forget_failures(panel: PanelEntry) -> None:
    """Who failed is asked again, except in a debate that has an answer; in a code review this goes by parts."""
    if panel.form is PanelForm.REVIEW or (panel.form is PanelForm.DEBATE and panel.answered):
        return
    for member in panel.members:
        member.writing, member.characters = "", 0
        if member.answer is not None and not member.answer.is_answer:
            member.answer = None
        if member.review is not None and member.review.error:
            member.review = None
