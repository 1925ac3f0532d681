"""The rules of a session as its person looks at them, changes them and tries them out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from quorum.application.ports.rules import SampleStore
from quorum.application.ports.tools import Tool, ToolSchemaPort
from quorum.application.review.review import Review
from quorum.application.review.rule_book import RuleBook
from quorum.domain.errors import ConfigError
from quorum.domain.review.permissions import COMMAND_TOOL, Answer, HeldRule
from quorum.domain.review.questions import RulePreview, RuleScope
from quorum.domain.review.rule_replay import RuleReplay
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.permissions.rule_file import PlacedRule, RuleFile
from quorum.infrastructure.permissions.trial import try_call

_CALL = re.compile(r"\s*(?P<tool>[A-Za-z0-9_-]+)\s*(?P<arguments>\{.*)", re.DOTALL)
_STRICTEST_FIRST = (Answer.DENY, Answer.ASK, Answer.ALLOW)


class SessionRuleService:
    """Implements `RuleService`. Of the saved rules in `file` those of `folder` and of everywhere count."""

    def __init__(
        self,
        book: RuleBook,
        *,
        file: RuleFile | None,
        folder: Path,
        tools: Mapping[str, Tool],
        schema: ToolSchemaPort,
        review: Review,
        roots: Sequence[str],
    ) -> None:
        self._book, self._file, self._folder = book, file, folder
        self._tools, self._schema, self._review, self._roots = tools, schema, review, roots

    async def list_rules(self) -> tuple[HeldRule, ...]:
        """All that hold in this session's folder, the strictest first. Raises ConfigError."""
        placed = await run_in_thread(lambda _stop: self._file.read_rules() if self._file is not None else ())
        held = list(self._list_held([one for one in placed if one.saved.project in (None, str(self._folder))]))
        return tuple(sorted(held, key=lambda one: _STRICTEST_FIRST.index(one.rule.answer)))

    def _list_held(self, placed: Sequence[PlacedRule]) -> Iterator[HeldRule]:
        for rule in self._book.fixed:
            yield HeldRule(rule=rule, place=rule.source)
        others = [rule for rule in self._book.rules if rule not in self._book.fixed]
        kept, ids = {one.saved.rule.id for one in placed}, {rule.id for rule in others}
        for rule in others:
            if rule.id not in kept:
                yield HeldRule(rule=rule, place=rule.source, scope=RuleScope.SESSION)
        for one in placed:
            rule = one.saved.rule
            unused = "" if rule.id in ids else "not in force in this session"
            yield HeldRule(rule=rule, place=one.place, scope=one.saved.scope, saved=one.saved, unused=unused)

    @property
    def samples(self) -> SampleStore | None:
        """Calls that a mode let run, for a verdict."""
        return self._review.samples

    @property
    def last_word(self) -> str:
        mode = self._review.mode
        return f"the mode is {mode}: {mode.traits.last_word}"

    def preview_rule(self, rule: str, answer: Answer) -> RulePreview:
        return self._book.preview_rule(rule, answer)

    async def replay_rule(self, rule: str, answer: Answer) -> RuleReplay | None:
        """What it would have decided about past calls. Raises LedgerError."""
        return await self._book.replay([rule], answer)

    async def add(self, rule: str, answer: Answer, scope: RuleScope) -> None:
        """Put a rule in force. Raises ConfigError."""
        await self._book.establish(rule, answer, scope)

    async def remove(self, held: HeldRule) -> None:
        """Have it in force no more, and take it out of the saved ones. Raises ConfigError."""
        if held.scope is None:
            raise ConfigError(
                f"{held.rule.id} is a rule of the settings ({held.place}); take it out there: /config"
            )
        if held.rule in self._book.of_plan:
            raise ConfigError(f"{held.rule.id} is part of the approved plan; /plan drop withdraws the plan")
        if held.saved is not None and self._file is not None:
            await self._file.remove(held.saved)
        for rule in self._book.rules:
            if rule.id == held.rule.id:
                self._book.drop(rule)

    async def try_call(self, text: str) -> tuple[Answer, tuple[str, ...]]:
        """What would be decided about a call. Raises ConfigError for what is no call."""
        found = _CALL.fullmatch(text)
        tool = found["tool"] if found is not None else COMMAND_TOOL
        answer, account = await try_call(
            tool,
            found["arguments"] if found is not None else json.dumps({"command": text.strip()}),
            tools=self._tools,
            schema=self._schema,
            review=self._review,
            rules=self._book.rules,
            roots=self._roots,
        )
        return answer, tuple(account.split("\n"))
