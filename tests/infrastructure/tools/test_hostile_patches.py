"""apply_patch with any paths, links and failures: nothing outside the workspace changes, all or none within."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.conversation.history import Conversation
from quorum.domain.errors import ToolError
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.tools.builtin.apply_patch import ApplyPatch
from quorum.infrastructure.tools.builtin.read_file import ReadFile
from quorum.infrastructure.tools.builtin.seen import SeenFiles
from tests.infrastructure.tools.calling import a_tree, call, left_over, seal, show
from tests.support.examples import examples

INSIDE = {
    "a.txt": "one\ntwo\n",
    "A2.txt": "one\ntwo\n",
    "sub/b.txt": "one\ntwo\n",
    "sub/deep/c.txt": "one\ntwo\n",
}
OUTSIDE = {"secret.txt": "one\ntwo\n", "folder/x.txt": "one\ntwo\n"}
LINKS = {  # names in the workspace, and where they lead
    "out": "../outside",
    "out.txt": "../outside/secret.txt",
    "dangling": "../outside/not-there.txt",
    "up": "..",
    "in.txt": "a.txt",
    "in": "sub",
    "sub/self": "self",
    "chain": "out/folder",
}
PATHS = (
    *INSIDE,
    *LINKS,
    *("A.TXT", "a2.txt", "SUB/b.txt", "Sub/new.txt", "new.txt", "made/by/it.txt", "a.txt/below.txt", "sub"),
    *(
        "../outside/secret.txt",
        "../outside/new.txt",
        "../../x.txt",
        "sub/../a.txt",
        "sub/../../outside/secret.txt",
    ),
    *("out/secret.txt", "out/new.txt", "up/outside/secret.txt", "chain/x.txt", "in/b.txt", "in/new.txt"),
    *(
        "./a.txt",
        ".//sub//b.txt",
        "{outside}/secret.txt",
        "{root}/a.txt",
        "{root}/../outside/secret.txt",
        "~/x.txt",
    ),
    *(
        "",
        ".",
        "..",
        "/",
        "/dev/null",
        "/proc/self/environ",
        "sub/",
        "a.txt ",
        "C:\\x.txt",
        "..\\outside\\x.txt",
    ),
)
paths = st.sampled_from(PATHS)
operations = st.lists(
    st.one_of(
        st.tuples(st.just("add"), paths, st.just("")),
        st.tuples(st.just("update"), paths, st.just("")),
        st.tuples(st.just("move"), paths, paths),
        st.tuples(st.just("delete"), paths, st.just("")),
    ),
    min_size=1,
    max_size=5,
)
harmless = st.lists(
    st.sampled_from(
        [
            ("add", "new.txt", ""),
            ("add", "made/by/it.txt", ""),
            ("update", "a.txt", ""),
            ("update", "in/b.txt", ""),
            ("move", "A2.txt", "made/moved.txt"),
            ("delete", "sub/deep/c.txt", ""),
        ]
    ),
    min_size=2,
    unique_by=lambda operation: operation[1],
)


def patch_of(wanted: list[tuple[str, str, str]], place: Callable[[str], str]) -> str:
    lines: list[str] = []
    for kind, path, target in wanted:
        match kind:
            case "add":
                lines += [f"*** Add File: {place(path)}", "+three"]
            case "delete":
                lines += [f"*** Delete File: {place(path)}"]
            case "move":
                lines += [
                    f"*** Update File: {place(path)}",
                    f"*** Move to: {place(target)}",
                    "@@",
                    "-two",
                    "+TWO",
                ]
            case _:
                lines += [f"*** Update File: {place(path)}", "@@", "-two", "+TWO"]
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def snapshot(folder: Path) -> dict[str, tuple[str, int]]:
    """All that is in a folder: the target of each link, the content of each file, and its mode."""
    found: dict[str, tuple[str, int]] = {}
    for path in sorted(folder.rglob("*")):
        name, mode = str(path.relative_to(folder)), path.lstat().st_mode
        content = os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else "/"
        found[name] = content, mode
    return found


class Stage:
    """A workspace with files and links, beside a folder that no patch may touch."""

    def __init__(self, top: Path) -> None:
        self.root, self.outside = top / "work", top / "outside"
        a_tree(self.root, dict(INSIDE))
        a_tree(self.outside, dict(OUTSIDE))
        for name, target in LINKS.items():
            (self.root / name).symlink_to(target)
        conversation = Conversation()
        workspace = Workspace([self.root])
        seen = SeenFiles(conversation)
        self.tool = ApplyPatch(workspace, seen)
        for name in INSIDE:
            show(conversation, ReadFile(workspace, seen), path=name)
        self.before = snapshot(self.root)
        self.before_outside = snapshot(top / "outside")

    def place(self, path: str) -> str:
        return path.format(outside=self.outside, root=self.root)

    def check_nothing_outside(self) -> None:
        assert snapshot(self.outside) == self.before_outside
        assert {each.name for each in self.root.parent.iterdir()} == {"work", "outside"}
        assert left_over(self.root) == []

    def expected(self, projected: Mapping[str, bytes], sealed: tuple[str, ...]) -> dict[str, str]:
        """What the files must hold once all of it is done; links and folders stay as they are."""
        files = {name: content for name, (content, _) in self.before.items() if (self.root / name).is_file()}
        files = {name: text for name, text in files.items() if not (self.root / name).is_symlink()}
        for path in sealed:
            name = os.path.relpath(path, self.root)
            assert name.split("/", 1)[0] != ".."
            if path in projected:
                files[name] = projected[path].decode()
            else:
                files.pop(name, None)
        return files


@examples(100)
@given(operations)
def test_no_path_leads_a_patch_outside_and_it_is_applied_as_sealed_or_not_at_all(
    wanted: list[tuple[str, str, str]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder).resolve())
        patch = patch_of(wanted, stage.place)
        try:
            sealed = seal(stage.tool, patch=patch)
            files = stage.expected(sealed.projected, tuple(file.path for file in sealed.files))
            call(stage.tool, seal=sealed, patch=patch)
        except ToolError:
            assert snapshot(stage.root) == stage.before
        else:
            after = snapshot(stage.root)
            plain = [name for name in after if (stage.root / name).is_file()]
            assert {n: after[n][0] for n in plain if not (stage.root / n).is_symlink()} == files
            assert {n: v for n, v in after.items() if (stage.root / n).is_symlink()} == {
                n: v for n, v in stage.before.items() if n in LINKS
            }
        stage.check_nothing_outside()


@pytest.mark.long
@examples(200)
@given(harmless, st.sampled_from(["replace", "unlink", "link", "fsync", "write", "open"]), st.integers(0, 12))
def test_whatever_fails_in_the_middle_all_of_it_is_done_or_none(
    wanted: list[tuple[str, str, str]], failing: str, nth: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        stage = Stage(Path(folder).resolve())
        patch = patch_of(wanted, stage.place)
        sealed = seal(stage.tool, patch=patch)
        files = stage.expected(sealed.projected, tuple(file.path for file in sealed.files))
        real, calls = getattr(os, failing), iter(range(1_000))

        def fail(*arguments: object, **more: object) -> object:
            if next(calls) == nth and _is_of_the_patch(failing, arguments):
                raise OSError(28, "No space left on device")
            return real(*arguments, **more)

        patched.setattr(os, failing, fail)
        try:
            call(stage.tool, seal=sealed, patch=patch)
        except ToolError as error:
            patched.undo()
            after = snapshot(stage.root)
            if "is written, but a crash may undo it" not in str(error):
                assert after == stage.before
        else:
            patched.undo()
            plain = (name for name in snapshot(stage.root) if (stage.root / name).is_file())
            assert {n for n in plain if not (stage.root / n).is_symlink()} >= set(files)
        stage.check_nothing_outside()


def _is_of_the_patch(failing: str, arguments: tuple[object, ...]) -> bool:
    """Not what the event loop does with its own descriptors, nor the removal of what is only left over."""
    match failing:
        case "write":
            return isinstance(arguments[1], memoryview)
        case "unlink":
            return ".quorum-" not in str(arguments[0])
        case "open":
            return ".quorum-" in str(arguments[0])
        case _:
            return True
