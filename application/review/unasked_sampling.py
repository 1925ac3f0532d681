"""Samples the calls that a mode lets run unasked, and has the mode ask where too many of them were wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator

from msgspec import Struct

from quorum.application.ports.rules import SampleStore
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.review.decision import Decision
from quorum.domain.review.mode import Mode
from quorum.domain.review.permission_rules import Answer, Subject
from quorum.domain.review.unasked_calls import (
    SAMPLED_MODES,
    CallKind,
    SampledCall,
    format_share,
    is_sampled,
)


class UnaskedSampling(Struct, frozen=True, kw_only=True):
    """`share` of the calls of a session are sampled; above the share `max_error` of wrong ones they are asked
    about. Both lie between 0 and 1."""

    store: SampleStore
    session_id: str
    share: float
    max_error: float

    def hold_back(self, decision: Decision, subject: Subject, mode: Mode) -> Decision:
        """The decision, or a question in place of what the mode alone allows and was too often wrong about."""
        if not _is_allowed_by_mode(decision, subject, mode):
            return decision
        kind = CallKind.of(subject.tool)
        try:
            figures = self.store.count(kind)
        except ConfigError as error:
            reason = f"how often the mode {mode} is wrong is not known: {error}"
        else:
            if not figures.exceeds(self.max_error):
                return decision
            reason = (
                f"the mode {mode} was wrong about {figures.wrong} of {figures.judged} judged {kind}: up to "
                f"{format_share(figures.bound)}, above your limit of {format_share(self.max_error)}"
            )
        return replace(
            decision, answer=Answer.ASK, reasons=(reason,), spoke=("error of the mode",), by_mode=False
        )

    async def sample(self, subject: Subject, text: str, mode: Mode, context: ToolExecutionContext) -> None:
        """Keep a call that is about to run because the mode allows it, if it is in the sample.

        Raises ConfigError where it cannot be kept.
        """
        if subject.risk is RiskLevel.LOW or mode not in SAMPLED_MODES:
            return
        call_id = f"{self.session_id}/{context.batch_id}/{context.call_id}"
        if is_sampled(call_id, self.share):
            call = SampledCall(
                id=call_id,
                session_id=self.session_id,
                mode=mode,
                kind=CallKind.of(subject.tool),
                text=text,
                change=_describe_change(subject),
                at_ms=time.time_ns() // 1_000_000,
            )
            await self.store.add(call)

    def describe(self) -> Iterator[str]:
        """A sentence for each kind of call. Raises ConfigError."""
        for kind in CallKind:
            figures = self.store.count(kind)
            waiting = f"; {figures.waiting} wait for your verdict" if figures.waiting else ""
            held = f"; asked about, as your limit is {format_share(self.max_error)}"
            yield f"{figures.sentence}{waiting}{held if figures.exceeds(self.max_error) else ''}"

    def describe_shortly(self, mode: Mode) -> str:
        """The highest bound of the kinds that were judged, for a short line; empty where none was."""
        if mode not in SAMPLED_MODES:
            return ""
        try:
            judged = [figures for kind in CallKind if (figures := self.store.count(kind)).judged]
        except ConfigError:
            return "error not known"
        worst = max(judged, key=lambda figures: figures.bound, default=None)
        return "" if worst is None else worst.remark

    def list_asked(self, mode: Mode) -> tuple[CallKind, ...]:
        """The kinds of calls that are asked about because the mode was too often wrong about them."""
        if mode not in SAMPLED_MODES:
            return ()
        try:
            return tuple(kind for kind in CallKind if self.store.count(kind).exceeds(self.max_error))
        except ConfigError:
            return tuple(CallKind)


def _describe_change(subject: Subject) -> str:
    """What a call is to change in files: as a diff, or else the texts that it is given."""
    if subject.command is not None:
        return ""
    if subject.diff is not None:
        return subject.diff
    texts = (f"{name}: {value}" for name, value in subject.arguments.items() if isinstance(value, str))
    return "\n".join(texts) if subject.written else ""


def _is_allowed_by_mode(decision: Decision, subject: Subject, mode: Mode) -> bool:
    return (
        decision.answer is Answer.ALLOW
        and decision.by_mode
        and subject.risk is RiskLevel.HIGH
        and mode in SAMPLED_MODES
    )
