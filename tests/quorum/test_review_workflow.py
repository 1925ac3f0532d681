"""The workflow that the page about code reviews offers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from quorum.cli.review import ReviewOptions
from quorum.cli.review.review_change import ReviewPrinter
from quorum.command_line.reading import parse


def read_workflow() -> dict[str, Any]:
    page = Path("docs/code-review.md").read_text(encoding="utf-8")
    found = re.search(r"```yaml\n(.*?)```", page, re.S)
    assert found is not None
    parsed: dict[str, Any] = yaml.safe_load(found[1])
    return parsed


def test_it_has_no_right_but_to_read() -> None:
    workflow = read_workflow()
    assert workflow["permissions"] == {}
    (job,) = workflow["jobs"].values()
    assert set(job["permissions"].values()) == {"read"}
    checkout = next(step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout"))
    assert checkout["with"]["persist-credentials"] is False


def test_its_command_is_one_that_quorum_takes_and_nothing_of_the_pull_request_is_in_its_text() -> None:
    (job,) = read_workflow()["jobs"].values()
    run = job["steps"][-1]["run"]
    assert "${{" not in run
    words = run.replace('"$NUMBER"', "12").split()
    options = parse(words[1:]).options
    assert (options.pr, options.format) == (12, "github")
    assert options.models == ("review=anthropic/claude-opus-5-5", "review=openai/gpt-5.4")


def conclude(text: str, output: str = "github") -> None:
    ReviewPrinter(ReviewOptions(format=output)).conclude_approved(text)


def test_the_summary_of_the_step_holds_the_whole_review_behind_what_steps_before_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    conclude("all of it", "sarif")
    conclude("all of it\n\n- one \x1b[2J")
    assert summary.read_text(encoding="utf-8") == "before\nall of it\n\n- one ␛[2J\n"
    conclude("é" * 1024 * 1024)
    content = summary.read_bytes()
    assert len(content) <= 1024 * 1024
    assert content.decode("utf-8").endswith("longer than a summary may be)\n")
    conclude("no room is left")
    assert summary.stat().st_size <= 1024 * 1024
    assert capsys.readouterr().err == ""


def test_a_summary_that_cannot_be_written_is_told_and_costs_no_annotation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    conclude("all of it")
    told = capsys.readouterr()
    assert told.out.startswith("::notice title=quorum review::all of it")
    assert "cannot be written: Is a directory" in told.err
