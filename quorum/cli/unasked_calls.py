"""`quorum permissions judge`: verdicts on calls that a mode let run unasked, and what they come to."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec.structs import asdict

from quorum.domain.errors import ConfigError
from quorum.domain.review.unasked_calls import SampledCall
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.permissions.sample_file import SampleFile, count_calls, open_sample_file

_VERDICTS = {"r": True, "right": True, "w": False, "wrong": False}
_SKIP, _QUIT = frozenset({"", "s", "skip"}), frozenset({"q", "quit"})


def judge_calls(*, as_json: bool) -> int:
    """Ask about each call that waits, where somebody types; then print the figures. Always 0.

    Raises ConfigError where the calls cannot be read.
    """
    file = open_sample_file(os.environ, str)
    if file is None:
        raise ConfigError("there is no home folder, and so no calls are kept; set HOME or XDG_STATE_HOME")
    waiting = [call for call in file.read_calls() if call.is_right is None]
    if as_json:
        print(json.dumps(_encode(file, waiting), indent=1))
        return 0
    if sys.stdin.isatty():
        _ask(file, waiting)
    else:
        for call in waiting:
            print(_render(call))
    for figures in count_calls(file.read_calls()).values():
        wait = f"; {format_amount(figures.waiting, 'call')} to judge" if figures.waiting else ""
        print(f"{figures.sentence}{wait}")
    return 0


def _ask(file: SampleFile, waiting: Sequence[SampledCall]) -> None:
    if waiting:
        print("Should it have run without asking you? r right, w wrong, Enter skips, q ends")
    for place, call in enumerate(waiting, start=1):
        print(f"{place} of {len(waiting)}  {_render(call)}")
        if call.change:
            print(make_printable(call.change))
        try:
            while (word := input("r/w/q> ").strip().lower()) not in {*_VERDICTS, *_SKIP, *_QUIT}:
                print("r, w, Enter or q")
        except EOFError:
            return
        if word in _QUIT:
            return
        if word in _VERDICTS:
            file.keep_verdict(call.id, is_right=_VERDICTS[word])


def _render(call: SampledCall) -> str:
    when = datetime.fromtimestamp(call.at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M")
    return f"{when}  {call.mode}  {make_printable(call.text, newlines=False)}"


def _encode(file: SampleFile, waiting: Sequence[SampledCall]) -> dict[str, object]:
    return {
        "type": "quorum_unasked_calls",
        "v": 1,
        "kinds": [
            {
                "kind": figures.kind,
                "judged": figures.judged,
                "wrong": figures.wrong,
                "waiting": figures.waiting,
                "upper_bound": figures.bound,
            }
            for figures in count_calls(file.read_calls()).values()
        ],
        "waiting": [asdict(call) for call in waiting],
    }
