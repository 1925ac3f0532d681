"""What judging a shell command costs: `.venv/bin/python benchmarks/shell_gate.py [FOLDER]`.

Milliseconds for 1,000 parses of everyday commands, for 1,000 judgements of them in FOLDER (by default the
working directory), and for the worst texts that the size limits let through. The grammar is loaded before; how
long that takes is printed too.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.execution.shell.gate import ShellGate
from quorum.infrastructure.execution.shell.parsing import MAX_BYTES, parse
from quorum.infrastructure.execution.shell.programs import SystemPrograms

EVERYDAY = (
    "ls -la",
    "git status --short",
    "git log --oneline -20 | head -5",
    "cat pyproject.toml 2>/dev/null && wc -l README.md",
    "grep -n 'def ' domain/calls/tool.py | sort | uniq -c",
    "find . -maxdepth 2 -name '*.py'",
    "cd tests && ls",
    "pytest -q tests/domain",
    "for f in *.py; do echo $f; done",
    "echo hi > out.txt",
)
WORST = {
    "200 pipes": "a|" * 199 + "a",
    "200 substitutions": "$(" * 66,
    "one long word": "ls " + "x" * (MAX_BYTES - 10),
    "many words": "ls " + "a " * ((MAX_BYTES - 10) // 2),
    "many quotes": "ls " + "'a'\"b\"" * ((MAX_BYTES - 10) // 6),
    "too long by far": "a;" * 524_288,
}


def milliseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else os.curdir).resolve()
    policy = PathPolicy(roots=(str(folder),))
    gate = ShellGate(policy, SystemPrograms(os.environ.get("PATH", os.defpath), policy))

    async def judge_all() -> None:
        for _ in range(1000 // len(EVERYDAY)):
            for command in EVERYDAY:
                await gate.judge(command, folder)

    print(f"loading the grammar   {milliseconds(lambda: parse('ls')):9.1f} ms")
    print(f"1,000 parses          {milliseconds(lambda: [parse(c) for c in EVERYDAY * 100]):9.1f} ms")
    print(f"1,000 judgements      {milliseconds(lambda: asyncio.run(judge_all())):9.1f} ms")
    for name, text in WORST.items():
        print(f"{name:21} {milliseconds(partial(parse, text)):9.1f} ms")


if __name__ == "__main__":
    main()
