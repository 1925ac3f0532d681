from __future__ import annotations

import pytest

from quorum.domain.shell.command_spec import NotReadOnly, Operands
from quorum.domain.shell.git_commands import GIT_COMMANDS, GIT_ENVIRONMENT, parse_git_use


@pytest.mark.parametrize(
    ("line", "contents", "files"),
    [
        ("status -sb", False, True),
        ("diff", True, True),
        ("diff --cached -U3", True, True),
        ("log --oneline -5", False, False),
        ("log --stat main..HEAD", False, False),
        ("log -p", True, False),
        ("log -n2 --patch -- a", True, False),
        ("show HEAD", True, False),
        ("blame -L 1,5 a", True, False),
        ("grep -n x HEAD -- a", True, False),
        ("rev-parse --abbrev-ref HEAD", False, False),
        ("--no-pager log", False, False),
        ("stash list", False, False),
        ("--version", False, False),
    ],
)
def test_what_a_command_needs_of_a_repository_follows_from_its_words(
    line: str, contents: bool, files: bool
) -> None:
    use = parse_git_use(line.split())

    assert (use.shows_contents, use.looks_at_files) == (contents, files)


def test_revisions_and_paths_are_both_judged_as_paths() -> None:
    use = parse_git_use(["diff", "HEAD~1", "main:src/a.py", "--", "-b", "../c"])

    assert [path.path for path in use.use.paths] == ["HEAD~1", "src/a.py", "-b", "../c"]


@pytest.mark.parametrize(
    "key", ["refname", "-v:refname", "-committerdate", "creatordate:iso", "-version:refname"]
)
def test_refs_may_be_sorted_by_what_git_knows_itself(key: str) -> None:
    assert parse_git_use(["branch", "--list", f"--sort={key}"]).use.options == {"--list", "--sort"}


def test_folders_in_front_of_the_command_are_kept_in_order() -> None:
    assert parse_git_use(["-C", "a", "--no-pager", "-C", "b", "status"]).folders == ("a", "b")


@pytest.mark.parametrize(
    "line",
    [
        "-c core.pager=x log",
        "--git-dir=x status",
        "--work-tree=/ status",
        "--exec-path=x status",
        "--paginate log",
        "-C",
        "",
        "commit -m x",
        "stash",
        "stash pop",
        "branch new",
        "branch -r new",
        "branch -l new",
        "tag new",
        "tag -n new",
        "remote show origin",
        "log --output=x",
        "log --format=%G?",
        "log --pretty=format:%h%+GS",
        "show -s --format=%-GK",
        "tag -l --format=%(signature:key)",
        "branch --list --format=%(*signature)",
        "tag -l --sort=signature",
        "tag -l --sort=-*signature:key",
        "branch --list --sort signature",
        "branch --sort=describe",
        "tag --sort",
        "log --ext-diff",
        "log --textconv",
        "show --textconv HEAD:a",
        "diff --no-index a b",
        "diff -O x",
        "diff --submodule=diff",
        "grep -O x",
        "grep --open-files-in-pager=sh x",
        "grep --no-index x",
        "grep --textconv x",
        "grep --recurse-submodules x",
        "blame --contents /etc/passwd a",
        "cat-file --batch",
        "show :a",
        "show :/text",
        "show :(glob)a",
        "diff -- *.py",
        "rev-list --stdin",
        "status --verbose",
        "archive HEAD",
        "bundle create x",
        "help status",
    ],
)
def test_words_that_may_write_or_run_something_are_refused(line: str) -> None:
    with pytest.raises(NotReadOnly):
        parse_git_use(line.split())


@pytest.mark.parametrize("name", sorted(GIT_COMMANDS))
def test_no_git_command_is_known_with_an_option_nobody_listed(name: str) -> None:
    for option in ("--unheard-of", "--output=x", "--exec=x", "-O"):
        with pytest.raises(NotReadOnly):
            parse_git_use([name, option])


@pytest.mark.parametrize("name", sorted(GIT_COMMANDS))
def test_what_could_be_made_is_never_an_operand_alone(name: str) -> None:
    if GIT_COMMANDS[name].arguments.operands is Operands.TEXTS:
        with pytest.raises(NotReadOnly, match="would make something"):
            parse_git_use([name, "new"])


def test_the_settings_laid_over_a_repository_are_counted_right() -> None:
    count = int(GIT_ENVIRONMENT["GIT_CONFIG_COUNT"])

    keys = [GIT_ENVIRONMENT[f"GIT_CONFIG_KEY_{place}"] for place in range(count)]

    assert all(f"GIT_CONFIG_VALUE_{place}" in GIT_ENVIRONMENT for place in range(count))
    assert {"core.fsmonitor", "core.hooksPath"} <= set(keys)
    assert f"GIT_CONFIG_KEY_{count}" not in GIT_ENVIRONMENT
