"""Effects are applied whole or in parts, with all that files have, and can be taken back."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.errors import StagingError
from quorum.domain.staging.layer_effects import EffectChoice
from quorum.infrastructure.staging import workspace_layer
from quorum.infrastructure.staging.change_journal import ChangeJournal, ChangePlan
from quorum.infrastructure.staging.effects_planning import EffectsPlanner
from quorum.infrastructure.staging.entering import enter_layer
from quorum.infrastructure.staging.upper_folder import UpperFolder
from quorum.infrastructure.staging.waiting_layers import is_waiting
from quorum.infrastructure.staging.workspace_layer import WorkspaceLayer
from tests.infrastructure.staging.layer_bench import LayerBench, describe_tree
from tests.support.examples import examples
from tests.support.layer_process import run_forked

_LINES = "".join(f"{number}\n" for number in range(30))


def test_applying_all_leaves_what_the_same_work_leaves_in_a_plain_folder(
    bench: LayerBench, tmp_path: Path
) -> None:
    bench.write("a", "1\n")
    bench.write("d/x", "1\n")
    bench.write("d/e/y", "1\n")
    script = """
        echo 2 > a; chmod 755 a; rm -r d; mkdir -p d/e n/m; echo z > d/e/z; ln -s ../a n/link; echo q > n/m/q
        chmod 2750 n/m; ln a twin; mkdir hollow; chmod 700 d
    """
    plain = tmp_path / "plain"
    shutil.copytree(bench.workspace, plain)
    subprocess.run(("sh", "-ec", script), cwd=plain, check=True)
    bench.work(script)

    assert bench.apply().is_done
    assert describe_tree(bench.workspace) == describe_tree(plain)
    assert bench.read_effects().is_empty
    assert not any((bench.stored.folder / "up").iterdir())


def test_undoing_gives_back_the_workspace_to_the_byte(bench: LayerBench) -> None:
    bench.write("a", "1\n")
    bench.write("d/x", "1\n")
    (bench.workspace / "d").chmod(0o750)
    before = describe_tree(bench.workspace)
    bench.work("echo 2 > a; rm -r d; echo 1 > d; mkdir -p new/e hollow; echo 1 > new/e/f; chmod 700 new")

    applied = bench.apply()
    undone = bench.undo()

    assert applied.is_done
    assert undone == applied
    assert describe_tree(bench.workspace) == before
    with pytest.raises(StagingError, match="nothing that was applied"):
        bench.undo()


def test_what_is_left_out_stays_in_the_layer_as_it_was(bench: LayerBench) -> None:
    for name in ("d/a", "d/b", "d/c", "e/a", "f"):
        bench.write(name, f"{name}\n")
    bench.work("rm -r d; mkdir d; echo new > d/new; echo b > d/b; rm -r e; echo 2 > f; echo n > n")
    left = frozenset({"d/a", "d/b", "e/a", "n"})

    assert bench.apply(EffectChoice(left_out=left)).paths == ("d/c", "d/new", "f")
    expected = {"d/a": "delete", "d/b": "replace", "e/a": "delete", "n": "create"}
    assert bench.list_effects() == expected
    assert sorted(bench.do(lambda: os.listdir("d"))) == ["b", "new"]
    assert bench.apply().is_done
    assert sorted(describe_tree(bench.workspace)) == ["d", "d/b", "d/new", "f", "n"]


def test_a_hunk_is_left_out_and_stays_in_the_layer(bench: LayerBench) -> None:
    bench.write("a", _LINES)
    bench.work("sed -i -e 's/^3$/three/' -e 's/^15$/fifteen/' -e '/^28$/d' a")

    assert bench.apply(EffectChoice(hunks={"a": frozenset({1})})).paths == ("a",)
    expected = _LINES.replace("\n3\n", "\nthree\n").replace("28\n", "")
    assert bench.read("a") == expected
    effect = bench.find("a")
    assert (effect.added, effect.removed, effect.conflict) == (1, 1, "")
    assert bench.apply().is_done
    assert bench.read("a") == expected.replace("15", "fifteen")


def test_a_choice_that_names_nothing_of_the_layer_is_refused(bench: LayerBench) -> None:
    bench.work("echo 1 > a; echo 2 > b")
    choice = EffectChoice(left_out=frozenset({"typo"}), hunks={"no": frozenset({0}), "a": frozenset({7})})

    assert set(bench.apply(choice).refused) == {"typo", "no", "a"}
    assert not any(bench.workspace.iterdir())


def test_a_file_is_not_put_where_something_that_stays_stands(bench: LayerBench) -> None:
    bench.write("file", "1\n")
    bench.write("folder/in", "1\n")
    bench.work("rm file; mkdir file; echo x > file/x; rm -r folder; echo y > folder")

    refused = bench.apply(EffectChoice(left_out=frozenset({"file", "folder/in"}))).refused
    assert set(refused) == {"file/x", "folder"}


def test_a_file_in_place_of_an_empty_folder_stays_in_the_layer_if_only_the_folder_goes(
    bench: LayerBench,
) -> None:
    (bench.workspace / "a").mkdir()
    bench.work("rmdir a; echo file > a")

    assert bench.apply(EffectChoice(left_out=frozenset({"a"}))).paths == ("a/",)
    assert bench.list_effects() == {"a": "create"}


def test_modes_attributes_and_access_lists_are_kept(bench: LayerBench) -> None:
    bench.write("a", "1\n")
    os.setxattr(bench.workspace / "a", "user.mark", b"1")
    grant = bytes.fromhex(
        "0200000001000600ffffffff02000600e903000004000400ffffffff10000600ffffffff20000400ffffffff"
    )
    os.setxattr(bench.workspace / "a", "system.posix_acl_access", grant)
    bench.do(lambda: Path("a").write_text("2\n"))
    bench.do(lambda: os.setxattr("a", "user.more", b"2"))

    assert bench.apply().is_done
    place = bench.workspace / "a"
    assert {name: os.getxattr(place, name) for name in os.listxattr(place)} == {
        "system.posix_acl_access": grant,
        "user.mark": b"1",
        "user.more": b"2",
    }


def test_other_names_of_a_file_keep_what_it_held_and_that_is_said(bench: LayerBench) -> None:
    bench.write("a", "1\n")
    os.link(bench.workspace / "a", bench.workspace.parent / "elsewhere")
    bench.work("echo 2 > a")

    assert "a has other names" in bench.read_effects().not_captured[0]
    assert bench.apply().is_done
    assert (bench.workspace.parent / "elsewhere").read_text() == "1\n"
    assert os.stat(bench.workspace / "a").st_nlink == 1


@pytest.mark.parametrize("other", ["other", "d/other"])
def test_what_has_another_name_in_the_layer_is_not_written_through_it_later(
    bench: LayerBench, other: str
) -> None:
    bench.write("d/a", "1\n")
    bench.work(f"echo 1 > notes; chmod 751 notes; touch -d @1000 notes; ln notes {other}")

    assert bench.apply(EffectChoice(left_out=frozenset({other}))).paths == ("notes",)
    bench.work(f"echo unseen > {other}; chmod 777 {other}")

    assert bench.read("notes") == "1\n"
    status = os.stat(bench.workspace / "notes")
    assert (stat.S_IMODE(status.st_mode), int(status.st_mtime)) == (0o751, 1000)
    assert bench.undo().is_done


def test_what_a_program_writes_between_reading_and_applying_is_refused(
    bench: LayerBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.write("a", "1\n")
    bench.work("echo 2 > a")
    plan = EffectsPlanner.plan
    late = bench.stored.folder / "up" / "a"

    def write_late(planner: EffectsPlanner) -> ChangePlan:
        late.write_text("unseen\n")
        return plan(planner)

    monkeypatch.setattr(EffectsPlanner, "plan", write_late)

    assert bench.apply().refused == {"a": "it was changed in the layer since the review"}
    assert bench.read("a") == "1\n"


def test_what_was_refused_is_not_what_was_taken_back_whatever_its_journal_is_called(
    bench: LayerBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.write("a", "1\n")
    bench.write("b", "1\n")
    bench.work("echo 2 > a; rm b; echo 2 > c")
    begin = ChangeJournal.begin

    def begin_late(journal: ChangeJournal, plan: ChangePlan) -> None:
        begin(journal, plan)
        bench.write("a", "mine\n")

    monkeypatch.setattr(ChangeJournal, "begin", begin_late)
    assert not bench.apply().is_done
    (journal,) = (bench.stored.folder / "applies").iterdir()
    os.rename(journal / "refused", journal / "undone")  # as earlier versions called it

    with pytest.raises(StagingError, match="nothing was taken back last"):
        bench.redo()


def test_discarding_shows_the_workspace_again(bench: LayerBench) -> None:
    bench.write("a", "1\n")
    bench.work("echo 2 > a; rm -rf b; mkdir b; chmod 000 b")
    bench.ask(lambda layer: layer.discard())

    assert bench.read_effects().is_empty
    assert bench.do(lambda: Path("a").read_text()) == "1\n"


def test_a_process_in_the_layer_reads_applies_and_goes_on_in_it(bench: LayerBench) -> None:
    bench.write("a", "1\n")

    def write(path: str, text: str) -> None:
        Path(path).write_text(text)

    def work() -> tuple[str, str, bool]:
        entered = enter_layer(bench.workspace, bench.environ)
        os.chdir(bench.workspace)
        layer = WorkspaceLayer(
            entered.folder,
            bench.environ,
            find_real=lambda: entered.real,
            closed=entered.closed,
            is_protected=lambda _: False,
        )

        async def act() -> bool:
            write("a", "2\n")
            write("b", "rest\n")
            await layer.note_files()
            effects = await layer.read_effects()
            held = await layer.read_content("a", before=True)
            assert held == b"1\n"
            choice = EffectChoice(left_out=frozenset({"b"}))
            assert (await layer.apply(choice, effects.digest)).paths == ("a",)
            write("a", "3\n")
            again = await layer.read_effects()
            assert [each.path for each in again.effects] == ["a", "b"]
            entered.check()
            return not again.effects[0].conflict

        is_fine = asyncio.run(act())
        return Path("a").read_text(), Path("b").read_text(), is_fine

    assert run_forked(work) == ("3\n", "rest\n", True)
    assert (bench.read("a"), bench.read("b")) == ("2\n", None)


_NAMES = st.sampled_from(["a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "f/a"])
_ACTIONS = st.lists(
    st.tuples(st.sampled_from(["write", "append", "remove", "mkdir", "chmod", "link", "move"]), _NAMES, _NAMES),
    max_size=8,
)


def _act(folder: Path, actions: list[tuple[str, str, str]]) -> None:
    """Do this in a folder; what is not possible there is not done."""
    for number, (action, name, other) in enumerate(actions):
        path = folder / name
        try:
            match action:
                case "write":
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(f"{number}\n")
                case "append":
                    with open(path, "a") as file:
                        file.write(f"{number}\n")
                case "remove" if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                case "remove":
                    path.unlink()
                case "mkdir":
                    path.mkdir()
                case "chmod":
                    path.chmod(0o751 if number % 2 else 0o640 if path.is_file() else 0o750)
                case "link":
                    path.symlink_to(other)
                case "move":
                    shutil.move(path, folder / other)
        except (OSError, shutil.Error):
            continue


@pytest.mark.parametrize("after", ["mkdir a", "mkdir a; echo n > a/n", "mkdir -p a/b; echo n > a/b/n"])
def test_a_file_in_whose_place_a_folder_was_put_comes_back(bench: LayerBench, after: str) -> None:
    (bench.workspace / "a").write_text("old\n")
    bench.do(lambda: subprocess.run(["sh", "-c", f"rm a; {after}"], check=True))
    assert bench.apply().is_done
    assert (bench.workspace / "a").is_dir()

    assert bench.undo().is_done

    assert (bench.workspace / "a").read_text() == "old\n"


def test_a_pipe_in_whose_place_a_folder_was_put_comes_back(bench: LayerBench) -> None:
    os.mkfifo(bench.workspace / "a")
    bench.work("rm a; mkdir a; echo n > a/n")
    assert bench.apply().is_done

    assert bench.undo().is_done

    assert (bench.workspace / "a").is_fifo()


def test_the_mode_of_a_folder_that_is_left_out_is_left_when_what_lies_in_it_is_applied(
    bench: LayerBench,
) -> None:
    folder = bench.workspace / "d"
    folder.mkdir(0o755)
    (folder / "a").write_text("old\n")

    def work() -> None:
        Path("d/a").write_text("new\n")
        os.chmod("d", 0o750)

    bench.do(work)
    assert bench.apply(EffectChoice(left_out=frozenset({"d/"}))).is_done
    assert (folder / "a").read_text() == "new\n"
    assert bench.list_effects() == {"d/": "mode"}

    assert bench.apply().is_done

    assert stat.S_IMODE(folder.stat().st_mode) == 0o750


@given(_ACTIONS, _ACTIONS, st.data())
@examples(60)
def test_any_work_applied_whole_or_in_parts_is_that_of_a_plain_folder(
    tmp_path_factory: pytest.TempPathFactory,
    layers: None,
    before: list[tuple[str, str, str]],
    work: list[tuple[str, str, str]],
    data: st.DataObject,
) -> None:
    bench = LayerBench(tmp_path_factory.mktemp("any").resolve())
    _act(bench.workspace, before)
    plain = bench.workspace.parent / "plain"
    shutil.copytree(bench.workspace, plain, symlinks=True)
    first = describe_tree(bench.workspace)
    _act(plain, work)
    bench.do(lambda: _act(Path.cwd(), work))
    shown = bench.do(lambda: describe_tree("."))
    assert shown == describe_tree(plain)
    assert describe_tree(bench.workspace) == first

    paths = sorted(bench.list_effects())
    left = data.draw(st.frozensets(st.sampled_from(paths)) if paths else st.just(frozenset()))
    if bench.apply(EffectChoice(left_out=left)).is_done:
        assert bench.do(lambda: describe_tree(".")) == shown or left
        undone = left == frozenset() and paths != []
        if undone:
            assert describe_tree(bench.workspace) == shown
            assert bench.undo().is_done
            assert describe_tree(bench.workspace) == first
            return
        assert set(bench.list_effects()) <= left
    assert bench.apply().is_done
    assert describe_tree(bench.workspace) == shown


_CLOSING = (
    "mkdir -p ro/in; echo a > ro/in/f; echo b > ro/in/g; chmod 444 ro/in/f; chmod 555 ro/in ro;"
    "echo kk >> sub/k; chmod 444 sub/k; chmod 555 sub; chmod 755 shut; rm shut/k; echo n > shut/n"
)


@pytest.mark.parametrize("left", [frozenset(), frozenset({"ro/in/g", "sub/k"})], ids=["all", "a part"])
def test_folders_and_files_that_their_owner_may_not_write_are_applied_and_taken_back_without_rights_of_root(
    bench: LayerBench, left: frozenset[str]
) -> None:
    bench.write("sub/k", "k\n")
    bench.write("shut/k", "k\n")
    (bench.workspace / "shut").chmod(0o555)
    before = describe_tree(bench.workspace)
    bench.work(_CLOSING)

    def apply() -> None:
        _drop_capabilities()
        assert bench.apply(EffectChoice(left_out=left)).refused == {}

    def undo() -> None:
        _drop_capabilities()
        assert bench.undo().refused == {}

    run_forked(apply)
    assert stat.S_IMODE((bench.workspace / "ro" / "in").stat().st_mode) == 0o555
    assert (bench.read("ro/in/f"), bench.read("shut/k"), bench.read("shut/n")) == ("a\n", None, "n\n")
    assert set(bench.list_effects()) == set(left)
    run_forked(undo)
    assert describe_tree(bench.workspace) == before


@pytest.mark.parametrize(
    ("user", "remedy"),
    [
        (os.geteuid(), "a session can read it: quorum --mode staged"),
        (os.geteuid() + 1, "drop the layer for good"),
    ],
)
def test_what_may_not_be_read_is_named_with_what_helps(
    bench: LayerBench, monkeypatch: pytest.MonkeyPatch, user: int, remedy: str
) -> None:
    bench.write("a", "1\n")
    bench.work("echo 2 > a")

    def refuse(self: UpperFolder) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), f"{self._lower}/a")

    with bench.opened() as layer, monkeypatch.context() as patch:
        patch.setattr(UpperFolder, "list_changes", refuse)
        patch.setattr(workspace_layer.os, "geteuid", lambda: user)
        with pytest.raises(StagingError) as refused:
            asyncio.run(layer.read_effects())

    assert f"({bench.workspace}/a); nothing is lost: " in str(refused.value)
    assert remedy in str(refused.value)


def test_a_layer_with_a_folder_that_is_closed_to_all_waits_and_can_be_discarded(bench: LayerBench) -> None:
    bench.work("mkdir closed; echo a > closed/f; chmod 000 closed")

    def discard() -> bool:
        _drop_capabilities()
        waits = is_waiting(bench.stored)
        bench.ask(lambda layer: layer.discard())
        return waits

    assert run_forked(discard)
    assert not is_waiting(bench.stored)


def _drop_capabilities() -> None:
    """Have this process no more rights than any owner of its files."""
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()  # linux/capability.h
    assert ctypes.CDLL(None, use_errno=True).capset(header, none) == 0
