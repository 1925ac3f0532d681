from __future__ import annotations

import shlex

import pytest

from quorum.domain.review.command_pattern import covers_part, is_reader
from quorum.domain.review.rule_proposals import find_starred_prefix
from quorum.domain.shell.command_families import FAMILIES, find_family
from quorum.domain.shell.command_line import JudgedCommand, SimpleCommand
from quorum.domain.shell.inline_code import holds_code


def _is_covered(words: tuple[str, ...]) -> bool:
    prefix = find_starred_prefix(SimpleCommand(words))
    part = JudgedCommand(SimpleCommand(words), "it is not known only to read")
    return prefix is not None and covers_part(f"{shlex.join(prefix)} *", part)


@pytest.mark.parametrize("names", FAMILIES, ids=" ".join)
def test_a_rule_for_a_family_covers_its_operands_and_none_of_what_it_says_it_does_not(
    names: tuple[str, ...],
) -> None:
    family = find_family(names)

    assert family is FAMILIES[names]
    assert _is_covered((*names, "name"))
    for beyond in family.beyond:
        assert not _is_covered((*names, *beyond.split())), beyond


@pytest.mark.parametrize(
    "command",
    [
        ".venv/bin/python -m pytest -q tests",
        "python3 -m unittest tests.test_a",
        "uv run mypy src",
        "npx playwright test --headed",
        "coverage run -m pytest -q",
        "npm run lint",
        "cmake --build build -j4",
    ],
)
def test_a_family_is_known_behind_what_starts_it(command: str) -> None:
    words = tuple(shlex.split(command))

    assert find_family(words) is not None
    assert _is_covered(words)


@pytest.mark.parametrize(
    "command",
    [
        *("cat a", "git log", "find . -name x", "bash a.sh", "sh -c pytest", "python a.py", "python -c 1"),
        *("node a.js", "awk x", "./pytest", "tools/pytest -q", "make test", "just x", "git commit -m x"),
        *("npm install x", "sudo pytest", "env A=b pytest", "xargs pytest", "docker run x", "ssh h pytest"),
        *("python -m http.server", "npx unknown", "uv run script.py", "playwright install", "pytest-evil"),
    ],
)
def test_readers_shells_interpreters_and_what_does_other_things_by_its_operands_are_no_family(
    command: str,
) -> None:
    assert find_family(shlex.split(command)) is None


@pytest.mark.parametrize("names", FAMILIES, ids=" ".join)
def test_no_family_reads_only_or_holds_code(names: tuple[str, ...]) -> None:
    assert not is_reader(names)
    assert not holds_code(names)
