"""What was said about one proposed call on its way through the runtime."""

from __future__ import annotations

from quorum.domain.events.event import (
    ErrorOccurred,
    Event,
    HookRan,
    QuorumConcluded,
    ReviewDecided,
    ReviewRequested,
)


class DecisionWatch:
    """Implements `Observer`: keeps the reasons and the digest of the call that is decided about."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forget the call before."""
        self.asked: tuple[str, ...] = ()
        self.decided: str | None = None
        self.digest = ""
        self.troubles: list[str] = []
        self.votes: QuorumConcluded | None = None

    def notify(self, event: Event) -> None:
        """Take note of what concerns the decision."""
        match event:
            case ReviewRequested(reasons=reasons, digest=digest):
                self.asked, self.digest = reasons, digest
            case ReviewDecided(reason=reason, digest=digest):
                self.decided, self.digest = reason, digest
            case QuorumConcluded():
                self.votes = event
            case HookRan(answer="error", hook=hook, reason=reason):
                self.troubles.append(f"the hook {hook} failed: {reason}")
            case ErrorOccurred(message=message):
                self.troubles.append(message)
            case _:
                return
