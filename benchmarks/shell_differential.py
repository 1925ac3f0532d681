"""Compares the shell gate with bash: `.venv/bin/python benchmarks/shell_differential.py [TEXTS] [SEED]`.

Judges TEXTS random lines (default 5,000) and runs those that are proved read-only under strace, in a temporary
folder. Prints each line that does more than read, what it does, and how many lines are judged and run. The exit
code is 1 if there is such a line.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.command_texts import CommandTexts
from tests.support.traced_stage import TracedStage, why_no_tracing

_VARIANTS = ((False, False), (True, False), (False, True), (True, True))


async def _try(texts: int, seed: str, root: Path) -> int:
    broken = runs = 0
    for number, (is_planted, is_posix) in enumerate(_VARIANTS):
        folder = root / str(number)
        folder.mkdir()
        stage = TracedStage(folder, is_planted=is_planted, is_posix=is_posix)
        lines = CommandTexts(f"{seed} {number}")
        for _ in range(texts // len(_VARIANTS)):
            line = lines.next()
            verdict = await stage.gate.judge(line, stage.workspace)
            if not verdict.is_read_only:
                continue
            runs += 1
            if found := stage.violations(line, verdict):
                broken += 1
                print(
                    f"{line!r} (planted: {is_planted}, POSIXLY_CORRECT: {is_posix})",
                    *found,
                    sep="\n    ",
                    flush=True,
                )
    print(f"{texts:,} judged, {runs:,} proved and run, {broken:,} did more than read")
    return broken


def main() -> int:
    texts = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    seed = sys.argv[2] if len(sys.argv) > 2 else str(time.time_ns())
    if (reason := why_no_tracing()) is not None:
        print(f"lines cannot be watched: {reason}", file=sys.stderr)
        return 2
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory() as folder:
        return min(1, asyncio.run(_try(texts, seed, Path(folder))))


if __name__ == "__main__":
    sys.exit(main())
