"""What keeping files costs a call: `.venv/bin/python benchmarks/snapshots.py [FILES]`."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from quorum.domain.calls.effects import KeptFiles
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.store.ledger.opening import Database
from quorum.infrastructure.store.snapshots.keeper import WorkspaceKeeper
from quorum.infrastructure.store.snapshots.reading import FileReader
from quorum.infrastructure.store.snapshots.watch import WorkspaceWatch

ROUNDS = 20


def _ms(since: float) -> float:
    return (time.perf_counter() - since) * 1000


def _make(root: Path, files: int) -> None:
    for number in range(files):
        folder = root / f"folder {number % 40}" / f"inner {number % 7}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file {number}.py").write_bytes(os.urandom(2048).hex().encode())


async def _measure(root: Path, state: Path) -> None:
    workspace = Workspace([root])
    database = await asyncio.to_thread(Database, state / "sessions.db")
    policy = PathPolicy(roots=(str(workspace.cwd),))
    reader = FileReader(workspace, policy, lambda _content: False)
    keeper = WorkspaceKeeper(reader, database.contents)
    watch = WorkspaceWatch([str(root)])
    some = root / "folder 0" / "inner 0" / "file 0.py"
    try:
        began = time.perf_counter()
        await keeper.keep()
        print(f"the first keeping of all files       {_ms(began):8.1f} ms")
        await asyncio.sleep(2.1)  # until no file counts as just changed
        await keeper.keep()
        began = time.perf_counter()
        for _ in range(ROUNDS):
            await watch.look()
        print(f"a look alone                         {_ms(began) / ROUNDS:8.1f} ms")
        began = time.perf_counter()
        for _ in range(ROUNDS):
            kept = await keeper.keep()
        print(f"before a command, nothing changed    {_ms(began) / ROUNDS:8.1f} ms")
        began = time.perf_counter()
        for _ in range(ROUNDS):
            await keeper.find_changes(kept, frozenset())
        print(f"after a command, nothing changed     {_ms(began) / ROUNDS:8.1f} ms")
        await _edits(keeper, some)
    finally:
        await asyncio.to_thread(database.close)


async def _edits(keeper: WorkspaceKeeper, path: Path) -> None:
    before = after = 0.0
    for number in range(ROUNDS):
        began = time.perf_counter()
        kept: KeptFiles = await keeper.keep([str(path)])
        before += _ms(began)
        await asyncio.to_thread(path.write_text, f"edit {number}\n" * 100)
        began = time.perf_counter()
        await keeper.find_changes(kept, frozenset({str(path)}))
        after += _ms(began)
    print(f"before an edit of one file           {before / ROUNDS:8.1f} ms")
    print(f"after an edit of one file            {after / ROUNDS:8.1f} ms")


def main() -> None:
    """Measure over a folder of so many files of 4 KB, by default 1,000."""
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        root, state = Path(folder) / "project", Path(folder) / "state"
        root.mkdir()
        state.mkdir()
        _make(root, files)
        print(f"{files} files of 4 KB")
        asyncio.run(_measure(root, state))


if __name__ == "__main__":
    main()
