"""What subagents commit in layers of their own stands in that of their session: git loses none of it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path

import pytest

from quorum.domain.errors import StagingError
from quorum.infrastructure.staging.subagent_layer import open_subagent_layer
from tests.infrastructure.staging.test_merging import Place
from tests.support.dying_process import run_until_killed
from tests.support.layer_process import run_forked

pytestmark = pytest.mark.usefixtures("layers")
GIT = "git -c user.name=a -c user.email=a@example.org"
REPOSITORY = f"git init -q -b main; {GIT} add .; {GIT} commit -qm first"
COMMIT = f"{GIT} commit -qam"


class Committing:
    """A place with a repository, and what git says in the layer of the session once all is merged."""

    def __init__(self, folder: Path, repository: str = REPOSITORY) -> None:
        self.place = Place(folder)
        self.place.sh(repository)

    def work(self, *subagents: str, session: str = "", before: str = "") -> list[str]:
        """What is remarked where subagents that began at once work, and are merged in turn."""

        def work() -> list[str]:
            layer, environ = self.place.enter(), self.place.environ
            self.place.sh(before)
            opened = [open_subagent_layer(layer, f"writer-{number}") for number in range(1, len(subagents) + 1)]
            for each, script in zip(opened, subagents, strict=True):
                each.threads.works.submit(self.place.sh, script).result()
            self.place.sh(session)
            said = list[str]()
            for each in opened:
                each.threads.close()
                plan = each.plan(environ)
                each.merge(plan, environ)
                each.close()
                each.remove()
                said += plan.remarks
            return said

        return run_forked(work)

    def ask(self, *commands: str) -> list[str]:
        """What each of these commands prints in the layer."""

        def ask() -> list[str]:
            self.place.enter()
            self.place.merge_left()
            return [self.place.read_out(each) for each in commands]

        return run_forked(ask)


@pytest.fixture
def repository(tmp_path: Path) -> Committing:
    return Committing(tmp_path)


CLEAN = ("git status --porcelain", "git fsck --strict --no-dangling")


def test_what_a_subagent_commits_stands_in_the_layer_of_its_session(repository: Committing) -> None:
    remarks = repository.work(
        f"echo 2 > same; {COMMIT} second; echo n > n; git add n; git tag v1; git branch -q topic; echo s > kept"
    )

    assert remarks == []
    log, status, refs, problems = repository.ask(
        "git log --format=%s", "git status --porcelain", "git for-each-ref --format='%(refname)'", CLEAN[1]
    )
    assert log.split() == ["second", "first"]
    assert status.splitlines() == [" M kept", "A  n"]
    assert refs.split() == ["refs/heads/main", "refs/heads/topic", "refs/tags/v1"]
    assert problems == ""


@pytest.mark.long
def test_commits_of_two_on_one_branch_are_merged_where_git_does_that_by_itself(repository: Committing) -> None:
    (remark,) = repository.work(
        f"sed -i s/2/two/ text; {COMMIT} one; echo more > same; git rm -q gone; {COMMIT} more",
        f"sed -i s/8/eight/ text; {COMMIT} other",
    )

    assert remark.startswith("main was moved by somebody else meanwhile, too")
    subjects, text, *problems = repository.ask("git log --format=%s", "cat text", *CLEAN)
    assert sorted(subjects.splitlines()) == [
        "Merge commits of writer-2 into main", "first", "more", "one", "other",
    ]  # fmt: skip
    assert text == "1\ntwo\n3\n4\n5\n6\n7\neight\n9\n"
    assert problems == ["", ""]


@pytest.mark.long
def test_commits_that_cannot_be_merged_have_a_branch_beside_the_other(repository: Committing) -> None:
    remarks = repository.work(
        f"echo first > same; {COMMIT} one", f"echo two > same; echo 2 > kept; {COMMIT} two"
    )

    assert any("what it committed is on main.writer-2, and in the workspace" in each for each in remarks)
    log, beside, status, problems = repository.ask(
        "git log --format=%s", "git log --format=%s main.writer-2", "git status --porcelain", CLEAN[1]
    )
    assert (log.split(), beside.split()) == (["one", "first"], ["two", "first"])
    assert status.splitlines() == [" M kept", "?? same.writer-2"]
    assert problems == ""


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("one", "two", "session", "shown"),
    [
        ("git switch -qc topic; echo 2 > same; %s topic", "true", "", {"HEAD": "topic", "topic": "topic"}),
        (
            "git switch -qc one; echo 2 > same; %s one",
            "git switch -qc two; echo 2 > kept; %s two",
            "",
            {"HEAD": "one", "one": "one", "two": "two", "main": "first"},
        ),
        (
            "git branch topic; echo 2 > same; %s one",
            "git switch -qc topic/x; echo 2 > kept; %s two",
            "",
            {"HEAD": "one", "topic": "first", "topic.writer-2/x": "two"},
        ),
        (
            "echo 2 > same; %s one",
            "true",
            "echo 3 > kept; %s own",
            {"main": "Merge commits of writer-1 into main"},
        ),
        ("git branch -m main other", "echo 2 > same; %s two", "", {"other": "first", "main": "two"}),
        ("git switch -q --detach; echo 2 > same; %s one", "true", "", {"HEAD": "one", "main": "first"}),
        ("echo 2 > same; git stash -q", "true", "", {"stash.writer-1": "WIP on main"}),
        ("git tag v1", "echo 2 > same; %s x; git tag v1", "", {"v1": "first", "tags/v1.writer-2": "x"}),
        ("git gc -q; echo 2 > same; %s one; git gc -q --prune=now", "true", "", {"main": "one"}),
        (
            "git update-index --split-index; echo 2 > same; %s one",
            "git update-index --split-index; echo 2 > kept; %s two",
            "",
            {"main": "Merge commits of writer-2 into main"},
        ),
        (
            "git mv same moved; %s one; git reset -q --hard HEAD~; echo 2 > kept; %s again",
            "rm -r d; %s two; mkdir d; echo x > d/h; git add d; %s three",
            "",
            {"main": "Merge commits of writer-2 into main"},
        ),
    ],
)
def test_branches_and_what_is_checked_out_are_as_git_would_have_them(
    repository: Committing, one: str, two: str, session: str, shown: Mapping[str, str]
) -> None:
    repository.work(*(each.replace("%s", COMMIT) for each in (one, two)), session=session.replace("%s", COMMIT))

    found = repository.ask(*(f"git log -1 --format=%s {ref}" for ref in shown), CLEAN[1], "git diff --cached")
    for wanted, line in zip(shown.values(), found, strict=False):
        assert line.startswith(wanted)
    assert found[len(shown) :] == ["", ""]


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    "subagent", ["git init -q && rm -rf .git && git init -q", "rm -rf .git", "mv .git .other && git init -q"]
)
def test_no_subagent_takes_the_repository_of_its_session_away(repository: Committing, subagent: str) -> None:
    (remark,) = repository.work(f"{subagent}; echo 2 > same")

    assert "the one of the session stays" in remark
    assert repository.ask("git log --format=%s", "cat same", CLEAN[1]) == ["first\n", "2\n", ""]


@pytest.mark.long
def test_what_git_has_not_finished_in_a_subagent_stays_out_and_is_named(repository: Committing) -> None:
    said = repository.work(
        f"git switch -qc a; echo a > same; {COMMIT} a; git switch -qc b main; echo b > same; {COMMIT} b; "
        f"{GIT} merge -q a || true; git config user.name Anna"
    )

    assert any(".git/MERGE_HEAD" in each for each in said)
    assert "a merge of git is not finished there" in " ".join(said)
    assert repository.ask("git log -1 --format=%s b", "git config user.name") == ["b\n", "Anna\n"]


NO_COMMIT = "1234567890" * 4


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("subagent", "remark"),
    [
        (
            f"echo {NO_COMMIT} > .git/refs/heads/made",
            "git cannot read all of what it committed on refs/heads/made",
        ),
        (
            f"echo {NO_COMMIT} > .git/refs/heads/main",
            "git cannot read all of what it committed on refs/heads/main",
        ),
        (f"echo {NO_COMMIT} > .git/HEAD", ""),
        (
            f"git branch side $({GIT} commit-tree -m x -p HEAD $(printf '100644 blob {NO_COMMIT}\\tf\\n' "
            "| git mktree --missing))",
            "git cannot read all of what it committed on refs/heads/side",
        ),
        (f"git update-index --add --cacheinfo 100644,{NO_COMMIT},n", "what it staged is left out"),
        (
            "echo 2 > kept; git stash -q; rm .git/objects/$(git rev-parse stash: | cut -c 1-2)/*",
            "what git stash put away: that is left out",
        ),
        (
            "git rev-parse HEAD > .git/refs/heads/a..b",
            "refs/heads/a..b names no commit, or is no name for a ref",
        ),
        ("git symbolic-ref refs/heads/alias refs/heads/main", "refs/heads/alias names no commit"),
    ],
)
def test_what_git_cannot_read_is_named_and_keeps_nothing_else_out(
    repository: Committing, subagent: str, remark: str
) -> None:
    said = repository.work(f"git branch topic; {subagent}; echo 2 > same")

    assert remark in "; ".join(said)
    topic, log, same, problems = repository.ask(
        "git log --format=%s topic", "git log --format=%s", "cat same", CLEAN[1]
    )
    assert (topic, log, same, problems) == ("first\n", "first\n", "2\n", "")


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    "settings",
    ["git config core.bare true", "git config core.worktree /", "echo '[[' >> .git/config"],
)
def test_settings_with_which_git_does_not_work_keep_no_commits_out(
    repository: Committing, settings: str
) -> None:
    repository.work(f"echo 2 > same; {COMMIT} second; {settings}")

    git = "cp .git/config kept; printf '[core]\\n' > .git/config; git"
    assert repository.ask(f"{git} log --format=%s", "cat same") == ["second\nfirst\n", "2\n"]


@pytest.mark.long
def test_no_program_that_a_subagent_names_to_git_is_run(repository: Committing) -> None:
    ran = "touch ../ran"
    hooks = "reference-transaction post-index-change post-commit pre-auto-gc"
    keys = "core.fsmonitor filter.x.clean filter.x.smudge merge.x.driver core.alternateRefsCommand gpg.program"
    said = repository.work(
        f"echo 2 > same; {COMMIT} one; echo '* filter=x merge=x' > .gitattributes; mkdir -p .git/hooks; "
        f"for each in {hooks}; do printf '#!/bin/sh\\n{ran}' > .git/hooks/$each; done; chmod +x .git/hooks/*; "
        f"for each in {keys}; do git config $each '{ran}'; done; git config log.showSignature true; "
        "git config extensions.partialClone o; git config remote.o.promisor true; git config remote.o.url .; "
        f"git config remote.o.uploadpack '{ran}'; git config core.repositoryformatversion 1; rm -f ../ran",
        f"echo 2 > kept; {COMMIT} two",
    )

    assert said[0].startswith("main was moved by somebody else meanwhile, too")
    assert not (repository.place.workspace.parent / "ran").exists()


@pytest.mark.long
def test_commits_over_a_history_that_is_cut_off_are_merged(tmp_path: Path) -> None:
    cut_off = (
        f"{REPOSITORY}; echo 0 > run; {COMMIT} second; git clone -q --depth 1 file://$PWD ../cut; rm -r .git; "
        "mv ../cut/.git .git"
    )
    (remark,) = Committing(tmp_path, cut_off).work(
        f"echo 2 > same; {COMMIT} one", f"echo 2 > kept; {COMMIT} other"
    )

    assert remark.startswith("main was moved by somebody else meanwhile, too")


def test_a_repository_that_is_new_arrives_as_files(tmp_path: Path) -> None:
    place = Place(tmp_path)
    run_forked(lambda: place.work(REPOSITORY))

    assert run_forked(lambda: (place.enter(), place.read_out("git log --format=%s"))[1]) == "first\n"


@pytest.mark.long
def test_a_lock_of_git_keeps_what_was_committed_until_it_is_gone(repository: Committing) -> None:
    place = repository.place

    def work() -> str:
        with pytest.raises(StagingError) as refused:
            place.work(f"echo 2 > same; {COMMIT} second", "touch .git/refs/heads/main.lock")
        place.sh("rm .git/refs/heads/main.lock")
        return str(refused.value)

    assert ".git/refs/heads/main.lock keeps git from moving refs/heads/main" in run_forked(work)
    log, *problems = repository.ask("git log --format=%s", *CLEAN)
    assert log.split() == ["second", "first"]
    assert problems == ["", ""]


def kill_committing(folder: Path, first: int, step: int) -> int:
    """How often a process was killed that had done the work of a subagent, commits among it."""
    subagent = (
        f"git switch -q side; echo 2 > same; rm gone; {COMMIT} two; git switch -qc topic; echo 3 > kept; "
        f"{COMMIT} three"
    )
    session = f"git switch -q side; sed -i s/6/six/ text; {COMMIT} own; git switch -q main"
    killed = 0
    for number in count(first, step):
        made = Committing(folder / str(number))
        if not run_until_killed(
            lambda place=made.place: place.work(subagent, session, before="git branch side"), number
        ):  # type: ignore[misc]
            break
        if made.place.marker.exists():
            killed += 1
            side, topic, head, *problems = made.ask(
                "git log --format=%s side", "git log --format=%s topic", "git symbolic-ref HEAD", *CLEAN
            )
            assert sorted(side.splitlines()) == ["Merge commits of writer-1 into side", "first", "own", "two"]
            assert topic.split() == ["three", "two", "first"]
            assert (head, problems) == ("refs/heads/topic\n", ["", ""]), number
    return killed


@pytest.mark.long
def test_a_merge_of_commits_that_was_broken_off_is_finished(tmp_path: Path) -> None:
    assert kill_committing(tmp_path, 60, 1000) == 1


@pytest.mark.long
def test_a_merge_of_commits_that_was_broken_off_anywhere_is_finished(tmp_path: Path) -> None:
    assert kill_committing(tmp_path, 0, 11) > 5
