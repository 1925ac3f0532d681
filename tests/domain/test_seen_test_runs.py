"""The last run of tests, and what answers claim of it: nothing is said that is not known."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from quorum.domain.calls.effects import ChangeKind, Effects, FileChange
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.job import JobStatus
from quorum.domain.events.event import (
    CallFinished,
    CallStarted,
    EffectsObserved,
    Event,
    JobEnded,
    JobStarted,
    SessionRewound,
    SessionStarted,
    UserCommandFinished,
    UserCommandStarted,
)
from quorum.domain.goal import SeenTestRun, claims_tests, find_last_test_run
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.sessions.replay import Replay
from quorum.domain.shell.known_test_runners import find_files_read, runs_tests
from tests.support.builders import a_context

STARTED = SessionStarted(session_id="s", model="m", mode=Mode.ASK, cwd="/w")


def run(place: int, command: str, output: str = "exit code 0", outcome: Outcome = Outcome.OK) -> list[Event]:
    context = a_context(place)
    return [
        CallStarted(context=context, tool="run_command", arguments={"command": command}),
        CallFinished(
            context=context,
            tool="run_command",
            outcome=outcome,
            decision=DecisionLabel.ALLOWED,
            output=output,
            duration_secs=0.1,
        ),
    ]


def edit(place: int, path: str, *, ignored: bool = False) -> list[Event]:
    change = FileChange(
        path=f"/w/{path}", kind=ChangeKind.MODIFIED, declared=not ignored, ignored=ignored or False
    )
    effects = Effects(changes=(change,), complete=True)
    return [
        CallStarted(context=a_context(place), tool="edit_file", arguments={}),
        EffectsObserved(context=a_context(place), effects=effects),
    ]


def replay(*events: Sequence[Event]) -> SeenTestRun | None:
    state = Replay()
    for each in ([STARTED], *events):
        for event in each:
            state.apply(event, 0)
    return find_last_test_run(state.state.recent_work)


def predates(*events: Sequence[Event]) -> bool:
    seen = replay(*events)
    return seen is not None and seen.predates_edit


PYTEST = run(1, "pytest -q")


def test_an_edit_after_the_last_test_run_is_noticed_and_another_run_settles_it() -> None:
    assert replay(PYTEST, edit(2, "a.py")) == SeenTestRun(command="pytest -q", exit_code=0, edited=("a.py",))
    assert predates(PYTEST, edit(2, "a.py"))
    assert not predates(PYTEST, edit(2, "a.py"), run(3, "make test", "boom\nexit code 2"))
    assert not predates(edit(1, "a.py"), run(2, "pytest"))
    assert not predates(edit(1, "a.py"))


def test_nothing_is_said_where_something_else_may_have_run_the_tests() -> None:
    context = a_context(9)
    job = JobStarted(job_id="j", context=context, command="./ci.sh")
    ended = JobEnded(job_id="j", status=JobStatus.ENDED, exit_code=0, duration_secs=1.0)

    assert not predates(PYTEST, edit(2, "a.py"), run(3, "./ci.sh"))
    assert predates(PYTEST, edit(2, "a.py"), run(3, "./ci.sh"), edit(4, "b.py"))
    assert predates(PYTEST, edit(2, "a.py"), run(3, "git status && ls"))
    assert not predates(PYTEST, [job], edit(2, "a.py"))
    assert not predates(PYTEST, [job], edit(2, "a.py"), [ended])
    assert not predates(PYTEST, edit(2, "a.py"), run(3, "pytest", "timed out", Outcome.ERROR))


def test_what_a_test_run_itself_writes_and_by_products_are_no_edits() -> None:
    context = a_context(1)
    change = FileChange(path="/w/snap.txt", kind=ChangeKind.CREATED, declared=False)
    wrote = EffectsObserved(context=context, effects=Effects(changes=(change,), complete=True))

    assert not predates([PYTEST[0], wrote, PYTEST[1]])
    assert not predates(PYTEST, edit(2, "__pycache__/a.pyc", ignored=True))


def test_a_command_of_the_person_counts_and_an_undo_forgets() -> None:
    own: list[Event] = [
        UserCommandStarted(command_id="c", command="cargo test", told=True),
        UserCommandFinished(command_id="c", outcome=Outcome.ERROR, exit_code=101, output="", duration_secs=1.0),
    ]
    seen = replay(own, edit(2, "src/lib.rs"))

    assert seen == SeenTestRun(command="cargo test", exit_code=101, edited=("src/lib.rs",))
    assert replay(own, [SessionRewound(turn=0, conversation=True, files=False)]) is None


@pytest.mark.parametrize(
    "answer",
    [
        "All tests pass.",
        "The tests are passing now",
        "I ran pytest: 12 passed, 1 skipped.",
        "The unit tests succeed, and the linter is quiet.",
        "Two tests still fail.",
        "Everything is green: passing tests and lint.",
    ],
)
def test_an_answer_that_says_how_tests_went_claims_it(answer: str) -> None:
    assert claims_tests(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "I changed the parser.",
        "Run the tests to make sure they pass.",
        "The tests should pass now.",
        "I did not run the tests, so whether they pass is open.",
        "```\n12 passed\n```\nis what it prints.",
        "I added a test for the empty file.",
        "The password check passes the token on.",
    ],
)
def test_a_wish_a_doubt_and_other_words_claim_nothing(answer: str) -> None:
    assert not claims_tests(answer)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest -q", True),
        ("cd a && PYTHONPATH=. python3.12 -m pytest x", True),
        ("uv run pytest", True),
        ("timeout 60 npm run test:unit", True),
        ("./gradlew check", True),
        ("zig build test", True),
        ("coverage run -m pytest", True),
        ("npm run build", None),
        ("make", None),
        ("./ci.sh", None),
        ("bash -c 'pytest'", None),
        ("pytest --collect-only", None),
        ("echo 'unclosed", None),
        ("git commit -m 'pytest; passes'", False),
        ("cat tests/x | grep pytest > out", False),
        ("test -f x", False),
    ],
)
def test_the_names_of_programs_say_whether_a_command_runs_tests(command: str, expected: bool | None) -> None:
    assert runs_tests(command) is expected


def test_a_check_depends_on_what_it_names_on_tests_and_on_settings_of_its_program() -> None:
    files = ["check.sh", "src/a.py", "tests/test_a.py", "pyproject.toml", "package.json", "src/b_test.go"]

    assert find_files_read("sh ./check.sh", files) == ("check.sh", "tests/test_a.py", "src/b_test.go")
    assert find_files_read("ruff check src", files) == ("src/a.py", "pyproject.toml", "src/b_test.go")
    assert find_files_read("pytest tests/test_a.py::test_x", files) == (
        "tests/test_a.py",
        "pyproject.toml",
        "src/b_test.go",
    )
    assert find_files_read("grep -q x README.md", files) == ()
    assert find_files_read("bash -c 'sh ./check.sh -q'", files) == find_files_read("sh ./check.sh -q", files)
