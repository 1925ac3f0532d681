"""The rules about calls as a test has them, kept in memory."""

from __future__ import annotations

from quorum.application.ports.rules import SampleStore
from quorum.domain.errors import ConfigError
from quorum.domain.review.permission_rules import Answer, BadRule, HeldRule, Rule
from quorum.domain.review.questions import RulePreview, RuleScope
from quorum.domain.review.rule_replay import RuleReplay


class FakeRules:
    """Implements `RuleService` over `held`. `answers` are decisions about calls, by text; all else asks."""

    def __init__(self, *held: HeldRule) -> None:
        self.held = list(held)
        self.answers: dict[str, Answer] = {}
        self.samples: SampleStore | None = None
        self.replays: RuleReplay | None = None
        self.fails: ConfigError | None = None
        self.last_word = "the mode is ask: you are asked"

    async def list_rules(self) -> tuple[HeldRule, ...]:
        """Those that are held."""
        if self.fails is not None:
            raise self.fails
        order = [Answer.DENY, Answer.ASK, Answer.ALLOW]
        return tuple(sorted(self.held, key=lambda held: order.index(held.rule.answer)))

    def preview_rule(self, rule: str, answer: Answer) -> RulePreview:
        """What a rule would change: two calls of the session, if it is one."""
        try:
            Rule.parse(rule, answer, "")
        except BadRule as problem:
            return RulePreview(problem=f"this is not a rule: {problem}")
        return RulePreview(covers_this=True, covers=("make", "make test"))

    async def replay_rule(self, rule: str, answer: Answer) -> RuleReplay | None:
        """What `replays` says."""
        return self.replays

    async def add(self, rule: str, answer: Answer, scope: RuleScope) -> None:
        """Hold one more."""
        self.held.append(HeldRule(rule=Rule.parse(rule, answer, "made"), place="made", scope=scope))

    async def remove(self, held: HeldRule) -> None:
        """Hold one less, unless it is of the settings."""
        if held.scope is None:
            raise ConfigError(f"{held.rule.id} is a rule of the settings ({held.place})")
        self.held.remove(held)

    async def try_call(self, text: str) -> tuple[Answer, tuple[str, ...]]:
        """The answer there is about it."""
        if text.startswith("no_such_tool"):
            raise ConfigError('there is no tool "no_such_tool"')
        answer = self.answers.get(text, Answer.ASK)
        return answer, (f"decision: {answer}", f"rule:     {answer} it", "mode:     ask")
