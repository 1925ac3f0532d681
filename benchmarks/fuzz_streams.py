"""Damaged streams through the adapters: `.venv/bin/python benchmarks/fuzz_streams.py [COUNT] [SEED]`.

COUNT (10,000) streams for each dialect, scripted ones and, where they are present, recorded ones: cut, with
events lost, repeated, moved, mixed with another stream, with bytes and any node of their JSON changed. Each
must end in a well-formed answer or one error, none may run a call that the stream does not hold whole, and
every answer must fit the next request to each provider. Prints how many ended how; a failure tells the damage.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.stream_fuzz import DIALECTS, fuzz
from tests.support.stream_mutations import damages, sources


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    for dialect in DIALECTS:
        began = time.process_time()
        tally = fuzz(damages(dialect, seed, count))
        ends = "  ".join(f"{tally[end]:6} {end}" for end in ("error", "answer", "calls"))
        spent = time.process_time() - began
        print(f"{dialect:12} {len(sources(dialect)):3} sources {ends}   {spent:5.1f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
