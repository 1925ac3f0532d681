"""One call while its records are read: what they tell of it, piece by piece."""

from __future__ import annotations

import json
from collections.abc import Callable

from msgspec import Struct, field

from quorum.application.export.account import CallCard
from quorum.application.export.masked_json import mask_json
from quorum.application.export.wording import DECISIONS, NO_OUTCOME, OUTCOMES
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.events.event import CallFinished, CallStarted, ReviewDecided, ReviewRequested
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import make_printable

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
