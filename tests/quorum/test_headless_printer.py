"""What a run without a screen says besides the answer."""

from __future__ import annotations

import pytest

from quorum.domain.events.event import ErrorOccurred, Event, NoticeGiven, PromptProgressed, SessionFinished
from quorum.domain.events.report import RunReport, RunStatus
from quorum.headless.printer import HeadlessPrinter


def tell(reads: list[tuple[int, int]], *, quiet: bool = False) -> None:
    printer = HeadlessPrinter("text", quiet=quiet, verbose=False)
    for read, total in reads:
        printer.notify(PromptProgressed(read=read, total=total))


def test_a_prompt_that_is_read_slowly_is_told_by_quarters(capsys: pytest.CaptureFixture[str]) -> None:
    tell([(10, 200), (60, 200), (70, 200), (110, 200), (170, 200), (200, 200)])

    assert capsys.readouterr().err.splitlines() == [
        "· reading the prompt 30 %",
        "· reading the prompt 55 %",
        "· reading the prompt 85 %",
    ]


def test_each_prompt_is_told_of_its_own_and_one_that_is_read_at_once_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tell([(150, 200), (200, 200), (200, 200), (80, 300), (0, 0)])

    assert capsys.readouterr().err.splitlines() == ["· reading the prompt 75 %", "· reading the prompt 26 %"]


def test_a_quiet_run_says_nothing_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    tell([(150, 200)], quiet=True)

    assert capsys.readouterr() == ("", "")


def finish(*events: Event, quiet: bool = False) -> None:
    """A run of these events that ends with a failure."""
    printer = HeadlessPrinter("text", quiet=quiet, verbose=False)
    report = RunReport(
        session_id="s", status=RunStatus.FAILED, stop_reason=None, text="", turns=1, error="no rounds are left"
    )
    for event in (*events, SessionFinished(report=report)):
        printer.notify(event)
    printer.conclude()


def test_the_reason_of_a_failure_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    finish(ErrorOccurred(message="no rounds are left"))

    assert capsys.readouterr().err == "quorum: no rounds are left\n"


def test_a_failure_for_another_reason_than_the_last_error_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    finish(ErrorOccurred(message="an output could not be stored"))

    assert capsys.readouterr().err.splitlines() == [
        "quorum: an output could not be stored",
        "quorum: failed: no rounds are left",
    ]


@pytest.mark.parametrize("is_note", [False, True])
def test_a_notice_is_said_where_the_run_is_not_quiet(
    capsys: pytest.CaptureFixture[str], *, is_note: bool
) -> None:
    for quiet in (True, False):
        printer = HeadlessPrinter("text", quiet=quiet, verbose=False)
        printer.notify(NoticeGiven(message="one model plans alone", is_note=is_note))

    assert capsys.readouterr().err == "quorum: one model plans alone\n"
