"""What the side panel tells, built from events alone: the newest batch, votes and decisions, the plan,
the turn's hooks."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from domain.calls.execution import ToolExecutionContext
from domain.events import event as ev
from domain.text.json_value import JsonValue
from tui.transcript.draw.ballots import decided
from tui.transcript.model.batches import Batches
from tui.transcript.model.entries import Batch, Call, Entry, NoticeKind, Phase
from tui.transcript.model.hook_runs import hook_answer, told

_HOOK_RUNS_KEPT = 100
_DECISIONS_KEPT = 20
_EARLIER = "earlier: "


class StepStatus(StrEnum):
    """How far a step of the plan is."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the plan that the model keeps."""

    text: str
    status: StepStatus


@dataclass(frozen=True, slots=True)
class HookRun:
    """One run of a hook. A quiet one changed nothing."""

    hook: str
    hook_answer: str
    kind: NoticeKind
    quiet: bool


@dataclass(frozen=True, slots=True)
class Decided:
    """What a review of a call came to."""

    tool: str
    text: str
    runs: bool
    context: ToolExecutionContext


class PanelState:
    """The present state of a session, as far as the panel shows it. `hooks_run` counts those of the turn."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.plan: tuple[Step, ...] = ()
        self.hooks: deque[HookRun] = deque(maxlen=_HOOK_RUNS_KEPT)
        self.hooks_run = 0
        self.decisions: deque[Decided] = deque(maxlen=_DECISIONS_KEPT)
        self._plans: list[tuple[Step, ...]] = []  # the plan before each turn of the session
        self._entries: list[Entry] = []
        self._moment: float | None = None  # when what is told of the past happened
        self._in_past = False
        self._batches = Batches(self._entries, self._now)

    @property
    def batch(self) -> Batch | None:
        """The newest batch, also after its end."""
        last = self._entries[-1] if self._entries else None
        return last if isinstance(last, Batch) and last.calls else None

    @property
    def reviewed(self) -> Call | None:
        """The call that the person or the reviewers are asked about, the one at the person first."""
        calls = self.batch.calls if self.batch is not None else []
        asked = [call for call in calls if call.phase is Phase.REVIEWED]
        return next(iter([*asked, *(call for call in calls if call.is_voted_on)]), None)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return self.batch is None and not self.plan and not self.hooks

    @property
    def is_running(self) -> bool:
        """Whether a call runs, so that the drawing changes as time passes."""
        return bool(self._batches.running)

    def apply(self, event: ev.Event, at: float | None = None) -> bool:
        """Take one event in; answers whether it changed what is shown. `at` is when it happened by the clock,
        where that is told of the past."""
        self._moment = at
        self._batches.untimed = self._in_past and at is None
        return self._take(event)

    def _now(self) -> float:
        return self.clock() if self._moment is None else self._moment

    def _take(self, event: ev.Event) -> bool:  # noqa: C901, PLR0912 - a flat match over a closed union
        match event:
            case ev.BatchPlanned():
                self._batches.plan(event)
                del self._entries[:-1]
            case ev.CallQueued():
                self._batches.queue(event)
            case ev.CallStarted():
                self._batches.start(event)
            case ev.CallProgressed():
                self._batches.progress(event)
            case ev.CallFinished():
                self._batches.finish(event)
            case ev.ReviewRequested():
                self._batches.ask(event)
            case ev.VoteCast():
                self._batches.vote(event)
            case ev.ReviewDecided():
                self._batches.decide(event)
                self._remember(event)
            case ev.StateMerged() if "plan" in event.changed:
                self.plan = _steps(event.changed["plan"])
            case ev.HookRan():
                remark = told(event)
                self.hooks.append(HookRun(event.hook, hook_answer(event), remark.kind, remark.quiet))
                self.hooks_run += 1
            case ev.TurnStarted():
                self._plans.append(self.plan)
                self._forget_turn()
            case ev.TurnFinished():
                self._batches.close()
            case ev.SessionResumed():
                self._batches.rest()
            case ev.SessionRewound() if event.conversation and event.turn < len(self._plans):
                self.plan = self._plans[event.turn]
                self._entries.clear()
                self._forget_turn()
            case _:
                return False
        return True

    def begin_past(self) -> None:
        """What comes now is told from a record."""
        self._in_past = True

    def end_past(self) -> None:
        """What comes from now on happens now: nothing of the past runs or waits."""
        self._batches.rest()
        self._in_past, self._moment = False, None

    def _forget_turn(self) -> None:
        self.decisions.clear()
        self.hooks.clear()
        self.hooks_run = 0

    def _remember(self, event: ev.ReviewDecided) -> None:
        calls = self.batch.calls if self.batch is not None else []
        call = next((call for call in calls if call.index == event.context.call_index), None)
        if call is not None:
            text = decided(call)
            for place, one in enumerate(self.decisions):
                if one.context == event.context and not one.text.startswith(_EARLIER):
                    self.decisions[place] = replace(one, text=_EARLIER + one.text)
            told = text or call.reason or call.decision.value
            self.decisions.append(Decided(call.tool, told, bool(text), event.context))


def _steps(value: JsonValue) -> tuple[Step, ...]:
    """The plan as `update_plan` keeps it; what has another form is no step."""
    items = value if isinstance(value, list | tuple) else ()
    steps: list[Step] = []
    for item in items:
        if isinstance(item, Mapping) and isinstance(text := item.get("text"), str):
            status = next((one for one in StepStatus if one == item.get("status")), StepStatus.PENDING)
            steps.append(Step(text, status))
    return tuple(steps)
