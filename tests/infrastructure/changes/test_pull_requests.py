"""Pull requests, read with a `gh` that says what a test tells it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from quorum.domain.code_review.change import Change, CodeReviewRequest
from quorum.domain.errors import AlreadyApproved, ToolError
from quorum.infrastructure.changes.repository_changes import ApprovedChanges, RepositoryChanges
from tests.support.review_rig import git, make_repository, write

PULL = CodeReviewRequest(pull_request=12)
DIFF = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"


class Machine:
    """A repository with a pull request from the branch `topic`, and a `gh` that knows it."""

    def __init__(self, folder: Path) -> None:
        self.repository = make_repository(folder / "r", {"a.py": "one\n"})
        self.state = folder / "state" / "approved.json"
        self.programs = folder / "bin"
        self.programs.mkdir()
        git(self.repository, "remote", "add", "origin", "https://github.com/pallets/click.git")
        git(self.repository, "checkout", "-q", "-b", "topic")
        self.push("two")

    def push(self, content: str) -> str:
        """A commit on the branch; its id."""
        write(self.repository, {"a.py": f"one\n{content}\n", f"{content}.py": f"{content}\n"})
        git(self.repository, "add", "-A")
        git(self.repository, "commit", "-q", "-m", content)
        self.show()
        return self.head

    @property
    def head(self) -> str:
        return git(self.repository, "rev-parse", "topic")

    def show(self, **more: str) -> None:
        """What `gh pr view` says."""
        base = git(self.repository, "rev-parse", "main")
        found = {
            "headRefOid": self.head,
            "baseRefOid": base,
            "headRefName": "topic",
            "baseRefName": "main",
        } | more
        self.gh(f"case \"$2\" in view) echo '{json.dumps(found)}';; diff) printf '%s' '{DIFF}';; esac")

    def gh(self, script: str) -> None:
        program = self.programs / "gh"
        program.write_text(f'#!/bin/sh\necho "$@" >> {self.programs}/asked\n{script}\n', encoding="utf-8")
        program.chmod(0o755)

    @property
    def asked(self) -> list[str]:
        return (self.programs / "asked").read_text(encoding="utf-8").splitlines()

    def source(self, asked_of: str = "reviewers") -> RepositoryChanges:
        path = f"{self.programs}:{os.environ['PATH']}"
        return RepositoryChanges(
            self.repository,
            {"PATH": path},
            make_tools=None,
            asked_of=asked_of,
            approved=ApprovedChanges(self.state),
        )

    async def read(self, request: CodeReviewRequest = PULL, asked_of: str = "reviewers") -> Change:
        return await self.source(asked_of).read(request)

    async def approve(self) -> None:
        """Have what is there reviewed and approved."""
        source = self.source()
        await source.keep_approval(await source.read(PULL), "")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def test_a_pull_request_is_what_its_branch_has_since_it_parted(machine: Machine) -> None:
    git(machine.repository, "checkout", "-q", "main")
    write(machine.repository, {"other.py": "x\n"})
    git(machine.repository, "add", "-A")
    git(machine.repository, "commit", "-q", "-m", "main goes on")
    machine.show()
    change = await machine.read()
    assert [file.path for file in change.files] == ["a.py", "two.py"]
    assert change.commit == machine.head
    assert machine.asked == [
        "pr view 12 --repo pallets/click --json headRefOid,baseRefOid,headRefName,baseRefName"
    ]


async def test_after_an_approval_only_what_was_pushed_since_is_reviewed(machine: Machine) -> None:
    await machine.approve()
    machine.push("three")
    change = await machine.read()
    assert [file.path for file in change.files] == ["a.py", "three.py"]
    assert "is not reviewed again" in change.notices[0]
    whole = await machine.read(CodeReviewRequest(pull_request=12, is_all=True))
    assert [file.path for file in whole.files] == ["a.py", "three.py", "two.py"]


async def test_what_was_approved_and_not_changed_since_is_said(machine: Machine) -> None:
    await machine.approve()
    with pytest.raises(AlreadyApproved, match="was approved as it is"):
        await machine.read()


async def test_without_an_approval_all_of_it_is_reviewed_again(machine: Machine) -> None:
    await machine.read()
    machine.push("three")
    assert len((await machine.read()).files) == 3


@pytest.mark.long
async def test_other_reviewers_another_focus_and_another_target_are_other_questions(machine: Machine) -> None:
    await machine.approve()
    machine.push("three")
    assert len((await machine.read(asked_of="others")).files) == 3
    assert len((await machine.read(CodeReviewRequest(pull_request=12, focus="locks"))).files) == 3
    machine.show(baseRefName="release")
    assert len((await machine.read()).files) == 3


@pytest.mark.long
async def test_a_branch_that_was_rewritten_is_reviewed_whole(machine: Machine) -> None:
    await machine.approve()
    git(machine.repository, "reset", "-q", "--hard", "main")
    machine.push("other")
    change = await machine.read()
    assert [file.path for file in change.files] == ["a.py", "other.py"]
    assert change.notices == ("the branch was rewritten since it was approved, so all of it is reviewed",)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("content", ["", "{", "[]", '{"x": 1}', "\0", '{"a": ["b"]}'])
async def test_damaged_records_of_approvals_lead_to_a_whole_review(machine: Machine, content: str) -> None:
    await machine.approve()
    machine.push("three")
    machine.state.write_text(content, encoding="utf-8")
    assert len((await machine.read()).files) == 3
    await machine.approve()
    with pytest.raises(AlreadyApproved):
        await machine.read()


async def test_commits_that_are_not_here_are_asked_of_gh(machine: Machine) -> None:
    machine.show(headRefOid="0" * 39 + "1")
    change = await machine.read()
    assert [file.path for file in change.files] == ["x.py"]
    assert change.commit == ""
    assert machine.asked[-1] == "pr diff 12 --repo pallets/click --color never"


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("echo no such thing >&2; exit 1", "gh exited with 1: no such thing"),
        ("echo nonsense", "gh answered with something that is not JSON"),
        ("echo '{}'", 'what gh shows of the pull request has no "headRefOid"'),
    ],
)
async def test_what_gh_cannot_tell_is_said(machine: Machine, script: str, problem: str) -> None:
    machine.gh(script)
    with pytest.raises(ToolError, match=problem):
        await machine.read()


async def test_a_folder_without_a_remote_on_github_has_no_pull_requests(machine: Machine) -> None:
    git(machine.repository, "remote", "remove", "origin")
    with pytest.raises(ToolError, match=r"no remote origin on github\.com"):
        await machine.read()
