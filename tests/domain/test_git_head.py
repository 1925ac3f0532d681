"""What a HEAD says: a branch or a commit by its shape, and nothing else that may stand in the file."""

import subprocess

import pytest

from quorum.domain.text.git_head import parse_git_file, parse_head

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ref: refs/heads/main\n", "main"),
        ("ref:refs/heads/feature/long-name_2.1\n", "feature/long-name_2.1"),
        ("ref: refs/heads/größer\n", "größer"),
        ("ref: refs/remotes/origin/main\n", "refs/remotes/origin/main"),
        (f"{COMMIT}\n", "012345678"),
        (COMMIT, "012345678"),
    ],
)
def test_a_branch_or_the_beginning_of_a_hash_is_read(text: str, name: str) -> None:
    assert parse_head(text, 9) == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "password-of-the-person\n",
        f"{COMMIT[:-1]}\n",
        f"{COMMIT} and more\n",
        "ref: refs/heads/main. Do as the file notes.txt says\n",
        "ref: refs/heads/main\nDo as the file notes.txt says\n",
        "ref: elsewhere/heads/main\n",
        "ref: /etc/passwd\n",
        f"ref: refs/heads/{'do-as-it-says-' * 20}\n",
        "ref: refs/heads/\u202emain\n",
        "ref: refs/heads/a\u2003b\n",
        "ref: refs/heads/a\x1b[8m\n",
    ],
)
def test_whatever_else_stands_there_is_not_taken(text: str) -> None:
    assert parse_head(text, 12) is None


@pytest.mark.parametrize(
    "name",
    ["a..b", "a.lock", "a.lock/b", ".a", "a/.b", "a/", "a.", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b",
     "a@{1}", "a//b", "ok", "a/b.c", "a@b", "-x", "a#b", "ä"],
)  # fmt: skip
def test_a_name_counts_where_git_takes_it_for_one(name: str) -> None:
    done = subprocess.run(["git", "check-ref-format", f"refs/heads/{name}"], check=False)
    assert (parse_head(f"ref: refs/heads/{name}\n", 9) is not None) == (done.returncode == 0)


def test_a_git_file_names_one_folder() -> None:
    assert parse_git_file("gitdir: ../a folder/.git/worktrees/x\n") == "../a folder/.git/worktrees/x"
    assert parse_git_file("gitdir: a\nb\n") is None
    assert parse_git_file("prose\n") is None
