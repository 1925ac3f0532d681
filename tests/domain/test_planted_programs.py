"""Files that have other programs start something are told from those that do not."""

from __future__ import annotations

import json

import pytest

from quorum.domain.staging.planted_programs import describe_planted, may_plant


@pytest.mark.parametrize(
    ("path", "runner"),
    [
        (".git/hooks/pre-commit", "git"),
        (".husky/_/pre-push", "git"),
        ("packages/one/.githooks/post-merge", "git"),
        ("lefthook.yml", "git"),
        (".envrc", "direnv"),
        ("sub/.envrc", "direnv"),
        ("Makefile", "make"),
        ("rules/common.mk", "make"),
        (".cargo/config.toml", "cargo"),
        ("native/build.rs", "cargo"),
        (".vscode/tasks.json", "an editor"),
        ("tests/conftest.py", "pytest"),
        ("lib/site.pth", "python"),
    ],
)
def test_a_file_that_a_program_starts_is_named_with_it_whether_it_is_new_or_changed(
    path: str, runner: str
) -> None:
    assert describe_planted(path, b"", b"x") == (f"adds a program that {runner} runs",)
    assert describe_planted(path, b"y", b"x") == (f"changes a program that {runner} runs",)
    assert describe_planted(path, b"x", b"x") == ()


@pytest.mark.parametrize(
    "path",
    [
        "app.py",
        "docs/Makefile.md",
        ".git/hooks/pre-commit.sample",
        "git/hooks/pre-commit",
        "husky/x",
        "cargo/a",
        ".husky",
    ],
)
def test_other_files_are_not(path: str) -> None:
    assert not may_plant(path)
    assert describe_planted(path, b"", b"x") == ()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ("[core]\n\tfsmonitor = x\n", "core.fsmonitor"),
        ("[core]\n\thooksPath = hooks\n", "core.hookspath"),
        ("[core] FSMonitor=x\n", "core.fsmonitor"),
        ('[filter "x"]\n\tclean = y\n\trequired\n', "filter.x.clean"),
        ('[filter "a.b"]\n\tsmudge = y\n', "filter.a.b.smudge"),
        ("[alias]\n\tst = !x\n", "alias.st"),
        ('[includeIf "gitdir:x"]\n\tpath = other\n', "includeif.gitdir:x.path"),
        ("[diff]\n\texternal = a \\\n b\n", "diff.external"),
    ],
)
def test_a_setting_of_git_that_starts_a_program_is_named(settings: str, named: str) -> None:
    before = b"[core]\n\tbare = false\n"

    assert describe_planted(".git/config", before, before + settings.encode()) == (
        f"has git run programs: {named}",
    )
    assert describe_planted(".git/config", before + settings.encode(), settings.encode()) == ()


@pytest.mark.parametrize(
    "settings", ["[user]\n\tname = Anna\n", "# fsmonitor = x\n", '[branch "main"]\n\tremote = o\n']
)
def test_other_settings_of_git_are_none(settings: str) -> None:
    assert describe_planted(".git/config", b"", settings.encode()) == ()


@pytest.mark.parametrize("settings", ["[[\n", "[core\n", "fsmonitor = x\n", "[core]\n= x\n"])
def test_settings_that_git_cannot_read_are_told_with_what_waits_for_them_and_the_remedy(settings: str) -> None:
    (told,) = describe_planted(".git/config", b"", settings.encode())

    assert "later commits of subagents wait" in told
    assert "leave it out, or have it mended" in told


def test_scripts_of_a_package_are_named_and_nothing_else_of_it() -> None:
    def package(**scripts: str) -> bytes:
        return json.dumps({"version": "1", "scripts": scripts}).encode()

    assert describe_planted("a/package.json", package(test="x"), package(test="x", postinstall="y")) == (
        "adds what npm runs: postinstall",
    )
    assert describe_planted("package.json", b"{", b'{"scripts": 7}') == ()
    assert describe_planted("package.json", b"", b"[" * 100_000) == ()


def test_attributes_that_drive_files_through_programs_are_named() -> None:
    assert describe_planted(".gitattributes", b"", b"*.x filter=y\n")
    assert describe_planted(".gitattributes", b"", b"*.x text\n") == ()
