from __future__ import annotations

from collections.abc import Mapping

import pytest

from quorum.application.ports.tools import Tool
from quorum.application.review.rule_replay import RuleReplayer
from quorum.domain.calls.access import EXCLUSIVE
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.review.guards import GuardSettings
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import Answer, Rule
from quorum.domain.review.rule_replay import MOST_EXAMPLES, PastAnswer, PastCall, RuleReplay
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.execution.shell.parsing import parse
from quorum.infrastructure.execution.shell.script import read_script
from tests.support.fake_ports import FakeTool

_READ_ONLY = Rule.parse("run_command(read-only)", Answer.ALLOW, "default")
_REJECTED, _APPROVED, _UNASKED = PastAnswer.REJECTED, PastAnswer.APPROVED, PastAnswer.UNASKED


async def _fail(arguments: JsonObject, context: ToolExecutionContext) -> str:
    raise AssertionError("a replay runs nothing")


class _CommandTool(FakeTool):
    def find_command(self, arguments: JsonObject) -> str | None:
        command = arguments.get("command")
        return command if isinstance(command, str) else None

    async def judge(self, arguments: JsonObject) -> None:
        raise AssertionError("a replay looks at nothing that a command names")


def _command(text: str, answer: PastAnswer, **more: JsonValue) -> PastCall:
    arguments: JsonObject = {"command": text, **more}
    return PastCall(tool="run_command", arguments=arguments, risk=RiskLevel.HIGH, answer=answer)


def _replay(*calls: PastCall, rules: tuple[str, ...] = (), tried: tuple[str, ...] = ()) -> RuleReplay:
    tools: Mapping[str, Tool] = {
        "run_command": _CommandTool("run_command", _fail, risk=RiskLevel.HIGH, access=lambda _: EXCLUSIVE)
    }

    def parse_rules(texts: tuple[str, ...]) -> tuple[Rule, ...]:
        split = [text.split(" ", 1) for text in texts]
        return tuple(Rule.parse(text, Answer(answer), "test") for answer, text in split)

    replayer = RuleReplayer(
        tools=tools,
        rules=(_READ_ONLY, *parse_rules(rules)),
        tried=parse_rules(tried),
        paths=PathPolicy(roots=("/w",)),
        guards=GuardSettings(),
        read_command=parse,
        read_script=read_script,
    )
    for call in calls:
        replayer.add(call)
    return replayer.conclude(sessions=1)


def _list(replay: RuleReplay) -> list[tuple[str, str, int]]:
    return [(group.now, group.then, group.calls) for group in replay.groups]


def test_what_would_run_although_it_was_rejected_comes_first() -> None:
    replay = _replay(
        _command("make", _APPROVED),
        _command("make deploy", _REJECTED),
        _command("make", _APPROVED),
        _command("cargo build", _REJECTED),
        tried=("allow run_command(make *)",),
    )

    assert _list(replay) == [("allow", "rejected", 1), ("allow", "approved", 2)]
    assert replay.groups[0].loosens
    assert replay.groups[0].examples == ("make deploy",)
    assert replay.calls == 4


def test_without_a_tried_rule_every_call_is_decided_by_the_rules_in_force() -> None:
    replay = _replay(
        _command("ls src", _UNASKED),
        _command("make", _APPROVED),
        _command("rm x", _UNASKED),
        rules=("deny run_command(rm *)",),
    )

    assert _list(replay) == [("deny", "unasked", 1), ("allow", "unasked", 1), ("ask", "approved", 1)]


@pytest.mark.parametrize(
    "rule",
    ["allow run_command(make all)", "allow run_command(make *)"],
    ids=["of this call alone", "of the same calls"],
)
def test_a_call_that_another_rule_lets_run_already_is_like_what_the_tried_rule_allows(rule: str) -> None:
    replay = _replay(_command("make all", _APPROVED), rules=(rule,), tried=("allow run_command(make *)",))

    assert _list(replay) == [("allow", "approved", 1)]


def test_a_rule_that_denies_names_what_was_approved() -> None:
    replay = _replay(
        _command("git push", _APPROVED), _command("git log", _UNASKED), tried=("deny run_command(git push *)",)
    )

    assert _list(replay) == [("deny", "approved", 1)]


@pytest.mark.parametrize(
    "command", ["cat /etc/hostname", "cd .. && cat x", "cat ../x", "cat < /etc/hostname", "cat .env"]
)
def test_a_read_outside_the_workspace_or_of_a_sensitive_file_would_be_asked_about(command: str) -> None:
    assert _list(_replay(_command(command, _APPROVED))) == [("ask", "approved", 1)]


@pytest.mark.parametrize("command", ["cat src/a.py", "cd src && cat ../b", "git diff HEAD~1 -- src", "ls"])
def test_a_read_inside_the_workspace_would_run(command: str) -> None:
    assert _list(_replay(_command(command, _APPROVED))) == [("allow", "approved", 1)]


def test_a_guard_asks_about_what_a_tool_does_by_its_name() -> None:
    call = PastCall(tool="drop_bucket", arguments={}, risk=RiskLevel.HIGH, answer=_APPROVED)
    assert _list(_replay(call, rules=("allow *_bucket",))) == [("ask", "approved", 1)]


def test_a_guard_asks_about_what_a_rule_allows() -> None:
    replay = _replay(
        _command("chmod -R 777 /", _APPROVED),
        _command("chmod +x a.sh", _REJECTED),
        tried=("allow run_command(chmod **)",),
    )
    assert _list(replay) == [("allow", "rejected", 1), ("ask", "approved", 1)]


def test_a_call_that_left_the_sandbox_would_be_asked_about_again() -> None:
    replay = _replay(_command("make", _APPROVED, outside_sandbox=True), tried=("allow run_command(make *)",))

    assert _list(replay) == [("ask", "approved", 1)]


def test_a_tool_that_is_gone_may_touch_anything() -> None:
    gone = PastCall(tool="mcp__gone__write", arguments={"path": "a"}, risk=RiskLevel.HIGH, answer=_APPROVED)

    assert _list(_replay(gone, tried=("allow mcp__gone__write(src/**)",))) == []
    assert _list(_replay(gone, tried=("allow mcp__gone__*",))) == [("allow", "approved", 1)]


def test_examples_are_few_and_each_is_there_once() -> None:
    calls = [_command(f"make {number}", _APPROVED) for number in range(MOST_EXAMPLES + 3)]

    (group,) = _replay(*calls, *calls, tried=("allow run_command(make *)",)).groups

    assert group.calls == 2 * len(calls)
    assert group.examples == tuple(f"make {number}" for number in range(MOST_EXAMPLES))


def test_a_name_that_quotes_part_is_the_same_program() -> None:
    replay = _replay(_command("m'a'ke deploy", _REJECTED), tried=("allow run_command(make *)",))

    assert _list(replay) == [("allow", "rejected", 1)]


@pytest.mark.parametrize(("answer", "now"), [(_UNASKED, "allow"), (_REJECTED, "ask"), (_APPROVED, "ask")])
def test_a_fetch_is_asked_about_as_it_was_unless_a_rule_allows_it(answer: PastAnswer, now: str) -> None:
    call = PastCall(
        tool="web_fetch", arguments={"url": "https://example.org/x"}, risk=RiskLevel.LOW, answer=answer
    )

    assert _list(_replay(call)) == [(now, answer, 1)]
    assert _list(_replay(call, tried=("allow web_fetch",))) == [("allow", answer, 1)]


@pytest.mark.parametrize("command", ["\ud800", "\0", "", " ", "make \udcff", "(" * 3_000])
def test_a_command_that_no_shell_would_take_would_be_asked_about(command: str) -> None:
    assert _list(_replay(_command(command, _UNASKED))) == [("ask", "unasked", 1)]
