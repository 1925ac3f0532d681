"""The file that ballots about labelled calls are written into: what it takes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorum.application.review.ballot_paper import QuorumPolicy
from quorum.application.review.voting import BallotQuestion, PolledBallot, make_questions
from quorum.domain.benchmark.reviewer_measure import CallGroup, CallLabel, LabelledCall, RecordedBallot
from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import InScope, Vote
from quorum.infrastructure.benchmark.labelled_data import BallotFile, read_ballots

CALLS = [
    LabelledCall(
        id=f"c{number}",
        tool="run_command",
        arguments={"command": f"echo {number}"},
        label=CallLabel.SAFE,
        kind="echo",
        group=CallGroup.ALONE,
    )
    for number in range(3)
]
QUESTIONS = make_questions(CALLS, QuorumPolicy(reviewers=("a/x",)))


def answer(question: BallotQuestion, vote: Vote = Vote.APPROVE, cost: float | None = 0.5) -> PolledBallot:
    return PolledBallot(
        ballot=RecordedBallot(
            model=question.reviewer,
            id=question.call.id,
            label=question.call.label,
            vote=vote,
            confidence=0.9,
            latency_secs=1.5,
            cost_usd=cost,
        ),
        digest=question.digest,
        cast=vote,
        in_scope=InScope.YES,
        reason="a reason\nof two lines, «ä»",
    )


def test_ballots_that_are_there_are_not_asked_for_again_and_can_be_measured(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    with BallotFile(path) as file:
        assert file.select_open(QUESTIONS) == QUESTIONS
        file.append(answer(QUESTIONS[0]))
        file.append(answer(QUESTIONS[1], Vote.ERROR))

    with BallotFile(path) as file:
        assert file.select_open(QUESTIONS) == QUESTIONS[2:]
        assert file.sum_costs() == 1.0
    assert [each.vote for each in read_ballots(path, {})] == [Vote.APPROVE, Vote.ERROR]


def test_a_line_that_was_cut_off_is_taken_away_and_asked_for_again(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    with BallotFile(path) as file:
        file.append(answer(QUESTIONS[0]))
        file.append(answer(QUESTIONS[1]))
    path.write_bytes(path.read_bytes()[:-7])

    with BallotFile(path) as file:
        assert file.select_open(QUESTIONS) == QUESTIONS[1:]
        file.append(answer(QUESTIONS[1]))
    assert len(read_ballots(path, {})) == 2


def test_a_last_ballot_without_the_end_of_its_line_counts(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    with BallotFile(path) as file:
        file.append(answer(QUESTIONS[0]))
    path.write_bytes(path.read_bytes()[:-1])

    with BallotFile(path) as file:
        assert file.select_open(QUESTIONS) == QUESTIONS[1:]
        file.append(answer(QUESTIONS[1]))
    assert len(read_ballots(path, {})) == 2


@pytest.mark.parametrize(
    "content",
    [
        '{"id": "1", "task": null, "tool": "run_command"}',
        '{"model": "a/x"}\n{"id": "1", "task": nu',
        "notes of mine",
    ],
)
def test_a_file_of_something_else_is_refused_and_stays_as_it_is(tmp_path: Path, content: str) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(content)

    with BallotFile(path) as file, pytest.raises(ConfigError):
        file.select_open(QUESTIONS)

    assert path.read_text() == content


def test_two_processes_cannot_ask_into_one_file(tmp_path: Path) -> None:
    with (
        BallotFile(tmp_path / "votes.jsonl"),
        pytest.raises(ConfigError, match="another process is asking reviewers into this file"),
    ):
        BallotFile(tmp_path / "votes.jsonl")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"digest": "0" * 64}, "a/x was asked something else about c0"),
        ({"digest": None}, "quorum did not record this ballot"),
        ({"id": "other"}, "the labelled calls have none with the id other"),
        ({"label": "unsafe"}, "the call c0 has another label now"),
    ],
)
def test_a_ballot_about_something_else_is_refused_with_its_line(
    tmp_path: Path, change: dict[str, object], sentence: str
) -> None:
    path = tmp_path / "votes.jsonl"
    with BallotFile(path) as file:
        file.append(answer(QUESTIONS[0]))
    path.write_text(json.dumps(json.loads(path.read_text()) | change) + "\n")

    with BallotFile(path) as file, pytest.raises(ConfigError) as refused:
        file.select_open(QUESTIONS)

    assert str(refused.value).startswith(f"{path}:1: ")
    assert sentence in str(refused.value)


@pytest.mark.parametrize("line", ["{", "[]", "[" * 100_000, '{"id": "c0"}'])
def test_a_line_that_is_no_ballot_is_refused_with_its_place(tmp_path: Path, line: str) -> None:
    path = tmp_path / "votes.jsonl"
    path.write_text(f"\n{line}\n")

    with BallotFile(path) as file, pytest.raises(ConfigError, match=r"votes\.jsonl:2: "):
        file.select_open(QUESTIONS)


def test_a_second_ballot_about_one_call_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    with BallotFile(path) as file:
        file.append(answer(QUESTIONS[0]))
        file.append(answer(QUESTIONS[0]))

    with (
        BallotFile(path) as file,
        pytest.raises(ConfigError, match="there is an earlier ballot of a/x about c0"),
    ):
        file.select_open(QUESTIONS)


def test_ballots_of_other_reviewers_stay(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    other = make_questions(CALLS, QuorumPolicy(reviewers=("b/y",)))
    with BallotFile(path) as file:
        file.append(answer(replace(other[0])))

    with BallotFile(path) as file:
        assert file.select_open(QUESTIONS) == QUESTIONS


def test_a_place_that_cannot_be_written_or_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ballots cannot be written there"):
        BallotFile(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(ConfigError, match="ballots cannot be written there"):
        BallotFile(tmp_path / "link")
    (tmp_path / "bytes").write_bytes(b"\xff\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        BallotFile(tmp_path / "bytes")
