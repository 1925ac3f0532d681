"""What of a change reviewers see: no sensitive file, no secret, and the real numbers of all lines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quorum.domain.code_review.change import Change, CodeReviewRequest, split_change
from quorum.domain.events.masking import SecretMask
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.changes.repository_changes import RepositoryChanges
from tests.infrastructure.changes.test_repository_changes import read_copy
from tests.support.review_rig import git, make_repository, write

SECRET = "q7Zk2mX9vB4nT8wL1rP6"
BODY = "\n".join(f"MIIEpAIBAAKCAQ{number}EA7bq9Zk3Q2x4a1B2c3D4e5" for number in range(30))
# Put together here, so that no scanner of repositories takes this file for a leak.
KEY = f"-----BEGIN RSA PRIVATE {'KEY'}-----\n{BODY}\n-----END RSA PRIVATE {'KEY'}-----"
UNCOMMITTED = CodeReviewRequest()


def source(folder: Path, *, own: tuple[str, ...] = (), mask: SecretMask | None = None) -> RepositoryChanges:
    return RepositoryChanges(
        folder,
        {"PATH": os.environ["PATH"]},
        make_tools=None,
        mask=mask,
        paths=PathPolicy(roots=(str(folder),), own=own),
    )


def rendered(change: Change) -> str:
    return "\n".join(part.text for part in split_change(change, 1_000_000))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "r", {"a.py": "one\ntwo\n", ".env": "TOKEN=former-x8Kq2mZ7vB4n\n"})


@pytest.mark.parametrize("path", [".env", "deep/.ENV.local", "keys/server.pem", ".ssh/config", "mine/state"])
async def test_a_sensitive_file_is_named_without_its_content(folder: Path, path: str) -> None:
    write(folder, {path: f"TOKEN={SECRET}\n"})
    own = (str(folder / "mine"),)
    changes = source(folder, own=own)
    change = await changes.read(UNCOMMITTED)
    (file,) = change.files
    assert (file.path, file.hunks, file.is_sensitive) == (path, (), True)
    assert SECRET not in rendered(change)
    assert path in rendered(change)
    copy = await read_copy(folder, change, changes)
    assert SECRET not in "".join(copy.values())
    assert path in copy


async def test_a_sensitive_file_that_goes_or_gets_another_name_is_not_shown(folder: Path) -> None:
    git(folder, "mv", ".env", "plain.txt")
    git(folder, "commit", "-q", "-m", "moved")
    changes = source(folder)
    moved = await changes.read(CodeReviewRequest(commits="HEAD~1..HEAD"))
    copy = await read_copy(folder, moved, changes)
    git(folder, "mv", "plain.txt", ".env")
    git(folder, "commit", "-q", "-m", "back")
    git(folder, "rm", "-q", ".env")
    gone = await changes.read(UNCOMMITTED)
    assert [(file.path, file.is_sensitive) for file in moved.files] == [("plain.txt", True)]
    assert "former" not in rendered(moved) + "".join(copy.values()) + rendered(gone)


async def test_what_a_sensitive_file_of_the_change_holds_is_masked_in_the_others(folder: Path) -> None:
    write(folder, {"a.py": f"one\nt = '{SECRET}'\nend\n", "z.env": f"API_TOKEN={SECRET}\n"})
    change = await source(folder).read(UNCOMMITTED)
    file = change.find_file("a.py")
    assert file is not None
    assert (file.find_line(2), file.find_line(3)) == ("t = '[secret:API_TOKEN]'", "end")
    assert file.notes == ("secrets in it are hidden, as [secret:NAME]",)


async def test_a_secret_of_many_lines_moves_no_line_and_is_found_from_its_middle(folder: Path) -> None:
    write(folder, {"a.py": f"one\n{KEY}\nlast\n"})
    git(folder, "commit", "-q", "-am", "key")
    lines = f"one\n{KEY}\nlast\n".split("\n")
    lines[16] = "MIIEpAIBAAKCAQxxEA7bq9Zk3Q2x4a1B2c3D4e5"
    lines[33] = "changed"
    write(folder, {"a.py": "\n".join(lines)})
    changes = source(folder)
    change = await changes.read(UNCOMMITTED)
    assert "MIIE" not in rendered(change)
    (file,) = change.files
    assert file.find_line(34) == "changed"
    assert file.find_line(17) == "[secret:private-key]"
    assert len([line for hunk in file.hunks for line in hunk.lines if line[0] in "+-"]) == 4
    copy = await read_copy(folder, change, changes)
    assert "MIIE" not in copy["a.py"]
    assert copy["a.py"].split("\n")[33] == "changed"


@pytest.mark.parametrize("name", [".env", "sub/.env", "/etc/quorum/.env", "x/../.env"])
async def test_a_diff_that_is_given_is_held_to_the_same(tmp_path: Path, name: str) -> None:
    diff = f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-A=1\n+API_TOKEN={SECRET}\n"
    other = f"--- a/b.py\n+++ b/b.py\n@@ -7,2 +7,2 @@\n one\n-two\n+t = '{SECRET}'\n"
    change = await source(tmp_path).read_diff(other + diff, "the diff")
    assert [file.is_sensitive for file in change.files] == [False, True]
    assert SECRET not in rendered(change)
    assert change.files[0].find_line(8) == "t = '[secret:API_TOKEN]'"


async def test_known_secrets_and_names_of_files_are_masked_too(folder: Path) -> None:
    mask = SecretMask()
    mask.learn("DB", "correct-horse-battery")
    write(folder, {"dump-correct-horse-battery.txt": "x\n", "a.py": "one\r\ncorrect-horse-battery\r\n"})
    changes = source(folder, mask=mask)
    change = await changes.read(UNCOMMITTED)
    assert [file.path for file in change.files] == ["a.py", "dump-[secret:DB].txt"]
    assert "horse" not in rendered(change)
    assert (await read_copy(folder, change, changes))["a.py"] == "one\n[secret:DB]\n"


async def test_a_change_of_a_secret_alone_is_still_a_change(folder: Path) -> None:
    mask = SecretMask()
    mask.learn("K", "former-secret-value")
    mask.learn("K", "later-secret-value")
    write(folder, {"a.py": "k = 'former-secret-value'\n"})
    git(folder, "commit", "-q", "-am", "k")
    write(folder, {"a.py": "k = 'later-secret-value'\n"})
    change = await source(folder, mask=mask).read(UNCOMMITTED)
    assert change.files[0].hunks[0].lines == ("-k = '[secret:K]'", "+k = '[secret:K]'")
