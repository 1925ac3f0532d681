"""Ports to people and observers: the questions that a person answers, and the events that observers get."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from quorum.domain.conversation.cost import SpendQuestion
from quorum.domain.events.event import Event
from quorum.domain.mcp.server_question import ServerAddress, ServerAnswer, ServerForm
from quorum.domain.review.ballot import Ballot, Tally
from quorum.domain.review.questions import ReviewAnswer, ReviewRequest, RulePreview
from quorum.domain.review.rule_replay import RuleReplay
from quorum.domain.sessions.trust import TrustQuestion


class ReviewContext(Protocol):
    """What a person may look at and try while a question is open. Lives on the loop of the question."""

    @property
    def reviewers(self) -> tuple[str, ...]:
        """The models asked about this packet; none where no model votes."""
        ...

    @property
    def independent(self) -> bool:
        """Whether the reviewers come from more than one family of models."""
        ...

    @property
    def ballots(self) -> tuple[Ballot, ...]:
        """What they have said so far, in the order it came."""
        ...

    @property
    def tally(self) -> Tally:
        """What that comes to; a vote still awaited counts as failed."""
        ...

    @property
    def awaited(self) -> tuple[str, ...]:
        """Those that have not voted yet, and still may."""
        ...

    @property
    def not_asked(self) -> tuple[str, ...]:
        """Those that are not asked, because the first vote left no doubt."""
        ...

    @property
    def lenses(self) -> Mapping[str, str]:
        """The name of the lens of each reviewer that has one."""
        ...

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Have `watcher` called after each vote; calling the answer ends that."""
        ...

    def preview(self, rule: str) -> RulePreview:
        """What this rule, as text, would do."""
        ...

    @property
    def replay(self) -> Callable[[Sequence[str]], Awaitable[RuleReplay | None]] | None:
        """Says what rules, as text, would have decided about past calls; None where nobody knows of any.

        Its answer is None where one of them is not a rule; it raises LedgerError where they cannot be read.
        """
        ...


class ReviewQuestion(Struct, frozen=True, eq=False):
    """Whether a sealed call may run; the answer is a `ReviewAnswer`."""

    request: ReviewRequest
    context: ReviewContext


class SandboxQuestion(Struct, frozen=True):
    """Whether the review mode is to be `sandboxed`; `sandbox` says what commands are held to, and `call` which
    one would be reviewed otherwise.

    The answer None says that the person decided nothing, and may be asked again another time.
    """

    sandbox: str
    call: str = ""


Question: TypeAlias = (
    ReviewQuestion | TrustQuestion | SpendQuestion | ServerForm | ServerAddress | SandboxQuestion
)
PersonAnswer: TypeAlias = ReviewAnswer | ServerAnswer | bool | None
"""A review has a `ReviewAnswer`, a question of a server a `ServerAnswer`, all others yes or no. Whoever asks
takes an answer of another kind for a no."""


class Approver(Protocol):
    """The one way to a human answer."""

    @property
    def is_there(self) -> bool:
        """Whether anybody could answer. Where nobody is, no vote is gathered as advice."""
        ...

    async def ask(self, question: Question) -> PersonAnswer:
        """Put a question to the person. Cancelled, it is taken off the screen."""
        ...


class Observer(Protocol):
    """Receives every event after it happened; can neither block nor fail the run."""

    def notify(self, event: Event) -> None:
        """Take note; return at once."""
        ...
