"""Every command of a text, and what flows between them."""

from __future__ import annotations

import pytest

from quorum.infrastructure.execution.shell.script import read_script


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b && c", [("a", "b"), ("c",)]),
        (r"\a 'b c' \"d\"$'\x41'", [("a", "b c", '"d"A')]),
        ("if a; then b; fi", [("a",), ("b",)]),
        ("case x in y) a;; esac", [("a",)]),
        ("f() { a $1; }", [("a", "$1")]),
        ('echo "$(a)" `b`', [("a",), ("b",), ("echo", "$(a)", "`b`")]),
        ("cat <<E\n$(a)\nE", [("a",), ("cat",)]),
        ("cat <<'E'\n$(a)\nE", [("cat",)]),
        ("# a\nb", [("b",)]),
        ("a b >/dev/null c 2>&1 'd e'", [("a", "b", "c", "d e")]),
        ("a | b >x -c && d &>x e", [("a",), ("b", "-c"), ("d", "e")]),
        ("a <<E b\nx\nE", [("a", "b")]),
        ("f() { a <x b $(c); }", [("c",), ("a", "b", "$(c)")]),
        ("a < <(b) | c", [("b",), ("a",), ("c",)]),
    ],
)
def test_each_command_is_found_wherever_it_stands(text: str, words: list[tuple[str, ...]]) -> None:
    script = read_script(text)

    assert script.problem is None
    assert [command.words for command in script.commands if command.words] == words


@pytest.mark.parametrize(
    "text", ["a | b", "b <(a)", "b $(a)", "cat <<E | b\nx\nE", "{ b; } < <(a)", "a | while read x; do b; done"]
)
def test_a_command_reads_what_stands_in_front_of_a_pipe_or_in_its_words(text: str) -> None:
    commands = {command.words[0]: command for command in read_script(text).commands if command.words}
    source = commands.get("a") or commands["cat"]

    assert source.writes in commands["b"].reads


def test_a_here_document_is_the_text_of_its_command_and_not_of_others() -> None:
    first, second = read_script("cat > f <<'E'\nrm x\nE\nls").commands

    assert (first.text, second.text) == ("rm x\n", None)
    assert [redirect.target for redirect in first.redirects] == ["f"]


def test_what_is_no_bash_is_split_and_says_so() -> None:
    script = read_script("a 'b; c d")

    assert script.problem == "it is not complete, or not bash"
    assert ("c", "d") in [command.words for command in script.commands]
