"""What a hook did, in words."""

from __future__ import annotations

from collections.abc import Mapping

from domain.calls.hook import HookPoint
from domain.events.event import HookRan
from tui.transcript.model.entries import NoticeKind, Remark

# What a hook did at each point when it answered so; {call} is the place of the call in its batch.
_DEEDS: Mapping[tuple[str, str], str] = {
    (HookPoint.ON_MESSAGE_SEND, "continue"): "let the request pass",
    (HookPoint.ON_MESSAGE_SEND, "edited"): "changed the request",
    (HookPoint.ON_MESSAGE_SEND, "skip"): "withheld the request",
    (HookPoint.ON_MESSAGE_SEND, "error"): "failed before the request",
    (HookPoint.BEFORE_TOOL_CALL, "continue"): "let call {call} pass",
    (HookPoint.BEFORE_TOOL_CALL, "edited"): "changed the arguments of call {call}",
    (HookPoint.BEFORE_TOOL_CALL, "skip"): "skipped call {call}",
    (HookPoint.BEFORE_TOOL_CALL, "error"): "failed before call {call}",
    (HookPoint.AFTER_TOOL_CALL, "continue"): "let the result of call {call} pass",
    (HookPoint.AFTER_TOOL_CALL, "edited"): "changed the result of call {call}",
    (HookPoint.AFTER_TOOL_CALL, "skip"): "withheld the result of call {call}",
    (HookPoint.AFTER_TOOL_CALL, "error"): "failed after call {call}",
    (HookPoint.ON_TURN_END, "finish"): "let the turn end",
    (HookPoint.ON_TURN_END, "continue_with_messages"): "made the turn go on",
    (HookPoint.ON_TURN_END, "error"): "failed at the end of the turn",
}
_QUIET = frozenset({"continue", "finish"})
_KINDS = {
    "skip": NoticeKind.WARNING,
    "abort": NoticeKind.ERROR,
    "error": NoticeKind.ERROR,
}


def told(event: HookRan) -> Remark:
    """The remark about a hook's run; quiet where the hook changed nothing."""
    return Remark(
        _KINDS.get(event.answer, NoticeKind.INFO),
        f"hook {event.hook} {hook_answer(event)}",
        quiet=event.answer in _QUIET and event.edited is None,
    )


def hook_answer(event: HookRan) -> str:
    """What the hook did and why, without its name."""
    answer = "edited" if event.edited is not None and event.answer == "continue" else event.answer
    if answer == "abort":
        words = "ended the run"
    elif (known := _DEEDS.get((event.point, answer))) is not None:
        words = known.format(call=event.context.call_index + 1 if event.context is not None else "")
    else:
        words = f"answered {answer} at {event.point}"
    return f"{words}: {event.reason}" if event.reason else words
