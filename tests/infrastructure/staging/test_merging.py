"""What a subagent changed in a layer of its own, carried over into that of its session: nothing is lost."""

from __future__ import annotations

import asyncio
import codecs
import ctypes
import errno
import os
import stat
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

from quorum.domain.errors import StagingError
from quorum.infrastructure.staging import merging, mounting, subagent_layer
from quorum.infrastructure.staging.entered import find_entered
from quorum.infrastructure.staging.entered_layer import EnteredLayer
from quorum.infrastructure.staging.entering import enter_layer
from quorum.infrastructure.staging.merged_work import LeftWork
from quorum.infrastructure.staging.subagent_layer import TooMuch, open_subagent_layer
from quorum.infrastructure.staging.workspace_layer import WorkspaceLayer, has_effects, recover
from tests.support.dying_process import run_until_killed
from tests.support.layer_process import run_forked
from tests.support.rewind_rig import RewindRig

pytestmark = pytest.mark.usefixtures("layers")
BEFORE = """
printf '1\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n' > text; ln -s text link
echo one > same; echo one > gone; echo one > kept
mkdir -p d/e full; echo x > d/e/f; echo x > d/g; echo x > full/a; printf '\\0a' > raw; echo x > run
"""


class Place:
    """A folder, and what is done in layers over it."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder.resolve() / "workspace"
        self.environ = {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "PATH": os.defpath}
        self.marker = folder / "worked"
        self.workspace.mkdir(parents=True)
        self.sh(BEFORE)

    def sh(self, script: str) -> None:
        subprocess.run(["sh", "-e", "-u", "-c", script], cwd=self.workspace, check=True)

    def read_out(self, command: str) -> str:
        done = subprocess.run(["sh", "-c", command], cwd=self.workspace, capture_output=True, check=True)
        return (done.stdout + done.stderr).decode("utf-8", "replace")

    def enter(self) -> EnteredLayer:
        return enter_layer(
            self.workspace,
            self.environ,
            recover=lambda folder: recover(folder, self.environ),
            has_effects=has_effects,
        )

    def work(
        self, subagent: str, session: str = "", *, before: str = "", merges: bool = True
    ) -> tuple[str, ...]:
        """What is remarked where `before` is done in the session's layer, then one script in that of a
        subagent, and another in that of the session."""
        layer = self.enter()
        self.sh(before)
        apart = open_subagent_layer(layer, "writer-1")
        apart.threads.works.submit(self.sh, f"{subagent}\ntouch '{self.marker}'").result()
        self.sh(session)
        apart.threads.close()
        if not merges:
            return ()
        plan = apart.plan(self.environ)
        try:
            apart.merge(plan, self.environ)
        finally:
            apart.close()
        apart.remove()
        return plan.remarks

    def open_effects(self) -> WorkspaceLayer:
        """Those of the layer of this process."""
        layer = find_entered()
        assert layer is not None
        return WorkspaceLayer(
            layer.folder,
            self.environ,
            find_real=lambda: layer.real,
            closed=layer.closed,
            is_protected=lambda _path: False,
            apart=layer.apart,
        )

    def discard(self) -> None:
        asyncio.run(self.open_effects().discard())

    def merge_left(self) -> list[str]:
        """What is said of merging what subagents have left in the layer of this process."""
        layer, said = find_entered(), list[str]()
        assert layer is not None

        @asynccontextmanager
        async def find_no_record(_session_id: str) -> AsyncIterator[None]:
            yield None

        async def tell(text: str, _is_done: bool) -> None:
            said.append(text)

        keeper = RewindRig(self.workspace).keeper
        asyncio.run(LeftWork(layer, self.environ, keeper, find_no_record, tell).merge())
        return said

    def read(self) -> dict[str, str]:
        """What the layer of the session shows once all is merged."""
        return run_forked(lambda: (self.enter(), self.merge_left(), self.describe())[2])

    def describe(self) -> dict[str, str]:
        found = {}
        for above, folders, files in os.walk(self.workspace):
            for name in (*folders, *files):
                path = Path(above, name)
                status = path.lstat()
                content = ""
                if path.is_symlink():
                    content = f"-> {os.readlink(path)}"
                elif path.is_file():
                    content = path.read_bytes().decode("latin-1")
                found[str(path.relative_to(self.workspace))] = f"{stat.filemode(status.st_mode)} {content}"
        return found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def list_contents(found: Mapping[str, str]) -> dict[str, str]:
    """Those of files, without modes."""
    return {path: shown[11:] for path, shown in found.items() if not shown.startswith("d")}


CHANGES = """
sed -i 's/2/two/' text; rm gone; echo new > new; mkdir -p n/m; echo x > n/m/x; ln -sf same link; chmod +x run
rm -r d; echo file > d; mkdir empty; mv full fuller; printf '\\0b' > raw
"""


def test_all_kinds_of_changes_arrive_as_they_are(tmp_path: Path) -> None:
    here, apart = Place(tmp_path / "here"), Place(tmp_path / "apart")
    run_forked(lambda: here.sh(CHANGES))

    assert run_forked(lambda: apart.work(CHANGES)) == ()
    assert apart.read() == here.describe()


def test_changes_of_other_lines_and_modes_are_merged(place: Place) -> None:
    remarks = run_forked(
        lambda: place.work("sed -i s/2/two/ text; echo 2 > run", "sed -i s/8/eight/ text; chmod +x run")
    )

    found = place.read()
    assert remarks == ()
    assert found["text"][11:] == "1\ntwo\n3\n4\n5\n6\n7\neight\n9\n"
    assert found["run"] == "-rwxr-xr-x 2\n"


@pytest.mark.long(after=3)
@pytest.mark.parametrize(
    ("subagent", "session", "stays"),
    [
        ("echo mine > same", "echo theirs > same", {"same": "theirs\n", "same.writer-1": "mine\n"}),
        ("echo mine > new", "echo theirs > new", {"new": "theirs\n", "new.writer-1": "mine\n"}),
        ("printf '\\0b' > raw", "printf '\\0c' > raw", {"raw": "\0c", "raw.writer-1": "\0b"}),
        ("echo mine > same", "rm same", {"same.writer-1": "mine\n"}),
        ("rm same", "echo theirs > same", {"same": "theirs\n"}),
        ("echo mine > d/e/f", "rm -r d; echo file > d", {"d": "file\n", "d.writer-1/e/f": "mine\n"}),
        ("echo mine > d/e/f", "rm -r d", {"d/e/f.writer-1": "mine\n"}),
        (
            "rm -r full; echo mine > full",
            "echo theirs > full/b",
            {"full/b": "theirs\n", "full.writer-1": "mine\n"},
        ),
        ("rm -r full", "echo theirs > full/b", {"full/b": "theirs\n"}),
        ("ln -sf same link", "ln -sf gone link", {"link": "-> gone", "link.writer-1": "-> same"}),
        (
            "echo mine > same; echo own > same.writer-1",
            "echo theirs > same",
            {"same": "theirs\n", "same.writer-1": "own\n", "same.writer-1-2": "mine\n"},
        ),
        ("echo mine > d/x", "rm -r d; ln -s / d", {"d": "-> /", "d.writer-1/x": "mine\n"}),
    ],
)
def test_of_two_versions_the_earlier_stays_and_the_other_lies_beside_it(
    place: Place, subagent: str, session: str, stays: dict[str, str]
) -> None:
    remarks = run_forked(lambda: place.work(subagent, session))

    found = list_contents(place.read())
    assert {path: found.get(path) for path in stays} == stays
    assert [path for path in found if "writer-1" in path and path not in stays] == []
    assert bool(remarks) == (set(stays) != {"full/b"})


def test_a_subagent_sees_what_stood_in_the_layer_of_its_session_and_not_what_came_later(place: Place) -> None:
    before = "rm gone; rm -r d; mkdir d; echo y > d/new; echo 2 > same; chmod 600 run"

    run_forked(lambda: place.work("ls . d > seen; cat same >> seen", "echo x > later", before=before))

    shown = place.read()["seen"][11:].split()
    assert "later" not in shown
    assert "gone" not in shown
    assert shown[-3:] == ["d:", "new", "2"]


def test_what_a_subagent_still_works_at_does_not_count_as_work_that_was_left(place: Place) -> None:
    def work() -> tuple[tuple[str, ...], tuple[str, ...]]:
        layer = place.enter()
        apart = open_subagent_layer(layer, "writer-1")
        apart.threads.works.submit(place.sh, "echo new > new").result()
        meanwhile = asyncio.run(place.open_effects().read_effects()).unmerged
        apart.close()
        return meanwhile, asyncio.run(place.open_effects().read_effects()).unmerged

    meanwhile, (left,) = run_forked(work)

    assert meanwhile == ()
    assert "what writer-1 changed could not be merged" in left


def test_a_layer_that_holds_more_than_the_limit_has_none_above_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subagent_layer, "_MOST_COPIED", 2)

    def work() -> list[str]:
        layer = place.enter()
        place.sh("touch 1 2 3")
        with pytest.raises(TooMuch):
            open_subagent_layer(layer, "writer-1")
        return os.listdir(layer.folder.place / "subagents")

    assert run_forked(work) == []


def test_what_a_killed_process_left_is_merged_by_the_next(place: Place) -> None:
    run_forked(lambda: place.work(CHANGES, "echo theirs > same", merges=False))

    def enter() -> tuple[list[str], dict[str, str]]:
        place.enter()
        return place.merge_left(), place.describe()

    said, found = run_forked(enter)
    assert said == [
        "what writer-1 changed is in the layer now; "
        "whose session this was cannot be read, so it is on no record"
    ]
    assert (found["new"][11:], found["same"][11:]) == ("new\n", "theirs\n")
    assert run_forked(enter) == ([], found)


def kill_everywhere(folder: Path, first: int, step: int) -> int:
    """How often a process was killed that had done the work of a subagent."""
    subagent, session = (
        CHANGES + "echo mine > same; sed -i s/9/nine/ text",
        "echo theirs > same; sed -i s/6/six/ text",
    )
    model = Place(folder / "model")
    run_forked(lambda: model.work(subagent, session))
    wanted, killed = model.read(), 0
    for number in count(first, step):
        place = Place(folder / str(number))
        if not run_until_killed(lambda place=place: place.work(subagent, session), number):  # type: ignore[misc]
            break
        if place.marker.exists():
            killed += 1
            assert place.read() == wanted, number
            assert place.read() == wanted, number
    return killed


def test_a_merge_that_was_broken_off_is_finished(tmp_path: Path) -> None:
    assert kill_everywhere(tmp_path, 44, 1000) == 1


@pytest.mark.long
def test_a_merge_that_was_broken_off_anywhere_is_finished(tmp_path: Path) -> None:
    assert kill_everywhere(tmp_path, 0, 1) > 20


def test_names_may_be_of_any_bytes(place: Place) -> None:
    run_forked(lambda: place.work("printf '' > \"$(printf 'a\\377')\""))

    assert "a\udcff" in place.read()


def test_folders_are_named_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "a,b:c\\d e\n"
    place = Place(folder)

    run_forked(lambda: place.work("echo 1 > new"))

    assert place.read()["new"][11:] == "1\n"


@contextmanager
def full_disk(after: int) -> Iterator[None]:
    """Have the disk be full once so many files were put into the layer of the session."""
    copies, real = count(), merging._copy

    def copy(place: str, name: str, folder: int, mode: int) -> None:
        if next(copies) >= after:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(place, name, folder, mode)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "_copy", copy)
        yield


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_merge_that_failed_takes_nothing_back_that_came_later(place: Place, after: int) -> None:
    def work() -> None:
        with full_disk(after), pytest.raises(StagingError, match="No space left"):
            place.work("echo mine > kept; echo mine > same; echo mine > z", "echo theirs > same")
        place.sh("echo later > kept; echo later > z")

    run_forked(work)

    found = list_contents(place.read())
    assert (found["kept"], found["z"]) == ("later\n", "later\n")
    assert (found["same"], found["same.writer-1"]) == ("theirs\n", "mine\n")
    assert "same.writer-1-2" not in found


def test_what_is_discarded_does_not_come_back_from_a_merge_that_failed(place: Place) -> None:
    def work() -> None:
        with full_disk(0), pytest.raises(StagingError, match="No space left"):
            place.work("echo mine > new")

        place.discard()

    run_forked(work)

    assert "new" not in place.read()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """One that anybody may enter, which not all of those are that tests have."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        yield Path(folder)


def be_nobody() -> None:
    """Have this process be of a user without rights, as far as it may change that."""
    for encoding in ("ascii", "latin-1"):
        codecs.lookup(encoding)  # that user may have no way to where Python keeps them
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        ctypes.CDLL(None).prctl(4, 1)  # else what /proc shows of it belongs to root


def test_a_user_without_rights_has_the_work_of_subagents_merged_and_recovered(open_folder: Path) -> None:
    here, apart = open_folder / "here", open_folder / "apart"

    def work() -> tuple[dict[str, str], dict[str, str], list[str]]:
        be_nobody()
        plain, place = Place(here), Place(apart)
        plain.sh(CHANGES)
        run_forked(lambda: place.work(CHANGES, merges=False))
        said = run_forked(lambda: (place.enter(), place.merge_left())[1])
        return plain.describe(), place.read(), said

    plain, found, said = run_forked(work)

    assert found == plain
    assert len(said) == 1


def fill_and_merge(folder: Path, spare: int) -> tuple[str, list[str], dict[str, str]]:
    """What is said of a merge on a disk with so many pages left, which unfinished files it leaves then, and
    what the layer shows once there is room again."""
    mounting.enter_namespaces()
    mounting._call("mount", b"none", os.fsencode(folder), b"tmpfs", 0, b"size=4m,nr_inodes=9999")
    place, said = Place(folder), ""

    def work() -> tuple[str, list[str], dict[str, str]]:
        nonlocal said
        layer = place.enter()
        apart = open_subagent_layer(layer, "writer-1")
        many = "for n in 1 2 3 4 5 6 7 8; do yes $n | head -c 9000 > many$n; done"
        apart.threads.works.submit(place.sh, f"{CHANGES}\n{many}").result()
        apart.threads.close()
        with open(folder / "ballast", "wb", buffering=0) as ballast, suppress(OSError):
            while True:
                ballast.write(b"x" * 4096)
        os.truncate(folder / "ballast", (os.path.getsize(folder / "ballast") // 4096 - spare) * 4096)
        try:
            apart.merge(apart.plan(place.environ), place.environ)
            apart.remove()
        except StagingError as error:
            said = str(error)
        apart.close()
        unfinished = [name for name in place.describe() if "quorum-merge" in name]
        (folder / "ballast").unlink()
        place.merge_left()
        return said, unfinished, place.describe()

    return run_forked(work)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("spare", [7, 0, 1, 2, 3, 5, 10, 15, 20, 25, 30, 60])
def test_on_a_full_disk_nothing_unfinished_is_left_and_the_rest_is_merged_once_there_is_room(
    tmp_path: Path, spare: int
) -> None:
    many = {f"many{n}": f"{n}\n" * 4500 for n in range(1, 9)}

    said, unfinished, found = run_forked(lambda: fill_and_merge(tmp_path.resolve(), spare))

    contents = list_contents(found)
    assert (bool(said), unfinished) == (spare < 60, [])
    assert {path: contents.get(path) for path in many} == many
    assert (contents["new"], "gone" in contents, contents["d"]) == ("new\n", False, "file\n")
    assert not said or "No space left" in said
