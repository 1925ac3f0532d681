"""The transcript as data: entries built from events. It knows nothing of how they are drawn."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import assert_never

from domain import events as ev
from domain.report import RunReport, RunStatus
from domain.response import LlmResponse, ReasoningBlock, StopKind
from tui.transcript.batches import Batches
from tui.transcript.entries import Answer, Entry, Notice, NoticeKind, Prompt
from tui.transcript.hook_runs import told

_BROKE_OFF = "the answer broke off here; what arrived is kept · /retry goes on, /model chooses who answers"
_FAILED = "/retry sends the request again, /model chooses who answers"


class Transcript:
    """What the person sees of a session, oldest first. Entries are only ever added or changed in place."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.entries: list[Entry] = []
        self.clock = clock
        self._answer: Answer | None = None
        self._batches = Batches(self.entries, clock)
        self._countdown: Notice | None = None
        self._last_error = ""
        self._broke_off = False
        self._cwd = ""

    @property
    def live(self) -> list[Entry]:
        """Entries whose drawing changes as time passes: running calls, a countdown."""
        counting: list[Entry] = [self._countdown] if self._countdown else []
        return counting + self._batches.running

    def apply(self, event: ev.Event) -> None:  # noqa: C901, PLR0912, PLR0915 - a flat match over a closed union
        """Take one event in."""
        match event:
            case ev.TextDelta():
                self._open_answer().pieces.append(event.text)
            case ev.ReasoningDelta():
                self._open_answer().reasoning.append(event.text)
            case ev.ToolCallDelta():
                self._settle_countdown()
                self._batches.compose(event)
            case ev.ResponseCompleted():
                self._complete(event.response)
            case ev.TurnStarted():
                self._end_answer()
                self._broke_off = False
                if event.prompt:
                    self.entries.append(Prompt(event.prompt))
                else:
                    self._note(NoticeKind.INFO, "going on")
            case ev.ModeChanged():
                self._note(NoticeKind.INFO, f"mode: {event.mode.value}")
            case ev.ModelChanged():
                self._note(NoticeKind.INFO, f"model: {event.model}")
            case ev.RetryScheduled():
                self._count_down(event)
            case ev.BatchPlanned():
                self._batches.plan(event)
            case ev.CallQueued():
                self._batches.queue(event)
            case ev.CallStarted():
                self._batches.start(event)
            case ev.CallProgressed():
                self._batches.progress(event)
            case ev.CallFinished():
                self._batches.finish(event)
            case ev.SessionStarted():
                self._cwd = event.cwd
            case ev.EffectsObserved():
                self._batches.receive(event, self._cwd)
            case ev.OutputStored():
                self._batches.store(event)
            case ev.HookRan():
                self._remark(event)
            case ev.ReviewRequested():
                self._batches.ask(event)
            case ev.VoteCast():
                self._batches.vote(event)
            case ev.ReviewDecided():
                self._batches.decide(event)
            case ev.ErrorOccurred():
                self._last_error = event.message
                self._note(NoticeKind.ERROR, event.message)
            case ev.TurnFinished():
                self._end_turn(event.report)
            case (
                ev.SandboxChecked()
                | ev.SessionFinished()
                | ev.StateMerged()
                | ev.UsageCounted()
                | ev.QuorumConcluded()
            ):
                return  # told elsewhere on the screen
            case _:
                assert_never(event)

    def _open_answer(self) -> Answer:
        self._settle_countdown()
        if self._answer is None:
            self._answer = Answer()
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
        if response.stop_reason.kind is not StopKind.TOOL_USE:
            self._batches.abandon_composed()

    def _remark(self, event: ev.HookRan) -> None:
        """A hook's answer belongs to its call; elsewhere only one that made a difference is told."""
        remark = told(event)
        if event.context is not None:
            self._batches.remark(event.context, remark)
            if event.edited is not None and isinstance(output := event.edited.get("output"), str):
                self._batches.revise(event.context, output)
        elif not remark.quiet:
            self._note(remark.kind, remark.text)

    def _note(self, kind: NoticeKind, text: str) -> None:
        self._settle_countdown()
        self.entries.append(Notice(kind, text))

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
        self._settle_countdown()
        self._end_answer()
        self._batches.close()
        if (text := self._ending(report)) is not None:
            loud = report.status in (RunStatus.FAILED, RunStatus.REFUSED)
            self._note(NoticeKind.ERROR if loud else NoticeKind.WARNING, text)
        if report.provider_failed and report.status is RunStatus.FAILED:
            self._note(NoticeKind.WARNING, _BROKE_OFF if self._broke_off else _FAILED)
        self._last_error = ""

    def _ending(self, report: RunReport) -> str | None:
        """The words a turn's ending is told in; None where nothing is left to say."""
        match report.status:
            case RunStatus.COMPLETED:
                return None
            case RunStatus.INTERRUPTED:
                return "interrupted"
            case RunStatus.LIMIT if report.stop_reason == StopKind.MAX_TOKENS.value:
                return "stopped at the token limit of one answer"
            case RunStatus.LIMIT:
                return f"stopped at the turn limit, after {report.turns} turns"
            case RunStatus.NEEDS_APPROVAL:
                return "stopped: a call needed approval and nobody was there"
            case RunStatus.REFUSED:
                return "the model refused"
            case RunStatus.FAILED if report.error and report.error == self._last_error:
                return None
            case RunStatus.FAILED:
                return report.error or "failed"
