from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorum.application.calls.batch_state import hold_to_access
from quorum.domain.calls.access import Access
from quorum.domain.errors import ConfigError, StaleSeal, ToolError
from quorum.infrastructure.files.opened_path import require_opened_at
from quorum.infrastructure.files.workspace import Workspace
from tests.infrastructure.tools.calling import a_tree


@pytest.fixture
def root(tmp_path):
    a_tree(tmp_path, {"in/a.txt": "a", "in/sub/b.txt": "b", "out/secret.txt": "secret"})
    return tmp_path / "in"


@pytest.fixture
def workspace(root):
    return Workspace([root])


def content(workspace, path):
    with workspace.open_file(workspace.locate(path)) as file:
        return file.read()


@pytest.mark.parametrize("path", ["a.txt", "./a.txt", "sub/../a.txt", "sub//../a.txt", "a.txt/"])
def test_a_path_inside_is_opened_however_it_is_written(workspace, path):
    assert content(workspace, path) == b"a"


def test_an_absolute_path_inside_is_opened(workspace, root):
    assert content(workspace, str(root / "sub" / "b.txt")) == b"b"


@pytest.mark.parametrize(
    "path", ["..", "../out/secret.txt", "sub/../../out/secret.txt", "/etc/passwd", "/", "../inside"]
)
def test_a_path_that_leads_outside_is_refused_by_name(workspace, path):
    with pytest.raises(ToolError, match="outside the workspace") as refusal:
        workspace.locate(path)

    assert path in str(refusal.value)


def test_a_link_out_is_refused(workspace, root):
    (root / "link").symlink_to("../out/secret.txt")
    (root / "folder").symlink_to("../out")

    for path in ("link", "folder/secret.txt", "folder/new.txt", "sub/../folder"):
        with pytest.raises(ToolError, match="outside the workspace"):
            workspace.locate(path)


def test_a_link_and_dots_are_resolved_as_the_system_does(workspace, root):
    (root / "deep").symlink_to("../out")

    with pytest.raises(ToolError, match="outside the workspace"):
        workspace.locate("deep/../out/secret.txt")


def test_links_that_lead_nowhere_or_in_circles_are_refused(workspace, root):
    (root / "dangling").symlink_to("missing")
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")

    for path in ("dangling", "one", "one/x"):
        with pytest.raises(ToolError, match="leads nowhere"):
            workspace.locate(path)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        ("a\0b", "NUL"),
        ("~/x", "not expanded"),
        ("~root/x", "not expanded"),
        ("x" * 256, "longer"),
        ("x/" * 3000, "longer"),
        ("\ud800", "no path can"),
    ],
)
def test_a_malformed_path_is_refused_with_the_reason(workspace, path, reason):
    with pytest.raises(ToolError, match=reason):
        workspace.locate(path)


def test_what_is_no_regular_file_is_not_read(workspace, root):
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "socket"))

        for path, kind in (("pipe", "named pipe"), ("socket", "socket"), ("sub", "folder"), (".", "folder")):
            with pytest.raises(ToolError, match=kind):
                content(workspace, path)


def test_a_link_inside_is_followed_and_both_names_are_declared(workspace, root):
    (root / "link").symlink_to("sub/b.txt")

    location = workspace.locate("link")

    assert content(workspace, "link") == b"b"
    assert location.resources == {str(root / "sub" / "b.txt"), str(root / "link")}


@pytest.mark.parametrize("swapped", ["sub", "sub/b.txt"])
def test_a_link_swapped_in_after_the_check_does_not_win(workspace, root, swapped):
    location = workspace.locate("sub/b.txt")
    (root / swapped).rename(root / "aside")
    (root / swapped).symlink_to(root.parent / "out" / ("secret.txt" if swapped != "sub" else ""))
    (root.parent / "out" / "b.txt").write_text("other secret")

    with pytest.raises(ToolError, match="link"), workspace.open_file(location) as file:
        file.read()


def test_a_second_root_is_part_of_the_workspace(root):
    workspace = Workspace([root, root.parent / "out"])

    assert content(workspace, "../out/secret.txt") == b"secret"
    assert workspace.format_path(root / "a.txt") == "a.txt"
    assert workspace.format_path(root.parent / "out" / "secret.txt") == str(root.parent / "out" / "secret.txt")


def test_a_root_that_is_a_link_is_resolved_and_its_own_name_still_works(root):
    (root.parent / "alias").symlink_to(root)
    workspace = Workspace([root.parent / "alias"])

    assert workspace.cwd == root
    assert workspace.locate(str(root.parent / "alias" / "a.txt")).resources == {str(root / "a.txt")}


def test_a_root_that_does_not_exist_is_a_clear_error(root):
    with pytest.raises(ConfigError, match="missing is not a folder"):
        Workspace([root / "missing"])


def test_control_characters_of_names_are_shown_escaped(workspace, root):
    assert workspace.format_path(root / "a\x1b[31m\u202e\udcff") == "a\\x1b[31m\\u202e\\udcff"


_PARTS = st.sampled_from(
    [
        "..",
        ".",
        "",
        "a.txt",
        "sub",
        "up",
        "loop",
        "away",
        "in",
        "out",
        "secret.txt",
        "é",
        "e\u0301",
        "b.txt",
        "…",
        " ",
    ]
)


@settings(deadline=None)
@given(
    parts=st.lists(_PARTS, max_size=8), absolute=st.booleans(), target=st.lists(_PARTS, min_size=1, max_size=4)
)
def test_no_path_is_ever_opened_outside(parts, absolute, target):
    with tempfile.TemporaryDirectory() as name:
        base = Path(name).resolve()
        a_tree(
            base, {"in/a.txt": "a", "in/sub/b.txt": "b", "in/é": "e", "out/secret.txt": "s", "out/a.txt": "s"}
        )
        (base / "in/up").symlink_to("/".join(target) or ".")
        (base / "in/loop").symlink_to("sub/../loop")
        (base / "in/sub/away").symlink_to(base / "out")
        inside = {
            (status.st_dev, status.st_ino)
            for folder, _, files in os.walk(base / "in")
            for status in (os.lstat(os.path.join(folder, file)) for file in files)
        }
        path = "/".join(parts)
        workspace = Workspace([base / "in"])

        try:
            with workspace.open_file(workspace.locate(f"{base}/in/{path}" if absolute else path)) as file:
                opened = os.fstat(file.fileno())
        except ToolError:
            return

        assert (opened.st_dev, opened.st_ino) in inside


class TestHeldToDecidedPaths:
    """What a call reads is what was decided about, whatever its path leads to by then."""

    def test_a_path_that_leads_elsewhere_by_then_is_stale(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("harmless")
        (tmp_path / ".env").write_text("TOKEN=1")
        (tmp_path / "x").symlink_to("a.txt")
        workspace = Workspace([tmp_path])
        decided = Access.of(reads=workspace.resolve("x").resources)
        (tmp_path / "x").unlink()
        (tmp_path / "x").symlink_to(".env")
        with hold_to_access(decided), pytest.raises(StaleSeal, match="not what was decided about"):
            workspace.locate("x")

    def test_a_folder_that_was_decided_about_does_not_stand_for_the_files_in_it(self, tmp_path: Path) -> None:
        (tmp_path / ".env").write_text("TOKEN=1")
        workspace = Workspace([tmp_path])
        with hold_to_access(Access.of(reads=[str(workspace.cwd)])), pytest.raises(StaleSeal):
            workspace.locate(".env")

    def test_a_call_that_declared_no_paths_is_held_to_none(self, tmp_path: Path) -> None:
        workspace = Workspace([tmp_path])
        with hold_to_access(Access.of(reads=["state:plan"])):
            assert workspace.locate("a.txt").names == ("a.txt",)

    def test_a_file_that_was_moved_while_it_was_opened_is_not_read(self, tmp_path: Path) -> None:
        (tmp_path / "d").mkdir()
        (tmp_path / "d/a.txt").write_text("x")
        workspace = Workspace([tmp_path])
        with workspace.open_file(workspace.locate("d/a.txt")) as file:
            (tmp_path / "d").rename(tmp_path / ".aws")
            with pytest.raises(StaleSeal, match="moved"):
                require_opened_at(file.fileno(), f"{workspace.cwd}/d/a.txt", "d/a.txt")

    def test_a_file_that_was_replaced_after_it_was_opened_still_lay_there(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("x")
        workspace = Workspace([tmp_path])
        with workspace.open_file(workspace.locate("a.txt")) as file:
            (tmp_path / "b.txt").write_text("y")
            (tmp_path / "b.txt").replace(tmp_path / "a.txt")
            require_opened_at(file.fileno(), f"{workspace.cwd}/a.txt", "a.txt")
