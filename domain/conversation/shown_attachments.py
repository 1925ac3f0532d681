"""What is attached to prompts, where room is needed: which of it gives way, to lines that name it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from quorum.domain.conversation.history import AssistantMessage, Message, UserMessage

_NOT_SHOWN = "no longer shown, to make room"


def select_attachments_to_hide(messages: Sequence[Message], *, spared: int) -> tuple[int, ...]:
    """The places of the messages whose attachments give way to lines that name them: all but the last `spared`
    that have any, and what the model has yet to answer."""
    shown = [place for place, each in enumerate(messages) if isinstance(each, UserMessage) and _shows(each)]
    old = shown[: len(shown) - spared] if spared else shown
    answers = (
        place for place in range(len(messages) - 1, -1, -1) if isinstance(messages[place], AssistantMessage)
    )
    answered = next(answers, -1)
    return tuple(place for place in old if place < answered)


def replace_attachments(messages: Sequence[Message], places: Collection[int]) -> tuple[Message, ...]:
    """The messages, those at these places without their attachments."""
    return tuple(
        remove_attachments(message) if place in places and isinstance(message, UserMessage) else message
        for place, message in enumerate(messages)
    )


def remove_attachments(message: UserMessage) -> UserMessage:
    """The message with all its images, documents and files given way to their names."""
    named = message.without(dict.fromkeys((each.sha256 for each in message.attachments), _NOT_SHOWN))
    return named.without_files() if any(file.is_attached for file in message.files) else named


def _shows(message: UserMessage) -> bool:
    return bool(message.attachments) or any(file.is_attached for file in message.files)
