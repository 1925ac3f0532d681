"""Obtaining a person's approval of exactly one packet: ask, edit, seal anew, ask again."""

from __future__ import annotations

from dataclasses import dataclass

from application.batch_state import BatchCall, BatchState
from domain.errors import ToolError
from domain.events import CallQueued, ReviewDecided
from domain.packet import ReviewPacket
from domain.review import (
    Answer,
    Approve,
    ApproveRest,
    DecisionLabel,
    Edit,
    NobodyThere,
    Reject,
    RejectAndInterrupt,
    ReviewRequest,
)
from domain.tool import RiskLevel


@dataclass(frozen=True, slots=True)
class Granted:
    """The call may run as it is sealed now."""

    label: DecisionLabel


@dataclass(frozen=True, slots=True)
class Withheld:
    """The call may not run; `told` is what the model reads."""

    label: DecisionLabel
    told: str


class Interrupted(Exception):
    """The person rejected the call and stopped the whole turn from the dialog."""

    def __init__(self, withheld: Withheld) -> None:
        super().__init__(withheld.told)
        self.withheld = withheld


class Approval:
    """The questions about one call, until there is an answer to the very bytes that would run."""

    def __init__(self, call: BatchCall, state: BatchState) -> None:
        self._call = call
        self._state = state
        self._edited = False

    async def obtain(self, reasons: tuple[str, ...], *, stale: bool) -> Granted | Withheld:
        """Ask the person. Raises Interrupted when they stop the whole turn."""
        while True:
            packet = self._call.packet()
            if packet.digest in self._state.approved_ahead:
                return await self._granted(packet)
            self._call.execution.waiting_for = "review"
            self._state.events.show(CallQueued(context=self._call.context, waiting_for="review"))
            request = ReviewRequest(
                packet=packet,
                reasons=reasons,
                batch_size=self._state.size,
                following=await self._following(),
                stale=stale,
            )
            match await self._state.review.ask(request):
                case Approve(digest) if digest == packet.digest:
                    return await self._granted(packet)
                case ApproveRest(digests) if packet.digest in digests:
                    self._state.approved_ahead |= frozenset(digests)
                    return await self._granted(packet)
                case Approve() | ApproveRest():
                    stale = True  # an answer to other bytes than these
                case Edit() as edit:
                    reasons = await self._edit(edit)
                case Reject(reason):
                    told = f"rejected by the user: {reason}" if reason else "rejected by the user"
                    return await self._withheld(packet, DecisionLabel.REJECTED, told)
                case RejectAndInterrupt():
                    told = "rejected by the user, who stopped the turn"
                    raise Interrupted(await self._withheld(packet, DecisionLabel.REJECTED, told))
                case NobodyThere():
                    told = "withheld: it needs the approval of a person, and nobody is there to give it"
                    return await self._withheld(packet, DecisionLabel.NEEDS_APPROVAL, told)

    async def _edit(self, edit: Edit) -> tuple[str, ...]:
        """Put the edited arguments in place, if such a call can run; else keep the former and say why."""
        former = self._call.arguments
        if problems := self._call.problems(edit.arguments):
            return (f"your edit does not fit the tool: {'; '.join(problems)}",)
        try:
            await self._call.change_arguments(edit.arguments)
        except ToolError as error:
            await self._call.change_arguments(former)
            return (f"your edit cannot run: {error}",)
        decision = self._call.decide()
        if decision.answer is Answer.DENY:
            await self._call.change_arguments(former)
            return (f"your edit is denied: {'; '.join(decision.reasons)}",)
        self._edited = True
        return ("you edited the arguments", *decision.reasons)

    async def _following(self) -> tuple[ReviewPacket, ...]:
        """The packets of later calls that would be asked too, as they will be once the ones before have run."""
        packets: list[ReviewPacket] = []
        seal = self._call.seal
        projected = dict(seal.projected) if seal else {}
        for later in self._state.waiting_after(self._call):
            if later.risk is RiskLevel.LOW or later.decide().answer is not Answer.ASK:
                continue
            try:
                seal = await later.sealed(projected)
            except (ToolError, OSError):
                continue  # it will be asked about, or fail, at its own turn
            projected |= seal.projected if seal else {}
            packets.append(later.packet_of(seal))
        return tuple(packets)

    async def _granted(self, packet: ReviewPacket) -> Granted:
        label = DecisionLabel.EDITED if self._edited else DecisionLabel.APPROVED
        await self._decided(packet, label, None)
        return Granted(label)

    async def _withheld(self, packet: ReviewPacket, label: DecisionLabel, told: str) -> Withheld:
        await self._decided(packet, label, told)
        return Withheld(label, f"{told}. It was not run.")

    async def _decided(self, packet: ReviewPacket, label: DecisionLabel, reason: str | None) -> None:
        await self._state.events.record(
            ReviewDecided(context=self._call.context, digest=packet.digest, decision=label, reason=reason)
        )
