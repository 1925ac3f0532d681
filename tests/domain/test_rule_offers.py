"""Rules learnt from approvals: what is offered after approvals of a kind, and what never is."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.replacing import replace
from quorum.domain.review.command_pattern import covers_part, is_reader
from quorum.domain.review.permission_rules import Answer, Rule, Subject
from quorum.domain.review.rule_offers import (
    APPROVALS_BEFORE,
    APPROVALS_BEFORE_FAMILY,
    find_family,
    judge_by_words,
    learn_rules,
)
from quorum.domain.shell.command_line import CommandLine, JudgedCommand, Redirect, SimpleCommand
from quorum.domain.shell.inline_code import holds_code
from quorum.domain.shell.star_words import find_uncovered_word
from tests.support.examples import examples

_ROOTS = ("/w",)
_READ_ONLY = Rule.parse("run_command(read-only)", Answer.ALLOW, "default")


def _command(text: str, **arguments: object) -> Subject:
    parts = [part.strip() for part in text.split("&&")]
    line = CommandLine(tuple(SimpleCommand(tuple(shlex.split(part)), then="&&") for part in parts))
    return Subject(
        tool="run_command",
        risk=RiskLevel.HIGH,
        access=EXCLUSIVE,
        arguments={"command": text, **{name: value is True for name, value in arguments.items()}},
        command=text,
        shell=judge_by_words(line),
    )


def _edit(path: str, tool: str = "edit_file") -> Subject:
    return Subject(tool=tool, risk=RiskLevel.HIGH, access=Access.of(writes=[path]))


def _offered(subject: Subject, *approved: Subject, rules: tuple[Rule, ...] = (_READ_ONLY,)) -> tuple[str, ...]:
    learnt = learn_rules(subject, approved, rules, _ROOTS)
    return () if learnt is None else tuple(rule.text for rule in learnt.rules)


@pytest.mark.parametrize(
    ("approved", "asked", "offered"),
    [
        (("make test", "make test"), "make test", ("make test",)),
        (("make test", "make lint"), "make all", ("make *",)),
        (("git commit -m a", "git add x && git commit -m b"), "git commit -m c", ("git commit *",)),
        (("npm run x -- a", "npm run x -- b"), "npm run x -- c", ("npm run x *",)),
        (("./deploy.sh now", "./deploy.sh now"), "./deploy.sh now", ("./deploy.sh now",)),
        (("mise run test",) * 2, "mise run test", ("mise run test",)),
        (("timeout 60 go test",) * 2, "timeout 60 go test", ("timeout 60 go test",)),
        (("python3 tests/run.py",) * 2, "python3 tests/run.py", ("python3 tests/run.py",)),
    ],
)
def test_the_third_call_of_a_kind_is_offered_the_narrowest_rule_for_it(
    approved: tuple[str, ...], asked: str, offered: tuple[str, ...]
) -> None:
    rules = tuple(f"run_command({pattern})" for pattern in offered)

    assert _offered(_command(asked), *map(_command, approved)) == rules


def test_the_second_call_of_a_kind_is_offered_nothing() -> None:
    assert _offered(_command("make test"), _command("make test")) == ()


def test_each_part_that_would_still_ask_has_a_rule_of_its_own_and_readers_have_none() -> None:
    approved = [
        _command("git add a && git commit -m a"),
        _command("git commit -m b"),
        _command("git status && git add b"),
    ]

    asked = _command("git add c && git status && git commit -m c")

    assert _offered(asked, *approved) == ("run_command(git add *)", "run_command(git commit *)")
    allowed = Rule.parse("run_command(git add *)", Answer.ALLOW, "here")
    assert _offered(asked, *approved, rules=(_READ_ONLY, allowed)) == ("run_command(git commit *)",)


def test_a_part_that_was_not_approved_twice_has_nothing_offered_for_the_others() -> None:
    approved = [_command("make test"), _command("make test")]

    assert _offered(_command("make test && ./publish.sh"), *approved) == ()


@pytest.mark.parametrize(
    "text",
    [
        *(
            "python -c x",
            "python3 -Ic x",
            "python3",
            "bash -c x",
            "sh -ec x",
            "eval x",
            "source x",
            "perl -ne x",
        ),
        *("node -e x", "node --eval=x", "env python -c x", "timeout 5 bash -c x", "uv run python -c x"),
        *(
            "ssh host x",
            "awk x f",
            "sed -i x f",
            "xargs rm",
            "sudo sh -c x",
            "git -c alias.x=!y x",
            "deno eval x",
        ),
        *("cat /etc/passwd", "find . -delete", "sort -o x y", "git branch -D x", "export A=b", "cd /tmp"),
        *(
            "npx -c x",
            "npm exec --call=x",
            "git submodule foreach x",
            "git rebase -x x main",
            "docker run i sh -c x",
        ),
        "echo * > x",
    ],
)
def test_nothing_is_learnt_about_code_in_words_about_readers_and_about_what_changes_the_shell(
    text: str,
) -> None:
    subject = _command(text)

    assert _offered(subject, subject, subject, subject) == ()


def test_nothing_is_learnt_about_what_is_opaque_or_runs_in_another_way_than_usual() -> None:
    usual = _command("make test")
    shell = usual.shell
    assert shell is not None
    unusual = [
        replace(usual, shell=None),
        replace(usual, shell=replace(shell, unclear="it has a substitution")),
        replace(usual, shell=replace(shell, leaves_sandbox=True)),
        replace(usual, shell=replace(shell, opens_git=True)),
        replace(usual, risk=RiskLevel.LOW),
        _command("make test", background=True),
    ]

    assert [_offered(subject, usual, usual) for subject in unusual] == [()] * len(unusual)
    assert _offered(usual, *(replace(usual, shell=replace(shell, unclear="x")) for _ in range(3))) == ()


def test_a_part_that_writes_by_a_redirect_or_sets_a_variable_is_offered_no_rule() -> None:
    for more in (
        {"redirects": (Redirect(">", "/w/x"),)},
        {"assignments": ("A=b",)},
    ):
        line = CommandLine((SimpleCommand(("make", "test"), **more),))  # type: ignore[arg-type]
        subject = replace(_command("make test"), shell=judge_by_words(line))

        assert _offered(subject, subject, subject) == ()
        assert _offered(_command("make test"), subject, subject) == ()


@pytest.mark.parametrize(
    ("approved", "asked", "offered"),
    [
        (("/w/src/a.py", "/w/src/a.py"), "/w/src/a.py", ("write_file(src/a.py)",)),
        (("/w/src/a.py", "/w/src/x/b.py"), "/w/src/c.py", ("write_file(src/**)",)),
        (("/w/src/a.py", "/w/docs/b.md"), "/w/src/c.py", ()),
        (("/w/a.py", "/w/b.py"), "/w/c.py", ()),
        (("/w/src/a.py",), "/w/src/a.py", ()),
    ],
)
def test_edits_are_offered_the_file_or_its_folder_and_never_the_whole_workspace(
    approved: tuple[str, ...], asked: str, offered: tuple[str, ...]
) -> None:
    tools = ("write_file", "edit_file")
    before = [_edit(path, tools[n % 2]) for n, path in enumerate(approved)]

    assert _offered(_edit(asked), *before) == offered


def test_a_command_without_words_and_one_of_very_many_parts_are_offered_nothing() -> None:
    shell = judge_by_words(CommandLine((SimpleCommand(("make",)),)))
    wordless = JudgedCommand(SimpleCommand((), assignments=("A=b",)), "it sets a variable")
    subject = replace(_command("A=b"), shell=replace(shell, parts=(wordless,)))
    assert _offered(subject, subject, subject) == ()

    many = _command(" && ".join(["make"] * 2_000))
    assert _offered(many, many, many) == ()


def test_a_rule_too_long_to_read_at_a_glance_is_not_offered() -> None:
    subject = _command("./x " + "y" * 200)

    assert _offered(subject, subject, subject) == ()


@pytest.mark.parametrize(
    ("approved", "command", "offered"),
    [
        (
            ".venv/bin/python -m pytest -q a.py",
            ".venv/bin/python -m pytest b.py -x",
            ".venv/bin/python -m pytest *",
        ),
        ("ruff check src", "ruff check tests", "ruff *"),
        ("npm run lint", "npm run lint", "npm run lint *"),
        ("cargo test", "cargo test --workspace", "cargo test *"),
    ],
)
def test_the_second_call_of_a_family_is_offered_the_rule_that_ends_the_asking(
    approved: str, command: str, offered: str
) -> None:
    learnt = learn_rules(_command(command), [_command(approved)], (_READ_ONLY,), _ROOTS)

    assert learnt is not None
    assert [rule.pattern for rule in learnt.rules] == [offered]
    (sentence,) = learnt.families
    assert " with any harmless words, not " in sentence
    assert sentence.endswith(" or a path outside the project")


@pytest.mark.parametrize("command", ["make test", "python a.py", "bash a.sh", "git add a", "pytest -p x"])
def test_no_other_command_is_offered_a_rule_after_one_approval(command: str) -> None:
    assert learn_rules(_command(command), [_command(command)], (_READ_ONLY,), _ROOTS) is None


_WORDS = st.sampled_from(
    [
        *("test", "-q", "-x", "a.py", "-m", "msg", "-f", "/etc/shadow", "--upload-pack=x", "-p", "--config=x"),
        *("-c", "--exec", "SHELL=x", "ext::x", "-F", "*", "--", "-", "a b", "x;y"),
    ]
)
_PROGRAMS = st.sampled_from(
    [
        *(
            "make",
            "pytest",
            "git commit",
            "git fetch",
            "git push",
            "npm test",
            "npm run x",
            "go test",
            "cargo test",
        ),
        *("mytool", "python", "bash", "cat", "git log", "sort", "uniq", "rm", "env python", "./run"),
    ]
)
_COMMANDS = st.builds(
    lambda program, words: f"{program} {shlex.join(words)}".strip(), _PROGRAMS, st.lists(_WORDS, max_size=3)
)


@examples(300)
@given(st.data())
def test_what_is_offered_covers_approved_calls_and_no_word_that_runs_programs_or_reads_files(
    data: st.DataObject,
) -> None:
    pool = data.draw(st.lists(_COMMANDS, min_size=1, max_size=3))
    approved = data.draw(st.lists(st.sampled_from(pool), min_size=2, max_size=8))
    parts = data.draw(st.lists(st.sampled_from(pool), min_size=1, max_size=3))
    subject, before = _command(" && ".join(parts)), list(map(_command, approved))
    learnt = learn_rules(subject, before, (_READ_ONLY,), _ROOTS)
    if learnt is None:
        return

    for rule in learnt.rules:
        assert rule.pattern is not None
        is_family = rule.pattern.endswith("*") and find_family(shlex.split(rule.pattern)) is not None
        covered = [
            part
            for call in before
            for part in (call.shell.parts if call.shell else ())
            if covers_part(rule.pattern, JudgedCommand(part.command, "approved before"))
        ]
        assert len(covered) >= (APPROVALS_BEFORE_FAMILY if is_family else APPROVALS_BEFORE)
        assert not any(is_reader(part.command.words) for part in covered)
        assert not any(holds_code(part.command.words) for part in covered if "*" not in rule.pattern)
        if rule.pattern.endswith(" *"):
            fixed = len(shlex.split(rule.pattern)) - 1
            for part in covered:
                words = part.command.words
                assert find_uncovered_word(words, range(fixed, len(words))) is None
    covering = [rule.pattern for rule in learnt.rules if rule.pattern]
    assert subject.shell is not None
    for part in subject.shell.parts:
        assert part.objection is None or any(covers_part(pattern, part) for pattern in covering)
