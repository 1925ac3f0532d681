"""What is decided about a command that asks to reach hosts."""

from __future__ import annotations

import pytest

from quorum.domain.calls.access import EXCLUSIVE
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.review.decision import Decision, decide
from quorum.domain.review.mode import Mode
from quorum.domain.review.objection import Objection
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import Answer, BadRule, Rule, Subject, collect_hosts
from quorum.domain.review.rule_offers import find_failing_example, generate_candidates, generate_near_misses
from quorum.domain.shell.command_line import ShellVerdict, ShellVerdictKind
from quorum.infrastructure.execution.shell.parsing import parse

_PATHS = PathPolicy(roots=("/w",))


def a_command(*asked: str, reached: tuple[str, ...] = (), is_confined: bool = True) -> Subject:
    shell = ShellVerdict(
        kind=ShellVerdictKind.ASK,
        reason="it is not known only to read",
        is_confined=is_confined,
        asked_hosts=asked,
        reached_hosts=reached,
    )
    return Subject(
        tool="run_command", risk=RiskLevel.HIGH, access=EXCLUSIVE, command="pip install x", shell=shell
    )


def judged(subject: Subject, *rules: Rule, mode: Mode = Mode.SANDBOXED, **given: object) -> Decision:
    return decide(subject, mode=mode, paths=_PATHS, rules=rules, **given)  # type: ignore[arg-type]


def a_rule(text: str, answer: Answer = Answer.ALLOW) -> Rule:
    return Rule.parse(text, answer, "the test")


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode is not Mode.READ_ONLY])
def test_a_host_that_nothing_allows_is_asked_about_in_every_mode(mode: Mode) -> None:
    decision = judged(a_command("pypi.org"), a_rule("run_command"), mode=mode)

    assert decision.answer is Answer.ASK
    assert "it asks to reach pypi.org, to which it can then send what it has read" in decision.notices


@pytest.mark.parametrize(
    ("rule", "answer"),
    [
        ("network(pypi.org)", Answer.ALLOW),
        ("network(example.org, *.org)", None),
        ("network(example.org, pypi.org)", Answer.ALLOW),
        ("network(pypi.org:443)", Answer.ASK),
        ("network(*.pypi.org)", Answer.ASK),
        ("*", Answer.ASK),
        ("run_command(pip install x)", Answer.ASK),
    ],
)
def test_only_a_rule_about_all_of_the_host_opens_it(rule: str, answer: Answer | None) -> None:
    if answer is None:
        with pytest.raises(BadRule, match="wider than a host"):
            a_rule(rule)
    else:
        assert judged(a_command("pypi.org"), a_rule(rule)).answer is answer


def test_each_host_has_to_be_allowed() -> None:
    allow = a_rule("network(pypi.org)")

    assert judged(a_command("pypi.org", "example.org"), allow).answer is Answer.ASK
    assert judged(a_command("pypi.org", "example.org"), allow, a_rule("network(example.org)")).answer is (
        Answer.ALLOW
    )


@pytest.mark.parametrize(("answer", "text"), [(Answer.DENY, "denies"), (Answer.ASK, "asks about")])
def test_a_rule_that_restricts_a_part_of_what_is_asked_for_counts(answer: Answer, text: str) -> None:
    rules = (a_rule("network(*.example.org)"), a_rule("network(bad.example.org)", answer))

    decision = judged(a_command("*.example.org"), *rules)

    assert decision.answer is answer
    assert f"the rule network(bad.example.org) {text} it (the test)" in decision.reasons


def test_a_rule_about_a_host_allows_no_command() -> None:
    allow = a_rule("network(pypi.org)")

    assert judged(a_command("pypi.org"), allow, mode=Mode.ASK).answer is Answer.ASK
    assert judged(a_command("pypi.org", is_confined=False), allow).answer is Answer.ASK


def test_the_reason_names_the_hosts_that_a_command_reaches() -> None:
    decision = judged(a_command("pypi.org", reached=("pypi.org", "*.example.org")), a_rule("network(pypi.org)"))

    assert decision.reasons == ("it runs inside the sandbox, and reaches no hosts but pypi.org, *.example.org",)
    assert judged(a_command()).reasons == ("it runs inside the sandbox, without network",)


@pytest.mark.parametrize(("reached", "answer"), [((), Answer.ALLOW), (("pypi.org",), Answer.ASK)])
def test_no_layer_holds_what_a_command_sends_to_a_host(reached: tuple[str, ...], answer: Answer) -> None:
    objections = [Objection("network", "curl: it sends a file away")]

    decision = judged(a_command(reached=reached), mode=Mode.STAGED, objections=objections)

    assert decision.answer is answer


def test_what_rules_allow_is_reached_but_for_what_others_withhold() -> None:
    hosts = collect_hosts(
        [
            a_rule("network(*.example.org)"),
            a_rule("network(bad.example.org)", Answer.DENY),
            a_rule("network(odd.example.org)", Answer.ASK),
            a_rule("run_command"),
        ]
    )

    reached = [host for host in ("a", "bad", "odd") if hosts.find_pattern(f"{host}.example.org", 443)]
    assert reached == ["a"]


@pytest.mark.parametrize("text", ["network", "network(https://pypi.org)", "network(10.0.0.1)", "network(*)"])
def test_a_rule_about_hosts_has_to_name_them(text: str) -> None:
    with pytest.raises(BadRule):
        a_rule(text)


def test_the_rule_that_is_proposed_names_the_hosts_and_holds_for_itself() -> None:
    subject = a_command("pypi.org", "files.example.org:8443")
    [text] = generate_candidates(subject, ("/w",))

    assert text == "network(pypi.org, files.example.org:8443)"
    for host in ("pypi.org", "files.example.org:8443", "*.example.org"):
        rule = a_rule(f"network({host})")
        assert find_failing_example(rule, [host], generate_near_misses(rule, host), parse, "/w") is None
    assert find_failing_example(a_rule(text), ["no host"], [], parse, "/w") == "it no longer covers 'no host'"
