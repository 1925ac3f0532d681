"""What a command hook printed, read strictly: an answer of its point, or what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from domain.calls.hook import (
    Abort,
    Continue,
    ContinueWithMessages,
    Finish,
    HookAnswer,
    HookPoint,
    Skip,
    TurnEndAnswer,
)
from domain.errors import HookFailure
from domain.text.json_value import JsonValue

_FLOW = ("continue", "skip", "abort")
_DECISIONS: Mapping[HookPoint, tuple[str, ...]] = {
    HookPoint.ON_MESSAGE_SEND: _FLOW,
    HookPoint.BEFORE_TOOL_CALL: _FLOW,
    HookPoint.AFTER_TOOL_CALL: _FLOW,
    HookPoint.ON_TURN_END: ("finish", "continue_with", "abort"),
}
# What may stand beside a decision, besides a reason: the decision it goes with, and its JSON type.
_CARRIED: Mapping[HookPoint, tuple[str, str, type, str]] = {
    HookPoint.ON_MESSAGE_SEND: ("messages", "continue", list, "a list of messages"),
    HookPoint.BEFORE_TOOL_CALL: ("arguments", "continue", dict, "an object"),
    HookPoint.AFTER_TOOL_CALL: ("result", "continue", str, "a text"),
    HookPoint.ON_TURN_END: ("messages", "continue_with", list, "a list of texts"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAnswer:
    """A decision that its point allows, its reason, and what it carries: None where it changes nothing."""

    decision: str
    reason: str = ""
    carried: JsonValue = field(default=None)

    def flow(self) -> HookAnswer:
        """The answer at the first three points."""
        match self.decision:
            case "skip":
                return Skip(self.reason)
            case "abort":
                return Abort(self.reason)
            case _:
                return Continue()

    def turn_end(self) -> TurnEndAnswer:
        """The answer at the end of a turn. Raises HookFailure for messages that are no texts."""
        match self.decision:
            case "abort":
                return Abort(self.reason)
            case "continue_with":
                texts = self.carried if isinstance(self.carried, list) else []
                messages = tuple(text for text in texts if isinstance(text, str) and text)
                if not messages or len(messages) != len(texts):
                    raise HookFailure('continue_with needs "messages", a list of texts that are not empty')
                return ContinueWithMessages(messages)
            case _:
                return Finish()


def read_answer(printed: bytes, point: HookPoint) -> CommandAnswer:
    """What was printed on standard output, as an answer. Nothing at all means: go on unchanged."""
    if not printed.strip():
        return CommandAnswer(decision=_DECISIONS[point][0])
    given = _object(printed)
    name, goes_with, kind, wanted = _CARRIED[point]
    if unknown := sorted(set(given) - {"decision", "reason", name}):
        raise HookFailure(f"{_quoted(unknown[0])} means nothing at {point}; it reads decision, reason, {name}")
    decision = given.get("decision", goes_with if name in given else _DECISIONS[point][0])
    if not isinstance(decision, str) or decision not in _DECISIONS[point]:
        allowed = ", ".join(_DECISIONS[point])
        raise HookFailure(f"the decision {_quoted(decision)} is none of those at {point}: {allowed}")
    reason = given.get("reason", "")
    if not isinstance(reason, str):
        raise HookFailure("reason must be a text")
    carried = given.get(name)
    if carried is not None and decision != goes_with:
        raise HookFailure(f'{name} goes with the decision "{goes_with}" only, not with {_quoted(decision)}')
    if carried is not None and not isinstance(carried, kind):
        raise HookFailure(f"{name} must be {wanted}")
    if decision == "abort" and not reason:
        raise HookFailure("abort needs a reason")
    return CommandAnswer(decision=decision, reason=reason, carried=carried)


def _object(printed: bytes) -> dict[str, JsonValue]:
    try:
        given: object = json.loads(printed.decode("utf-8"), parse_constant=_no_constant)
        json.dumps(given, ensure_ascii=False).encode("utf-8")  # half a surrogate pair can be sent to nobody
    except RecursionError:
        raise HookFailure("what it printed is nested too deeply") from None
    except ValueError as error:
        start = printed[:80].decode("utf-8", "replace").strip()
        raise HookFailure(f"what it printed is no JSON ({error}): {_quoted(start)}") from error
    if not isinstance(given, dict):
        raise HookFailure(
            f'it must print a JSON object such as {{"decision": "continue"}}, not {_quoted(given)}'
        )
    return given


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _quoted(value: object) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 100 else f"{text[:99]}…"
