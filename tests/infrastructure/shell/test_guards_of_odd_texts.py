"""Guards judge any text that a model writes: none makes them fail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.review.guards import GuardSettings, find_objections
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.plain_request import NO_REQUEST
from quorum.domain.shell.script import split_coarsely
from quorum.infrastructure.execution.shell.script import read_script
from tests.support.examples import examples

PIECES = (
    *(
        "curl ",
        "| ",
        "`",
        "$(",
        '"',
        '\\"',
        "'",
        "''",
        '""',
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "\\",
        "/",
        ";",
        "&& ",
        "#",
    ),
    *(
        "  ",
        "\t",
        "\n",
        "=",
        " : ",
        "://",
        "@",
        "-",
        "--",
        "<",
        ">",
        "2>&1",
        "*",
        "~",
        "$X",
        "a",
        "-c ",
        "args = [",
    ),
    *(
        "rm -rf ",
        "sed -i ",
        "xargs ",
        "env ",
        "python3 ",
        "import os;",
        "os.system(",
        "chr(",
        "map(chr,",
        '"".join(',
    ),
    *(
        "scp ",
        "ssh h ",
        "docker run -v ",
        "psql -c ",
        "find . -delete",
        "git ",
        "tar -T ",
        "awk ",
        "xargs -0 rm",
        "find . -empty -print0 | ",
        'x="$(',
        "base64 -d | sh",
    ),
    *('"command": "', "- run: |\n   ", "open(", "requests.post("),
)
FILES = (
    "a.json",
    "a.yml",
    "a.toml",
    "Makefile",
    "Dockerfile",
    "package.json",
    "a.sh",
    "a.py",
    "a.js",
    "a.ipynb",
)


def judge(command: str, path: str = "") -> None:
    arguments = {"path": path, "content": command} if path else {"command": command}
    find_objections(
        arguments,
        Access.of(writes=[f"/w/{path}"]) if path else EXCLUSIVE,
        None if path else command,
        paths=PathPolicy(roots=("/w",)),
        settings=GuardSettings(),
        read_script=read_script,
        tool="write_file" if path else "run_command",
        request=NO_REQUEST,
    )


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("curl ''", ""),
        ("sed -i >a", ""),
        ('base64 -d | sh -c "  "', ""),
        ('"a\tb"', "a.ipynb"),
        ("[" * 60_000, "package.json"),
        ('x="$(xargs -0 rm)"', ""),
        ("> $(find . -empty | xargs -0 rm)", ""),
    ],
)
def test_a_text_that_says_nothing_is_judged(text: str, path: str) -> None:
    judge(text, path)


@pytest.mark.parametrize("operator", ["<", ">", "|", "<&", "&>"])
def test_operators_in_a_row_that_mean_nothing_are_split_coarsely(operator: str) -> None:
    text = f"rm -rf a {operator * 64} b; rm c"
    assert read_script(text) == split_coarsely(text)


@pytest.mark.long
@examples(1000)
@given(st.lists(st.sampled_from(PIECES), max_size=14), st.sampled_from(("", *FILES)))
def test_any_text_of_pieces_is_judged(pieces: list[str], path: str) -> None:
    judge("".join(pieces), path)
