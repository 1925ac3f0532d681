"""Open pull requests, listed by a `gh` that says what a test tells it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from quorum.domain.errors import ToolError
from quorum.infrastructure import github_references as open_pull_requests
from quorum.infrastructure.github_references import OpenPullRequest, list_open_pull_requests


def prepare(folder: Path, pulls: object) -> tuple[Path, dict[str, str]]:
    """A repository, and an environment in whose PATH such a `gh` is."""
    programs, repository = folder / "bin", folder / "r"
    programs.mkdir()
    (repository / ".git").mkdir(parents=True)
    (repository / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:owner/name.git\n')
    program = programs / "gh"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(pulls)}\nEND\n")
    program.chmod(0o755)
    return repository, {"PATH": f"{programs}:{os.environ['PATH']}"}


def build_pull(number: object, **more: object) -> dict[str, object]:
    return {"number": number, "title": "x", "headRefOid": "1" * 40, "baseRefOid": "2" * 40, **more}


async def test_they_are_listed_oldest_first(tmp_path: Path) -> None:
    listed = await list_open_pull_requests(*prepare(tmp_path, [build_pull(9), build_pull(3)]))

    assert [each.number for each in listed] == [3, 9]
    assert listed[0] == OpenPullRequest(
        repository="owner/name", number=3, title="x", head="1" * 40, base="2" * 40
    )


@pytest.mark.parametrize(
    "pull", [build_pull(True), build_pull("3"), build_pull(3, title=None), build_pull(3, baseRefOid="HEAD; rm")]
)
async def test_what_is_no_pull_request_is_refused(tmp_path: Path, pull: dict[str, object]) -> None:
    with pytest.raises(ToolError, match="what gh lists"):
        await list_open_pull_requests(*prepare(tmp_path, [pull]))


async def test_more_than_are_taken_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_pull_requests, "MOST_PULL_REQUESTS", 1)
    with pytest.raises(ToolError, match="owner/name has more than 1 open pull requests"):
        await list_open_pull_requests(*prepare(tmp_path, [build_pull(1), build_pull(2)]))


async def test_a_folder_without_a_remote_on_github_has_none(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"no remote origin on github\.com"):
        await list_open_pull_requests(tmp_path, {})
