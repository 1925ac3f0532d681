"""Programs that do one kind of thing whatever they are given: a rule for one of them ends the asking.

Their operands name what is tested, checked or built, never what else is to be done, as those of `make` do.
What the `*` of a rule covers of each stands in `star_tables`; here stands what it is called, and which of its
options a `*` does not cover, as the manual of the program and its `--help` describe them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from quorum.domain.shell.star_words import find_star_table, name_program

_TESTS, _LINTER, _BUILD, _SCRIPT = "a test runner", "a linter", "a build", "a script of the project"


class CommandFamily(Struct, frozen=True):
    """What a program is, and words that a `*` does not cover: they load code, or write where they say."""

    kind: str
    beyond: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What a rule for it covers and what not."""
        return (
            f"{self.kind} with any harmless words, not {', '.join(self.beyond)} or a path outside the project"
        )


FAMILIES: Mapping[tuple[str, ...], CommandFamily] = {
    ("biome", "check"): CommandFamily(_LINTER, ("--config-path=x",)),
    ("biome", "lint"): CommandFamily(_LINTER, ("--config-path=x",)),
    ("black",): CommandFamily(_LINTER, ("--config=x",)),
    ("bun", "test"): CommandFamily(_TESTS, ("--preload=x",)),
    ("cargo", "build"): CommandFamily(_BUILD, ("--config=x", "--target-dir=x")),
    ("cargo", "check"): CommandFamily(_BUILD, ("--config=x", "--target-dir=x")),
    ("cargo", "clippy"): CommandFamily(_LINTER, ("--config=x",)),
    ("cargo", "fmt"): CommandFamily(_LINTER, ("--manifest-path=x",)),
    ("cargo", "test"): CommandFamily(_TESTS, ("--config=x", "--target-dir=x")),
    ("cmake", "--build"): CommandFamily(_BUILD, ("-- --eval=x",)),
    ("coverage", "report"): CommandFamily(_TESTS, ("--rcfile=x",)),
    ("ctest",): CommandFamily(_TESTS, ("-S x", "--build-and-test")),
    ("dart", "analyze"): CommandFamily(_LINTER, ("--packages=x",)),
    ("dart", "test"): CommandFamily(_TESTS, ("--coverage=x", "--configuration=x")),
    ("deno", "lint"): CommandFamily(_LINTER, ("--config=x", "--rules=x")),
    ("deno", "test"): CommandFamily(_TESTS, ("-A", "--allow-run", "--import-map=x")),
    ("dotnet", "build"): CommandFamily(_BUILD, ("-o x", "/p:A=b")),
    ("dotnet", "test"): CommandFamily(_TESTS, ("--settings=x", "--results-directory=x")),
    ("eslint",): CommandFamily(_LINTER, ("--rulesdir=x", "-o x", "--config=x")),
    ("flake8",): CommandFamily(_LINTER, ("--config=x", "--output-file=x")),
    ("flutter", "analyze"): CommandFamily(_LINTER, ("--write=x",)),
    ("flutter", "test"): CommandFamily(_TESTS, ("--coverage-path=x",)),
    ("go", "build"): CommandFamily(_BUILD, ("-o x", "-toolexec=x")),
    ("go", "test"): CommandFamily(_TESTS, ("-exec=x", "-o x", "-toolexec=x")),
    ("go", "vet"): CommandFamily(_LINTER, ("-vettool=x",)),
    ("golangci-lint", "run"): CommandFamily(_LINTER, ("--config=x", "--cpu-profile-path=x")),
    ("hadolint",): CommandFamily(_LINTER, ("--config=x",)),
    ("isort",): CommandFamily(_LINTER, ("--settings-path=x",)),
    ("jest",): CommandFamily(_TESTS, ("--globalSetup=x", "--config=x", "--outputFile=x")),
    ("mix", "format"): CommandFamily(_LINTER, ("--dot-formatter=x",)),
    ("mix", "test"): CommandFamily(_TESTS, ("--require=x", "--formatter=x")),
    ("mypy",): CommandFamily(_LINTER, ("--python-executable=x", "--config-file=x", "--junit-xml=x")),
    ("next", "build"): CommandFamily(_BUILD, ("--experimental-build-mode=x",)),
    ("npm", "test"): CommandFamily(_SCRIPT, ("--script-shell=x", "--prefix=x")),
    ("phpunit",): CommandFamily(_TESTS, ("--bootstrap=x", "--log-junit=x")),
    ("playwright", "test"): CommandFamily(_TESTS, ("--config=x", "--output=x", "--reporter=x")),
    ("pnpm", "test"): CommandFamily(_SCRIPT, ("--script-shell=x", "--dir=x")),
    ("pre-commit", "run"): CommandFamily(_LINTER, ("--config=x",)),
    ("pylint",): CommandFamily(_LINTER, ("--load-plugins=x", "--init-hook=x", "--rcfile=x")),
    ("pyright",): CommandFamily(_LINTER, ("--pythonpath=x", "--project=x")),
    ("pytest",): CommandFamily(_TESTS, ("-p x", "-c x", "--basetemp=x", "--junitxml=x")),
    ("rspec",): CommandFamily(_TESTS, ("--require=x", "--out=x")),
    ("rubocop",): CommandFamily(_LINTER, ("--require=x", "--out=x")),
    ("ruff",): CommandFamily(_LINTER, ("--config=x", "--output-file=x")),
    ("shellcheck",): CommandFamily(_LINTER, ("--rcfile=x",)),
    ("stylelint",): CommandFamily(_LINTER, ("--custom-syntax=x", "--config=x", "-o x")),
    ("swift", "build"): CommandFamily(_BUILD, ("-Xswiftc x", "--scratch-path=x")),
    ("swift", "test"): CommandFamily(_TESTS, ("-Xswiftc x", "--xunit-output=x")),
    ("terraform", "validate"): CommandFamily(_LINTER, ("-test-directory=x",)),
    ("tsc",): CommandFamily(_BUILD, ("--outDir=x", "--project=x", "-b x")),
    ("unittest",): CommandFamily(_TESTS, ("-s x", "-t x")),
    ("vite", "build"): CommandFamily(_BUILD, ("--config=x", "--outDir=x")),
    ("vitest",): CommandFamily(_TESTS, ("--config=x", "--outputFile=x")),
    ("yamllint",): CommandFamily(_LINTER, ("-c x", "-d x")),
    ("yarn", "test"): CommandFamily(_SCRIPT, ("--cwd=x", "--use-yarnrc=x")),
}
_SCRIPTS = frozenset({("npm", "run"), ("pnpm", "run")})


def find_family(words: Sequence[str]) -> CommandFamily | None:
    """The family of a command; None for all others, such as readers, shells, interpreters and `make`."""
    _, behind = find_star_table(words)
    for length in (2, 1):
        if behind >= length:
            names = (name_program(words[behind - length]), *words[behind - length + 1 : behind])
            if (family := FAMILIES.get(names)) is not None:
                return family
    if tuple(words[:2]) in _SCRIPTS and len(words) > 2:
        return CommandFamily(_SCRIPT, ("--script-shell=x",))
    return None


def describe_family(pattern: Sequence[str]) -> str:
    """What a rule of these words, which end in `*`, covers and what not; empty where it is about no family."""
    if pattern[-1:] != ("*",) or (family := find_family(pattern[:-1])) is None:
        return ""
    return f"{pattern[-2]} is {family.sentence}"
