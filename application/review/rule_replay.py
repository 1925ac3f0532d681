"""Replays permission rules over past calls. Nothing runs, and nothing that a command names is looked at."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import TypeAlias

from quorum.application.ports.tools import CommandTool, Tool
from quorum.application.review.rule_book import describe_call
from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.replacing import replace
from quorum.domain.review.command_pattern import BadPattern, split_pattern
from quorum.domain.review.decision import decide
from quorum.domain.review.guards import GuardSettings, find_objections
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import OwnCode, PathPolicy, list_named_reads
from quorum.domain.review.permission_rules import (
    ARGUMENT,
    COMMAND_TOOL,
    READ_ONLY,
    Answer,
    Rule,
    Subject,
    find_matching_rules,
)
from quorum.domain.review.rule_offers import ReadCommand, judge_by_words
from quorum.domain.review.rule_replay import PastAnswer, PastCall, ReplayCount, RuleReplay
from quorum.domain.review.web_reach import WEB_TOOLS
from quorum.domain.shell.command_line import ShellVerdict, ShellVerdictKind
from quorum.domain.shell.script import ReadScript
from quorum.domain.text.json_value import JsonObject, JsonValue

_LONGEST_REMEMBERED = 2_000
_EDITORS = frozenset({"edit_file", "write_file"})
_QUOTES = frozenset("'\"\\$")
_WEB_DOUBT = "it may carry data to the web"


class RuleReplayer:
    """Decides about past calls in the mode `ask`, by the rules in force and those that are tried.

    `tools` say what a call touches; a tool that is not there any more may touch everything. Commands start in
    the first root of `paths`. With `tried` only the calls count that one of these rules speaks of.
    """

    def __init__(
        self,
        *,
        tools: Mapping[str, Tool],
        rules: Sequence[Rule],
        tried: Sequence[Rule] = (),
        paths: PathPolicy,
        guards: GuardSettings,
        read_command: ReadCommand,
        read_script: ReadScript,
    ) -> None:
        self._tools = tools
        # Whether a tool is one is looked up in all its methods.
        self._command_tools = {name: tool for name, tool in tools.items() if isinstance(tool, CommandTool)}
        self._rules = (*rules, *tried)
        self._tried = tuple(tried)
        self._may_concern = tuple(map(_build_quick_test, tried))
        # What quorum loads does not change meanwhile, and takes long to list.
        code = OwnCode(places=tuple(paths.code.places), import_folders=tuple(paths.code.import_folders))
        self._paths = replace(paths, code=code)
        self._guards = guards
        self._read_command = read_command
        self._read_script = read_script
        self._count = ReplayCount()
        self._reads_arguments = any(ARGUMENT.fullmatch(rule.pattern or "") for rule in self._rules)
        self._decided: dict[tuple[str, RiskLevel, Access], Answer] = {}
        self._accesses: dict[tuple[str, str], Access] = {}
        self._known: dict[_Key, tuple[Answer | None, str]] = {}

    def add(self, call: PastCall) -> None:
        """Decide about one more call."""
        self._count.calls += 1
        if self._tried and not any(test(call) for test in self._may_concern):
            return
        key = _build_key(call)
        if key is None:
            answer, example = self._decide(call)
        elif key in self._known:
            answer, example = self._known[key]
        else:
            answer, example = self._known[key] = self._decide(call)
        if answer is not None:
            self._count.add(answer, call.answer, example)

    def conclude(self, *, sessions: int, newest: int | None = None) -> RuleReplay:
        """What came of all calls."""
        return RuleReplay(
            calls=self._count.calls,
            sessions=sessions,
            groups=tuple(self._count.list_groups()),
            newest=newest,
        )

    def _decide(self, call: PastCall) -> tuple[Answer | None, str]:
        """The answer, None where no tried rule speaks of the call; and the call in a line."""
        subject = self._build_subject(call)
        if self._tried and not self._speaks_of(subject):
            return None, ""
        answer = self._decide_without_guards(subject, call)
        # Guards can only turn an allowed call into a question, and take most of the time.
        if answer is Answer.ALLOW and find_objections(
            subject.arguments,
            subject.access,
            subject.command,
            paths=self._paths,
            settings=self._guards,
            read_script=self._read_script,
            tool=subject.tool,
        ):
            answer = Answer.ASK
        return answer, describe_call(subject, next(iter(self._paths.roots), ""))

    def _speaks_of(self, subject: Subject) -> bool:
        """Whether a tried rule is about a call: about all of it, or about what other rules leave of it."""
        roots = self._paths.roots
        if find_matching_rules(self._tried, subject, roots):
            return True
        matching = find_matching_rules(self._rules, subject, roots)
        return any(rule in matching for rule in self._tried)

    def _decide_without_guards(self, subject: Subject, call: PastCall) -> Answer:
        if subject.command is not None or call.tool in WEB_TOOLS or self._reads_arguments:
            # Whether an address was the person's own, the conversation told then.
            is_doubtful = call.tool in WEB_TOOLS and call.answer is not PastAnswer.UNASKED
            return self._decide_anew(subject, _WEB_DOUBT if is_doubtful else "")
        key = (call.tool, call.risk, subject.access)
        if (answer := self._decided.get(key)) is None:  # edits differ in their texts, and seldom in their files
            answer = self._decided[key] = self._decide_anew(subject)
        return answer

    def _decide_anew(self, subject: Subject, web_doubt: str = "") -> Answer:
        decision = decide(subject, mode=Mode.ASK, paths=self._paths, rules=self._rules, web_doubt=web_doubt)
        return decision.answer

    def _build_subject(self, call: PastCall) -> Subject:
        tool, command_tool = self._tools.get(call.tool), self._command_tools.get(call.tool)
        command = None if command_tool is None else command_tool.find_command(call.arguments)
        return Subject(
            tool=call.tool,
            risk=call.risk,
            access=EXCLUSIVE if tool is None else self._determine_access(tool, call),
            arguments=call.arguments,
            command=command,
            shell=self._judge(command, call.arguments) if command is not None else None,
        )

    def _determine_access(self, tool: Tool, call: PastCall) -> Access:
        """What a call touches. Edits of one file differ in their texts, and its place takes long to find."""
        path = call.arguments.get("path")
        if call.tool not in _EDITORS or not isinstance(path, str):
            return tool.definition.determine_access(call.arguments)
        key = call.tool, path
        if (access := self._accesses.get(key)) is None:
            access = self._accesses[key] = tool.definition.determine_access(call.arguments)
        return access

    def _judge(self, command: str, arguments: JsonObject) -> ShellVerdict:
        line = self._read_command(command)
        verdict = judge_by_words(line)
        if verdict.is_read_only:
            reads = list_named_reads(line, next(iter(self._paths.roots), "/"))
            verdict = replace(verdict, paths_read=reads)
            outside = next((path for path in reads if not self._paths.is_inside(path)), None)
            if outside is not None:
                reason = f"it reads {outside}, outside the workspace"
                parts = tuple(replace(part, objection=reason) for part in verdict.parts)
                verdict = replace(verdict, kind=ShellVerdictKind.ASK, reason=reason, parts=parts)
        return replace(
            verdict,
            leaves_sandbox=arguments.get("outside_sandbox") is True,
            opens_git=arguments.get("opens_git") is True,
        )


def _build_quick_test(rule: Rule) -> Callable[[PastCall], bool]:
    """What tells most calls that a rule does not speak of without taking them apart."""
    if rule.answer is not Answer.ALLOW or rule.tool != COMMAND_TOOL or rule.pattern in (None, READ_ONLY):
        return lambda _call: True
    try:
        program = split_pattern(rule.pattern or "")[0]
    except BadPattern:
        return lambda _call: True
    if set(program) & set("*?"):
        return lambda call: call.tool == COMMAND_TOOL

    def may_run_program(call: PastCall) -> bool:
        if call.tool != COMMAND_TOOL:
            return False
        command = str(call.arguments.get("command"))
        return program in command or not _QUOTES.isdisjoint(command)  # quotes may part its name

    return may_run_program


_Key: TypeAlias = tuple[str, str, str | tuple[tuple[str, JsonValue], ...]]


def _build_key(call: PastCall) -> _Key | None:
    """The same for calls that are decided about in the same way; None for long ones, and where the former
    answer counts."""
    if call.tool in WEB_TOOLS or any(
        isinstance(value, str) and len(value) > _LONGEST_REMEMBERED for value in call.arguments.values()
    ):
        return None
    if all(type(value) is str for value in call.arguments.values()):  # as of most calls, and quicker
        return call.tool, call.risk, tuple(sorted(call.arguments.items(), key=itemgetter(0)))
    return call.tool, call.risk, json.dumps(call.arguments, sort_keys=True)
