"""The images of a conversation that needs room: which of them give way, to lines that name them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from domain.conversation.history import AssistantMessage, Message, UserMessage

_NOT_SHOWN = "no longer shown, to make room"


def images_giving_way(messages: Sequence[Message], *, spared: int) -> tuple[int, ...]:
    """The places of the messages whose images give way to lines that name them: all but the last `spared`
    that have any, and what the model has yet to answer."""
    shown = [place for place, each in enumerate(messages) if isinstance(each, UserMessage) and each.images]
    old = shown[: len(shown) - spared] if spared else shown
    answers = (
        place for place in range(len(messages) - 1, -1, -1) if isinstance(messages[place], AssistantMessage)
    )
    answered = next(answers, -1)
    return tuple(place for place in old if place < answered)


def with_images_named(messages: Sequence[Message], places: Collection[int]) -> tuple[Message, ...]:
    """The messages, those at these places without their images."""
    return tuple(
        without_images(message) if place in places and isinstance(message, UserMessage) else message
        for place, message in enumerate(messages)
    )


def without_images(message: UserMessage) -> UserMessage:
    """The message with all its images given way to their names."""
    return message.without(dict.fromkeys((image.sha256 for image in message.images), _NOT_SHOWN))
