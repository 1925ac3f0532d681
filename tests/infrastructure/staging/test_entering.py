"""Entering a layer: what a process in it sees and changes, and when there is none."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from quorum.domain.errors import StagingError
from quorum.infrastructure.staging import entering, mounting
from quorum.infrastructure.staging.entered import _entered as entered_layers
from quorum.infrastructure.staging.entered_layer import EnteredLayer
from quorum.infrastructure.staging.entering import enter_layer
from quorum.infrastructure.staging.layer_folder import (
    LayerFolder,
    create_layer,
    hold_layer,
    hold_workspace,
    is_held,
    list_layers,
    list_places,
    list_unreadable,
    locate_layers_of,
    read_layer,
    remove_tree,
)
from quorum.infrastructure.staging.waiting_layers import describe_layers, is_waiting
from quorum.infrastructure.staging.workspace_layer import recover
from tests.support.layer_process import fork_alone, layers, run_forked, run_in_layer

pytestmark = pytest.mark.usefixtures("layers")
__all__ = ["layers"]


class Home:
    """A workspace, and a home beside it."""

    def __init__(self, tmp: Path, name: str = "workspace") -> None:
        self.root = (tmp / name).resolve()
        self.root.mkdir()
        self.state = tmp / "state" / "quorum"
        self.environ = {"HOME": str(tmp), "XDG_STATE_HOME": str(tmp / "state")}
        (self.root / "old.txt").write_text("old\n")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize("name", ["workspace", "with blank", "a,b", "c:d", "back\\slash", "line\nend", "ü"])
def test_what_is_done_in_a_layer_stands_at_the_workspaces_own_path_and_nowhere_else(
    tmp_path: Path, name: str
) -> None:
    home = Home(tmp_path, name)

    def work(entered: EnteredLayer) -> tuple[str, str, list[str]]:
        (home.root / "old.txt").write_text("new\n")
        (home.root / "made").mkdir()
        return (
            (home.root / "old.txt").read_text(),
            Path(entered.real, "old.txt").read_text(),
            sorted(os.listdir(entered.folder.upper)),
        )

    assert run_in_layer(home.root, home.environ, work) == ("new\n", "old\n", ["made", "old.txt"])
    assert (home.root / "old.txt").read_text() == "old\n"
    assert os.listdir(home.root) == ["old.txt"]


def test_a_folder_that_is_removed_and_made_anew_shows_none_of_its_old_files(home: Home) -> None:
    (home.root / "d").mkdir()
    (home.root / "d" / "old").touch()

    def work(_: EnteredLayer) -> list[str]:
        (home.root / "d" / "old").unlink()
        (home.root / "d").rmdir()
        (home.root / "d").mkdir()
        return os.listdir(home.root / "d")

    assert run_in_layer(home.root, home.environ, work) == []


def test_programs_that_it_starts_work_in_the_layer_as_the_same_user(home: Home) -> None:
    def work(_: EnteredLayer) -> str:
        words = ["sh", "-c", "cat old.txt; echo more >> old.txt; id -u; id -g"]
        return subprocess.run(words, cwd=home.root, capture_output=True, text=True, check=True).stdout

    assert run_in_layer(home.root, home.environ, work) == f"old\n{os.geteuid()}\n{os.getegid()}\n"
    assert (home.root / "old.txt").read_text() == "old\n"


def test_a_process_in_the_workspace_stays_in_its_folder_there(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home.root / "inner").mkdir()
    monkeypatch.chdir(home.root / "inner")

    def work(_: EnteredLayer) -> str:
        Path("here").touch()
        return os.getcwd()

    assert run_in_layer(home.root, home.environ, work) == str(home.root / "inner")
    assert not (home.root / "inner" / "here").exists()


def test_while_it_is_closed_the_workspace_is_there_and_the_layer_afterwards(home: Home) -> None:
    def work(entered: EnteredLayer) -> list[str]:
        os.chdir(home.root)
        Path("old.txt").write_text("layer\n")
        with entered.closed() as workspace:
            seen = [Path(workspace, "old.txt").read_text(), Path("old.txt").read_text()]
            Path("applied.txt").write_text("applied\n")
        return [*seen, Path("old.txt").read_text(), Path("applied.txt").read_text()]

    assert run_in_layer(home.root, home.environ, work) == ["old\n", "old\n", "layer\n", "applied\n"]
    assert (home.root / "applied.txt").read_text() == "applied\n"
    assert (home.root / "old.txt").read_text() == "old\n"


def test_it_is_closed_and_put_back_also_where_the_work_fails(home: Home) -> None:
    def work(entered: EnteredLayer) -> str:
        (home.root / "old.txt").write_text("layer\n")
        with pytest.raises(ValueError, match="amiss"), entered.closed():
            raise ValueError("amiss")
        entered.check()
        return (home.root / "old.txt").read_text()

    assert run_in_layer(home.root, home.environ, work) == "layer\n"


def test_a_layer_that_is_gone_is_noticed(home: Home) -> None:
    def work(entered: EnteredLayer) -> str:
        mounting.unmount(str(home.root))
        with pytest.raises(StagingError) as caught:
            entered.check()
        return str(caught.value)

    assert "nothing runs any more" in run_in_layer(home.root, home.environ, work)


def test_the_next_process_goes_on_in_the_layer_in_which_effects_wait(home: Home) -> None:
    def change(entered: EnteredLayer) -> str:
        (home.root / "old.txt").write_text("layer\n")
        return entered.folder.id

    def look(entered: EnteredLayer) -> tuple[str, bool, str]:
        return entered.folder.id, entered.waiting, (home.root / "old.txt").read_text()

    first = run_in_layer(home.root, home.environ, change)
    assert run_in_layer(home.root, home.environ, look) == (first, True, "layer\n")


def test_effects_of_before_a_new_start_of_the_machine_may_be_incomplete_and_it_is_said(home: Home) -> None:
    def change(entered: EnteredLayer) -> Path:
        (home.root / "old.txt").write_text("layer\n")
        return entered.folder.place

    place = run_in_layer(home.root, home.environ, change)
    assert run_in_layer(home.root, home.environ, lambda entered: entered.notices) == ()
    (place / "boot").write_text("another start")
    (said,) = run_in_layer(home.root, home.environ, lambda entered: entered.notices)
    assert "may be incomplete" in said


def test_an_empty_layer_is_used_again_and_shows_what_was_changed_meanwhile(home: Home) -> None:
    def look(entered: EnteredLayer) -> tuple[str, bool, str]:
        return entered.folder.id, entered.waiting, (home.root / "old.txt").read_text()

    first = run_in_layer(home.root, home.environ, look)
    (home.root / "old.txt").write_text("of the person\n")
    assert run_in_layer(home.root, home.environ, look) == (first[0], False, "of the person\n")


def test_a_layer_belongs_to_its_process_until_that_ends(home: Home) -> None:
    def work(_: EnteredLayer) -> list[bool]:
        create_layer(home.state, str(home.root))
        return [layer.is_held for layer in list_layers(home.state, home.root)]

    assert run_in_layer(home.root, home.environ, work) == [True, False]
    assert [layer.is_held for layer in list_layers(home.state)] == [False, False]


def test_nobody_else_gets_the_layer_of_a_process_that_works_in_it(home: Home) -> None:
    place = create_layer(home.state, str(home.root))
    again = hold_layer(place)
    with hold_layer(place), pytest.raises(StagingError, match="another quorum works in this layer"), again:
        pass


def test_of_two_that_begin_at_once_each_has_a_layer_of_its_own(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def have_another_choose_it(state: Path, workspace: str) -> Path:
        place = create_layer(state, workspace)
        if not others:
            others.append(hold_layer(place))
            others[0].__enter__()
        return place

    others = list[AbstractContextManager[LayerFolder]]()
    monkeypatch.setattr(entering, "create_layer", have_another_choose_it)

    assert run_in_layer(home.root, home.environ, lambda layer: layer.folder.place.name) == "2"


def test_an_empty_layer_that_is_chosen_is_nobodys_while_others_are_looked_at(home: Home) -> None:
    first, second = (create_layer(home.state, str(home.root)) for _ in range(2))

    def choose() -> tuple[str, list[bool]]:
        seen = list[bool]()

        def has_effects(folder: LayerFolder) -> bool:
            if folder.place == second:
                seen.append(is_held(first))
            return False

        return enter_layer(home.root, home.environ, has_effects=has_effects).folder.place.name, seen

    assert run_forked(choose) == ("1", [True])


@pytest.mark.parametrize(
    ("code", "remedy"),
    [(errno.ENOSPC, "make room there"), (errno.EROFS, "another state folder with XDG_STATE")],
)
def test_where_no_layer_can_be_kept_it_is_said_what_helps(
    home: Home, code: int, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_given: object, **_named: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "mkdir", refuse)

    with pytest.raises(StagingError, match=remedy):
        create_layer(home.state, str(home.root))


def test_a_layer_is_removed_with_folders_that_nobody_may_enter(home: Home) -> None:
    def work(entered: EnteredLayer) -> Path:
        (home.root / "closed").mkdir()
        (home.root / "closed" / "file").touch()
        (home.root / "closed").chmod(0)
        return entered.folder.place

    place = run_in_layer(home.root, home.environ, work)
    with hold_layer(place):
        remove_tree(place)
    assert not place.exists()


@pytest.mark.parametrize("missing", [("up",), ("work",), ("up", "work")])
def test_a_layer_whose_process_was_killed_while_it_made_a_folder_anew_is_used_again(
    home: Home, missing: tuple[str, ...]
) -> None:
    def look(entered: EnteredLayer) -> tuple[str, int, str]:
        mode = home.root.stat().st_mode
        return entered.folder.id, mode, (home.root / "old.txt").read_text()

    home.root.chmod(0o750)
    before = run_in_layer(home.root, home.environ, look)
    (place,) = list_places(locate_layers_of(home.state, str(home.root)))
    for name in missing:
        remove_tree(place / name)

    def enter() -> tuple[str, int, str]:
        return look(enter_layer(home.root, home.environ, recover=lambda folder: recover(folder, home.environ)))

    assert [is_waiting(layer) for layer in list_layers(home.state, home.root)] == [False]
    assert run_forked(enter) == before


def test_a_session_that_left_its_layer_is_told_of_it_only_where_changes_wait_there(home: Home) -> None:
    def work(entered: EnteredLayer) -> None:
        entered.note_session("s1")
        if written:
            (home.root / "new.txt").write_text(written)

    for written in ("", "layer\n"):
        run_in_layer(home.root, home.environ, work)
        told = describe_layers(home.root, home.environ, "s1")
        assert bool(told) == bool(written)
    (layer,) = list_layers(home.state, home.root)
    assert told[0].startswith(
        f"what was changed in the layer {layer.id} and not applied is not in your folder: /stage"
    )
    assert describe_layers(home.root, home.environ, "s2")[0].startswith(
        f"changes wait in the layer {layer.id} and are"
    )


def test_a_layer_that_holds_something_and_cannot_be_read_is_named_and_not_passed_over(home: Home) -> None:
    def change(_: EnteredLayer) -> None:
        (home.root / "old.txt").write_text("layer\n")

    run_in_layer(home.root, home.environ, change)
    (place,) = list_places(locate_layers_of(home.state, str(home.root)))
    (place / "meta.json").write_text("")
    create_layer(home.state, str(home.root))

    (said,) = list_unreadable(home.state, home.root)
    assert said.endswith(f"what was changed in it is in {place / 'up'}")
    assert describe_layers(home.root, home.environ, "") == (said,)
    assert run_in_layer(home.root, home.environ, lambda entered: entered.notices) == (said,)


@pytest.mark.parametrize(
    ("workspace", "state", "reason"),
    [
        (".", "inner/state", "the workspace holds quorum's own state"),
        ("quorum/inner", ".", "the workspace lies in quorum's own state"),
    ],
)
def test_a_workspace_that_holds_the_state_or_lies_in_it_is_refused(
    tmp_path: Path, workspace: str, state: str, reason: str
) -> None:
    root = tmp_path / workspace
    root.mkdir(parents=True, exist_ok=True)

    with pytest.raises(StagingError, match=reason):
        enter_layer(root.resolve(), {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / state)})


def test_a_workspace_with_a_mount_in_it_is_refused(home: Home) -> None:
    (home.root / "inner").mkdir()

    kept = [home.state / name for name in ("up", "work")]
    for place in kept:
        place.mkdir(parents=True)

    def work() -> str:
        mounting.enter_namespaces()
        mounting.mount_layer(str(home.root / "inner"), *map(str, kept))
        with pytest.raises(StagingError) as caught:
            enter_layer(home.root, home.environ)
        return str(caught.value)

    assert "inner in the workspace is a mount of its own" in run_forked(work)


def test_a_workspace_into_which_no_file_of_the_state_can_be_renamed_is_refused(home: Home) -> None:
    inner = home.root / "inner"
    inner.mkdir()
    kept = [home.state / name for name in ("up", "work")]
    for place in kept:
        place.mkdir(parents=True)

    def work() -> str:
        mounting.enter_namespaces()
        mounting.mount_layer(str(home.root), *map(str, kept))
        with pytest.raises(StagingError) as caught:
            enter_layer(inner, home.environ)
        return str(caught.value)

    assert "lies on another file system than the workspace" in run_forked(work)
    assert not (home.state / "staged").exists()


def test_where_the_system_allows_no_namespaces_it_is_said_and_nothing_is_left(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str, *arguments: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(mounting, "_call", refuse)

    def work() -> str:
        with pytest.raises(StagingError) as caught:
            enter_layer(home.root, home.environ)
        return str(caught.value)

    assert "no layer can be had: the system allows no user namespaces" in run_forked(work)
    assert (home.root / "old.txt").read_text() == "old\n"


def be_without_user_namespaces() -> None:
    """As in a hardened container: no rights, and no more user namespaces than there are."""
    library, user, group = ctypes.CDLL(None, use_errno=True), os.getuid(), os.getgid()
    if library.unshare(0x10000000) == 0:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            Path("/proc/self", name).write_text(text)
        Path("/proc/sys/user/max_user_namespaces").write_text("0")
    assert library.capset(struct.pack("Ii", 0x20080522, 0), bytes(24)) == 0


def test_without_user_namespaces_it_is_said_what_is_missing_and_that_there_are_other_modes(home: Home) -> None:
    def work() -> str:
        be_without_user_namespaces()
        with pytest.raises(StagingError) as caught:
            enter_layer(home.root, home.environ)
        return str(caught.value)

    said = run_forked(work)

    assert "the system allows no user namespaces" in said
    assert "space left" not in said
    assert "in another mode" in said


def test_a_process_that_has_begun_other_work_is_refused(home: Home) -> None:
    from threading import Event, Thread

    def work() -> str:
        done = Event()
        thread = Thread(target=done.wait)
        thread.start()
        try:
            with pytest.raises(StagingError) as caught:
                enter_layer(home.root, home.environ)
            return str(caught.value)
        finally:
            done.set()
            thread.join()

    assert "has begun other work already" in run_forked(work)


def test_a_process_that_leaves_its_layer_has_the_workspace_again(home: Home) -> None:
    def work(entered: EnteredLayer) -> tuple[bool, str]:
        os.chdir(home.root)
        Path("old.txt").write_text("layer\n")
        return entered.leave(), (Path.cwd() / "old.txt").read_text()

    can_continue, seen = run_in_layer(home.root, home.environ, work)
    assert seen == "old\n"
    assert can_continue is (os.geteuid() == 0)


def test_while_a_turn_runs_the_layer_is_not_closed(home: Home) -> None:
    def work(entered: EnteredLayer) -> tuple[str, str]:
        (home.root / "old.txt").write_text("layer\n")
        with entered.hold_turn(), pytest.raises(StagingError) as caught, entered.closed():
            pass
        with entered.closed() as workspace:
            return str(caught.value), Path(workspace, "old.txt").read_text()

    why, seen = run_in_layer(home.root, home.environ, work)
    assert "a turn or a command of yours runs in this layer" in why
    assert seen == "old\n"


def test_a_quorum_that_is_started_in_a_layer_enters_none_over_it(home: Home) -> None:
    def work(_: EnteredLayer) -> str:
        entered_layers.clear()
        with pytest.raises(StagingError) as caught:
            enter_layer(home.root, home.environ)
        return str(caught.value)

    assert "is a layer already" in run_in_layer(home.root, home.environ, work)


def test_a_session_comes_back_to_its_own_layer_and_another_one_to_the_first_in_which_something_waits(
    home: Home,
) -> None:
    for session in ("aa11", "bb22"):
        place = create_layer(home.state, str(home.root))
        with hold_layer(place) as folder:
            folder.note_session(session)
            (folder.upper / session).touch()

    def enter(session: str) -> list[str]:
        return run_forked(
            lambda: os.listdir(enter_layer(home.root, home.environ, session=session).folder.upper)
        )

    assert enter("bb") == ["bb22"]
    assert enter("aa11") == ["aa11"]
    assert enter("") == enter("cc33") == ["aa11"]


def test_where_sessions_do_not_share_layers_effects_stay_with_theirs(home: Home) -> None:
    def work(session: str) -> list[str]:
        def write() -> list[str]:
            entered = enter_layer(home.root, home.environ, session=session, is_shared=False)
            found = os.listdir(entered.folder.upper)
            entered.note_session(session)
            (home.root / session).write_text("made")
            return found

        return run_forked(write)

    assert [work("one"), work("two"), work("one"), work("two")] == [[], [], ["one"], ["two"]]


def test_of_two_processes_one_at_a_time_changes_the_workspace(home: Home) -> None:
    folder = read_layer(create_layer(home.state, str(home.root)))
    other = read_layer(create_layer(home.state, str(home.root)))
    began, ends = os.pipe(), os.pipe()
    if (child := fork_alone()) == 0:
        with hold_workspace(folder):
            os.write(began[1], b"x")
            os.read(ends[0], 1)
        os._exit(0)
    os.read(began[0], 1)

    with pytest.raises(StagingError, match="another quorum applies changes"), hold_workspace(other, secs=0):
        pass
    os.write(ends[1], b"x")
    os.waitpid(child, 0)
    with hold_workspace(other, secs=0):
        pass
