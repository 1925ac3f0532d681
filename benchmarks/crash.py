"""Kills working sessions with SIGKILL at random instants, takes them up again, and checks that nothing is lost.

Usage: python -m benchmarks.crash [--deaths 1000] [--workers 2] [--seed 1]

Each session works through three prompts with an image each, with parallel tools, reviews and writes,
commands of the person's own and words said into the running turn, against a scripted provider on the
loopback interface, and is killed until it lives to its end. After each death the chain of its record is
verified, every acknowledged event must be there, no call may have begun twice and no side effect happened
twice, a review that was open must come back with the same digest, and the scripted provider refuses every
request that is not legal, that lacks an image or has a word twice, in the dialects of both providers in
turn. A session that lived to its end leaves nothing but the ledger and outputs in the state folder.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import tempfile
import time
from pathlib import Path

from tests.support.crash_rig import CrashRig


async def _work(worker: int, deaths: int, seed: int, folder: Path) -> CrashRig:
    async with CrashRig(folder / str(worker), seed + worker) as rig:
        for number in itertools.count():
            if rig.deaths >= deaths:
                return rig
            await rig.session(number)
            print(f"worker {worker}: {number + 1} sessions, {rig.deaths} deaths", flush=True)
    raise AssertionError  # the count never ends


async def _main(deaths: int, workers: int, seed: int) -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        rigs = await asyncio.gather(
            *(_work(worker, -(-deaths // workers), seed, Path(folder)) for worker in range(workers))
        )
    print(
        f"{sum(r.deaths for r in rigs)} deaths in {time.monotonic() - began:.0f} s; "
        f"{sum(r.reviews_found_again for r in rigs)} open reviews came back with the same digest; "
        f"{sum(r.unknown for r in rigs)} calls were running and are told as unknown; "
        f"{sum(r.user_commands for r in rigs)} commands of the person's ran beside them, and "
        f"{sum(r.steered for r in rigs)} words were said into running turns; nothing was lost"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--deaths", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    asyncio.run(_main(given.deaths, given.workers, given.seed))
