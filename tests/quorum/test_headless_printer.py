"""What a run without a screen says while its model's server reads the prompt."""

from __future__ import annotations

import pytest

from quorum.domain.events.event import PromptProgressed
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
