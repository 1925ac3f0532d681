"""Large workspaces, long sessions and many runs: `.venv/bin/python benchmarks/large.py [FILES] [ENTRIES]`.

Prints three tables. How long 1, 2, 4 and 10 runs of twenty turns with ten files each take on one state folder
when all start at once. Milliseconds from the launch of `quorum --continue` until a typed letter is echoed,
and in another launch until the last entry is shown, and CPU until then, with a session of 2 and of 10,000
entries. Milliseconds between an answer with one high-risk call, a command and a written file in turn, and the
next request, in `quorum run --mode auto`, in folders of 400 files, of 300,000, and of 400 with one of 1 GB: the
first, median and 95th of 100 of the others, and the CPU of a turn. Some minutes, and 3 GB of disk.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.chat_server import END, ChatServer, make_workspace
from benchmarks.keys import App, environment_in, fill
from benchmarks.one_shot import cpu_of_children
from benchmarks.start import launch
from benchmarks.turns import HEAD, measure_task, tell

QUORUM = str(Path(sys.executable).parent / "quorum")
TURNS = 20
FOLDERS = 300
RUNS = 5


def make_large(folder: Path, files: int) -> None:
    """So many more files of 1 kB, in 300 folders."""
    for number in range(FOLDERS):
        inner = folder / f"package_{number:03}" / "inner"
        inner.mkdir(parents=True)
        for each in range(files // FOLDERS):
            (inner / f"module_{each:04}.py").write_text(f"value = {each}\n" * 64)


def make_huge(folder: Path) -> None:
    """One file of 1 GB that is all on the disk."""
    with (folder / "huge.bin").open("wb") as huge:
        for _ in range(1024):
            huge.write(os.urandom(1 << 20))


def tell_changes(server: ChatServer, files: int) -> None:
    """A line for each workspace, measured one after the other."""
    print(f"\n{'a high-risk call':34}{HEAD[34:]}")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve() / "home"
        home.mkdir()
        server.configure(home)
        for name in ("400 files", f"{files:,} files", "400 files and one of 1 GB"):
            cwd = Path(folder).resolve() / name.replace(" ", "-")
            make_workspace(cwd)
            if name == f"{files:,} files":
                make_large(cwd, files)
            elif name.endswith("GB"):
                make_huge(cwd)
            command = [QUORUM, "run", "--mode", "auto"]
            taken = [measure_task(server, command, "writes", home, cwd, TURNS) for _ in range(RUNS)]
            tell(name, [gaps for gaps, _ in taken], [secs for _, secs in taken])


def tell_continue(entries: int) -> None:
    """A line for each session, opened in turn."""
    print(f"\n{'quorum --continue, ms':40}{'echo':>8}{'shown':>8}{'CPU':>8}")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        taken: dict[int, list[tuple[float, float, float]]] = {2: [], entries: []}
        for number in taken:
            (config := root / f"{number}" / ".config" / "quorum").mkdir(parents=True)
            (config / "quorum.toml").write_text('[review]\nmode = "ask"\n')
            asyncio.run(fill(root / f"{number}", root / f"{number}", number))
        for _ in range(RUNS):
            for number, figures in taken.items():
                home = root / f"{number}"
                echoed = launch([QUORUM, "--continue"], str(home), b"").echoed
                began = time.perf_counter()
                app = App([QUORUM, "--continue"], home, environment_in(home))
                app.wait_for(b"the very end")
                figures.append((echoed, time.perf_counter() - began, app.cpu()))
                app.end()
        for number, figures in taken.items():
            medians = (1000 * statistics.median(each) for each in zip(*figures, strict=True))
            print(f"{f'{number:,} entries':40}{''.join(f'{each:8.0f}' for each in medians)}", flush=True)


def tell_runs(server: ChatServer) -> None:
    """A line for each number of runs at once."""
    print(f"\n{'runs at once on one state folder':40}{'ms':>8}{'ms/run':>8}{'CPU/run':>8}")
    with tempfile.TemporaryDirectory() as folder:
        home, cwd = Path(folder).resolve() / "home", Path(folder).resolve() / "work"
        home.mkdir()
        make_workspace(cwd)
        server.configure(home)
        for count in (1, 1, 2, 4, 10):
            before, began = cpu_of_children(), time.perf_counter()
            running = [
                subprocess.Popen(
                    [QUORUM, "run", f"reads 10 {TURNS}"],
                    cwd=cwd,
                    env=environment_in(home),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,  # a line for each call
                )
                for _ in range(count)
            ]
            for process in running:
                said, _ = process.communicate()
                if f"{END}{TURNS}".encode() not in said:
                    raise SystemExit(f"a run of {count} said {said!r}")
            whole, cpu = time.perf_counter() - began, cpu_of_children() - before
            print(
                f"{count:<40}{1000 * whole:8.0f}{1000 * whole / count:8.0f}{1000 * cpu / count:8.0f}",
                flush=True,
            )


def main() -> None:
    """Print the tables."""
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    entries = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    server = ChatServer()
    tell_runs(server)
    tell_continue(entries)
    tell_changes(server, files)


if __name__ == "__main__":
    main()
