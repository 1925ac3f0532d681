from __future__ import annotations

import shlex

import pytest

from quorum.domain.review.command_pattern import covers_part, is_reader
from quorum.domain.review.rule_offers import FAMILIES, find_family, find_starred_prefix
from quorum.domain.shell.command_line import JudgedCommand, SimpleCommand
from quorum.domain.shell.inline_code import holds_code
from tests.support.every import every

_LOADING_THEIR_OPERAND = {("next", "build"), ("vite", "build")}
"""The operand is a folder, whose configuration is code."""


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
    assert _is_covered((*names, "name")) is (names not in _LOADING_THEIR_OPERAND)
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
        *("bun run bash", "bun run a.ts", "yarn run node a.js"),
    ],
)
def test_readers_shells_interpreters_and_what_does_other_things_by_its_operands_are_no_family(
    command: str,
) -> None:
    assert find_family(shlex.split(command)) is None


@every("names", FAMILIES)
def test_no_family_reads_only_or_holds_code(names: tuple[str, ...]) -> None:
    assert not is_reader(names)
    assert not holds_code(names)


@every("names", FAMILIES)
@pytest.mark.parametrize("operand", ["/tmp/a", "../a", "a/../../b", "..", "~/a", "@a"])
def test_no_family_covers_a_path_from_outside_of_the_project_or_a_file_of_arguments(
    names: tuple[str, ...], operand: str
) -> None:
    assert not _is_covered((*names, operand))


@pytest.mark.parametrize(
    "command",
    [
        *("pytest -k @a", "pytest -n @a", "mypy -p @a", "pylint -j @a", "cargo clippy -- -W @a"),
        *("golangci-lint run --new-from-rev=--output=a", "pre-commit run --from-ref=--output=a"),
        *("cmake --build b --target=--eval=a", "cmake --build b -t--eval=a", "cmake --build b -- A=b"),
        *("cmake --build b --target A=b", "cmake --build b --target=A=b", "cmake --build b -tA=b"),
        *("dotnet build -flp:logfile=a", "dotnet test -clp:a", "dotnet build -fl", "tsc -b a", "tsc --build a"),
        *("deno test https://a/b.ts", "deno test npm:a", "deno lint jsr:a", "vite build a", "next build a"),
        *("npm test -- ../a", "npm run lint -- /a", "yarn test ../a", "python -m unittest discover /a"),
    ],
)
def test_a_rule_for_a_family_covers_nothing_that_loads_code_or_writes_elsewhere(command: str) -> None:
    words = tuple(shlex.split(command))

    assert find_family(words) is not None
    assert not _is_covered(words)


@pytest.mark.parametrize(
    "command",
    [
        *("pytest -k 'a or b' --maxfail=-1 tests/a.py::test_b[x]", "go test ./... -run=A", "npm test -- src/a"),
        *("cmake --build build --target test -j4", "dotnet test -c Release src/a", "deno test src/a.ts"),
        *("pre-commit run --from-ref=main --to-ref=HEAD", "tsc --noEmit", "vite build --mode=production"),
    ],
)
def test_a_rule_for_a_family_covers_its_usual_uses(command: str) -> None:
    assert _is_covered(tuple(shlex.split(command)))


@pytest.mark.parametrize("command", ["bun run bash a", "bun run a.ts", "yarn run node a.js", "yarn run lint"])
def test_no_star_is_proposed_where_the_name_of_a_script_may_be_that_of_a_program(command: str) -> None:
    assert find_starred_prefix(SimpleCommand(tuple(shlex.split(command)))) is None
