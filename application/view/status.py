"""The status of a session as a whole: its model and mode, its title, what it used, what it waits for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from quorum.domain.conversation.cost import Spending
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.response import Usage
from quorum.domain.events.event import (
    CallLeaked,
    InstructionsLoaded,
    PromptProgressed,
    QuorumConcluded,
    RetryScheduled,
    UsageCounted,
)
from quorum.domain.review.quorum_result import SparedVote

_LONGEST_TITLE = 80


class Book:
    """Adds up a session's requests. Turns are counted from 1; `total` is what all of them used.

    `spared` is about what `spared_votes` votes would have used that escalation did not ask for.
    """

    def __init__(self) -> None:
        self.turn = 0
        self.total = self.spared = Spending()
        self.spared_votes = 0
        self._entries: dict[tuple[int, str], Spending] = {}

    def begin_turn(self) -> None:
        """What is counted from now on belongs to a further turn."""
        self.turn += 1

    def add(self, event: UsageCounted) -> None:
        place = (self.turn, event.model)
        self._entries[place] = event.add_to(self._entries.get(place, Spending()))
        self.total = event.add_to(self.total)

    def spare(self, votes: Sequence[SparedVote]) -> None:
        for vote in votes:
            usage = Usage(input=vote.input_tokens, output=vote.output_tokens)
            self.spared_votes += 1
            self.spared = self.spared.with_request(usage, vote.cost_usd, by_plan=bool(vote.by_plan))

    def list_by_turn(self) -> Iterator[tuple[int, str, Spending]]:
        """What each turn used of each model, oldest first."""
        for (turn, model), spending in self._entries.items():
            yield turn, model, spending

    def group_by_model(self) -> dict[str, Spending]:
        """What the session used of each model."""
        models: dict[str, Spending] = {}
        for (_, model), spending in self._entries.items():
            models[model] = _sum(models.get(model, Spending()), spending)
        return models


def _sum(one: Spending, other: Spending) -> Spending:
    priced = [s.priced_usd for s in (one, other) if s.priced_usd is not None]
    return Spending(
        usage=one.usage + other.usage,
        priced_usd=sum(priced, Decimal(0)) if priced else None,
        has_unpriced=one.has_unpriced or other.has_unpriced,
        by_plan=one.by_plan or other.by_plan,
    )


class SessionStatus:
    """The session as its last events left it. `title` is empty until there is a prompt; `sandbox` tells whether
    commands run in one, or the agent that works, None until that is known; `instructions` are those in force,
    None before they are looked for; `retry` is the attempt that is waited for, `leaked_call` the last one
    that a setting would have read, `reading` how far the server has read the prompt. `version` changes
    with whatever is shown here or computed from the conversation."""

    def __init__(self) -> None:
        self.model = self.mode = self.title = ""
        self.effort: Effort | None = None
        self._chosen: tuple[str, Effort | None] | None = None  # what another model stands in for
        self.sandbox: bool | None = None
        self._is_agent_in_charge = False
        self.instructions: InstructionsLoaded | None = None
        self.book = Book()
        self.retry: RetryScheduled | None = None
        self.leaked_call: CallLeaked | None = None
        self.reading: PromptProgressed | None = None
        self.version = 0

    def resume(self, *, model: str, mode: str, effort: Effort | None = None) -> None:
        """All earlier events are of the past; this holds now."""
        self.model, self.mode, self.sandbox, self.retry = model, mode, None, None
        self.effort, self._chosen = effort, None
        self.touch()

    def touch(self) -> None:
        """Something that is reckoned from the conversation is another now."""
        self.version += 1

    def begin_turn(self, prompt: str) -> None:
        self.book.begin_turn()
        self.title = self.title or " ".join(prompt.split())[:_LONGEST_TITLE]
        self.version += 1

    def count(self, event: UsageCounted) -> None:
        """Tokens of a request became known."""
        self.book.add(event)
        self.version += 1

    def spare(self, event: QuorumConcluded) -> None:
        """Votes on a call were counted, and some may not have been asked for."""
        if event.spared:
            self.book.spare(event.spared)
            self.version += 1

    def choose(self, *, model: str, effort: Effort | None) -> None:
        self.model, self.effort, self._chosen = model, effort, None
        self.version += 1

    def choose_mode(self, mode: str) -> None:
        self.mode = mode
        self.version += 1

    def fall_back(self, model: str) -> None:
        """Another model stands in for the rest of the turn."""
        self._chosen = self._chosen or (self.model, self.effort)
        self.model, self.effort = model, None
        self.version += 1

    def end_turn(self) -> None:
        """The next turn asks the chosen model first."""
        self.model, self.effort = self._chosen or (self.model, self.effort)
        self._chosen = None
        self.version += 1

    def check_sandbox(self, on: bool) -> None:
        """It became known whether commands run in a sandbox, which tells nothing of an agent's own."""
        if not self._is_agent_in_charge:
            self.sandbox = on
            self.version += 1

    def connect_agent(self, *, is_confined: bool) -> None:
        """An agent of another vendor works from now on, in the sandbox or outside of it."""
        self._is_agent_in_charge, self.sandbox = True, is_confined
        self.version += 1

    @property
    def reading_share(self) -> str:
        """How far the server has read the prompt, in words; empty where it does not say."""
        return f"reading the prompt {self.reading.percent} %" if self.reading else ""

    def read_prompt(self, event: PromptProgressed | None) -> None:
        """The server reads the prompt, or does so no more."""
        if self.reading is not event:
            self.reading = event
            self.version += 1

    def wait(self, event: RetryScheduled | None) -> None:
        """This attempt is waited for from now on, or none any more."""
        if self.retry is not event:
            self.retry = event
            self.version += 1
