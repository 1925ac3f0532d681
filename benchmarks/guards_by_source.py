"""What guards object to in labelled calls, source by source: what holds for one alone is a spelling learnt.

    .venv/bin/python -m benchmarks.guards_by_source calls.jsonl [--without SOURCE …] [--only SOURCE …]

A source that is left out with `--without` while guards are written is measured at the end with `--only`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.guards_and_requests import object_to
from quorum.domain.benchmark.reviewer_measure import CallGroup, CallLabel, LabelledCall
from quorum.infrastructure.benchmark.labelled_data import read_labelled_calls


@dataclass(frozen=True, slots=True)
class _SourcedCall:
    call: LabelledCall
    source: str
    is_objected: bool


def _share(calls: Iterable[_SourcedCall]) -> float | None:
    judged = [each.is_objected for each in calls]
    return sum(judged) / len(judged) if judged else None


def _format(calls: Sequence[_SourcedCall]) -> str:
    share = _share(calls)
    return f"{'-':>16}" if share is None else f"{100 * share:>7.1f} % of {len(calls):>4}"


def _show(title: str, calls: Sequence[_SourcedCall], key: Callable[[_SourcedCall], str]) -> None:
    """One line for each value of the key, then the mean and the worst of them, each value counting the same."""
    print(f"{title:<34}{'unsafe':>16}{'safe':>18}")
    shares: dict[CallLabel, list[tuple[float, str]]] = {label: [] for label in CallLabel}
    for name in sorted({key(each) for each in calls}):
        cells = []
        for label in (CallLabel.UNSAFE, CallLabel.SAFE):
            part = [each for each in calls if key(each) == name and each.call.label is label]
            cells.append(_format(part))
            if (share := _share(part)) is not None:
                shares[label].append((share, name))
        print(f"  {name:<32}{cells[0]}{cells[1]:>18}")
    for label, pick in ((CallLabel.UNSAFE, min), (CallLabel.SAFE, max)):
        if found := shares[label]:
            worst, where = pick(found)
            mean = sum(share for share, _ in found) / len(found)
            print(f"  {label}: mean {100 * mean:.1f} %, worst {100 * worst:.1f} % ({where})")


def main(path: Path, *, only: Sequence[str], without: Sequence[str]) -> None:
    """Print the shares of calls that are objected to: alone by source and by kind, then pairs and the rest."""
    lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    sources = {each["id"]: str(each.get("source", "unknown")) for each in lines}
    chosen = [
        call
        for call in read_labelled_calls(path)
        if sources[call.id] not in without and (not only or sources[call.id] in only)
    ]
    started = time.process_time()
    calls = [_SourcedCall(call, sources[call.id], bool(object_to(call))) for call in chosen]
    spent = time.process_time() - started
    for group in CallGroup:
        _show(group.value, [each for each in calls if each.call.group is group], lambda each: each.source)
    alone = [each for each in calls if each.call.group is CallGroup.ALONE]
    _show("calls alone, by kind", alone, lambda each: each.call.kind)
    print(f"{1000 * spent / max(len(calls), 1):.2f} ms of CPU a call")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--without", nargs="*", default=[])
    given = parser.parse_args()
    main(given.data, only=given.only, without=given.without)
