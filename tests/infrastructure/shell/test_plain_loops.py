"""A loop over words that stand there in full is judged by what it comes down to. Nothing is run."""

from __future__ import annotations

import pytest

from quorum.domain.calls.access import EXCLUSIVE
from quorum.domain.review.guards import GuardSettings, find_objections
from quorum.domain.review.hazards.plain_loops import unroll
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.plain_request import Asked, PlainRequest
from quorum.infrastructure.execution.shell.script import read_script


def _list_commands(text: str) -> list[str]:
    return [" ".join(each.words) for each in unroll(read_script(text)).commands if each.words]


def _object_to(command: str) -> str:
    found = find_objections(
        {"command": command},
        EXCLUSIVE,
        command,
        paths=PathPolicy(roots=("/w",)),
        settings=GuardSettings(),
        read_script=read_script,
    )
    return "; ".join(each.reason for each in found)


def test_a_loop_over_plain_words_is_a_command_for_each_of_them() -> None:
    assert _list_commands('for d in build dist; do rm -rf "$d" ${d}.log; done') == [
        "rm -rf build build.log",
        "rm -rf dist dist.log",
    ]


def test_loops_within_loops_are_a_command_for_each_pair() -> None:
    text = "for a in x y; do for b in 1 2; do touch $a/$b; done; done"

    assert _list_commands(text) == ["touch x/1", "touch x/2", "touch y/1", "touch y/2"]


@pytest.mark.parametrize(
    "text",
    [
        "for d in $FOLDERS; do rm -r $d; done",
        "for d in $(ls); do rm -r $d; done",
        "for d in a b; do d=/; rm -r $d; done",
        "for d in a b; do read d; rm -r $d; done",
        "for d in a b; do printf -v d /; rm -r $d; done",
        "for d in a b; do eval $x; rm -r $d; done",
        "for d in a.c b.c; do rm -r ${d%.c}; done",
        "for d in a b; do e=$d/..; rm -r $e; done",
        "for d in a; do :; done; for d in b; do rm -r $d; done",
        "for d in {1..9}; do rm -r $d; done",
        "while read -r d; do rm -r $d; done < list",
    ],
)
def test_a_loop_whose_words_are_not_all_told_stays_one(text: str) -> None:
    assert unroll(read_script(text)) == read_script(text)


def test_a_loop_of_very_many_turns_stays_one() -> None:
    text = f"for d in {' '.join(f'f{each}' for each in range(500))}; do rm -r $d; done"

    assert _list_commands(text) == ["rm -r $d"]


@pytest.mark.parametrize(
    "command",
    [
        "for d in node_modules .next; do rm -rf $d; done",
        "for p in web api; do rm -rf packages/$p/node_modules; done",
        'for f in *.pyc; do rm -f "$f"; done',
        "for p in web api; do (cd $p && npm run build); done",
    ],
)
def test_a_loop_that_loses_nothing_is_not_objected_to(command: str) -> None:
    assert _object_to(command) == ""


@pytest.mark.parametrize(
    "command",
    [
        "for d in node_modules src; do rm -rf $d; done",
        "for d in node_modules ..; do rm -rf $d; done",
        "for d in ~/photos; do rm -rf $d; done",
        'for f in *.c; do rm -f "$f"; done',
    ],
)
def test_one_word_of_a_loop_is_enough_to_object(command: str) -> None:
    assert "rm: it deletes" in _object_to(command)


def test_a_person_can_ask_for_what_a_loop_deletes() -> None:
    command = "for d in notes drafts; do rm -r $d; done"
    asked = [
        {
            each.asked
            for each in find_objections(
                {"command": command},
                EXCLUSIVE,
                command,
                paths=PathPolicy(roots=("/w",)),
                settings=GuardSettings(),
                read_script=read_script,
                request=PlainRequest(request),
            )
        }
        for request in ("delete the folders notes and drafts", "delete the folder notes")
    ]

    assert Asked.NOT not in asked[0]
    assert Asked.NOT in asked[1]
