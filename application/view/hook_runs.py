"""What a hook did, in words."""

from __future__ import annotations

from quorum.application.view.entries import NoticeKind, Remark
from quorum.domain.calls.hook import describe_point
from quorum.domain.events.event import HookRan

_QUIET = frozenset({"continue", "finish"})
_KINDS = {
    "skip": NoticeKind.WARNING,
    "abort": NoticeKind.ERROR,
    "error": NoticeKind.ERROR,
}


def build_hook_remark(event: HookRan) -> Remark:
    """The remark about a hook's run; quiet where the hook changed nothing."""
    return Remark(
        _KINDS.get(event.answer, NoticeKind.INFO),
        f"hook {event.hook} {describe_hook_answer(event)}",
        quiet=event.answer in _QUIET and event.edited is None,
    )


def describe_hook_answer(event: HookRan) -> str:
    """What the hook did and why, without its name."""
    answer = "edited" if event.edited is not None and event.answer == "continue" else event.answer
    if answer == "abort":
        words = "ended the run"
    elif (known := describe_point(event.point).remarks.get(answer)) is not None:
        words = known.format(call=event.context.call_index + 1 if event.context is not None else "")
    else:
        words = f"answered {answer} at {event.point}"
    return f"{words}: {event.reason}" if event.reason else words
