"""When everything of a session happened: its turns, what the model took, what calls did, what was waited for.

Times are the clock's, in seconds. What a record does not tell of the past (attempts that failed, calls that
only waited) is not made up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from msgspec import Struct, field

from quorum.application.view.entries import AnswerEntry, Batch, Call, Phase, PromptEntry
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.events import event as ev
from quorum.domain.text.amounts import format_elapsed

Stretch: TypeAlias = tuple[float, float]
_LONG_TURN_SECS = 60.0
"""From how long on a turn says how long it took: whoever waited that long may have looked away."""


class RequestTiming(Struct):
    """One answer of the model, from being asked until it was whole. `retries` are the pauses before attempts.

    `end` is None while it is under way; `first` is when its first piece came, where that was seen; `answer` is
    its entry in the transcript, if it said anything.
    """

    begin: float
    end: float | None = None
    first: float | None = None
    calls: int = 0
    words: str = ""
    answer: AnswerEntry | None = None
    retries: list[Stretch] = field(default_factory=list)
    why: str = ""


class TurnTiming(Struct):
    """One turn. `events` are its requests and batches in order, `prompt` its entry in the transcript."""

    number: int
    prompt: PromptEntry | None
    begin: float
    end: float | None = None
    ending: str = ""
    undone: bool = False
    events: list[RequestTiming | Batch] = field(default_factory=list)
    timed: bool = True
    _gone_through: int = 0
    _reviewed: list[Stretch] = field(default_factory=list)

    @property
    def requests(self) -> list[RequestTiming]:
        """The answers of the model."""
        return [event for event in self.events if isinstance(event, RequestTiming)]

    @property
    def calls(self) -> list[Call]:
        return [call for event in self.events if isinstance(event, Batch) for call in event.calls]

    def list_reviewed(self, now: float) -> list[Stretch]:
        """When the person was asked about its calls. What is finished is gone through once: turns grow long."""
        for event in islice(self.events, self._gone_through, None):
            if isinstance(event, Batch):
                if not event.calls or any(call.phase is not Phase.FINISHED for call in event.calls):
                    break
                self._reviewed += _list_stretches(event.calls, Phase.REVIEWED, now)
            self._gone_through += 1
        left = (event for event in islice(self.events, self._gone_through, None) if isinstance(event, Batch))
        calls = [call for batch in left for call in batch.calls]
        return [*self._reviewed, *_list_stretches(calls, Phase.REVIEWED, now)]

    def compute_span(self, now: float) -> Stretch:
        """From its beginning until its end, or until now; calls that were resumed later belong to it."""
        last = max((call.since[-1][0] for call in self.calls if call.since), default=self.begin)
        end = self.end if self.end is not None and not any(call.is_open for call in self.calls) else now
        return self.begin, max(end, last if self.end is not None else end)


class Totals(Struct, frozen=True):
    """Seconds: of the model, of calls added up, in which any call ran, in which the person was waited for, and
    of pauses before attempts."""

    model: float = 0.0
    calls: float = 0.0
    ran: float = 0.0
    waited: float = 0.0
    paused: float = 0.0
    attempts: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.model + other.model,
            self.calls + other.calls,
            self.ran + other.ran,
            self.waited + other.waited,
            self.paused + other.paused,
            self.attempts + other.attempts,
        )


class TurnTimings:
    """The turns of a session, oldest first. `version` changes with whatever happened."""

    def __init__(self) -> None:
        self.turns: list[TurnTiming] = []
        self.version = 0
        self._request: RequestTiming | None = None

    @property
    def is_live(self) -> bool:
        """Whether a turn is under way, so that time counts."""
        return bool(self.turns) and self.turns[-1].end is None

    @property
    def waiting_since(self) -> float | None:
        """When the request began of which nothing has arrived yet; None where none is under way."""
        request = self._request
        return request.begin if request is not None and request.first is None else None

    def begin(self, prompt: PromptEntry | None, now: float, *, timed: bool) -> None:
        self.rest(now)
        self.turns.append(TurnTiming(len(self.turns) + 1, prompt, now, timed=timed))
        self.version += 1

    def add(self, batch: Batch) -> None:
        """A batch of the present turn is planned."""
        if self.turns and all(batch is not event for event in reversed(self.turns[-1].events)):
            self.turns[-1].events.append(batch)
        self.version += 1

    def say(self, answer: AnswerEntry) -> None:
        if self.turns and (requests := self.turns[-1].requests):
            requests[-1].answer = answer

    def apply(self, event: ev.Event, now: float) -> None:
        """Take in what else has a time."""
        match event:
            case ev.MessageAdded() if self.is_live:
                self._ask(now)
            case ev.TextDelta() | ev.ReasoningDelta() | ev.ToolCallDelta():
                if self._request is not None and self._request.first is None:
                    self._request.first = now
                    self.version += 1
            case ev.RetryScheduled() if self.is_live:
                request = self._ask(now)
                request.retries.append((now, now + event.delay_secs))
                request.why = event.reason
                self.version += 1
            case ev.ResponseCompleted(is_notice=False) if self.is_live:
                self._note_response(event.response, now)
            case ev.TurnFinished():
                self.rest(now, event.report.status.value)
            case ev.SessionRewound() if event.conversation:
                for turn in self.turns[event.turn :]:
                    turn.undone = True
                self.version += 1
            case ev.SessionRedone():
                for number in event.turns:
                    if 0 <= number < len(self.turns):
                        self.turns[number].undone = False
                self.version += 1
            case _:
                self.version += 1

    def rest(self, now: float, ending: str = "") -> None:
        """Nothing continues any more."""
        if self._request is not None:
            self._request.end, self._request = now, None
        if self.is_live:
            self.turns[-1].end, self.turns[-1].ending = now, ending or "interrupted"
            self.version += 1

    def _ask(self, now: float) -> RequestTiming:
        if self._request is None:
            self._request = RequestTiming(now)
            self.turns[-1].events.append(self._request)
            self.version += 1
        return self._request

    def _note_response(self, response: LlmResponse, now: float) -> None:
        request = self._ask(_find_last_moment(self.turns[-1], now))
        request.end, request.calls = now, len(response.tool_calls())
        request.words = response.text_content().strip().partition("\n")[0][:200]
        self._request = None
        self.version += 1


def _find_last_moment(turn: TurnTiming, now: float) -> float:
    """When the last of a turn so far had ended: an answer that nobody was seen to ask for began then."""
    if not turn.events:
        return turn.begin
    match turn.events[-1]:
        case RequestTiming(end=end):
            return now if end is None else end
        case Batch(calls=calls):
            return max((call.since[-1][0] for call in calls if call.since), default=now)


def sum_totals(turn: TurnTiming, now: float) -> Totals:
    """What a turn took until now."""
    calls = turn.calls
    running = list(_list_stretches(calls, Phase.RUNNING, now))
    return Totals(
        model=sum((request.end or now) - request.begin for request in turn.requests),
        calls=sum(end - begin for begin, end in running),
        ran=measure_covered(running),
        waited=measure_waited(turn, now),
        paused=sum(end - begin for request in turn.requests for begin, end in request.retries),
        attempts=sum(len(request.retries) for request in turn.requests),
    )


def describe_length(turn: TurnTiming, now: float) -> str:
    """How long a turn took, for who comes back to it; empty where it was short, or where nobody knows."""
    begin, end = turn.compute_span(now)
    if not turn.timed or end - begin < _LONG_TURN_SECS:
        return ""
    waited = measure_waited(turn, now)
    rest = f", {format_elapsed(waited)} of it waiting for you" if waited >= 1 else ""
    return f"took {format_elapsed(end - begin)}{rest}"


def measure_waited(turn: TurnTiming, now: float) -> float:
    """The seconds of a turn until now in which the person was waited for."""
    return measure_covered(turn.list_reviewed(now))


def _list_stretches(calls: Sequence[Call], phase: Phase, now: float) -> Iterator[Stretch]:
    for call in calls:
        if any(kind is phase for _, kind in call.since):
            yield from call.list_stretches(phase, now)


def measure_covered(stretches: Iterable[Stretch]) -> float:
    """The seconds in which at least one of them was under way."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(stretches):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total
