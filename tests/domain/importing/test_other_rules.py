import pytest

from quorum.domain.importing.foreign_rules import (
    RulePlaces,
    translate_kimi_rule,
    translate_other_rule,
    widen_crossing,
)
from quorum.domain.review.permission_rules import Answer, Rule

_PLACES = RulePlaces(home="/home/me")


def _translate(tool: str, pattern: str = "", answer: Answer = Answer.DENY) -> tuple[str, ...]:
    translated = translate_other_rule(tool, pattern, answer, _PLACES)
    for rule in translated.rules:
        Rule.parse(rule, translated.answer, "")
    return translated.rules


@pytest.mark.parametrize(
    ("tool", "pattern", "here"),
    [
        ("bash", "git push *", "run_command(git push *)"),
        ("bash", "*", "run_command"),
        ("run_shell_command", "rm -rf:*", "run_command(rm -rf *)"),
        ("shell", "git:*", "run_command(git *)"),
        ("read", "*.env", "read_file(*.env)"),
        ("edit", "src/*", "write_file(src/**)"),
        ("edit", "docs/a*b/c", "write_file(docs/a*)"),
        ("read", "conf/*.key", "read_file(conf/**/*.key)"),
        ("read", "/etc/*", "read_file(/etc/**)"),
        ("read", "~/.ssh/*", "read_file(/home/me/.ssh/**)"),
        ("write_file", "", "write_file"),
        ("webfetch", "https://*.example.com/*", "web_fetch(url=*example.com*)"),
        ("url", "example.com", "web_fetch(url=*example.com*)"),
        ("webfetch", "https://*", "web_fetch"),
        ("skill", "deploy-*", "load_skill"),
        ("gh_delete_repo", "", "mcp__gh__delete_repo"),
        ("mcp_gh_*", "", "mcp__gh__*"),
        ("*", "", "*"),
    ],
)
def test_a_denial_becomes_one_that_covers_at_least_the_same(tool: str, pattern: str, here: str):
    assert here in _translate(tool, pattern)


@pytest.mark.parametrize(
    ("tool", "pattern", "here"),
    [
        ("bash", "git status *", ("run_command(git status *)",)),
        ("bash", "make lint", ("run_command(make lint)",)),
        ("bash", "*", ()),
        ("bash", "git*", ()),
        ("edit", "src/*", ()),
        ("read", "", ()),
        ("*", "", ()),
        ("webfetch", "https://example.com/*", ()),
        ("gh_list", "", ()),
    ],
)
def test_a_permission_allows_only_commands_that_are_plainly_named(
    tool: str, pattern: str, here: tuple[str, ...]
):
    assert _translate(tool, pattern, Answer.ALLOW) == here


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("*/secret/*", "**/secret/**"),
        ("*x/y", "**/*x/y"),
        ("*a*b", "*a*"),
        ("a/**/b", "a/**/b"),
        ("a*", "a*"),
        ("$HOME/x", "~/x"),
        ("/a/*.b", "//a/**/*.b"),
    ],
)
def test_a_star_that_crosses_folders_does_so_here(there: str, here: str):
    assert widen_crossing(there) == here


def test_a_pattern_of_kimi_code_allows_nothing_for_it_means_less_there():
    assert translate_kimi_rule("Bash(npm test *)", Answer.ALLOW, _PLACES).rules == ()
    assert translate_kimi_rule("Bash(npm test)", Answer.ALLOW, _PLACES).rules == ("run_command(npm test)",)
    assert translate_kimi_rule("Bash(rm *)", Answer.DENY, _PLACES).rules == ("run_command(rm *)",)
