"""The workflow that the page about code reviews offers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

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
    assert options.models == ("review=anthropic/claude-opus-5-1", "review=openai/gpt-5.4")
