"""Which commands run tests, by their words; and which files such a command reads beside those that it names."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from posixpath import basename, normpath
from typing import Final

from quorum.domain.text.pattern import compile_once

_LONGEST = 4_000
_SEPARATORS = "();<>|&\n"
_ASSIGNMENT = r"[A-Za-z_][A-Za-z0-9_]*\+?="
_VERSION = r"[0-9.]+\Z"
_TEST_WORD = r"(?:\w+[:-])*(?:tests?|spec|check|verify)(?:[:-]\w+)*\Z"
_NO_RUN_WORDS = """
--help -h --version -V --collect-only --co --fixtures --markers --list --listTests --no-run --dry-run"""
_NO_RUN: Final = frozenset(_NO_RUN_WORDS.split())

# Programs that run tests, whatever follows.
_PROGRAM_WORDS = """
pytest py.test tox nox unittest jest vitest mocha ava karma cypress rspec phpunit pest ctest bats behave
nose2 stestr nextest busted shellspec trial"""
_PROGRAMS: Final = frozenset(_PROGRAM_WORDS.split())
# Programs that run tests where this word is the first that is no option.
_COMMAND_WORDS = (
    ("cargo deno dart flutter dotnet swift go mix bazel playwright hatch", r"(?:nex)?test\Z"),
    ("npm pnpm yarn bun", r"(?:tst?|t|(?:\w+[:-])*(?:tests?|spec)(?:[:-]\w+)*)\Z"),
    ("just task", _TEST_WORD),
)
_COMMANDS: Final = {name: word for names, word in _COMMAND_WORDS for name in names.split()}
# Programs that take any number of targets.
_BUILDERS: Final = frozenset(("make", "gmake", "mvn", "mvnw", "gradle", "gradlew", "rake", "zig"))
# In front of the program that counts.
_IN_FRONT_WORDS = "env command exec time nice nohup stdbuf sudo npx bunx xvfb-run then do else ! {"
_IN_FRONT: Final = frozenset(_IN_FRONT_WORDS.split())
_PACKAGE_MANAGERS: Final = frozenset(("npm", "pnpm", "yarn", "bun"))
_RUNNERS: Final = frozenset(
    {("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("rye", "run"), ("hatch", "run"),
     ("coverage", "run"), ("bundle", "exec"), ("npm", "exec"), ("pnpm", "exec"), ("yarn", "exec"),
     ("python", "-m")}
)  # fmt: skip
# Programs that never run tests of a project.
_OTHER_WORDS = """
[ awk basename bat cat cd chmod clear cmp comm cp cut date df diff dirname du echo export false fd file find
fold git grep gh head hostname id jq kill less ln ls mkdir mktemp mv nl od paste pgrep popd printenv printf
ps pushd pwd readlink realpath rg rm rmdir sed seq set sha256sum sleep sort stat tac tail tee test touch tr
tree true type umask uname uniq unset wait wc which whoami xxd yq fi done esac } black flake8 isort mypy
pylint pyright ruff eslint prettier stylelint tsc shellcheck yamllint rubocop golangci-lint gofmt rustfmt"""
_OTHERS: Final = frozenset(_OTHER_WORDS.split())

_NAMES_OF_TESTS = (
    r"(?:\A|/)(?:tests?|specs?|__tests__|testdata|__snapshots__)/|(?:\A|/)(?:test_[^/]*|conftest\.py)\Z"
    r"|[^/]*(?:_tests?|_spec|\.tests?|\.spec|Tests?|IT)\.[A-Za-z]+\Z"
)
_SETTINGS: Final = (
    ("pytest py.test unittest tox nox hatch coverage mypy ruff black isort flake8",
     "pyproject.toml setup.cfg tox.ini noxfile.py pytest.ini mypy.ini ruff.toml .coveragerc .flake8"),
    ("make gmake", "Makefile makefile GNUmakefile"),
    ("npm pnpm yarn bun npx bunx jest vitest mocha eslint tsc",
     "package.json tsconfig.json jest.config.js jest.config.ts vite.config.ts vitest.config.ts"),
    ("cargo", "Cargo.toml"),
    ("go", "go.mod"),
    ("mvn mvnw", "pom.xml"),
    ("gradle gradlew", "build.gradle build.gradle.kts"),
    ("just", "justfile Justfile"),
    ("task", "Taskfile.yml"),
    ("rake", "Rakefile"),
)  # fmt: skip
"""Programs, and the names of files that tell them what to do."""


def runs_tests(command: str) -> bool | None:
    """Whether a shell command runs tests, by the names of its programs; None where its words do not say: a
    script of the project may run tests, too."""
    parts = _split(command) if len(command) <= _LONGEST else None
    if parts is None:
        return None
    verdicts = [_judge(part) for part in parts]
    if True in verdicts:
        return True
    return None if None in verdicts else False


def find_files_read(command: str, files: Sequence[str]) -> tuple[str, ...]:
    """Those of these files, relative to where the command runs, that it names, or lie in a folder that it
    names, or that are tests or settings of a program in it. What its scripts read is not known."""
    parts = _split(command) or [command.split()]
    # A word of several may be a text for a shell.
    texts = [word for part in parts for word in part if any(map(str.isspace, word))]
    parts += [part for text in texts for part in _split(text) or ()]
    words = {normpath(word.partition("::")[0]) for part in parts for word in part if word[:1] not in ("-", "$")}
    words.discard(".")
    programs = {_name(word) for part in parts for word in part}
    settings = {name for names, files in _SETTINGS if programs & set(names.split()) for name in files.split()}
    is_test = runs_tests(command) is not False
    return tuple(
        file
        for file in files
        if any(file == word or file.startswith(f"{word}/") for word in words)
        or basename(file) in settings
        or (is_test and compile_once(_NAMES_OF_TESTS).search(file) is not None)
    )


def _split(command: str) -> list[list[str]] | None:
    """The words of each command in the text; None where it cannot be taken apart."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=_SEPARATORS)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    parts: list[list[str]] = [[]]
    try:
        for word in lexer:
            if not set(word) <= set(_SEPARATORS):
                parts[-1].append(word)
            elif not set(word) & set("<>"):  # the file of a redirect is a word of the command
                parts.append([])
    except ValueError:
        return None
    return [part for part in parts if part]


def _judge(words: Sequence[str]) -> bool | None:
    rest = _skip_front(words)
    if not rest:
        return False if all(compile_once(_ASSIGNMENT).match(word) for word in words) else None
    name, operands = _name(rest[0]), [word for word in rest[1:] if word[:1] != "-"]
    if _NO_RUN.intersection(rest[1:]):
        return None
    if name in _PROGRAMS:
        return True
    if name in _BUILDERS:
        return True if any(compile_once(_TEST_WORD).match(word) for word in operands) else None
    if (wanted := _COMMANDS.get(name)) is not None:
        return True if operands and compile_once(wanted).match(operands[0]) else None
    return False if name in _OTHERS else None


def _skip_front(words: Sequence[str]) -> Sequence[str]:
    """The words from the program on that does the work."""
    place = 0
    while place < len(words):
        word, name = words[place], _name(words[place])
        second = words[place + 1] if place + 1 < len(words) else ""
        if compile_once(_ASSIGNMENT).match(word) or name in _IN_FRONT or (place and word[:1] == "-"):
            place += 1
        elif name == "timeout" or (name, second) in _RUNNERS:
            place += 2
        else:
            break
    if (
        place < len(words)
        and _name(words[place]) in _PACKAGE_MANAGERS
        and words[place + 1 : place + 2] == ["run"]
    ):
        return [words[place], *words[place + 2 :]]  # a script of the package, whose name says what it runs
    return words[place:]


def _name(word: str) -> str:
    name = basename(word)
    return compile_once(_VERSION).sub("", name) or name
