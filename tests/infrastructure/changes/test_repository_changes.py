"""Changes read with git: what is in them, and that nothing of a hostile repository runs or hides."""

from __future__ import annotations

import hashlib
import os
import zlib
from pathlib import Path

import pytest

from quorum.application.ports.workspace import OpenTools
from quorum.domain.code_review.change import Change, CodeReviewRequest, FileStatus
from quorum.domain.errors import NothingToReview, ToolError
from quorum.infrastructure.changes.repository_changes import RepositoryChanges
from tests.support.review_rig import git, make_repository, write

UNCOMMITTED = CodeReviewRequest()


def changes(folder: Path) -> RepositoryChanges:
    def make_tools(place: Path) -> OpenTools:
        raise AssertionError(place)

    return RepositoryChanges(folder, {"PATH": os.environ["PATH"]}, make_tools=make_tools)


async def read_copy(folder: Path, change: Change, source: RepositoryChanges) -> dict[str, str]:
    """The files of the copy that reviewers get."""
    found: dict[str, str] = {}

    def make_tools(place: Path) -> OpenTools:
        for file in place.rglob("*"):
            if not file.is_dir() or file.is_symlink():
                assert not file.is_symlink()
                assert not os.access(file, os.X_OK) or os.geteuid() == 0
                assert file.stat().st_mode & 0o111 == 0
                found[str(file.relative_to(place))] = file.read_text(encoding="utf-8")
        return lambda _on_look: None  # type: ignore[arg-type, return-value]

    source._make_tools = make_tools
    async with source.open_repository(change):
        pass
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "r", {"a.py": "one\ntwo\n", "sub/b.py": "b\n", "gone.py": "g\n"})


async def test_uncommitted_changes_have_new_and_deleted_files_and_leave_ignored_ones_out(folder: Path) -> None:
    write(folder, {"a.py": "one\n2\n", "new.py": "n\n", "ignored.log": "x", ".gitignore": "*.log\n"})
    (folder / "gone.py").unlink()
    source = changes(folder / "sub")
    change = await source.read(UNCOMMITTED)
    found = {file.path: (file.status, file.changed_lines) for file in change.files}
    assert found == {
        "a.py": (FileStatus.MODIFIED, 2),
        "gone.py": (FileStatus.DELETED, 1),
        "new.py": (FileStatus.ADDED, 1),
        ".gitignore": (FileStatus.ADDED, 1),
    }
    copy = await read_copy(folder, change, source)
    assert copy == {"a.py": "one\n2\n", "new.py": "n\n", "sub/b.py": "b\n", ".gitignore": "*.log\n"}


async def test_a_file_that_was_only_touched_is_no_change(folder: Path) -> None:
    os.utime(folder / "a.py", (1, 1))
    with pytest.raises(NothingToReview):
        await changes(folder).read(UNCOMMITTED)


async def test_where_nothing_is_uncommitted_the_last_commit_is_offered_if_another_is_before_it(
    tmp_path: Path,
) -> None:
    git(tmp_path, "init", "-q")
    for content in ("1", "2"):
        write(tmp_path, {"a.py": content})
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", content)
        with pytest.raises(NothingToReview) as nothing:
            await changes(tmp_path).read(UNCOMMITTED)
        assert ("/review HEAD~1..HEAD" in str(nothing.value)) == (content == "2")


async def test_a_repository_without_a_commit_is_all_new(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, {"a.py": "x\n"})
    change = await changes(tmp_path).read(UNCOMMITTED)
    assert [(file.path, file.status) for file in change.files] == [("a.py", FileStatus.ADDED)]


async def test_a_range_of_three_dots_begins_where_the_commits_part(folder: Path) -> None:
    git(folder, "checkout", "-q", "-b", "topic")
    write(folder, {"a.py": "one\ntopic\n"})
    git(folder, "commit", "-q", "-am", "topic")
    git(folder, "checkout", "-q", "main")
    write(folder, {"sub/b.py": "main\n"})
    git(folder, "commit", "-q", "-am", "main")
    source = changes(folder)
    since = await source.read(CodeReviewRequest(commits="main...topic"))
    assert [file.path for file in since.files] == ["a.py"]
    between = await source.read(CodeReviewRequest(commits="main..topic"))
    assert sorted(file.path for file in between.files) == ["a.py", "sub/b.py"]
    assert (await read_copy(folder, since, source))["a.py"] == "one\ntopic\n"


async def test_renamed_binary_linked_and_executable_files_are_told(folder: Path) -> None:
    content = "".join(f"line {n}\n" for n in range(50))
    write(folder, {"old.py": content, "run.sh": "echo\n"})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")
    git(folder, "mv", "old.py", "new.py")
    (folder / "run.sh").chmod(0o755)
    (folder / "x.bin").write_bytes(b"\0\1\2" * 40)
    (folder / "link").symlink_to("/etc/passwd")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "y")
    source = changes(folder)
    change = await source.read(CodeReviewRequest(commits="HEAD~1..HEAD"))
    found = {file.path: file for file in change.files}
    assert (found["new.py"].status, found["new.py"].old_path) == (FileStatus.RENAMED, "old.py")
    assert found["run.sh"].notes == ("its mode changes from 100644 to 100755",)
    assert found["x.bin"].left_out == "it is binary"
    assert found["link"].hunks[0].lines[0] == "+/etc/passwd"
    assert (await read_copy(folder, change, source))["link"] == "/etc/passwd"


@pytest.mark.parametrize("revision", ["nowhere", "--output=x", "-p", "HEAD:a.py"])
async def test_what_names_no_commit_is_refused(folder: Path, revision: str) -> None:
    with pytest.raises(ToolError, match=r"there is no commit|is no revision"):
        await changes(folder).read(CodeReviewRequest(commits=f"{revision}..HEAD"))
    assert not (folder / "x").exists()


async def test_outside_of_a_repository_a_diff_is_all_there_is(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="git rev-parse failed"):
        await changes(tmp_path).read(UNCOMMITTED)
    change = await changes(tmp_path).read_diff("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "the diff")
    assert (change.commit, len(change.files)) == ("", 1)


async def test_nothing_of_a_hostile_repository_runs(folder: Path, tmp_path: Path) -> None:
    trap, sign = tmp_path / "trap.sh", tmp_path / "ran"
    trap.write_text(f"#!/bin/sh\ntouch {sign}\ncat\n", encoding="utf-8")
    trap.chmod(0o755)
    for key in (
        "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "diff.external", "filter.x.clean",
        "filter.x.smudge", "filter.x.process", "diff.x.textconv", "diff.x.command", "gpg.program",
        "core.alternateRefsCommand", "interactive.diffFilter",
    ):  # fmt: skip
        git(folder, "config", key, str(trap))
    git(folder, "config", "core.hooksPath", str(tmp_path))
    for hook in ("post-checkout", "post-index-change", "pre-commit"):
        (tmp_path / hook).symlink_to(trap)
    write(folder, {".gitattributes": "* filter=x diff=x\n", "a.py": "one\nevil\n"})
    (folder / ".git" / "info" / "attributes").write_text("* filter=x diff=x\n", encoding="utf-8")
    source = changes(folder)
    change = await source.read(UNCOMMITTED)
    await read_copy(folder, change, source)
    assert "+evil" in [line for file in change.files for hunk in file.hunks for line in hunk.lines]
    assert not sign.exists()


@pytest.mark.parametrize("attributes", ["* -diff\n", "* binary\n", "*.py export-ignore\n"])
async def test_no_attribute_hides_a_file(folder: Path, attributes: str) -> None:
    write(folder, {".gitattributes": attributes, "a.py": "one\nevil\n"})
    (folder / ".git" / "info" / "attributes").write_text(attributes, encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "hide")
    source = changes(folder)
    change = await source.read(CodeReviewRequest(commits="HEAD~1..HEAD"))
    file = change.find_file("a.py")
    assert file is not None
    assert file.hunks[0].lines[-1] == "+evil"
    assert (await read_copy(folder, change, source))["a.py"] == "one\nevil\n"


async def test_names_that_lead_elsewhere_are_not_written(folder: Path, tmp_path: Path) -> None:
    blob = git(folder, "hash-object", "-w", "a.py")
    inner = git_tree(folder, f"100644 blob {blob}\tescaped.py")
    outer = git_tree(
        folder, f"040000 tree {inner}\t..", f"040000 tree {inner}\t.git", f"100644 blob {blob}\tok.py"
    )
    commit = git(folder, "commit-tree", outer, "-m", "x")
    source = changes(folder)
    change = await source.read(CodeReviewRequest(commits=f"HEAD..{commit}"))
    assert await read_copy(folder, change, source) == {"ok.py": "one\ntwo\n"}


async def test_binary_and_empty_files_that_change_are_told(folder: Path) -> None:
    (folder / "a.py").write_bytes(b"\0one")
    write(folder, {"empty": "", "sub/b.py": ""})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "binary")
    (folder / "a.py").write_bytes(b"\0two")
    write(folder, {"empty": "e\n", "other": ""})
    found = {file.path: file for file in (await changes(folder).read(UNCOMMITTED)).files}
    assert sorted(found) == ["a.py", "empty", "other"]
    assert found["a.py"].left_out == "it is binary"
    assert [found[path].changed_lines for path in ("empty", "other")] == [1, 0]


@pytest.mark.long
async def test_folders_that_are_too_deep_are_not_in_the_copy(folder: Path) -> None:
    blob = git(folder, "hash-object", "-w", "a.py")
    tree = git_tree(folder, f"100644 blob {blob}\tdeep.py")
    for _ in range(1200):
        tree = git_tree(folder, f"040000 tree {tree}\td")
    outer = git_tree(folder, f"040000 tree {tree}\td", f"100644 blob {blob}\tok.py")
    commit = git(folder, "commit-tree", outer, "-m", "x")
    source = changes(folder)
    change = await source.read(CodeReviewRequest(commits=f"HEAD..{commit}"))
    assert await read_copy(folder, change, source) == {"ok.py": "one\ntwo\n"}


def git_tree(folder: Path, *entries: str) -> str:
    """The id of a tree that git would not make by itself."""
    body = b""
    for entry in entries:
        head, name = entry.split("\t")
        mode, _, oid = head.split(" ")
        body += f"{mode.lstrip('0')} {name}".encode() + b"\0" + bytes.fromhex(oid)
    whole = f"tree {len(body)}".encode() + b"\0" + body
    oid = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    place = folder / ".git" / "objects" / oid[:2] / oid[2:]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(zlib.compress(whole))
    return oid


async def test_a_link_in_the_working_tree_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret\n", encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b.py").write_text("secret\n", encoding="utf-8")
    (folder / "a.py").unlink()
    (folder / "a.py").symlink_to(tmp_path / "secret")
    (folder / "sub" / "b.py").unlink()
    (folder / "sub").rmdir()
    (folder / "sub").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(folder / "pipe")
    source = changes(folder)
    change = await source.read(UNCOMMITTED)
    shown = [line for file in change.files for hunk in file.hunks for line in hunk.lines]
    copy = await read_copy(folder, change, source)
    assert "secret" not in "".join(copy.values()).replace(str(tmp_path / "secret"), "")
    assert "+secret" not in shown


@pytest.mark.long
async def test_twenty_thousand_lines_are_read_whole(folder: Path) -> None:
    write(folder, {f"f{n}.py": "".join(f"line {n} {k}\n" for k in range(1_000)) for n in range(20)})
    change = await changes(folder).read(UNCOMMITTED)
    assert sum(file.changed_lines for file in change.files) == 20_000
