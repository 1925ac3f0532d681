"""Examples of what a saved rule must and must not cover, checked by their words whenever it is loaded.

What an example is follows from the rule: a command for `run_command(…)`, a path for a rule about paths, the
value for `tool(argument=…)`, and the name of a tool for a rule without a pattern. Nothing is looked at but the
text, so that the answer is the same in every folder and on every machine.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TypeAlias

from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.review.command_pattern import fits_words
from quorum.domain.review.path_pattern import expand_home
from quorum.domain.review.permissions import (
    ARGUMENT,
    COMMAND_TOOL,
    READERS,
    WRITERS,
    Rule,
    Subject,
    find_matching_rules,
)
from quorum.domain.shell.command_line import (
    CommandLine,
    JudgedCommand,
    ShellVerdict,
    ShellVerdictKind,
    SimpleCommand,
)
from quorum.domain.shell.command_spec import NotReadOnly, parse_use
from quorum.domain.shell.git_commands import parse_git_use
from quorum.domain.shell.read_only_commands import READ_ONLY_COMMANDS

ReadCommand: TypeAlias = Callable[[str], CommandLine]


def covers(rule: Rule, example: str, read_command: ReadCommand, root: str) -> bool:
    """Whether a rule speaks about what an example stands for."""
    return bool(find_matching_rules((rule,), build_subject(rule, example, read_command, root), (root,)))


def find_failing_example(
    rule: Rule,
    must_match: Iterable[str],
    must_not_match: Iterable[str],
    read_command: ReadCommand,
    root: str,
) -> str | None:
    """What the first example that does not hold shows, in words; None where all of them hold."""
    for example in must_match:
        if not (
            covers(rule, example, read_command, root) or _is_from_wider_version(rule, example, read_command)
        ):
            return f"it no longer covers {example!r}"
    for example in must_not_match:
        if covers(rule, example, read_command, root):
            return f"it covers {example!r}, which it must not"
    return None


def _is_from_wider_version(rule: Rule, example: str, read_command: ReadCommand) -> bool:
    """Whether an example is from a version in which a `*` covered more: the rule holds, for fewer calls."""
    if rule.pattern is None or not fnmatchcase(COMMAND_TOOL, rule.tool):
        return False
    line, pattern = read_command(example), rule.pattern
    return (
        line.inexact is None
        and bool(line.commands)
        and all(
            not part.redirects and not part.assignments and fits_words(pattern, part.words)
            for part in line.commands
        )
    )


def build_subject(rule: Rule, example: str, read_command: ReadCommand, root: str) -> Subject:
    """The call that an example of a rule stands for."""
    if rule.pattern is None:
        return Subject(tool=example, risk=RiskLevel.HIGH, access=EXCLUSIVE)
    tool = rule.tool.replace("*", "x").replace("?", "x")
    if rule.tool in WRITERS | READERS:
        path = posixpath.normpath(posixpath.join(root, expand_home(example)))
        access = Access.of(writes=[path]) if rule.tool in WRITERS else Access.of(reads=[path])
        return Subject(tool=tool, risk=RiskLevel.HIGH, access=access)
    if fnmatchcase(COMMAND_TOOL, rule.tool):
        shell = judge_by_words(read_command(example))
        return Subject(tool=COMMAND_TOOL, risk=RiskLevel.HIGH, access=EXCLUSIVE, command=example, shell=shell)
    if found := ARGUMENT.fullmatch(rule.pattern):
        return Subject(tool=tool, risk=RiskLevel.HIGH, access=EXCLUSIVE, arguments={found["name"]: example})
    path = posixpath.normpath(posixpath.join(root, expand_home(example)))
    return Subject(tool=tool, risk=RiskLevel.HIGH, access=Access.of(reads=[path]))


def judge_by_words(line: CommandLine) -> ShellVerdict:
    """What the words of a command alone tell about it: no proof, for nothing they name is looked at."""
    parts = tuple(JudgedCommand(part, line.inexact or _find_objection(part)) for part in line.commands)
    objection = line.inexact or next((part.objection for part in parts if part.objection), None)
    return ShellVerdict(
        kind=ShellVerdictKind.ASK if objection else ShellVerdictKind.READ_ONLY,
        reason=objection or "by its words it only reads",
        parts=parts,
        unclear=line.inexact,
    )


def _find_objection(command: SimpleCommand) -> str | None:
    if not all(redirect.is_harmless or redirect.only_reads for redirect in command.redirects):
        return "it writes to a file"
    name, rest = command.words[0], command.words[1:]
    try:
        _require_reading(name, rest)
    except NotReadOnly as objection:
        return str(objection)
    return None


def _require_reading(name: str, rest: Sequence[str]) -> None:
    if name == "git":
        parse_git_use(rest)
    elif name in READ_ONLY_COMMANDS:
        parse_use(READ_ONLY_COMMANDS[name], name, rest)
    elif name != "cd":
        raise NotReadOnly(f"{name} is not known only to read")
