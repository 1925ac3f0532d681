"""What a command hook printed, read strictly: an answer of its point, or what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NoReturn

from msgspec import Struct, field

from quorum.domain.calls.hook import (
    Abort,
    AnyAnswer,
    Continue,
    ContinueWithMessages,
    Finish,
    HookPoint,
    Skip,
    describe_point,
)
from quorum.domain.errors import HookFailure
from quorum.domain.text.json_value import JsonValue

_WORDS: Mapping[type, str] = {
    Continue: "continue",
    Skip: "skip",
    Abort: "abort",
    Finish: "finish",
    ContinueWithMessages: "continue_with",
}


class CommandAnswer(Struct, frozen=True, kw_only=True):
    """A decision that its point allows, its reason, and what it carries: None where it changes nothing."""

    decision: str
    reason: str = ""
    carried: JsonValue = field(default=None)

    def answer(self) -> AnyAnswer:
        """The answer of a hook. Raises HookFailure for messages that are no texts."""
        match self.decision:
            case "skip":
                return Skip(self.reason)
            case "abort":
                return Abort(self.reason)
            case "finish":
                return Finish()
            case "continue_with":
                given = self.carried if isinstance(self.carried, list) else []
                texts = tuple(text for each in given if (text := _read_message(each)))
                if not texts or len(texts) != len(given):
                    raise HookFailure(
                        'continue_with needs "messages", a list of texts that are not empty, or of objects '
                        '{"role": "user", "text": "…"}'
                    )
                return ContinueWithMessages(texts)
            case _:
                return Continue()


def _read_message(given: JsonValue) -> str:
    """The text of a message that is to be sent; empty where there is none."""
    if isinstance(given, Mapping) and given.get("role", "user") == "user" and set(given) <= {"role", "text"}:
        given = given.get("text")
    return given if isinstance(given, str) else ""


def read_answer(printed: bytes, point: HookPoint) -> CommandAnswer:
    """What was printed on standard output, as an answer. Nothing at all means: continue unchanged."""
    description = describe_point(point)
    default, decisions = _WORDS[type(description.default)], [_WORDS[kind] for kind in description.answers]
    if not printed.strip():
        return CommandAnswer(decision=default)
    given = _parse_object(printed)
    name, goes_with = description.handed_back.key, _WORDS[description.handed_back.goes_with]
    if unknown := sorted(set(given) - {"decision", "reason", name}):
        raise HookFailure(
            f"{_quote_value(unknown[0])} means nothing at {point}; it reads decision, reason, {name}"
        )
    decision = given.get("decision", goes_with if name in given else default)
    if not isinstance(decision, str) or decision not in decisions:
        allowed = ", ".join(decisions)
        raise HookFailure(f"the decision {_quote_value(decision)} is none of those at {point}: {allowed}")
    reason = given.get("reason", "")
    if not isinstance(reason, str):
        raise HookFailure("reason must be a text")
    carried = given.get(name)
    if carried is not None and decision != goes_with:
        raise HookFailure(
            f'{name} goes with the decision "{goes_with}" only, not with {_quote_value(decision)}'
        )
    if carried is not None and not isinstance(carried, description.handed_back.kind):
        raise HookFailure(f"{name} must be {description.handed_back.wanted}")
    if decision == "abort" and not reason:
        raise HookFailure("abort needs a reason")
    return CommandAnswer(decision=decision, reason=reason, carried=carried)


def _parse_object(printed: bytes) -> dict[str, JsonValue]:
    try:
        given: object = json.loads(printed.decode("utf-8"), parse_constant=_refuse_constant)
        json.dumps(given, ensure_ascii=False).encode("utf-8")  # half a surrogate pair can be sent to nobody
    except RecursionError:
        raise HookFailure("what it printed is nested too deeply") from None
    except ValueError as error:
        start = printed[:80].decode("utf-8", "replace").strip()
        raise HookFailure(f"what it printed is not JSON ({error}): {_quote_value(start)}") from error
    if not isinstance(given, dict):
        raise HookFailure(
            f'it must print a JSON object such as {{"decision": "continue"}}, not {_quote_value(given)}'
        )
    return given


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _quote_value(value: object) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 100 else f"{text[:99]}…"
