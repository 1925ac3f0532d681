"""The tables of hook points in `docs/hooks.md`: `.venv/bin/python docs/hook_points.py` writes them anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from quorum.domain.calls.hook_points import (
    Abort,
    AnswerKind,
    Ask,
    Continue,
    ContinueWithMessages,
    Finish,
    HookPoint,
    Skip,
    describe_point,
)

PAGE = Path(__file__).parent / "hooks.md"
_WORDS: dict[AnswerKind, str] = {
    Continue: "continue",
    Ask: "ask",
    Skip: "skip",
    Abort: "abort",
    Finish: "finish",
    ContinueWithMessages: "continue with messages",
}


def render(page: str) -> str:
    """The page with each table between its two marks."""
    for name, rows in (("points", _points()), ("handed back", _handed_back())):
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        page = "\n".join([before + begin, *rows, end + after])
    return page


def _points() -> Iterator[str]:
    yield "| event | when | sees | may answer |"
    yield "|---|---|---|---|"
    for point in HookPoint:
        one = describe_point(point)
        answers = " · ".join(_WORDS[kind] for kind in one.answers)
        yield f"| `{point}` | {one.when}{one.details} | {one.sees} | {answers} |"


def _handed_back() -> Iterator[str]:
    yield "| key | at | value |"
    yield "|---|---|---|"
    ends = "`finish`, `continue_with`, `abort`"
    yield f"| `decision` | all | `continue`, `ask`, `skip`, `abort`; at `on_turn_end` {ends} |"
    yield "| `reason` | all | a text; required for `abort` |"
    for point in HookPoint:
        if (back := describe_point(point).handed_back) is None:
            continue
        yield f"| `{back.key}` | `{point}` | {back.meaning} |"


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
