from __future__ import annotations

import shlex

import pytest

from quorum.domain.shell.command_line import Redirect, SimpleCommand
from quorum.domain.shell.command_spec import NotReadOnly, PathUse, Reading
from quorum.domain.shell.starting_readers import parse_xargs_use


def pipe(text: str) -> list[SimpleCommand]:
    return [SimpleCommand(tuple(shlex.split(part))) for part in text.split(" | ") if part]


def test_names_from_find_are_all_below_its_folder_or_those_with_an_ending() -> None:
    every = parse_xargs_use(["wc", "-l"], pipe("find src -type f"))
    some = parse_xargs_use(["-0", "wc", "-l"], pipe("find src -name '*.py' -print0"))

    assert every.program == "wc"
    assert every.paths == (PathUse("src", Reading.ALL_LINKED, as_words=True),)
    assert some.paths == (PathUse("src", Reading.ALL_LINKED, (".py",)),)


def test_what_the_command_reads_besides_the_names_is_read_too() -> None:
    use = parse_xargs_use(["cmp", "a"], pipe("grep -rl x src tests | sort"))
    replacing = parse_xargs_use(["-I{}", "cmp", "a", "{}"], pipe("rg x src -l"))

    assert list(dict.fromkeys(path.path for path in use.paths)) == ["src", "tests", "a"]
    # A name that is too long to replace it leaves it as it is.
    assert [path.path for path in replacing.paths] == ["src", "{}", "a"]


def test_words_that_are_only_printed_may_be_any() -> None:
    for words in ([], ["-r"], ["echo", "-n"], ["-n1", "basename"], ["-I", "{}", "dirname", "x{}"]):
        assert parse_xargs_use(words, []).paths == ()


@pytest.mark.parametrize(
    ("words", "upstream"),
    [
        ("cat", ""),
        ("cat", "ls"),
        ("cat", "find src | cat"),
        ("cat", "find src -print0"),
        ("-0 cat", "find src"),
        ("-0 cat", "find src -print0 | sort"),
        ("cat", "find src -print -name '*.py'"),
        ("cat", "find 'a b'"),
        ("cat", "find +x"),
        ("cat", "grep -rl x"),
        ("cat", "grep -r x src -l"),
        ("cat", "grep -r -e p src -l --include src"),
        ("cat", "find src | grep -e p -v a"),
        ("diff", "find src"),
        ("cat", "rg -lI x src"),
        ("cat", "rg -L x src"),
        ("cat {}", "find src"),
        ("-I{} cat x{}", "find src"),
        ("-I{} -n1 cat {}", "find src"),
        ("head -n", "find src"),
        ("rm", "find src"),
        ("printf", "find src"),
        ("-o cat", "find src"),
    ],
)
def test_words_that_are_not_known_to_be_names_or_not_only_read_are_refused(words: str, upstream: str) -> None:
    with pytest.raises(NotReadOnly):
        parse_xargs_use(shlex.split(words), pipe(upstream))


def test_a_stream_that_joins_or_replaces_the_names_is_refused() -> None:
    for redirect in (Redirect(">&", "1"), Redirect("<", "a")):
        with pytest.raises(NotReadOnly, match="redirected"):
            parse_xargs_use(["cat"], [SimpleCommand(("find", "src"), (redirect,))])
