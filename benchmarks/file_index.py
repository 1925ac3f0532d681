"""What finding files by their names costs: `.venv/bin/python benchmarks/file_index.py [FILES]`.

Makes a git repository of so many files, half of them tracked, and lists, indexes and searches it. Prints
milliseconds: of queries the median and the worst of five, and how long an event loop had to wait meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.file_finder import WorkspaceFiles, build_index, list_files, walk_files

WORDS = [
    "src", "test", "lib", "core", "util", "config", "main", "index", "handler", "service", "model", "view",
    "api", "client", "server", "data", "parser", "lexer", "token", "widget", "panel", "render", "draw", "cache",
    "store", "queue", "worker", "socket", "http", "json", "yaml", "readme", "setup", "build", "docs", "image",
    "icon", "font", "style", "theme", "color", "layout", "page", "list", "item", "tree", "node", "graph",
]  # fmt: skip
ENDINGS = (".py", ".ts", ".tsx", ".js", ".md", ".json", ".go", ".rs", ".css")
QUERIES = (
    "", "r", "re", "readme", "test", "tstcfg", "srctest", "src/core/", "wdgtpnl", "aeioux", "zqzq",
    "test_config.py", "stststst",
)  # fmt: skip


def populate(root: Path, files: int) -> None:
    chance = random.Random(7)
    made = 0
    while made < files:
        folder = root.joinpath(*(chance.choice(WORDS) for _ in range(chance.randint(1, 6))))
        folder.mkdir(parents=True, exist_ok=True)
        for _ in range(12):
            name = chance.choice(WORDS) + chance.choice(("", "_", "-")) + chance.choice(WORDS)
            (folder / f"{name}{chance.randint(0, 99)}{chance.choice(ENDINGS)}").touch()
        made += 12
        if made <= files // 2 < made + 12:
            git = ["git", "-c", "core.fsmonitor=false", "-C", str(root)]
            subprocess.run([*git, "init", "-q"], check=True)
            subprocess.run([*git, "add", "-A"], check=True)


class Heartbeat:
    """The longest time that a loop did not come round."""

    def __init__(self) -> None:
        self.worst = 0.0

    async def beat(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            self.worst = max(self.worst, time.perf_counter() - before - 0.001)


async def measured(root: Path) -> None:
    heart = Heartbeat()
    beating = asyncio.create_task(heart.beat())
    files = WorkspaceFiles([str(root)], os.environ)
    started = time.perf_counter()
    await files.find("", 20)
    print(f"{'first answer, with listing':32}{(time.perf_counter() - started) * 1000:8.1f}")
    worst = []
    for query in QUERIES:
        taken = []
        for _ in range(5):
            started = time.perf_counter()
            await files.find(query, 50)
            taken.append((time.perf_counter() - started) * 1000)
        worst.append(max(taken))
        print(f"{'query ' + repr(query):32}{statistics.median(taken):8.1f}{max(taken):8.1f}")
    print(f"{'all queries':32}{statistics.median(worst):8.1f}{max(worst):8.1f}")
    print(f"{'longest wait of the loop':32}{heart.worst * 1000:8.1f}")
    beating.cancel()
    await files.aclose()


def main() -> None:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        populate(root, files)
        started = time.perf_counter()
        listing = asyncio.run(list_files(root, os.environ))
        print(f"{'git lists them':32}{(time.perf_counter() - started) * 1000:8.1f}")
        started = time.perf_counter()
        index = build_index(listing, folder)
        print(f"{f'index of {len(index)} paths':32}{(time.perf_counter() - started) * 1000:8.1f}")
        started = time.perf_counter()
        walk_files(folder, Stop())
        print(f"{'walked without git':32}{(time.perf_counter() - started) * 1000:8.1f}")
        asyncio.run(measured(root))


if __name__ == "__main__":
    main()
