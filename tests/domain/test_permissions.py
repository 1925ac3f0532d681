import shlex

import pytest

from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.review.permission_rules import Answer, BadRule, Rule, Subject, find_matching_rules
from quorum.domain.shell.command_line import (
    JudgedCommand,
    Redirect,
    ShellVerdict,
    ShellVerdictKind,
    SimpleCommand,
)

_ROOTS = ("/w",)


def _rules(answer: Answer, *texts: str) -> list[Rule]:
    return [Rule.parse(text, answer, "here") for text in texts]


def _file_call(tool: str, *paths: str, write: bool = True) -> Subject:
    access = Access.of(writes=paths) if write else Access.of(reads=paths)
    return Subject(tool=tool, risk=RiskLevel.HIGH if write else RiskLevel.LOW, access=access)


def _command(text: str, *, reads: bool = False, unclear: str | None = None) -> Subject:
    """A command of plain words joined by &&. Parts that are `ls` or `git log` alone are taken to read."""
    parts = []
    for piece in text.split("&&"):
        words = tuple(shlex.split(piece))
        only_reads = reads or words in (("ls",), ("git", "log"))
        parts.append(JudgedCommand(SimpleCommand(words), None if only_reads else "it may write"))
    proved = all(part.objection is None for part in parts) and unclear is None
    return Subject(
        tool="run_command",
        risk=RiskLevel.HIGH,
        access=EXCLUSIVE,
        arguments={"command": text},
        command=text,
        shell=ShellVerdict(
            kind=ShellVerdictKind.READ_ONLY if proved else ShellVerdictKind.ASK,
            reason="",
            parts=tuple(parts),
            unclear=unclear,
        ),
    )


def _allows(subject: Subject, *texts: str) -> bool:
    return bool(find_matching_rules(_rules(Answer.ALLOW, *texts), subject, _ROOTS))


def _denies(subject: Subject, *texts: str) -> bool:
    return bool(find_matching_rules(_rules(Answer.DENY, *texts), subject, _ROOTS))


def test_a_tool_alone_means_every_call_of_it() -> None:
    assert _allows(_file_call("write_file", "/etc/passwd"), "write_file")
    assert not _allows(_file_call("edit_file", "/w/a"), "write_file")
    assert _denies(_file_call("mcp__git__push", "/w/a"), "mcp__git__*")


def test_a_path_rule_that_allows_needs_every_path_written_to_fit() -> None:
    assert _allows(_file_call("write_file", "/w/src/a.py"), "write_file(src/**)")
    assert not _allows(_file_call("write_file", "/w/src/a.py", "/w/b"), "write_file(src/**)")
    assert not _allows(_file_call("write_file", "/w/b"), "write_file(src/**)")


def test_a_path_rule_that_allows_holds_for_the_tools_of_its_kind_and_no_others() -> None:
    assert _allows(_file_call("edit_file", "/w/src/a.py"), "write_file(src/**)")
    assert not _allows(_file_call("deploy", "/w/src/a.py"), "write_file(src/**)")
    assert not _allows(_file_call("read_file", "/w/src/a.py", write=False), "write_file(src/**)")


def test_a_path_rule_that_denies_binds_the_access_whatever_the_tool() -> None:
    for tool in ("write_file", "edit_file", "deploy"):
        assert _denies(_file_call(tool, "/w/secrets/key"), "write_file(secrets)")
    assert _denies(_file_call("grep_search", "/w", write=False), "read_file(secrets/**)") is False
    assert _denies(_file_call("grep_search", "/w/secrets/a", write=False), "read_file(secrets/**)")
    assert _denies(_file_call("edit_file", "/w/secrets/a"), "read_file(secrets/**)")


def test_a_command_rule_matches_word_by_word() -> None:
    assert _allows(_command("npm test"), "run_command(npm test)")
    assert not _allows(_command("npm test --update"), "run_command(npm test)")
    assert _allows(_command("npm run test:unit"), "run_command(npm run test:*)")
    assert not _allows(_command("npm run deploy"), "run_command(npm run test:*)")


def test_a_star_at_the_end_stands_for_any_further_words() -> None:
    for text in ("make", "make all", "make -j 4 all"):
        assert _allows(_command(text), "run_command(make *)")
    assert not _allows(_command("makedepend"), "run_command(make *)")


def test_a_star_never_stands_for_an_option_that_reading_forbids() -> None:
    assert _allows(_command("git log main", reads=True), "run_command(git log *)")
    assert not _allows(_command("git log --output=x"), "run_command(git log *)")
    assert _allows(_command("git log --output=x"), "run_command(git log --output=x)")


def test_a_reading_program_behind_its_path_is_held_to_the_same() -> None:
    assert not _allows(_command("/usr/bin/sort -o x y"), "run_command(/usr/bin/sort *)")
    assert not _allows(_command("/usr/bin/git log --output=x"), "run_command(/usr/bin/git log *)")
    assert _allows(_command("/usr/bin/sort y"), "run_command(/usr/bin/sort *)")


def test_a_bracket_in_a_pattern_is_a_bracket() -> None:
    assert not _allows(_command("make a"), "run_command(make [ab])")
    assert _allows(_command("make [ab]"), "run_command(make [ab])")
    fetch = Subject(
        tool="web_fetch", risk=RiskLevel.HIGH, access=Access(), arguments={"url": "http://[::1]/admin"}
    )
    assert _denies(fetch, "web_fetch(url=http://[::1]/*)")


def test_every_part_of_a_command_must_be_covered_perhaps_by_several_rules() -> None:
    both = ("run_command(make *)", "run_command(npm test)")
    assert _allows(_command("make all && npm test"), *both)
    assert not _allows(_command("make all && rm x"), *both)
    assert _allows(_command("ls && make"), "run_command(read-only)", "run_command(make *)")


def test_a_rule_for_what_is_read_only_needs_the_proof() -> None:
    assert _allows(_command("ls"), "run_command(read-only)")
    assert not _allows(_command("rm x"), "run_command(read-only)")


def test_an_opaque_command_is_allowed_by_its_literal_text_alone() -> None:
    opaque = _command("echo $(make)", unclear="a substitution")
    assert not _allows(opaque, "run_command(echo *)")
    assert _allows(opaque, "run_command(echo $(make))")


def test_an_opaque_command_may_hold_what_a_rule_denies() -> None:
    assert _denies(_command("echo $(make)", unclear="a substitution"), "run_command(rm *)")


def test_any_part_that_a_rule_denies_is_enough() -> None:
    assert _denies(_command("ls && rm -rf x"), "run_command(rm *)")
    assert not _denies(_command("ls && make"), "run_command(rm *)")


@pytest.mark.parametrize(
    "part",
    [
        SimpleCommand(("echo", "hi"), redirects=(Redirect(">", "/home/me/.bashrc"),)),
        SimpleCommand(("echo", "hi"), redirects=(Redirect("<", "/etc/passwd"),)),
        SimpleCommand(("echo", "hi"), assignments=("LD_PRELOAD=./x.so",)),
    ],
)
def test_a_word_pattern_covers_neither_redirects_nor_assignments(part: SimpleCommand) -> None:
    shell = ShellVerdict(kind=ShellVerdictKind.ASK, reason="", parts=(JudgedCommand(part, "it may write"),))
    subject = Subject(tool="run_command", risk=RiskLevel.HIGH, access=EXCLUSIVE, command="…", shell=shell)
    assert not _allows(subject, "run_command(echo *)")


def test_a_command_nobody_could_look_at_is_allowed_by_no_pattern_and_denied_by_each() -> None:
    subject = Subject(tool="run_command", risk=RiskLevel.HIGH, access=EXCLUSIVE, command="make")
    assert not _allows(subject, "run_command(make *)")
    assert _denies(subject, "run_command(rm *)")


@pytest.mark.parametrize(
    "text",
    [
        "/bin/rm -rf x",
        "RM -rf x",
        "sudo rm -rf x",
        "sudo -u me /usr/bin/rm x",
        "timeout 5 nice -n 3 rm x",
        "find . -exec rm {} +",
        "xargs rm",
        "bash -c 'anything'",
        "env bash -ec 'anything'",
        "eval 'anything'",
        "cat x && bash",
        "bash -s x",
        "bash --norc",
        "coproc rm x",
        "busybox rm x",
        "env -S 'rm x'",
        "env '--split-string=rm x'",
        "watch 'cd /; rm x'",
        "su me -c '/bin/rm x'",
    ],
)
def test_a_rule_that_denies_a_program_finds_it_behind_paths_and_wrappers(text: str) -> None:
    assert _denies(_command(text), "run_command(rm *)")


@pytest.mark.parametrize(
    "text",
    [
        "git -C sub push",
        "git --no-pager push",
        "git -c a.b=c push origin",
        "sudo git -P push",
        "git --attr-source x push",
        "git -c alias.p=push p",
        "/usr/lib/git-core/git-push origin",
        "env -S 'git push'",
    ],
)
def test_a_rule_that_denies_a_git_command_finds_it_behind_gits_options(text: str) -> None:
    assert _denies(_command(text), "run_command(git push *)")


@pytest.mark.parametrize(
    "text",
    ["echo rm", "git commit -m push", "bash script.sh", "npm run rm", "env A=rm make", "bash -x script.sh"],
)
def test_a_rule_that_denies_a_program_is_not_about_a_word_of_that_name(text: str) -> None:
    assert not _denies(_command(text), "run_command(rm *)", "run_command(git push *)")


def test_a_rule_that_denies_what_a_folder_holds_denies_a_search_of_the_folder() -> None:
    search = Subject(tool="grep_search", risk=RiskLevel.LOW, access=Access.of(reads=["/w/secrets"]))
    assert _denies(search, "read_file(secrets/**)")


def test_a_path_rule_that_denies_binds_what_a_command_is_seen_to_touch() -> None:
    verdict = ShellVerdict(
        kind=ShellVerdictKind.READ_ONLY, reason="", paths_read=("/w/secrets/a",), paths_written=("/w/out/b",)
    )
    subject = Subject(tool="run_command", risk=RiskLevel.HIGH, access=EXCLUSIVE, command="…", shell=verdict)
    assert _denies(subject, "read_file(secrets/**)")
    assert _denies(subject, "write_file(out)")
    assert not _denies(subject, "write_file(secrets)")


def test_the_words_read_only_are_never_a_program() -> None:
    assert not _allows(_command("read-only"), "run_command(read-only)")


def test_a_word_that_is_called_like_a_reading_command_does_not_make_it_one() -> None:
    assert _allows(_command("git commit -m log"), "run_command(git commit *)")
    assert not _allows(_command("git -c core.pager=x log"), "run_command(git *)")


def test_a_pattern_of_an_address_stays_within_its_host() -> None:
    def fetch(url: str) -> Subject:
        return Subject(tool="web_fetch", risk=RiskLevel.HIGH, access=Access(), arguments={"url": url})

    rule = "web_fetch(url=https://*.x.org/docs/*)"
    assert _allows(fetch("https://a.x.org/docs/b?c=d"), rule)
    assert _allows(fetch("HTTPS://A.X.ORG/docs/"), rule)
    for url in (
        "https://evil.org/a.x.org/docs/",
        "https://evil.org/?q=.x.org/docs/",
        "https://me@a.x.org/docs/",
        "https://evil.org\\.x.org/docs/",
        "https://a.x.org/docs/../secret",
        "https://a.x.org/docs/%2E%2e/secret",
        "http://a.x.org/docs/",
    ):
        assert not _allows(fetch(url), rule), url


def test_a_rule_that_denies_an_argument_does_not_mind_its_case() -> None:
    subject = Subject(
        tool="web_fetch", risk=RiskLevel.HIGH, access=Access(), arguments={"url": "HTTPS://Evil.org"}
    )
    assert _denies(subject, "web_fetch(url=https://evil.org/*)")


def test_other_tools_are_distinguished_by_an_argument() -> None:
    subject = Subject(
        tool="web_fetch", risk=RiskLevel.HIGH, access=Access(), arguments={"url": "https://docs.x.org/a"}
    )
    assert _allows(subject, "web_fetch(url=https://docs.x.org/*)")
    assert not _allows(subject, "web_fetch(url=https://evil.org/*)")
    assert not _allows(subject, "web_fetch(uri=https://docs.x.org/*)")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(x)",
        "write_file(",
        "write_file()",
        "write file",
        "run_command(* x)",
        "run_command('a)",
        "run_*('a)",
        "*(? x)",
        "a(b)c",
        "read_file(~/../x)",
        "write_file(../out/**)",
        "grep_search(/etc/./passwd)",
        "edit_file(.)",
    ],
)
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(BadRule):
        Rule.parse(text, Answer.ALLOW, "here")


def test_a_rule_reads_as_it_was_written() -> None:
    assert Rule.parse(" run_command(git log *) ", Answer.ASK, "here").text == "run_command(git log *)"
    assert Rule.parse("write_file", Answer.DENY, "here").id == "deny write_file"


def test_a_rule_that_denies_finds_git_behind_more_options_than_anybody_writes() -> None:
    assert _denies(_command("env git " + "-p " * 500 + "push"), "run_command(git push *)")
    assert _denies(_command("env " * 500 + "git push"), "run_command(git push *)")
    assert not _denies(_command("env " * 500 + "git pull"), "run_command(git push *)")
