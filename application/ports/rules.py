"""Ports to the rules about calls, to past calls that rules are tried on, and to calls judged afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quorum.domain.review.permission_rules import Answer, HeldRule, Rule, SavedRule
from quorum.domain.review.questions import RulePreview, RuleScope
from quorum.domain.review.rule_replay import RuleReplay
from quorum.domain.review.unasked_calls import CallKind, ErrorFigures, SampledCall


class SampleStore(Protocol):
    """Keeps sampled calls of all sessions."""

    def count(self, kind: CallKind) -> ErrorFigures:
        """What was judged of the calls of a kind. Takes no time. Raises ConfigError where it cannot be read."""
        ...

    async def add(self, call: SampledCall) -> None:
        """Keep a call, unless it is kept. Raises ConfigError, and then nothing is changed."""
        ...

    async def list_waiting(self) -> tuple[SampledCall, ...]:
        """Those without a verdict, the oldest first. Raises ConfigError."""
        ...

    async def judge(self, call_id: str, *, is_right: bool) -> None:
        """Keep a verdict. Raises ConfigError, and then nothing is changed."""
        ...


class RuleStore(Protocol):
    """Keeps the rules that the person made beyond the session."""

    async def save(self, rule: SavedRule) -> None:
        """Keep a rule; one that says the same is replaced. Raises ConfigError, and then nothing is changed."""
        ...


class RuleHistory(Protocol):
    """Past calls of the workspace, for rules to be replayed on."""

    async def replay(self, rules: Sequence[Rule], tried: Sequence[Rule]) -> RuleReplay:
        """What the rules in force and those that are tried would decide about the calls that a tried one speaks
        of. Nothing runs. Raises LedgerError where they cannot be read."""
        ...


class RuleService(Protocol):
    """The rules about calls, as the person looks at them, changes them and tries them out."""

    async def list_rules(self) -> tuple[HeldRule, ...]:
        """All that hold in this session's folder, in the order in which they count: the strictest first.

        Raises ConfigError where the saved ones cannot be read.
        """
        ...

    @property
    def samples(self) -> SampleStore | None:
        """Calls that a mode let run, for a verdict; None where none are kept."""
        ...

    @property
    def last_word(self) -> str:
        """What decides about a call of high risk that no rule speaks of."""
        ...

    def preview_rule(self, rule: str, answer: Answer) -> RulePreview:
        """What a rule, as text, would change."""
        ...

    async def replay_rule(self, rule: str, answer: Answer) -> RuleReplay | None:
        """What it would have decided about past calls; None where nobody knows of any, or it is not a rule.

        Raises LedgerError where they cannot be read.
        """
        ...

    async def add(self, rule: str, answer: Answer, scope: RuleScope) -> None:
        """Put a rule in force. Raises ConfigError: for what is not a rule; and where it could not be saved, in
        which case it holds for this session all the same."""
        ...

    async def remove(self, held: HeldRule) -> None:
        """Have it in force no more, and take it out of the saved ones.

        Raises ConfigError, and then all is as it was: also for a rule of the settings.
        """
        ...

    async def try_call(self, text: str) -> tuple[Answer, tuple[str, ...]]:
        """What would be decided about a call: a shell command, or TOOL and a JSON object. Nothing runs.

        The answer and an account of it, line by line. Raises ConfigError for what is no call.
        """
        ...
