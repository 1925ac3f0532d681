"""The choice of how many models answer the prompts of a session."""

from __future__ import annotations

from quorum.application.events.event_bus import EventBus
from quorum.domain.events.event import ConsensusChanged
from quorum.domain.panel.consensus import Consensus, ConsensusLevel, ConsensusRefused, Strategy, check_consensus


class ConsensusChoice:
    """Tells and changes it. A panel answers the prompt of a turn, not what is said later in that turn.

    `refusal` says why a session of this kind has no such choice, empty where it has; `notices` are what there
    is to say of the choice that the session begins with.
    """

    def __init__(
        self,
        initial: Consensus,
        *,
        events: EventBus,
        refusal: str = "",
        notices: tuple[str, ...] = (),
    ) -> None:
        self._current = initial
        self._events = events
        self._refusal = refusal
        self.notices = notices
        self._is_due = False

    @property
    def current(self) -> Consensus:
        """What holds for the next prompt."""
        return self._current

    @property
    def recorded(self) -> Consensus | None:
        """What is recorded when the session opens; None where the session has no such choice."""
        return None if self._refusal else self._current

    async def choose(
        self, *, level: ConsensusLevel | None = None, strategy: Strategy | None = None
    ) -> tuple[str, ...]:
        """Choose a level or a strategy, which holds from the next prompt on. Returns what to warn of. Raises
        ConsensusRefused, and leaves all as it was, for what does not go together, LedgerError."""
        if self._refusal:
            raise ConsensusRefused(self._refusal)
        wanted = self._current.change(level=level, strategy=strategy)
        warnings = check_consensus(wanted, self._events.phase.scope)
        if wanted != self._current:
            await self._events.announce(ConsensusChanged(consensus=wanted))
            self._current = wanted
        return warnings

    def begin_turn(self) -> None:
        """The next message is the prompt of a turn."""
        self._is_due = True

    def take_due(self) -> Consensus:
        """What holds for this request: solo but for the first one of a turn."""
        due, self._is_due = self._is_due, False
        return self._current if due else Consensus()
