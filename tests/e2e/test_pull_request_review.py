"""`quorum review --pr` with a `gh` that says what a test tells it: each push is reviewed, and nothing twice."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.review_rig import finding, git, make_repository, report, review_rig, synthesise, trial, write
from tests.support.sse_server import Reply

APPROVED: dict[str, list[Reply]] = {"a": [report("approve")], "b": [report("approve")], "mod": []}


class PullRequest:
    """A repository whose branch `topic` is pull request 12."""

    def __init__(self, folder: Path) -> None:
        self.repository = make_repository(folder / "project", {"app.py": "one = 1\n"})
        self.programs = folder / "bin"
        self.programs.mkdir()
        git(self.repository, "remote", "add", "origin", "https://github.com/owner/name.git")
        git(self.repository, "checkout", "-q", "-b", "topic")

    def push(self, name: str) -> None:
        """A commit with one more file, which `gh` knows of."""
        write(self.repository, {f"{name}.py": f"{name} = True\n"})
        git(self.repository, "add", "-A")
        git(self.repository, "commit", "-q", "-m", name)
        shown = {
            "headRefOid": git(self.repository, "rev-parse", "topic"),
            "baseRefOid": git(self.repository, "rev-parse", "main"),
            "headRefName": "topic",
            "baseRefName": "main",
        }
        program = self.programs / "gh"
        program.write_text(f"#!/bin/sh\necho '{json.dumps(shown)}'\n", encoding="utf-8")
        program.chmod(0o755)


@pytest.fixture
def pull_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PullRequest:
    found = PullRequest(tmp_path)
    monkeypatch.setenv("PATH", f"{found.programs}:{os.environ['PATH']}")
    return found


@pytest.mark.long
async def test_after_an_approval_only_what_was_pushed_since_is_reviewed(
    tmp_path: Path, pull_request: PullRequest
) -> None:
    pull_request.push("first")
    async with review_rig(tmp_path / "home", APPROVED) as rig:
        approved = await rig.run(pull_request.repository, "review", "--pr", "12")
        unchanged = await rig.run(pull_request.repository, "review", "--pr", "12")
        asked_before = dict(rig.requests)
        pull_request.push("second")
        for name in ("a", "b"):
            rig.servers[name].script = [report("approve")]
        pushed = await rig.run(pull_request.repository, "review", "--pr", "12", "--format", "json")
        (whole, since) = [json.dumps(body) for body in rig.servers["a"].bodies]

    assert (approved.code, unchanged.code, pushed.code) == (0, 0, 0), approved.err + unchanged.err + pushed.err
    assert asked_before == {"a": 1, "b": 1, "mod": 0}
    assert "first = True" in whole
    assert "second = True" in since
    assert "first = True" not in since
    assert pushed.report["approved"] is True


@pytest.mark.long
async def test_what_was_rejected_is_reviewed_again_with_what_came_since(
    tmp_path: Path, pull_request: PullRequest
) -> None:
    pull_request.push("first")
    bug = finding("first.py", 1, "it is never read")
    scripts: dict[str, list[Reply]] = {
        "a": [report("reject", bug), report("approve")],
        "b": [report("reject"), trial(F1="confirmed"), report("approve")],
        "mod": [synthesise("read it")],
    }
    async with review_rig(tmp_path / "home", scripts) as rig:
        rejected = await rig.run(pull_request.repository, "review", "--pr", "12")
        pull_request.push("second")
        again = await rig.run(pull_request.repository, "review", "--pr", "12")
        last = json.dumps(rig.servers["a"].bodies[-1])

    assert (rejected.code, again.code) == (1, 0), rejected.err + again.err
    assert "first = True" in last
    assert "second = True" in last


@pytest.mark.long
async def test_all_reviews_what_was_approved_as_well(tmp_path: Path, pull_request: PullRequest) -> None:
    pull_request.push("first")
    async with review_rig(tmp_path / "home", APPROVED) as rig:
        await rig.run(pull_request.repository, "review", "--pr", "12")
        pull_request.push("second")
        for name in ("a", "b"):
            rig.servers[name].script = [report("approve")]
        await rig.run(pull_request.repository, "review", "--pr", "12", "--all")
        last = json.dumps(rig.servers["a"].bodies[-1])

    assert "first = True" in last
    assert "second = True" in last


@pytest.mark.long
async def test_a_pull_request_that_gh_does_not_know_is_exit_2_and_asks_nobody(
    tmp_path: Path, pull_request: PullRequest
) -> None:
    program = pull_request.programs / "gh"
    program.write_text("#!/bin/sh\necho 'no pull request 12' >&2\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    async with review_rig(tmp_path / "home", APPROVED) as rig:
        ended = await rig.run(pull_request.repository, "review", "--pr", "12")

    assert ended.code == 2
    assert "gh exited with 1: no pull request 12" in ended.err
    assert sum(rig.requests.values()) == 0
