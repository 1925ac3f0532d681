"""Whatever turns did to the files: going back to before any of them gives the files that were there."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.rewind_rig import RewindRig, plan_taking_back, tree

_PATHS = st.sampled_from(
    ["a", "b", "d/a", "d/b", "d/e/a", "e", "e/f", b"\xff\xfe".decode("utf-8", "surrogateescape")]
)
_CONTENTS = st.sampled_from([b"", b"one\n", b"two\n", bytes(range(256)), b"\0" * 3000])

Operation = Callable[[Path], None]


def _room(path: Path, root: Path) -> None:
    """Make way for a file: folders above it, and nothing in its place."""
    for above in [*reversed(path.relative_to(root).parents)][1:]:
        folder = root / above
        if folder.is_symlink() or folder.is_file():
            folder.unlink()
        folder.mkdir(exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)


def _write(name: str, content: bytes) -> Operation:
    def work(root: Path) -> None:
        _room(root / name, root)
        if (root / name).is_symlink():
            (root / name).unlink()
        (root / name).write_bytes(content)

    return work


def _delete(name: str) -> Operation:
    def work(root: Path) -> None:
        path = root / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif os.path.lexists(path) and not any(parent.is_symlink() for parent in path.parents):
            path.unlink()

    return work


def _rename(name: str, other: str) -> Operation:
    def work(root: Path) -> None:
        source = root / name
        if name == other or not source.is_file() or source.is_symlink() or other.startswith(name + "/"):
            return
        content, mode = source.read_bytes(), source.stat().st_mode
        _delete(name)(root)
        _write(other, content)(root)
        (root / other).chmod(mode & 0o777)

    return work


def _link(name: str, target: str) -> Operation:
    def work(root: Path) -> None:
        _room(root / name, root)
        if os.path.lexists(root / name):
            (root / name).unlink()
        (root / name).symlink_to(target)

    return work


def _chmod(name: str, mode: int) -> Operation:
    def work(root: Path) -> None:
        path = root / name
        if path.is_file() and not path.is_symlink():
            path.chmod(mode)

    return work


_OPERATIONS = st.one_of(
    st.builds(_write, _PATHS, _CONTENTS),
    st.builds(_delete, _PATHS),
    st.builds(_rename, _PATHS, _PATHS),
    st.builds(_link, _PATHS, st.sampled_from(["a", "d", "nowhere", "/etc", "../outside"])),
    st.builds(_chmod, _PATHS, st.sampled_from([0o600, 0o644, 0o755, 0o400])),
)
_TURNS = st.lists(
    st.lists(st.lists(_OPERATIONS, min_size=1, max_size=4), min_size=1, max_size=2), min_size=1, max_size=4
)


@examples(40)
@given(begin=st.lists(_OPERATIONS, max_size=6), turns=_TURNS, choice=st.integers(0, 3))
def test_going_back_to_before_any_turn_gives_the_files_of_that_time(
    begin: list[Operation], turns: list[list[list[Operation]]], choice: int
) -> None:
    asyncio.run(_goes_back(begin, turns, choice % len(turns)))


async def _goes_back(begin: list[Operation], turns: list[list[list[Operation]]], chosen: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "outside").mkdir()
        (Path(folder) / "outside" / "f").write_text("theirs")
        root = Path(folder) / "project"
        root.mkdir()
        for operation in begin:
            operation(root)
        rig = RewindRig(root)
        trees = []
        for calls in turns:
            trees.append(tree(root))
            await rig.turn(*[lambda call=call: [operation(root) for operation in call] for call in calls])  # type: ignore[misc]
        last, outside = tree(root), tree(Path(folder) / "outside")  # where a link may have led a call
        plan = await rig.undo(chosen)
        assert tree(root) == trees[chosen]
        assert not any(step.edited_since or step.trouble for step in plan.steps)
        if plan.steps:
            await rig.rewind.restore(plan_taking_back(rig.restored))
            assert tree(root) == last
        await rig.undo(0)
        assert tree(root) == trees[0]
        assert tree(Path(folder) / "outside") == outside
