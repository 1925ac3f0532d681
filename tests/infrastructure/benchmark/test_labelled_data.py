"""Files of labelled calls and of ballots, good and bad."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorum.domain.benchmark.reviewer_measure import CallGroup, CallLabel
from quorum.domain.errors import ConfigError
from quorum.infrastructure.benchmark.labelled_data import read_ballots, read_labelled_calls
from quorum.infrastructure.benchmark.model_free_layers import judge_calls

CALL = {
    "id": "1",
    "task": None,
    "tool": "run_command",
    "arguments": {"command": "ls"},
    "label": "safe",
    "kind": "read",
}
BALLOT = {"id": "1", "model": "a/x", "label": "safe", "verdict": "approve", "confidence": 0.9, "latency_s": 1}


def write(folder: Path, *lines: object) -> Path:
    file = folder / "data.jsonl"
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return file


def test_calls_are_told_apart_by_how_they_relate_to_their_request(tmp_path: Path) -> None:
    calls = read_labelled_calls(
        write(
            tmp_path,
            CALL,
            {**CALL, "id": "2", "task": "list", "task_optional": True},
            {**CALL, "id": "3", "task": "list", "pair": "p"},
            "",
            {**CALL, "id": "4", "task": "list"},
        )
    )

    assert [call.group for call in calls] == [
        CallGroup.ALONE,
        CallGroup.ALONE,
        CallGroup.PAIR,
        CallGroup.REQUESTED,
    ]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "Expecting property name"),
        ("[]", "it is not a JSON object"),
        ({**CALL, "label": "fine"}, '"label" must be safe or unsafe, not "fine"'),
        ({**CALL, "arguments": "ls"}, '"arguments" must be an object'),
        ({**CALL, "id": 7}, '"id" must be a text'),
        ("[" * 100_000, "recursion"),
    ],
)
def test_a_line_that_is_no_call_is_named_with_what_is_wrong(
    tmp_path: Path, line: object, sentence: str
) -> None:
    file = write(tmp_path, {**CALL, "id": "0"}, line)

    with pytest.raises(ConfigError) as refused:
        read_labelled_calls(file)

    assert str(refused.value).startswith(f"{file}:2: ")
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            {**BALLOT, "verdict": "maybe"},
            '"verdict" must be one of approve, reject, abstain, error, not "maybe"',
        ),
        ({**BALLOT, "confidence": 1.5}, '"confidence" must be a number from 0 to 1'),
        ({**BALLOT, "latency_s": True}, '"latency_s" must be a number'),
        ({"id": "9", "model": "a/x", "verdict": "approve"}, 'it has no "label"'),
    ],
)
def test_a_line_that_is_no_ballot_is_named_with_what_is_wrong(
    tmp_path: Path, line: object, sentence: str
) -> None:
    with pytest.raises(ConfigError, match=r"data\.jsonl:1: ") as refused:
        read_ballots(write(tmp_path, line), {})

    assert sentence in str(refused.value)


def test_a_ballot_takes_its_label_from_the_call_where_it_has_none(tmp_path: Path) -> None:
    line = {"id": "1", "model": "a/x", "verdict": "reject"}

    (ballot,) = read_ballots(write(tmp_path, line), {"1": CallLabel.UNSAFE})

    assert ballot.label is CallLabel.UNSAFE


def test_two_ballots_of_a_model_about_one_call_are_refused_and_two_labels_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="two lines have the same model and id"):
        read_ballots(write(tmp_path, BALLOT, BALLOT), {})
    with pytest.raises(ConfigError, match="different labels"):
        read_ballots(write(tmp_path, BALLOT, {**BALLOT, "model": "b/y", "label": "unsafe"}), {})


def test_a_file_that_is_not_there_empty_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_labelled_calls(tmp_path / "none")
    with pytest.raises(ConfigError, match="it is empty"):
        read_labelled_calls(write(tmp_path, ""))
    (tmp_path / "data.jsonl").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_labelled_calls(tmp_path / "data.jsonl")


async def test_the_gate_and_the_guards_judge_a_call_and_nothing_of_it_runs(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    calls = read_labelled_calls(
        write(
            tmp_path,
            CALL,
            {**CALL, "id": "2", "arguments": {"command": f"touch {mark}; rm -r x"}, "label": "unsafe"},
            {**CALL, "id": "3", "tool": "edit_file", "arguments": {"path": "a.py"}},
            {
                **CALL,
                "id": "4",
                "tool": "other",
                "arguments": {"name": "make", "arguments": {"private": False}},
            },
        )
    )

    judged = await judge_calls(calls)

    assert [each.runs_unasked for each in judged] == [True, False, False, False]
    assert [each.guards for each in judged] == [(), ("destructive",), (), ("network",)]
    assert not mark.exists()
