"""Rules learnt from approvals: what would have spared a question that the person has answered twice before.

A command is taken part by part: only the parts that would still be asked about need a rule, and each gets the
narrowest one that covers two approved calls. Of a test
runner, a build, a linter or a script it is the rule for all of its harmless uses, and one approved call is
enough. Nothing is learnt about programs that have uses that only read (a
rule for `cat` would open every path), about code in the words of a command, and about opaque commands.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from msgspec import Struct

from quorum.domain.calls.tool import RiskLevel
from quorum.domain.review.command_pattern import covers_part, is_reader, split_pattern
from quorum.domain.review.permissions import (
    COMMAND_TOOL,
    WRITERS,
    Answer,
    BadRule,
    Rule,
    Subject,
    find_matching_rules,
    find_uncovered_parts,
)
from quorum.domain.review.rule_proposals import build_literal_pattern, find_starred_prefix, generate_candidates
from quorum.domain.shell.command_families import describe_family, find_family
from quorum.domain.shell.command_line import JudgedCommand, SimpleCommand
from quorum.domain.shell.inline_code import holds_code

APPROVALS_BEFORE = 2
"""How many approvals of a kind come before the call with which a rule is offered."""
APPROVALS_BEFORE_FAMILY = 1
"""The same for a test runner, a build, a linter or a script of the project."""
_MOST_RULES = 3
_MOST_PARTS = 20
_LONGEST_RULE = 100
_SOURCE = "offered"


class LearntRules(Struct, frozen=True):
    """The rules that together cover a call, and how many approved calls each of them covers at least."""

    rules: tuple[Rule, ...]
    approvals: int

    @property
    def families(self) -> tuple[str, ...]:
        """What those of the rules cover and what not that are about families, a sentence each."""
        starred = (
            split_pattern(rule.pattern) for rule in self.rules if rule.tool == COMMAND_TOOL and rule.pattern
        )
        return tuple(describe_family(words) for words in starred if describe_family(words))


def learn_rules(
    subject: Subject, approved: Sequence[Subject], rules: Sequence[Rule], roots: Sequence[str]
) -> LearntRules | None:
    """What the approved calls say about this one; None where that is not enough. `rules` are those in force.

    Whether the call would run by them is for the decision to say.
    """
    if subject.risk is RiskLevel.LOW:
        return None
    if subject.tool in WRITERS:
        learnt = [_learn_about_paths(subject, approved, roots)]
    elif subject.tool == COMMAND_TOOL and _is_usual(subject):
        parts = find_uncovered_parts(rules, subject)
        if len(parts) > _MOST_PARTS:
            return None
        counts = _PartCounts(approved)
        learnt = [_learn_about_part(part, counts) for part in parts]
    else:
        return None
    found = dict(one for one in learnt if one is not None)
    if not found or None in learnt or len(found) > _MOST_RULES:
        return None
    return LearntRules(tuple(found), min(found.values()))


def _is_usual(subject: Subject) -> bool:
    """Whether it can be taken apart and runs as commands usually do."""
    shell = subject.shell
    return (
        shell is not None
        and shell.unclear is None
        and not shell.leaves_sandbox
        and not shell.opens_git
        and subject.arguments.get("background", False) is False
    )


class _PartCounts:
    """Counts the approved commands that have a part which a pattern covers, each pattern once."""

    def __init__(self, approved: Sequence[Subject]) -> None:
        self._by_program: dict[str, list[tuple[int, JudgedCommand]]] = {}
        self._counts: dict[str, int] = {}
        for number, call in enumerate(approved):
            if call.tool == COMMAND_TOOL and call.shell is not None and call.shell.unclear is None:
                for command in dict.fromkeys(call.shell.commands):
                    as_asked = JudgedCommand(command, _SOURCE)  # a reader's `*` would cover more
                    self._by_program.setdefault(command.name, []).append((number, as_asked))

    def count(self, pattern: str) -> int:
        """How many approved commands have such a part. The pattern begins with the very name of a program."""
        if (count := self._counts.get(pattern)) is None:
            parts = self._by_program.get(split_pattern(pattern)[0], ())
            count = len({number for number, part in parts if covers_part(pattern, part)})
            self._counts[pattern] = count
        return count


def _learn_about_paths(
    subject: Subject, approved: Sequence[Subject], roots: Sequence[str]
) -> tuple[Rule, int] | None:
    for text in generate_candidates(subject, roots):
        if (rule := _parse(text)) is not None:
            count = sum(
                call.tool in WRITERS and bool(find_matching_rules((rule,), call, roots)) for call in approved
            )
            if count >= APPROVALS_BEFORE:
                return rule, count
    return None


def _learn_about_part(part: JudgedCommand, counts: _PartCounts) -> tuple[Rule, int] | None:
    if holds_code(part.command.words) or is_reader(part.command.words):
        return None
    for pattern, approvals in _list_patterns(part.command):
        rule = _parse(f"{COMMAND_TOOL}({pattern})")
        if rule is not None and covers_part(pattern, part):
            count = counts.count(pattern)
            if count >= approvals:
                return rule, count
    return None


def _list_patterns(command: SimpleCommand) -> Iterator[tuple[str, int]]:
    """What the call's kind may be, and how many approvals of it come before: its very words, then the program
    with any words. Of a family the wider rule comes first, since it ends the asking."""
    literal, prefix = build_literal_pattern(command), find_starred_prefix(command)
    starred = f"{shlex.join(prefix)} *" if prefix is not None else None
    if starred is not None and find_family(command.words) is not None:
        yield starred, APPROVALS_BEFORE_FAMILY
    for pattern in (literal, starred):
        if pattern is not None:
            yield pattern, APPROVALS_BEFORE


def _parse(text: str) -> Rule | None:
    """The rule that a text stands for; None for one that is too long to read at a glance, or not a rule."""
    if len(text) > _LONGEST_RULE or not text.isprintable():
        return None
    try:
        return Rule.parse(text, Answer.ALLOW, _SOURCE)
    except BadRule:
        return None
