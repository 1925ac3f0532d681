"""Trying one hook on one call, the way a run would ask it: `quorum hooks test NAME --call FILE`."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from quorum.application.calls.hook_chain import HookChain, HookRegistration
from quorum.application.calls.hooks import HookSample, build_subject, copy_subject, encode_editable_field
from quorum.application.event_bus import EventBus
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.hook_points import ContinueWithMessages, HookPoint, Skip, describe_point
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.history import AssistantMessage, Message, UserMessage
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ConfigError, HookAborted, RequestSkipped
from quorum.domain.events.event import Event, HookRan
from quorum.domain.text.amounts import format_duration
from quorum.domain.text.json_value import JsonValue
from quorum.infrastructure.config.toml_text import escape_unprintable

_CONTEXT = ToolExecutionContext(call_id="trial", batch_id="trial", call_index=0, turn_index=0)
_OF_CALLS = ("tool", "arguments", "risk", "paths", "result", "outcome", "messages")
_MOMENTS = tuple(key for key in HookSample.__struct_fields__ if key not in ("context", *_OF_CALLS))
_KEYS = (*_OF_CALLS, *_MOMENTS)
_Choice = TypeVar("_Choice", RiskLevel, Outcome)


async def try_hook(registration: HookRegistration, call: Mapping[str, JsonValue]) -> str:
    """Ask the hook at each of its points that `call` has something for, and tell what it answered.

    `call` is {"tool", "arguments"} with optional "risk" (high), "paths", "result" with "outcome" (ok), and
    "messages" as [{"role": "user" | "assistant", "text"}]; and as texts "session", its source, "end", its
    reason, "notification", a message, and "compaction", what it is to dwell on. The text has, for each point,
    the answer, its reason or error, what was edited and how long it took. Raises ConfigError that names a wrong
    key of `call`, or what it must have for this hook.
    """
    trial = _Trial.read(call)
    points = [p for p in HookPoint if p in registration.points and trial.has(p)]
    if not points:
        points = [point for point in HookPoint if point in registration.points]
        needed = " or ".join(dict.fromkeys(f'"{describe_point(point).tried_with}"' for point in points))
        asked_at = ", ".join(points)
        raise ConfigError(f"the hook {registration.name} runs at {asked_at}: the call needs {needed} for that")
    report = "\n".join([await trial.report(registration, point) for point in points])
    return "\n".join(escape_unprintable(line) for line in report.split("\n"))


def read_call(file: Path) -> Mapping[str, JsonValue]:
    """The call that a file holds. Raises ConfigError that names the file where it is no JSON object."""
    try:
        call: object = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}; name a file that holds a call") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is not JSON ({error}); correct it") from error
    if not isinstance(call, dict):
        raise ConfigError(
            f'{file} must hold a JSON object, such as {{"tool": "write_file", "arguments": {{}}}}'
        )
    return call


def find_registration(registrations: Sequence[HookRegistration], name: str) -> HookRegistration:
    """The hook of that name. Raises ConfigError that lists those there are."""
    for registration in registrations:
        if registration.name == name:
            return registration
    there = ", ".join(one.name for one in registrations)
    known = f"the hooks are {there}" if there else "there is none at all: declare [[hooks]] in your quorum.toml"
    raise ConfigError(f"there is no enabled hook {name}; {known}")


class _Answers:
    """Keeps what the chain records of the hook."""

    def __init__(self) -> None:
        self.runs: list[HookRan] = []

    def notify(self, event: Event) -> None:
        if isinstance(event, HookRan):
            self.runs.append(event)


class _Trial(Struct, frozen=True):
    """What a file tells of a moment of a run; `given` are the keys of it that hold something."""

    sample: HookSample
    given: frozenset[str]

    @classmethod
    def read(cls, call: Mapping[str, JsonValue]) -> _Trial:
        if unknown := sorted(set(call) - set(_KEYS)):
            raise ConfigError(f'the call has "{unknown[0]}", which means nothing; it knows {", ".join(_KEYS)}')
        tool = call.get("tool")
        if not isinstance(tool, str | None) or ("result" in call and tool is None):
            raise ConfigError("tool of the call must be the name of a tool")
        arguments = call.get("arguments", {})
        if not isinstance(arguments, Mapping):
            raise ConfigError("arguments of the call must be an object")
        result = call.get("result")
        if not isinstance(result, str | None):
            raise ConfigError("result of the call must be a text")
        sample = HookSample(
            context=_CONTEXT,
            tool=tool or "",
            arguments=dict(arguments),
            risk=_choose(RiskLevel, call, "risk", RiskLevel.HIGH),
            paths=_read_paths(call.get("paths", [])),
            result=result or "",
            outcome=_choose(Outcome, call, "outcome", Outcome.OK),
            messages=_read_messages(call.get("messages", [])),
            **{key: _read_text(call, key) for key in _MOMENTS},
        )
        holds = {"tool": tool is not None, "result": result is not None, "messages": bool(sample.messages)}
        holds |= {key: key in call for key in _MOMENTS}
        return cls(sample, frozenset(key for key, is_there in holds.items() if is_there))

    def has(self, point: HookPoint) -> bool:
        return describe_point(point).tried_with in self.given

    async def report(self, registration: HookRegistration, point: HookPoint) -> str:
        """What the hook answers at one point, in words."""
        answers = _Answers()
        chain = HookChain([registration], EventBus([answers]))
        started = time.perf_counter()
        try:
            follows = await self._ask_hooks(chain, point)
        except (HookAborted, RequestSkipped) as ending:
            follows = [f"follows: {ending}"]
        took = time.perf_counter() - started
        if not answers.runs:
            return f"{point}: not asked; its tools, risk or paths do not fit this call"
        run = answers.runs[0]
        lines = [f"{point}: {run.answer} ({format_duration(took)})"]
        if run.reason:
            lines.append(f"{'error' if run.answer == 'error' else 'reason'}: {run.reason}")
        return "\n  ".join([*lines, *follows])

    async def _ask_hooks(self, chain: HookChain, point: HookPoint) -> list[str]:
        """Ask at one point; what came of it besides the answer."""
        description = describe_point(point)
        subject = build_subject(point, self.sample)
        before = copy_subject(subject)
        answer = await chain.ask(subject)
        key = description.handed_back.key if description.handed_back is not None else ""
        if isinstance(answer, ContinueWithMessages):
            texts = [each if isinstance(each, str) else each.text for each in answer.messages]
            return [f"{key}: {_format_json(texts)}"]
        edited = [f"{key}: {_format_json(encode_editable_field(subject))}"] if subject != before else []
        return [*edited, *([f"follows: {description.skipped}"] if isinstance(answer, Skip) else [])]


def _format_json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _choose(kind: type[_Choice], call: Mapping[str, JsonValue], key: str, default: _Choice) -> _Choice:
    given = call.get(key, default.value)
    for member in kind:
        if member.value == given:
            return member
    raise ConfigError(f"{key} of the call must be one of {', '.join(member.value for member in kind)}")


def _read_text(call: Mapping[str, JsonValue], key: str) -> str:
    given = call.get(key, "")
    if not isinstance(given, str):
        raise ConfigError(f"{key} of the call must be a text")
    return given


def _read_paths(given: JsonValue) -> tuple[str, ...]:
    texts = given if isinstance(given, list | tuple) else [None]
    paths = tuple(text for text in texts if isinstance(text, str))
    if len(paths) != len(texts):
        raise ConfigError("paths of the call must be a list of texts")
    return paths


def _read_messages(given: JsonValue) -> tuple[Message, ...]:
    wanted = ConfigError('messages of the call must be a list of {"role": "user" or "assistant", "text": "…"}')
    if not isinstance(given, list | tuple):
        raise wanted
    messages: list[Message] = []
    for one in given:
        match one:
            case {"role": "user", "text": str(text)}:
                messages.append(UserMessage(text))
            case {"role": "assistant", "text": str(text)}:
                messages.append(AssistantMessage(LlmResponse.from_text(text)))
            case _:
                raise wanted
    return tuple(messages)
