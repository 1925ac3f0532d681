from __future__ import annotations

import codecs
import os
from pathlib import Path

import pytest

from quorum.application.ports.tools import SealingTool
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.history import Conversation
from quorum.domain.errors import StaleSeal, ToolError
from quorum.infrastructure.files import replacing
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.tools.builtin.apply_patch import ApplyPatch
from quorum.infrastructure.tools.builtin.read_file import ReadFile
from quorum.infrastructure.tools.builtin.seen import SeenFiles
from quorum.infrastructure.tools.builtin.write_file import WriteFile
from tests.infrastructure.tools.calling import a_tree, call, left_over, seal, show


@pytest.fixture
def workspace(tmp_path):
    return Workspace([tmp_path])


@pytest.fixture
def conversation():
    return Conversation()


@pytest.fixture
def seen(conversation):
    return SeenFiles(conversation)


@pytest.fixture
def apply_patch(workspace, seen):
    return ApplyPatch(workspace, seen)


@pytest.fixture
def read(workspace, seen, conversation):
    """Has the model read a file."""
    return lambda path, **page: show(conversation, ReadFile(workspace, seen), path=path, **page)


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def update(path: str, *lines: str) -> list[str]:
    return [f"*** Update File: {path}", *lines]


def files_in(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


SEVERAL = patch(
    *update("src/a.py", "@@ def f():", "-    return 1", "+    return 2"),
    "*** Add File: new/notes.txt",
    "+one",
    "+",
    "*** Delete File: old.txt",
    *update("b.py", "*** Move to: lib/b.py", "@@", " x = 1", "-y = 2", "+y = 3"),
    *update("c.bin", "*** Move to: d.bin"),
)
BEFORE = {
    "src/a.py": "def g():\n    return 1\n\ndef f():\n    return 1\n",
    "old.txt": "old\n",
    "b.py": "x = 1\ny = 2\n",
    "c.bin": bytes(9),
}
AFTER = {
    "src/a.py": b"def g():\n    return 1\n\ndef f():\n    return 2\n",
    "new/notes.txt": b"one\n\n",
    "lib/b.py": b"x = 1\ny = 3\n",
    "d.bin": bytes(9),
}


@pytest.fixture
def several(tmp_path, read):
    a_tree(tmp_path, BEFORE)
    (tmp_path / "b.py").chmod(0o750)
    read("old.txt")
    return files_in(tmp_path)


def test_files_are_added_changed_moved_and_deleted_under_one_seal(tmp_path, several, apply_patch):
    sealed = seal(apply_patch, patch=SEVERAL)
    assert files_in(tmp_path) == several

    result = call(apply_patch, seal=sealed, patch=SEVERAL)

    assert files_in(tmp_path) == AFTER
    assert [line.split(":")[0] for line in result.split("\n")] == [
        "updated src/a.py",
        "added new/notes.txt",
        "deleted old.txt",
        "moved b.py to lib/b.py",
        "moved c.bin to d.bin",
    ]
    assert (tmp_path / "lib/b.py").stat().st_mode & 0o777 == 0o750
    assert [os.path.relpath(file.path, tmp_path) for file in sealed.files] == [
        *("src/a.py", "new/notes.txt", "old.txt", "lib/b.py", "b.py", "d.bin", "c.bin")
    ]
    assert [file.sha256 is None for file in sealed.files] == [False, True, False, True, False, True, False]
    assert sealed.diff == (
        "--- a/src/a.py\n+++ b/src/a.py\n@@ -2,4 +2,4 @@\n"
        "     return 1\n \n def f():\n-    return 1\n+    return 2\n"
        "--- /dev/null\n+++ b/new/notes.txt\n@@ -0,0 +1,2 @@\n+one\n+\n"
        "--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"
        "rename from b.py\nrename to lib/b.py\n"
        "--- a/b.py\n+++ b/lib/b.py\n@@ -1,2 +1,2 @@\n x = 1\n-y = 2\n+y = 3\n"
        "rename from c.bin\nrename to d.bin\n"
    )
    assert left_over(tmp_path) == []


def test_it_declares_every_path_it_writes_and_is_high_risk(tmp_path, several, apply_patch):
    assert isinstance(apply_patch, SealingTool)
    assert apply_patch.definition.risk is RiskLevel.HIGH

    access = apply_patch.definition.determine_access({"patch": SEVERAL})

    paths = ("src/a.py", "new/notes.txt", "old.txt", "lib/b.py", "b.py", "d.bin", "c.bin")
    assert access.writes == {str(tmp_path / path) for path in paths}
    assert not access.exclusive
    assert apply_patch.definition.determine_access({"patch": "no patch"}).exclusive
    outside = apply_patch.definition.determine_access({"patch": patch("*** Delete File: ../x")})
    assert outside.outside == outside.writes == {str(tmp_path.parent / "x")}


@pytest.mark.parametrize("failing", range(7))
@pytest.mark.parametrize("changed", ["renamed", "unlinked"])
def test_a_step_that_fails_undoes_those_before_it(
    tmp_path, several, apply_patch, monkeypatch, failing, changed
):
    steps = iter(range(100))
    real = replacing._StagedStep.change

    def fail(step: replacing._StagedStep) -> None:
        if next(steps) == failing:
            raise ToolError("the disk is gone")
        real(step)

    monkeypatch.setattr(replacing._StagedStep, "change", fail)
    if changed == "unlinked":  # as where the file system has no hard links
        monkeypatch.setattr(os, "link", no_links)

    with pytest.raises(ToolError, match="the disk is gone"):
        call(apply_patch, patch=SEVERAL)

    assert files_in(tmp_path) == several
    assert (tmp_path / "b.py").stat().st_mode & 0o777 == 0o750
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "lib").exists()


def no_links(*_arguments: object, **_more: object) -> None:
    raise OSError(95, "Operation not supported")


def test_a_file_that_somebody_changes_at_the_last_moment_stops_all(tmp_path, several, apply_patch, monkeypatch):
    sealed = seal(apply_patch, patch=SEVERAL)
    real = replacing._StagedStep.change

    def meddle(step: replacing._StagedStep) -> None:
        real(step)
        (tmp_path / "old.txt").write_text("theirs\n")

    monkeypatch.setattr(replacing._StagedStep, "change", meddle)

    with pytest.raises(StaleSeal, match=r"old\.txt changed"):
        call(apply_patch, seal=sealed, patch=SEVERAL)

    assert files_in(tmp_path) == {**several, "old.txt": b"theirs\n"}


def test_what_was_changed_by_another_is_not_restored_over_it(tmp_path, several, apply_patch, monkeypatch):
    real = replacing._StagedStep.change

    def meddle(step: replacing._StagedStep) -> None:
        real(step)
        (tmp_path / "src/a.py").write_text("theirs\n")
        (tmp_path / "old.txt").write_text("theirs\n")

    monkeypatch.setattr(replacing._StagedStep, "change", meddle)

    with pytest.raises(ToolError, match=r"old\.txt changed.*was restored, but not src/a\.py"):
        call(apply_patch, patch=SEVERAL)

    assert (tmp_path / "src/a.py").read_text() == "theirs\n"


@pytest.mark.parametrize("path", ["src/a.py", "old.txt", "b.py", "c.bin"])
def test_an_approval_is_stale_where_one_of_its_files_changed(tmp_path, several, apply_patch, path):
    sealed = seal(apply_patch, patch=SEVERAL)
    (tmp_path / path).write_bytes((tmp_path / path).read_bytes() + b"more\n")
    world = files_in(tmp_path)

    with pytest.raises(StaleSeal):
        call(apply_patch, seal=sealed, patch=SEVERAL)

    assert files_in(tmp_path) == world


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["*** Add File: a.txt", "+x"], r"a\.txt exists already: change it with \*\*\* Update File"),
        (["*** Delete File: none"], "none does not exist, so it cannot be deleted"),
        (["*** Delete File: a.txt"], r"a\.txt exists, and you have not seen what it holds"),
        (["*** Delete File: link"], r"link is a symbolic link to a\.txt: name the file itself"),
        (update("link", "*** Move to: x"), r"link is a symbolic link to a\.txt: name the file itself"),
        (update("none", "@@", "-x", "+y"), r"none does not exist: create it with \*\*\* Add File"),
        (update("a.txt", "*** Move to: b.txt"), r"b\.txt exists already: a\.txt cannot be moved there"),
        (update("a.txt", "@@", "-three", "+y"), r"hunk of a\.txt at line 5 of the patch does not fit"),
        (update("a.txt", "@@", "-one", "+one"), r"a\.txt would stay as it is"),
        (update("a.txt", "@@", "-same", "+y"), r"fits 2 places \(lines 3, 4\): add context"),
        (update("a.txt", "@@ same", "+y"), r"its header 'same' fits lines 3, 4"),
        (update("a.txt", "@@ none", "+y"), r"no line below the hunk before it is like its header 'none'"),
        (update("a.txt", "@@", "-two", "+2", "@@", "-one", "+1"), "order of the file"),
        (update("a.txt", "@@", "-two", "+2", "*** End of File"), "is not at the end of the file"),
        (update("bin", "@@", "-two", "+2"), "bin is a binary file"),
        (update("sub", "@@", "-two", "+2"), "sub is a folder"),
        (["*** Add File: a.txt/x", "+x"], r"a\.txt"),
        (["*** Add File: ../x", "+x"], "outside the workspace"),
        (update("a.txt", "*** Move to: /tmp/x"), "outside the workspace"),
        (["*** Add File: out/x", "+x"], "outside the workspace"),
        (
            [*update("a.txt", "@@", "-one", "+1"), *update("sub/../a.txt", "@@", "-two", "+2")],
            r"names a\.txt twice",
        ),
        ([*update("a.txt", "@@", "-one", "+1"), *update("link", "@@", "-two", "+2")], r"names a\.txt twice"),
        (update("a.txt", "*** Move to: a.txt"), r"names a\.txt twice"),
        ([line for n in range(201) for line in (f"*** Add File: {n}", "+x")], "more than 200 files"),
        (["*** Add File: x", "+\ud800"], "surrogate"),
        (["*** Add File: x", "no plus"], "the patch cannot be read, nothing was written: line 5: every line"),
    ],
)  # fmt: skip
def test_of_a_patch_that_cannot_be_applied_as_a_whole_nothing_is(tmp_path, apply_patch, lines, problem):
    a_tree(tmp_path / "in", {"a.txt": "one\ntwo\nsame\nsame\n", "b.txt": "b\n", "bin": bytes(9), "sub/x": ""})
    a_tree(tmp_path, {"elsewhere/x": "theirs"})
    (tmp_path / "in/link").symlink_to("a.txt")
    (tmp_path / "in/out").symlink_to("../elsewhere")
    tool = ApplyPatch(Workspace([tmp_path / "in"]), SeenFiles(Conversation()))
    world = files_in(tmp_path)

    for attempt in (seal, call):
        with pytest.raises(ToolError, match=problem):
            attempt(tool, patch=patch("*** Add File: first", "+x", *lines))

    assert files_in(tmp_path) == world


@pytest.mark.parametrize(
    ("before", "lines", "after"),
    [
        (b"a\r\nb\r\n", ["@@", " a", "-b", "+x", "+y"], b"a\r\nx\r\ny\r\n"),
        (b"a\nb", ["@@", "-b", "+c"], b"a\nc"),
        (b"a\nb", ["@@", " b", "+c"], b"a\nb\nc"),
        (b"a\nb", ["@@", "-b"], b"a\n"),
        (b"a\r\nb", ["@@", " b", "+c"], b"a\r\nb\r\nc"),
        (b"a\nb\n", ["@@", "+c"], b"a\nb\nc\n"),
        (b"", ["@@", "+c"], b"c\n"),
        (b"a\n", ["@@", "-a"], b""),
        (b"a  \n\tb\n", ["@@", " a", "-\tb", "+c"], b"a  \nc\n"),
        (b"a\n\nb\n", ["@@", " a", "", "-b", "+c", ""], b"a\n\nc\n"),
        (b"x\na\nx\n", ["@@", " x", "-a", " x", "*** End of File"], b"x\nx\n"),
        (b"x\na\nx\n", ["@@", "-x", "+y", "*** End of File"], b"x\na\ny\n"),
        (
            b"class A:\n  def f(a):\n    x\nclass B:\n  def f(a):\n    x\n",
            ["@@ class B:", "@@ def f(", "-    x", "+    y"],
            b"class A:\n  def f(a):\n    x\nclass B:\n  def f(a):\n    y\n",
        ),
        (b"def f():\n  x\n", ["@@ def f():", "+  y"], b"def f():\n  y\n  x\n"),
        (b"a\nb\nc\n", ["-a", "+1", "@@", "-c", "+3"], b"1\nb\n3\n"),
        (b"a\nb\n", ["@@ -2,1 +2,1 @@", "-b", "+c"], b"a\nc\n"),
        (codecs.BOM_UTF8 + b"a\n", ["@@", "-a", "+\u00e9"], codecs.BOM_UTF8 + "\u00e9\n".encode()),
        ("a\u00e9\n".encode("utf-16"), ["@@", "-a\u00e9", "+b"], "b\n".encode("utf-16")),
        ("L\u00e4nge\nx\n".encode("cp1252"), ["@@", "-x", "+\u00f6"], "L\u00e4nge\n\u00f6\n".encode("cp1252")),
    ],
)  # fmt: skip
def test_hunks_are_applied_where_their_lines_stand_and_keep_what_the_file_is(
    tmp_path, apply_patch, before, lines, after
):
    a_tree(tmp_path, {"a.txt": before})

    call(apply_patch, patch=patch(*update("a.txt", *lines)))

    assert (tmp_path / "a.txt").read_bytes() == after


def test_a_patch_builds_on_what_earlier_calls_of_its_batch_will_write(tmp_path, workspace, seen, apply_patch):
    first = seal(WriteFile(workspace, seen), path="a.txt", content="one\n")

    second = seal(
        apply_patch, first.projected, patch=patch(*update("a.txt", "*** Move to: b.txt", "@@", "-one", "+1"))
    )

    assert second.projected == {str(tmp_path / "b.txt"): b"1\n"}


def test_a_changed_file_is_refused_until_the_model_has_seen_it(tmp_path, apply_patch, read):
    a_tree(tmp_path, {"a.txt": "one\n"})
    read("a.txt")
    a_tree(tmp_path, {"a.txt": "one\ntwo\n"})

    with pytest.raises(ToolError, match=r"a\.txt changed since you last saw it"):
        seal(apply_patch, patch=patch(*update("a.txt", "@@", "-one", "+1")))


def test_what_a_patch_wrote_the_model_may_replace_and_what_it_only_changed_not(
    tmp_path, workspace, seen, apply_patch
):
    a_tree(tmp_path, {"a.txt": "one\ntwo\n"})
    write_file = WriteFile(workspace, seen)
    call(apply_patch, patch=patch("*** Add File: new", "+x", *update("a.txt", "@@", "-one", "+1")))

    call(write_file, path="new", content="y")
    with pytest.raises(ToolError, match=r"seen only a part of a\.txt"):
        call(write_file, path="a.txt", content="y")


def test_a_name_may_change_its_case(tmp_path, apply_patch):
    a_tree(tmp_path, {"Readme": "x\n"})
    if (tmp_path / "README").exists():
        pytest.skip("the file system does not tell them apart")

    call(apply_patch, patch=patch(*update("Readme", "*** Move to: README")))

    assert files_in(tmp_path) == {"README": b"x\n"}


def test_a_link_is_changed_through_and_stays_a_link(tmp_path, apply_patch):
    a_tree(tmp_path, {"sub/a.txt": "one\n"})
    (tmp_path / "link").symlink_to("sub/a.txt")

    call(apply_patch, patch=patch(*update("link", "@@", "-one", "+1")))

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "sub/a.txt").read_text() == "1\n"


def test_a_patch_of_many_hunks_on_a_large_file_takes_little_time(tmp_path, apply_patch):
    lines = [f"line {number}" for number in range(20_000)]
    a_tree(tmp_path, {"a.txt": "\n".join(lines) + "\n"})
    hunks = [line for number in range(0, 20_000, 100) for line in ("@@", f"-line {number}", f"+{number}")]

    call(apply_patch, patch=patch(*update("a.txt", *hunks)))

    assert (tmp_path / "a.txt").read_text().startswith("0\nline 1\n")
