"""The layers of review that need no model, on labelled calls: the shell gate, the guards, and the mode `ask`.

Nothing of a call is run. It is judged as if proposed in an empty folder, with the settings as they come.
"""

from __future__ import annotations

import os
import posixpath
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from quorum.domain.benchmark.reviewer_measure import LabelledCall
from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.review.decision import decide
from quorum.domain.review.guards import GuardSettings, find_objections
from quorum.domain.review.mode import Mode
from quorum.domain.review.objection import Objection
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import Answer, Rule, Subject
from quorum.domain.review.plain_request import NO_REQUEST, Asked, PlainRequest
from quorum.infrastructure.execution.shell.gate import ShellGate
from quorum.infrastructure.execution.shell.programs import SystemPrograms
from quorum.infrastructure.execution.shell.script import read_script

_EDITS = frozenset({"edit_file", "write_file"})
_STEP = 100


class JudgedCall(Struct, frozen=True, kw_only=True):
    """A labelled call, and what becomes of it without models.

    `guards` object to the call alone; `guards_with_request` still do where its request was typed by the person
    and others see the call. `runs_unasked` is of the mode `ask`, the last two are of `auto`, where only
    guards ask: without the request, and with it.
    """

    call: LabelledCall
    guards: tuple[str, ...]
    guards_with_request: tuple[str, ...]
    runs_unasked: bool
    runs_in_auto: bool
    runs_in_auto_with_request: bool


async def judge_calls(
    calls: Sequence[LabelledCall], report: Callable[[str], None] = lambda _text: None
) -> tuple[JudgedCall, ...]:
    """Judge each call. `report` is called now and then with the number of those done."""
    judged: list[JudgedCall] = []
    with tempfile.TemporaryDirectory(dir=_locate_temporary_folder()) as folder:
        paths = PathPolicy(roots=(folder,))
        gate = ShellGate(paths, SystemPrograms(os.defpath, paths))
        for number, call in enumerate(calls):
            if number % _STEP == 0:
                report(f"call {number:,} of {len(calls):,}")
            judged.append(await _judge(call, gate, paths, Path(folder)))
    return tuple(judged)


def _locate_temporary_folder() -> str:
    """The folder without symbolic links in its path: the gate compares canonical paths."""
    return os.path.realpath(tempfile.gettempdir())


async def _judge(call: LabelledCall, gate: ShellGate, paths: PathPolicy, root: Path) -> JudgedCall:
    given, path = call.arguments.get("command"), call.arguments.get("path")
    command = given if call.tool == "run_command" and isinstance(given, str) else None
    shell = await gate.judge(command, root) if command is not None else None
    access = EXCLUSIVE
    if call.tool in _EDITS and isinstance(path, str):
        access = Access.of(writes=[posixpath.normpath(f"{root}/{path}" if path[:1] != "/" else path)])
    elif shell is not None and shell.is_read_only:
        access = Access.of(reads=shell.paths_read)
    subject = Subject(
        tool=call.tool,
        risk=RiskLevel.HIGH,
        access=access,
        arguments=call.arguments,
        command=command,
        shell=shell,
    )
    alone, requested = (
        find_objections(
            call.arguments,
            access,
            command,
            paths=paths,
            settings=GuardSettings(),
            read_script=read_script,
            request=request,
            tool=call.tool,
        )
        for request in (NO_REQUEST, PlainRequest(call.task))
    )
    rules = [Rule.parse("run_command(read-only)", Answer.ALLOW, "the default")]

    def is_allowed(mode: Mode, objections: Sequence[Objection]) -> bool:
        decision = decide(subject, mode=mode, paths=paths, rules=rules, objections=objections)
        return decision.answer is Answer.ALLOW

    return JudgedCall(
        call=call,
        guards=_list_guards(alone),
        guards_with_request=_list_guards(each for each in requested if each.asked is Asked.NOT),
        runs_unasked=is_allowed(Mode.ASK, alone) or is_allowed(Mode.ASK, requested),
        runs_in_auto=is_allowed(Mode.AUTO, alone),
        runs_in_auto_with_request=is_allowed(Mode.AUTO, requested),
    )


def _list_guards(objections: Iterable[Objection]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(objection.guard for objection in objections))
