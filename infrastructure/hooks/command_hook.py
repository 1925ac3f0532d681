"""Hooks that are commands: what they read, and what their answers mean."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from msgspec import Struct, field

from quorum.application.calls.hooks import HookSubject, UniformHook, edit, encode_subject, find_point
from quorum.domain.calls.hook_points import (
    Abort,
    AnyAnswer,
    Ask,
    Continue,
    ContinueWithMessages,
    Finish,
    HookPoint,
    Skip,
    describe_point,
)
from quorum.domain.errors import HookFailure, ToolError
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.execution.commands.output import CommandOutput
from quorum.infrastructure.execution.commands.process import Ending, SupervisedProcess, start_with_payload
from quorum.infrastructure.execution.commands.sealing import find_declared_program
from quorum.infrastructure.execution.sandbox.confinement import Confinement, Launch
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox

_WORDS: Mapping[type, str] = {
    Continue: "continue",
    Ask: "ask",
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
            case "ask":
                return Ask(self.reason)
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
    back = description.handed_back
    known = ("decision", "reason", *(() if back is None else (back.key,)))
    if unknown := sorted(set(given) - set(known)):
        raise HookFailure(f"{_quote_value(unknown[0])} means nothing at {point}; it reads {', '.join(known)}")
    hands_back = back is not None and back.key in given
    decision = given.get("decision", _WORDS[back.goes_with] if back is not None and hands_back else default)
    if not isinstance(decision, str) or decision not in decisions:
        allowed = ", ".join(decisions)
        raise HookFailure(f"the decision {_quote_value(decision)} is none of those at {point}: {allowed}")
    reason = given.get("reason", "")
    if not isinstance(reason, str):
        raise HookFailure("reason must be a text")
    carried = given[back.key] if back is not None and hands_back else None
    if back is not None and carried is not None and decision != (goes_with := _WORDS[back.goes_with]):
        raise HookFailure(
            f'{back.key} goes with the decision "{goes_with}" only, not with {_quote_value(decision)}'
        )
    if back is not None and carried is not None and not isinstance(carried, back.kind):
        raise HookFailure(f"{back.key} must be {back.wanted}")
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


OUTPUT_BYTES = 1_000_000
_ERROR_BYTES = 4_000
EXIT_SKIP = 2


class _Printed(Struct):
    """Standard output up to its limit, and the end of standard error."""

    output: bytearray = field(default_factory=bytearray)
    errors: CommandOutput = field(default_factory=lambda: CommandOutput(_ERROR_BYTES))
    overflowed: bool = False

    def feed(self, data: bytes) -> None:
        self.overflowed = self.overflowed or len(self.output) + len(data) > OUTPUT_BYTES
        if not self.overflowed:
            self.output += data


class CommandHook(UniformHook):
    """Runs a program at each of its points, in `cwd`, with this environment and under a supervisor, and where
    one is given in a sandbox.

    `argv` is a program by name or absolute path, and its arguments. A run that takes longer than
    `timeout_secs`, or is cancelled, is ended with all it started. `answer` raises HookFailure where the
    program could not be run, broke off, or answered something its point does not know.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        timeout_secs: float = 30.0,
        sandbox: Sandbox | None = None,
    ) -> None:
        self._argv = tuple(argv)
        self.cwd = cwd
        self._environment = environment
        self._timeout_secs = timeout_secs
        self._sandbox = sandbox

    async def answer(self, subject: HookSubject) -> AnyAnswer:
        """Sends the subject; what comes back with Continue or Ask is put in its place."""
        given = await self._run_command(find_point(subject), self.encode(subject))
        answer = given.answer()
        if isinstance(answer, Continue | Ask) and given.carried is not None:
            self.put_back(subject, given.carried)
        return answer

    def put_back(self, subject: HookSubject, carried: JsonValue) -> None:
        """Put what the program handed back into the subject. Raises HookFailure for what does not fit."""
        edit(subject, carried)

    def encode(self, subject: HookSubject) -> JsonObject:
        """What the program reads."""
        return {"event": find_point(subject).value, **encode_subject(subject)}

    def read(self, exit_code: int, printed: bytes, errors: str, point: HookPoint) -> CommandAnswer | None:
        """What the program answered; None for an exit code that is a failure. Raises HookFailure."""
        if exit_code == 0:
            return read_answer(printed, point)
        if exit_code == EXIT_SKIP and Skip in describe_point(point).answers:
            return CommandAnswer(decision="skip", reason=errors)
        return None

    async def _run_command(self, point: HookPoint, subject: JsonObject) -> CommandAnswer:
        payload = json.dumps(subject, ensure_ascii=False).encode("utf-8", "replace")
        printed = _Printed()
        ending = await self._run(payload, printed)
        errors = printed.errors.close().text.strip()
        if ending.failure is not None:
            raise HookFailure(f"{self._argv[0]} could not be started: {ending.failure}")
        if printed.overflowed:
            raise HookFailure(
                f"{self._argv[0]} printed more than {OUTPUT_BYTES:,} bytes; print the answer only"
            )
        if ending.timed_out:
            raise HookFailure(f"{self._argv[0]} took longer than {self._timeout_secs:g} s")
        if ending.exit_code is not None:
            answer = self.read(ending.exit_code, bytes(printed.output), errors, point)
            if answer is not None:
                return answer
        raise HookFailure(f"{self._argv[0]} {_describe_ending(ending, point)}{f': {errors}' if errors else ''}")

    async def _run(self, payload: bytes, printed: _Printed) -> Ending:
        launch, environment = await asyncio.to_thread(self._launch)
        process: SupervisedProcess | None = None

        def feed(data: bytes) -> None:
            printed.feed(data)
            if printed.overflowed and process is not None:
                process.end()

        try:
            process = start_with_payload(
                launch.argv,
                payload,
                cwd=self.cwd,
                environment=environment,
                timeout_secs=self._timeout_secs,
                on_output=feed,
                on_errors=printed.errors.feed,
                keys=launch.keys,
                proxy=launch.proxy,
            )
            return await process.wait()
        except OSError as error:
            raise HookFailure(f"{self._argv[0]} could not be started: {error}") from error

    def _launch(self) -> tuple[Launch, Mapping[str, str]]:
        """The command line, in its sandbox, and its environment. Raises HookFailure where there is none."""
        name, *words = self._argv
        try:
            confinement = self._sandbox.confine() if self._sandbox is not None else Confinement()
            argv, environment = find_declared_program(
                name, words, self._environment, cwd=self.cwd, is_confined=confinement.is_confined
            )
        except ToolError as error:
            raise HookFailure(str(error)) from error
        return confinement.launch(argv, cwd=self.cwd, environment=environment), environment


def _describe_ending(ending: Ending, point: HookPoint) -> str:
    if ending.exit_code is None:
        return "got rid of its supervisor, and how it ended is not known"
    if ending.exit_code < 0:
        return f"was killed by signal {-ending.exit_code}"
    if ending.exit_code == EXIT_SKIP:
        return f"exited with {EXIT_SKIP}, which means skip, and there is nothing to skip at {point}"
    return f"exited with {ending.exit_code}"
