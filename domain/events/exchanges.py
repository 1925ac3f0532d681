"""What a session is told of another one: of the one that it was opened from, or of one that has an answer."""

from __future__ import annotations

from typing import ClassVar

from quorum.domain.conversation.exchanges import ContextExtent
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.fact import CanonicalPlace, Fact
from quorum.domain.text.amounts import format_amount


class ContextReceived(Fact, frozen=True, kw_only=True, tag="context_received"):
    """The session was opened from another one, `session_id`, whose first prompt was `title`.

    The model reads `note` with the next request, None for nothing: it is about so many `exchanges`, told to
    that `extent`. `depth` counts the sessions that this one follows, each opened from the one before.
    """

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    note_id: str
    session_id: str
    title: str
    extent: ContextExtent
    exchanges: int
    depth: int
    note: str | None = None

    @property
    def details(self) -> str:
        """What the model reads of it."""
        return self.note or ""

    @property
    def sentence(self) -> str:
        """What its models know of the other session, in a sentence."""
        if self.note is None:
            return "knows nothing of the session that it was opened from"
        told = format_amount(self.exchanges, "exchange")
        how = "" if self.extent is ContextExtent.FULL else " in a line each"
        return f"knows {told} of the session “{self.title}”{how}"


class ResultReceived(Fact, frozen=True, kw_only=True, tag="result_received"):
    """The person took over the last answer of another session, of that `form`, whose first prompt was `title`.

    The model reads `note` with the next request. `responses` counts the answers of that session up to it.
    """

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    note_id: str
    session_id: str
    title: str
    form: SessionKind
    responses: int
    note: str

    @property
    def details(self) -> str:
        """What the model reads of it."""
        return self.note

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        taken = f"took over the answer of “{self.title}” ({self.form.value})"
        return f"{taken}; the model reads it with the next request"
