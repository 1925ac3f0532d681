from __future__ import annotations

import shlex
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.shell.command_line import Redirect, SimpleCommand
from quorum.infrastructure.execution.shell.parsing import parse
from tests.support.examples import examples

PRINTABLE = st.characters(
    exclude_categories=("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"), include_characters=" "
)


def words_of(text: str) -> list[tuple[str, ...]]:
    line = parse(text)
    assert line.unclear is None, line.unclear
    return [command.words for command in line.commands]


@examples(300)
@given(st.lists(st.text(PRINTABLE, max_size=12), max_size=6).filter(lambda words: words[-1:] != ["=="]))
def test_any_printable_words_come_back_as_they_were_quoted(words: list[str]) -> None:
    argv = ("ls", *words)

    assert words_of(shlex.join(argv)) == [argv]


@examples(200)
@given(st.text(st.sampled_from("ab '\"\\$`;&|<>(){}[]*?!#~=\n\t-+@%^é"), max_size=40))
def test_any_text_is_either_taken_apart_or_said_to_be_unclear(text: str) -> None:
    line = parse(text)

    assert line.unclear is not None or line.commands
    assert line.unclear != ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ls -la", [("ls", "-la")]),
        ("ls;pwd", [("ls",), ("pwd",)]),
        ("a && b || c | d; e", [("a",), ("b",), ("c",), ("d",), ("e",)]),
        ("rg -n foo -g'*.py'", [("rg", "-n", "foo", "-g*.py")]),
        ("cat \"a b\" 'c d'", [("cat", "a b", "c d")]),
        ('echo "a\\"b\\\\c\\d"', [("echo", 'a"b\\c\\d')]),
        ("echo a'b'\"c\"d", [("echo", "abcd")]),
        ("echo '' \"\"", [("echo", "", "")]),
        ("git show HEAD~2 HEAD^ a..b", [("git", "show", "HEAD~2", "HEAD^", "a..b")]),
        (r"find . \( -name a \) \! -type f", [("find", ".", "(", "-name", "a", ")", "!", "-type", "f")]),
        ("head -5 a#b", [("head", "-5", "a#b")]),
        ("expr a == b && ls", [("expr", "a", "==", "b"), ("ls",)]),
        ("echo == a;ls", [("echo", "==", "a"), ("ls",)]),
        ("\tls\t-l ", [("ls", "-l")]),
        ("ls\n\n", [("ls",)]),
        ("ls\npwd\n\n cat a", [("ls",), ("pwd",), ("cat", "a")]),
        ("# both\nls # here\n# and\npwd &&\n # there\n cat a", [("ls",), ("pwd",), ("cat", "a")]),
        ("ls # not \\\nrm x", [("ls",), ("rm", "x")]),
        ("ls \\\n  -l | \\\n cat", [("ls", "-l"), ("cat",)]),
        ('echo \'a\nb\' "c\n#d" "e\\\nf"', [("echo", "a\nb", "c\n#d", "ef")]),
        (r"find . -exec cat {} \;", [("find", ".", "-exec", "cat", "{}", ";")]),
        ("echo ＡＢ grün 日本", [("echo", "ＡＢ", "grün", "日本")]),
    ],
)
def test_plain_commands_are_taken_apart_into_the_words_programs_get(
    text: str, expected: list[tuple[str, ...]]
) -> None:
    assert words_of(text) == expected


def test_the_operator_behind_each_command_is_kept() -> None:
    line = parse("a && b || c | d; e;")

    assert [command.then for command in line.commands] == ["&&", "||", "|", ";", ";"]


def test_redirections_belong_to_the_command_they_stand_at() -> None:
    line = parse("a && b < x 2>&1 | c >/dev/null; >y d")

    assert [command.redirects for command in line.commands] == [
        (),
        (Redirect("<", "x"), Redirect(">&", "1")),
        (Redirect(">", "/dev/null"),),
        (Redirect(">", "y"),),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ls $HOME", "variable"),
        ("ls ${HOME}", "variable"),
        ("A=1 ls", "sets a variable"),
        ("PATH=a ls", "sets a variable"),
        ("LC_ALL=../x ls", "sets a variable"),
        ("cat $?", "variable"),
        ("ls\n>a", "not understood"),
        ("ls\\\n-a", "not understood"),
        ("ls;#x\nrm x", "comment"),
        ("ls 2&>/dev/null", "number"),
        ("for PATH in a; do ls; done", "loop"),
        ("for f in a; do for f in b; do ls; done; cat $f; done", "loop"),
        ("for f in a; do ls; done; cat $f", "variable"),
        ("for f in 'a b'; do cat $f; done", "variable"),
        ("for f in *; do ls; done", "outside quotes"),
        ("for f in a; do ls; done > x", "more than plain"),
        ("cat .*", "hidden"),
        ("ls $(pwd)", "runs a command inside a word"),
        ("ls `pwd`", "runs a command inside a word"),
        ("ls <(pwd)", "runs a command inside a word"),
        ("ls {a,b}", "{ outside quotes"),
        ("ls a{1..2}", "braces"),
        ("ls ~", "home folder"),
        ("ls a:~", "home folder"),
        ("ls &", "background"),
        ("(ls)", "subshell"),
        ("while ls; do ls; done", "loop"),
        ("if ls; then ls; fi", "condition"),
        ("! ls", "negates"),
        ("[ -f a ]", "brackets"),
        ("ls <<E\nE", "here-document"),
        ("ls <<< a", "here-string"),
        ("ls 'a", "open"),
        ("ls ==", "not a complete command"),
        ("ls \u200b", "U+200B"),
        ("ls \u00a0", "U+00A0"),
        ("ls \x1b", "U+001B"),
        ("", "empty"),
        ("ls " + "a" * 20_000, "too long"),
        ("ls|" * 300 + "ls", "too long"),
    ],
)
def test_what_is_more_than_plain_commands_is_named(text: str, reason: str) -> None:
    line = parse(text)

    assert line.unclear is not None
    assert reason in line.unclear


@pytest.mark.parametrize(
    "text",
    [
        "ls <<E\nE\nrm x",
        "echo $(rm x)",
        "f(){ rm x; }; f",
        "for i in *; do r''m x; done",
        "if true; then rm x; fi",
    ],
)
def test_commands_hidden_in_an_opaque_text_are_made_out_for_tightening(text: str) -> None:
    line = parse(text)

    assert line.unclear is not None
    assert ("rm", "x") in [command.words for command in line.commands]


def test_assignments_in_front_of_a_command_are_shown() -> None:
    (command,) = parse("LD_PRELOAD=./x ls -l").commands

    assert command.assignments == ("LD_PRELOAD=./x",)
    assert command.words == ("ls", "-l")


def test_the_end_of_a_line_ends_a_command_as_a_semicolon_does() -> None:
    line = parse("a\nb &&\nc |\nd\n")

    assert [command.then for command in line.commands] == [";", "&&", "|", ""]


def test_globs_are_identified_by_their_places() -> None:
    line = parse("grep x 'a*' *.py sub/b?")

    assert line.expanded is not None
    assert [command.globs for command in line.commands] == [frozenset({3, 4})]


def test_a_loop_over_a_glob_is_a_round_for_each_name_it_stands_for_there() -> None:
    asked: list[tuple[str, list[str]]] = []

    def list_names(glob: str, before: Sequence[SimpleCommand]) -> Sequence[str]:
        asked.append((glob, [command.name for command in before]))
        return ("a.py", "b c.py")

    line = parse('cd x && for f in *.py; do\n  wc -l "x/$f"; echo $?\ndone', list_names)

    assert asked == [("*.py", ["cd"])]
    assert [(command.words, command.found) for command in line.commands] == [
        (("cd", "x"), frozenset()),
        (("wc", "-l", "x/a.py"), frozenset({2})),
        (("echo", "0"), frozenset()),
        (("wc", "-l", "x/b c.py"), frozenset({2})),
        (("echo", "0"), frozenset()),
    ]


def test_a_loop_over_words_is_each_of_its_rounds() -> None:
    line = parse('for f in a.py b; do\n  head -3 $f # first\n  wc "x/${f}"\ndone | cat')

    assert line.expanded == "it has a loop"
    assert [command.words for command in line.commands] == [
        ("head", "-3", "a.py"),
        ("wc", "x/a.py"),
        ("head", "-3", "b"),
        ("wc", "x/b"),
        ("cat",),
    ]
