"""A conversation in a provider's own form, kept from one request to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from msgspec import Struct, field

from quorum.domain.conversation.history import Message, count_common_prefix
from quorum.infrastructure.models.shared.api_client import ApiRequest

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
# So many, as those of tabs, may take turns on one client without being rendered anew. A vote is none of them.
_CONVERSATIONS = 4
_SHORT = 4


class Rendering(Protocol[T_co]):
    """Puts the messages of one conversation into a provider's form, in their order. It may remember them."""

    def __call__(self, message: Message, request: ApiRequest) -> Iterable[T_co]:
        """What a request has of this message."""
        ...


class _Kept(Struct, Generic[T], eq=False):
    render: Rendering[T]
    attachments: Mapping[str, str]
    messages: tuple[Message, ...] = ()
    rendered: list[T] = field(default_factory=list)

    def begins(self, request: ApiRequest) -> bool:
        known = len(self.messages)
        return (
            count_common_prefix(self.messages, request.messages) == known
            and self.attachments == request.attachments
        )


class RenderedHistory(Generic[T]):
    """Renders the messages of requests; those at the beginning that were sent before are not rendered again.

    A session of many hours would otherwise spend most of its time between two answers on that.
    `begin` makes a rendering for another conversation. What is rendered must not be changed by anybody.
    """

    def __init__(self, begin: Callable[[], Rendering[T]]) -> None:
        self._begin = begin
        self._kept: list[_Kept[T]] = []

    def render(self, request: ApiRequest) -> list[T]:
        """All messages of a request in the provider's form."""
        kept = self._take_rendering(request)
        for message in request.messages[len(kept.messages) :]:
            kept.rendered.extend(kept.render(message, request))
        kept.messages = request.messages
        if len(kept.messages) > _SHORT:
            self._kept = [kept, *self._kept][:_CONVERSATIONS]
        return list(kept.rendered)

    def _take_rendering(self, request: ApiRequest) -> _Kept[T]:
        """What is known of this conversation, taken out: a rendering that fails is not used again.

        Another beginning, as after a rewind, makes what was known of the same conversation useless.
        """
        first = request.messages[:1]
        related = [kept for kept in self._kept if count_common_prefix(kept.messages[:1], first)]
        self._kept = [kept for kept in self._kept if kept not in related]
        begun = (kept for kept in related if kept.begins(request))
        return next(begun, _Kept(self._begin(), request.attachments))
