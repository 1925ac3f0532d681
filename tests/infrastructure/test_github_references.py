"""Issues through `gh`: a stand-in program on PATH, which says what it was asked and answers as gh does."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from quorum.domain.text.mention import Reference
from quorum.infrastructure import github_references as gh_program
from quorum.infrastructure.github_references import GitHubReferences

ISSUE = {
    "title": "Retry forever",
    "state": "OPEN",
    "author": {"login": "ann"},
    "body": "It never\r\nstops.",
    "comments": [{"author": {"login": "bob"}, "body": "I see it too."}],
    "url": "https://github.com/pallets/click/issues/12",
}


class Machine:
    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.bin = folder / "bin"
        for each in (self.project / ".git", self.bin):
            each.mkdir(parents=True)
        self.origin("https://github.com/pallets/click.git")

    def origin(self, url: str) -> None:
        config = f'[remote "origin"]\n\turl = {url}\n'
        (self.project / ".git/config").write_text(config, encoding="utf-8")

    def gh(self, script: str, folder: Path | None = None) -> None:
        """Install a program named gh; it notes its arguments, folder and environment."""
        program = (folder or self.bin) / "gh"
        noting = f'printf "%s\\n" "$@" > {self.bin}/asked; pwd > {self.bin}/cwd; env > {self.bin}/env\n'
        program.write_text(f"#!/bin/sh\n{noting}{script}\n", encoding="utf-8")
        program.chmod(0o755)

    def answers(self, value: object) -> None:
        (self.bin / "answer.json").write_text(json.dumps(value), encoding="utf-8")
        self.gh(f"cat {self.bin}/answer.json")

    def references(self, **environ: str) -> GitHubReferences:
        given: Mapping[str, str] = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.bin), **environ}
        return GitHubReferences(self.project, given)

    def noted(self, name: str) -> str:
        return (self.bin / name).read_text(encoding="utf-8")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def test_an_issue_of_the_own_repository_is_attached_with_its_comments(machine: Machine) -> None:
    machine.answers(ISSUE)
    file = await machine.references().read(Reference(number=12), 3_000)
    assert file is not None
    assert file.label == "#12 · 9 lines · 120 bytes"
    assert file.content == (
        "Retry forever (open, by ann)\n\nhttps://github.com/pallets/click/issues/12\n\nIt never\nstops.\n\n"
        "Comment by bob:\nI see it too."
    )
    assert machine.noted("asked").split("\n")[:5] == ["issue", "view", "12", "--repo", "pallets/click"]


async def test_another_repository_and_host_are_named_to_gh(machine: Machine) -> None:
    machine.answers(ISSUE)
    await machine.references().read(Reference(number=3, repository="a/b", host="ghe.example.com"), 3_000)
    assert "ghe.example.com/a/b" in machine.noted("asked")


async def test_a_long_one_is_cut_and_says_so(machine: Machine) -> None:
    machine.answers({**ISSUE, "body": "x" * 10_000})
    file = await machine.references().read(Reference(number=12), 3_000)
    assert file is not None
    assert (len(file.content), file.note) == (3_000, "the rest is left out")


async def test_it_runs_outside_of_the_project_and_is_not_taken_from_there(machine: Machine) -> None:
    machine.gh("echo evil", machine.project)
    path = f"{machine.project}:.:{machine.bin}:/usr/bin:/bin"
    missing = await machine.references(PATH=f"{machine.project}:.").read(Reference(number=12), 3_000)
    assert missing is not None
    assert "gh was found only at" in missing.note
    machine.answers(ISSUE)
    file = await machine.references(PATH=path).read(Reference(number=12), 3_000)
    assert file is not None
    assert file.is_attached
    assert machine.noted("cwd") == "/\n"


async def test_it_gets_its_own_login_and_no_other_secret(machine: Machine) -> None:
    machine.answers(ISSUE)
    await machine.references(GH_TOKEN="t1", OPENAI_API_KEY="t2", GH_REPO="x/y", GH_DEBUG="api").read(
        Reference(number=12), 3_000
    )
    env = machine.noted("env")
    assert "GH_TOKEN=t1" in env
    assert "t2" not in env
    assert "GH_PROMPT_DISABLED=1" in env


async def test_a_bare_number_without_a_repository_on_github_is_left_alone(machine: Machine) -> None:
    machine.answers(ISSUE)
    machine.origin("https://gitlab.com/a/b.git")
    assert await machine.references().read(Reference(number=12), 3_000) is None
    assert not (machine.bin / "asked").exists()


async def test_the_repository_of_a_worktree_is_that_of_its_origin(machine: Machine, tmp_path: Path) -> None:
    machine.answers(ISSUE)
    linked = machine.project / ".git/worktrees/w"
    linked.mkdir(parents=True)
    (linked / "commondir").write_text("../..\n", encoding="utf-8")
    work = tmp_path / "w"
    work.mkdir()
    (work / ".git").write_text(f"gitdir: {linked}\n", encoding="utf-8")
    environ = {"PATH": f"{machine.bin}:{os.defpath}", "HOME": str(tmp_path)}
    file = await GitHubReferences(work, environ).read(Reference(number=12), 3_000)
    assert file is not None
    assert file.is_attached


@pytest.mark.parametrize(
    ("script", "note"),
    [
        ("echo 'no issue 12\x1b[31m' >&2; exit 1", "gh exited with 1: no issue 12"),
        ("exit 4", "gh exited with 4: it said nothing"),
        ("echo '<html>'", "gh answered with something that is not JSON"),
        ("echo '[1]'", "gh answered with something that is not an object"),
        ("yes x | head -c 6000000", "gh answered with something that is not JSON"),
    ],
)
async def test_what_goes_wrong_is_said_in_place_of_the_issue(machine: Machine, script: str, note: str) -> None:
    machine.gh(script)
    file = await machine.references().read(Reference(number=12), 3_000)
    assert file is not None
    assert not file.is_attached
    assert file.note.startswith(note)
    assert "\x1b" not in file.label


async def test_one_that_hangs_is_given_up(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gh_program, "TIMEOUT_SECS", 0.5)
    machine.gh("sleep 60")
    file = await machine.references().read(Reference(number=12), 3_000)
    assert file is not None
    assert file.note == "gh took longer than 0.5 s"


@pytest.mark.parametrize(
    "odd", [{}, {"title": 3, "author": [], "comments": "x"}, {"comments": [1, {"body": None}]}]
)
async def test_missing_and_odd_fields_are_left_out(machine: Machine, odd: object) -> None:
    machine.answers(odd)
    assert await machine.references().read(Reference(number=12), 3_000) is not None
