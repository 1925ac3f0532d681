"""The attachments of a conversation that a model did not take: they are recorded, and not sent to it again."""

from __future__ import annotations

from quorum.application.events.event_bus import EventBus
from quorum.domain.conversation.history import Conversation, list_attachments, select_unanswered
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import AttachmentLeftOut

_TOO_LONG = "left out, as the request with it was too long for {model}"


class LeftOutAttachments:
    """Records what sessions note in `left_out` of their conversation, so that a later process knows it, too."""

    def __init__(self, conversation: Conversation, events: EventBus) -> None:
        self._conversation = conversation
        self._events = events
        self._recorded = set(conversation.left_out)

    def record(self) -> None:
        for (model, sha256), reason in self._conversation.left_out.items():
            if (model, sha256) in self._recorded:
                continue
            attached = list_attachments(self._conversation.messages)
            label = next((each.label for each in attached if each.sha256 == sha256), "an attachment")
            self._events.note(AttachmentLeftOut(model=model, sha256=sha256, label=label, reason=reason))
        self._recorded.update(self._conversation.left_out)

    def add_if_too_long(self, error: ProviderError, model: str) -> None:
        """Leave out what was attached since the last answer, where a request was too long and no room can be
        made: later requests were too long as well otherwise. Raises ProviderError, which says so."""
        left_out = self._conversation.left_out
        attached = list_attachments(select_unanswered(self._conversation.messages))
        new = [each for each in attached if (model, each.sha256) not in left_out]
        if error.kind is not ProviderErrorKind.TOO_LONG or error.partial or not new:
            return
        left_out.update({(model, each.sha256): _TOO_LONG.format(model=model) for each in new})
        text = f"{error}; later requests to {model} go without {', '.join(each.label for each in new)}"
        raise ProviderError(text, kind=error.kind, status=error.status, request_id=error.request_id) from error
