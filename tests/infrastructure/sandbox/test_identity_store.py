"""What one session has guarded, others know: later ones, and those beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from quorum.domain.calls.summary import extract_text
from quorum.domain.errors import ToolError
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.execution.sandbox import known_files
from quorum.infrastructure.execution.sandbox.guarded_files import GuardedFiles, find_guarded
from quorum.infrastructure.execution.sandbox.identity_store import IdentityStore
from quorum.infrastructure.execution.sandbox.known_files import KnownFiles
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from tests.infrastructure.commands.command_bench import RecordingControls, context_with, tool_in
from tests.infrastructure.sandbox.sandbox_bench import Household, needs_bubblewrap


class Workspace:
    """A folder, and sessions in it that share a store."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        self.kept = folder / "state"

    def write(self, path: str, text: str = "hidden") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def open(self, root: Path | None = None) -> Callable[[], GuardedFiles]:
        """A new session; what it guards now."""
        roots, known = (str(root or self.root),), KnownFiles(IdentityStore(self.kept))

        def guard() -> GuardedFiles:
            found = find_guarded(roots, PathPolicy(roots=roots))
            assert known.complete(found, roots, is_busy=lambda _: False, check=lambda: None)
            found.complete &= known.gap is None
            return found

        return guard


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.mark.parametrize("place", ["notes.txt", "node_modules/a/notes.txt", ".git/notes.txt"])
def test_a_file_that_is_renamed_between_two_sessions_stays_guarded(workspace: Workspace, place: str) -> None:
    secret, notes = workspace.write(".env"), workspace.root / place
    workspace.open()()

    notes.parent.mkdir(parents=True, exist_ok=True)
    secret.rename(notes)

    assert str(notes) in workspace.open()().sensitive


def test_what_is_kept_is_for_the_person_alone(workspace: Workspace) -> None:
    workspace.write(".env")
    workspace.open()()

    (file,) = workspace.kept.glob("*.json")
    assert file.stat().st_mode & 0o777 == 0o600
    assert workspace.kept.stat().st_mode & 0o777 == 0o700


def test_nothing_is_kept_where_nothing_is_guarded(workspace: Workspace) -> None:
    workspace.open()()

    assert not workspace.kept.exists()


def test_what_is_gone_is_forgotten(workspace: Workspace) -> None:
    secret = workspace.write(".env")
    workspace.open()()

    secret.unlink()
    workspace.open()()

    (file,) = workspace.kept.glob("*.json")
    assert json.loads(file.read_text())["files"] == []


def test_another_file_with_the_inode_of_a_deleted_one_is_not_guarded_after_a_restart(
    workspace: Workspace,
) -> None:
    secret = workspace.write(".env")
    inode = secret.stat().st_ino
    workspace.open()()

    secret.unlink()
    others = [workspace.write(f"other{number}", "other") for number in range(20)]

    if inode not in [each.stat().st_ino for each in others]:
        pytest.skip("this file system gives no inode twice so soon")
    assert workspace.open()().sensitive == []


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"root": 1}', b"\xff" * 9, b"[" * 100_000])
def test_where_the_list_is_damaged_commands_ask_and_it_begins_anew(workspace: Workspace, damage: bytes) -> None:
    workspace.write(".env")
    workspace.open()()
    (file,) = workspace.kept.glob("*.json")
    file.write_bytes(damage)

    session = workspace.open()

    assert not session().complete
    assert not session().complete
    assert workspace.open()().complete
    assert len(json.loads(file.read_text())["files"]) == 1


def test_what_one_session_learns_another_uses_at_its_next_command(workspace: Workspace) -> None:
    first, second = workspace.open(), workspace.open()
    first()
    second()

    secret = workspace.write(".env")
    first()
    notes = secret.rename(workspace.root / "notes.txt")

    assert str(notes) in second().sensitive


def test_what_two_sessions_learn_is_kept_of_both(workspace: Workspace) -> None:
    first, second = workspace.open(), workspace.open()
    secrets = [workspace.write("a/.env")]
    first()
    secrets.append(workspace.write("b/.env"))
    second()

    moved = [str(each.rename(workspace.root / f"{place}.txt")) for place, each in enumerate(secrets)]

    assert sorted(workspace.open()().sensitive) == sorted(moved)


@pytest.mark.parametrize(("first", "second"), [(".", "app"), ("app", ".")])
def test_a_session_in_a_folder_below_or_above_knows_it_too(
    workspace: Workspace, first: str, second: str
) -> None:
    secret = workspace.write("app/.env")
    workspace.open(workspace.root / first)()

    notes = secret.rename(workspace.root / "app/notes.txt")

    assert str(notes) in workspace.open(workspace.root / second)().sensitive


def test_a_workspace_that_is_renamed_is_known_again(workspace: Workspace) -> None:
    secret = workspace.write(".env")
    workspace.open()()

    secret.rename(workspace.root / "notes.txt")
    renamed = workspace.root.rename(workspace.root.parent / "renamed")

    assert str(renamed / "notes.txt") in workspace.open(renamed)().sensitive


def test_a_device_may_get_another_number_when_the_machine_is_started_anew(workspace: Workspace) -> None:
    secret = workspace.write(".env")
    workspace.open()()
    (file,) = workspace.kept.glob("*.json")
    device = workspace.root.stat().st_dev
    file.write_text(file.read_text().replace(f"[{device}, ", f"[{device + 1}, "))

    notes = secret.rename(workspace.root / "notes.txt")

    assert str(notes) in workspace.open()().sensitive


@pytest.mark.parametrize(
    ("folder", "kind"), [(".aws", "sensitive"), (".husky", "protected"), (".git", "protected")]
)
def test_a_hard_link_to_a_file_in_a_guarded_folder_is_guarded(
    workspace: Workspace, folder: str, kind: str
) -> None:
    workspace.write(f"{folder}/deep/file")
    os.link(workspace.root / folder / "deep/file", workspace.root / "link")

    guarded = workspace.open()()

    assert str(workspace.root / "link") in getattr(guarded, kind)
    assert str(workspace.root / folder / "deep/file") not in getattr(guarded, kind)


def test_a_hard_link_that_is_made_while_a_session_lasts_is_guarded(workspace: Workspace) -> None:
    inner = workspace.write(".aws/config")
    session = workspace.open()
    session()

    os.link(inner, workspace.root / "link")

    assert str(workspace.root / "link") in session().sensitive


def test_a_hard_link_that_takes_the_place_of_one_elsewhere_is_guarded(
    workspace: Workspace, tmp_path: Path
) -> None:
    inner = workspace.write(".aws/config")
    os.link(inner, tmp_path / "elsewhere")
    session = workspace.open()
    session()

    (tmp_path / "elsewhere").rename(workspace.root / "link")

    assert str(workspace.root / "link") in session().sensitive


def test_a_file_that_is_taken_out_of_a_sensitive_folder_stays_guarded(workspace: Workspace) -> None:
    inner = workspace.write(".aws/config")
    workspace.open()()

    moved = inner.rename(workspace.root / "config")

    assert str(moved) in workspace.open()().sensitive


def test_what_is_moved_during_the_search_to_where_it_has_been_is_found(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = workspace.write(".env")
    folders = {str(workspace.root / name) for name in "ab"}
    session = workspace.open()
    session()
    for folder in folders:
        os.mkdir(folder)
    place = inner.rename(workspace.root / "a/plain")
    list_entries, looked_into = known_files._list_entries, set[str]()

    def move(folder: str) -> list[os.DirEntry[str]]:
        """The file is in the other folder while the first one is looked into."""
        nonlocal place
        is_first = folder in folders and not looked_into
        if is_first:
            looked_into.add(folder)
            place = place.rename(Path((folders - {folder}).pop(), "plain"))
        entries = list_entries(folder)
        if is_first:
            place = place.rename(Path(folder, "plain"))
        return entries

    monkeypatch.setattr(known_files, "_list_entries", move)

    assert str(place) in session().sensitive
    assert looked_into


@needs_bubblewrap
async def test_a_command_of_a_new_session_does_not_read_what_was_renamed(
    household: Household, tmp_path: Path
) -> None:
    secret = household.write("src/project/.env", "hidden\n")
    said = []
    for command in ("true", "cat notes.txt; echo done"):
        sandbox = a_sandbox(household, tmp_path)
        tool = tool_in(household.root.resolve(), inherited=household.environ, sandbox=sandbox)
        said.append(extract_text(await tool.execute({"command": command}, context_with(RecordingControls()))))
        if secret.exists():
            secret.rename(household.root / "notes.txt")

    assert "hidden" not in said[-1]
    assert "done" in said[-1]


@needs_bubblewrap
def test_nothing_runs_where_a_command_of_another_session_may_be_moving_a_guarded_file(
    household: Household, tmp_path: Path
) -> None:
    secret = household.write("src/project/api/.env", "hidden\n")
    first, second = (a_sandbox(household, tmp_path) for _ in range(2))
    launch = first.confine().launch(["/bin/true"], cwd=household.root, environment={})

    secret.parent.rename(household.home / "elsewhere")
    with launch.running():
        assert second.find_gap() is not None
        with pytest.raises(ToolError, match="another session"):
            second.confine().launch(["/bin/true"], cwd=household.root, environment={})

    assert second.find_gap() is None


def a_sandbox(household: Household, folder: Path) -> Sandbox:
    household.identities = IdentityStore(folder / "identities")
    return household.sandbox()


def test_a_mark_that_no_process_holds_is_removed_and_one_that_is_held_stays(tmp_path: Path) -> None:
    at_work, later = IdentityStore(tmp_path / "kept"), IdentityStore(tmp_path / "kept")
    with later.mark_running(["/over"]):
        pass
    with at_work.mark_running(["/srv"]):
        later.remove_abandoned()

        assert len(list((tmp_path / "kept").iterdir())) == 1
        assert later.is_running(["/srv"])
    later.remove_abandoned()
    assert list((tmp_path / "kept").iterdir()) == []
    assert not later.is_running(["/srv"])
