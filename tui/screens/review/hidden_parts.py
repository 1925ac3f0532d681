"""What is hidden in the packets of a request, and the request without anything hidden."""

from __future__ import annotations

from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.events.masking import MaskedPacket
from quorum.domain.replacing import replace
from quorum.domain.review.questions import ReviewRequest


def can_reveal(request: ReviewRequest) -> bool:
    """Whether something is hidden in a packet, and known here."""
    return any(_find_original(packet) is not packet for packet in (request.packet, *request.following))


def reveal_hidden(request: ReviewRequest) -> ReviewRequest:
    """The same request, its packets as they are: with the same digests."""
    return replace(
        request,
        packet=_find_original(request.packet),
        following=tuple(map(_find_original, request.following)),
    )


def _find_original(packet: ReviewPacket) -> ReviewPacket:
    return packet.original or packet if isinstance(packet, MaskedPacket) else packet
