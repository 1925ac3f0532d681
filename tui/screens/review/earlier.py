"""What the person answered about the same call before."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.review.questions import (
    Approve,
    ApproveAlways,
    ApproveEdits,
    ApproveFolder,
    ApproveRest,
    Edit,
    ReviewAnswer,
    ReviewRequest,
)
from quorum.domain.text.json_value import JsonObject


class Earlier(Struct, frozen=True):
    """The packet of this call that the person approved, if any, and whether these arguments are their edit."""

    approved: ReviewPacket | None = None
    is_edited: bool = False


NOTHING = Earlier()


class EarlierAnswers:
    """Remembers the answers about the calls of one batch, the present one."""

    def __init__(self) -> None:
        self._batch_id = ""
        self._approved: dict[int, ReviewPacket] = {}
        self._edits: dict[int, JsonObject] = {}

    def find_earlier(self, request: ReviewRequest) -> Earlier:
        """What was answered about this call."""
        self._turn_to(request)
        packet = request.packet
        place = packet.context.call_index
        return Earlier(self._approved.get(place), self._edits.get(place) == packet.call.arguments)

    def note(self, request: ReviewRequest, answer: ReviewAnswer) -> None:
        """Remember an answer."""
        self._turn_to(request)
        place = request.packet.context.call_index
        match answer:
            case Approve() | ApproveEdits() | ApproveFolder() | ApproveAlways():
                self._approved[place] = request.packet
            case ApproveRest():
                self._approved |= {p.context.call_index: p for p in (request.packet, *request.following)}
            case Edit(arguments):
                self._edits[place] = arguments
            case _:
                self._approved.pop(place, None)

    def _turn_to(self, request: ReviewRequest) -> None:
        if (batch_id := request.packet.context.batch_id) != self._batch_id:
            self._batch_id = batch_id
            self._approved.clear()
            self._edits.clear()
