"""What was guarded once stays guarded, wherever commands in the sandbox move it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from quorum.domain.calls.summary import extract_text
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.execution.commands.process import SupervisedProcess
from quorum.infrastructure.execution.commands.supervisor import find_uncovered
from quorum.infrastructure.execution.sandbox import guarded_files
from quorum.infrastructure.execution.sandbox.guarded_files import find_guarded
from quorum.infrastructure.execution.sandbox.known_files import KnownFiles
from tests.infrastructure.commands.command_bench import RecordingControls, context_with
from tests.infrastructure.sandbox.sandbox_bench import Household, needs_bubblewrap

Run = Callable[[str], Awaitable[str]]


@pytest.fixture
def run(household: Household) -> Run:
    """Runs commands in one session, which nobody is asked about."""
    tool = household.tool()

    async def run_command(command: str) -> str:
        return extract_text(await tool.execute({"command": command}, context_with(RecordingControls())))

    return run_command


@needs_bubblewrap
@pytest.mark.parametrize("place", ["node_modules", "lib/site-packages", "__pycache__", ".tox", "plain"])
async def test_a_sensitive_file_stays_hidden_where_its_folder_is_moved(
    household: Household, run: Run, place: str
) -> None:
    household.write("src/project/api/.env", "hidden\n")

    await run(f"mkdir -p {place} && mv api {place}/api")
    read = await run(f"cat {place}/api/.env; ls {place}/api")
    await run(f"mv {place}/api api")

    assert "hidden" not in read
    assert "hidden" not in await run("cat api/.env")
    assert (household.root / "api/.env").read_text() == "hidden\n"


@needs_bubblewrap
async def test_a_file_that_is_sensitive_for_its_folder_stays_hidden_under_another_name(
    household: Household, run: Run
) -> None:
    household.write("src/project/.kube/config", "hidden\n")
    await run("true")

    await run("mv .kube kube")

    assert "hidden" not in await run("cat kube/config")


@needs_bubblewrap
async def test_a_sensitive_file_is_hidden_under_its_second_name(household: Household, run: Run) -> None:
    os.link(household.write("src/project/.env", "hidden\n"), household.root / "notes.txt")

    assert "hidden" not in await run("cat notes.txt")


@needs_bubblewrap
async def test_a_protected_file_cannot_be_changed_where_its_folder_is_moved(
    household: Household, run: Run
) -> None:
    for path in ("AGENTS.md", ".husky/pre-commit", "lib/.git/config"):
        household.write(f"src/project/web/{path}", "mine\n")

    await run("mkdir -p node_modules && mv web node_modules/web && ln -s node_modules/web web")
    said = await run("for f in AGENTS.md .husky/pre-commit lib/.git/config; do echo theirs >> web/$f; done")

    assert said.count("Read-only file system") >= 3
    for path in ("AGENTS.md", ".husky/pre-commit", "lib/.git/config"):
        assert (household.root / "node_modules/web" / path).read_text() == "mine\n"


@needs_bubblewrap
async def test_what_a_new_link_brings_to_a_protected_place_goes_with_the_link(
    household: Household, run: Run
) -> None:
    household.write("src/project/node_modules/web/AGENTS.md", "of a package\n")

    said = await run("ln -s node_modules/web docs")

    assert f"{household.root}/docs is now set-aside-docs~1" in said
    assert not (household.root / "docs").is_symlink()
    assert (household.root / "node_modules/web/AGENTS.md").read_text() == "of a package\n"


@needs_bubblewrap
async def test_a_protected_file_that_is_new_behind_an_old_link_is_set_aside(
    household: Household, run: Run
) -> None:
    (household.root / "node_modules/web").mkdir(parents=True)
    (household.root / "docs").symlink_to("node_modules/web")

    said = await run("echo obey > node_modules/web/AGENTS.md")

    assert f"{household.root}/node_modules/web/AGENTS.md is now" in said
    assert not (household.root / "docs/AGENTS.md").exists()


@needs_bubblewrap
async def test_a_secret_place_of_a_home_that_is_the_workspace_stays_hidden(household: Household) -> None:
    household.root = household.home
    household.write(".config/gcloud/key.json", "hidden\n")
    tool = household.tool()
    said = [
        extract_text(await tool.execute({"command": command}, context_with(RecordingControls())))
        for command in ("true", "mv .config conf", "cat conf/gcloud/key.json")
    ]

    assert "hidden" not in said[-1]


@needs_bubblewrap
async def test_a_link_gives_a_folder_a_protected_name(household: Household, run: Run) -> None:
    (household.root / "ci/workflows").mkdir(parents=True)

    said = await run("ln -s ci .github; echo evil > ci/workflows/x.yml")

    assert not (household.root / ".github/workflows/x.yml").exists(), said


@needs_bubblewrap
async def test_nothing_runs_where_a_guarded_file_is_moved_meanwhile(household: Household) -> None:
    household.write("src/project/api/.env", "hidden\n")
    confinement = household.sandbox().confine()
    launch = confinement.launch(["/bin/cat", "api2/.env"], cwd=household.root, environment={})
    printed: list[bytes] = []

    (household.root / "api").rename(household.root / "api2")
    ending = await SupervisedProcess(
        launch.argv,
        cwd=household.root,
        environment={},
        timeout_secs=30,
        on_output=printed.append,
        keys=launch.keys,
        guards=launch.guards,
    ).wait()

    assert ending.failure is not None
    assert "the sandbox guards were moved while it was made; nothing was run" in ending.failure
    assert printed == []


@needs_bubblewrap
async def test_a_sensitive_file_that_the_person_renames_stays_hidden(household: Household, run: Run) -> None:
    secret = household.write("src/project/.env", "hidden\n")
    await run("true")

    secret.rename(household.root / "notes.txt")

    assert "hidden" not in await run("cat notes.txt")


@needs_bubblewrap
async def test_what_the_person_writes_where_a_command_moved_it_stays_hidden(
    household: Household, run: Run
) -> None:
    household.write("src/project/.kube/config", "hidden\n")
    household.write("src/project/api/.env", "hidden\n")

    await run("mkdir node_modules && mv .kube kube && mv api node_modules")
    household.write("src/project/node_modules/api/.env", "hidden as well\n")
    household.write("src/project/kube/new", "hidden\n").rename(household.root / "kube/config")
    said = await run("cat kube/config node_modules/api/.env; echo done")

    assert "hidden" not in said
    assert "done" in said


@needs_bubblewrap
async def test_commands_run_where_the_person_puts_a_link_in_place_of_a_moved_file(
    household: Household, run: Run
) -> None:
    household.write("src/project/.kube/config", "hidden\n")
    await run("mv .kube kube")

    elsewhere = household.write("secret", "hidden\n")
    (household.root / "kube/config").unlink()
    (household.root / "kube/config").symlink_to(elsewhere)  # it may get the inode of the file

    said = await run("cat kube/config; echo done")
    assert "hidden" not in said
    assert "done" in said


@needs_bubblewrap
@pytest.mark.parametrize("is_replaced", [True, False])
async def test_commands_run_beside_another_when_the_person_replaces_or_deletes_a_guarded_file(
    household: Household, is_replaced: bool
) -> None:
    secret = household.write("src/project/.env", "hidden\n")
    sandbox = household.sandbox()
    assert sandbox.find_gap() is None

    if is_replaced:
        household.write("src/project/new", "hidden\n").rename(secret)
    else:
        secret.unlink()
    with sandbox.confine().launch(["/bin/true"], cwd=household.root, environment={}).running():
        assert sandbox.find_gap() is None


def test_another_folder_that_gets_the_inode_of_a_deleted_one_is_not_guarded(tmp_path: Path) -> None:
    policy, known = PathPolicy(roots=(str(tmp_path),)), KnownFiles()
    folder = tmp_path / "api/.husky"
    folder.mkdir(parents=True)
    complete_for(known, policy)
    inode = folder.stat().st_ino

    folder.rmdir()
    folder.parent.rmdir()
    others = [tmp_path / f"folder{number}" for number in range(20)]
    for other in others:
        other.mkdir()

    if inode not in [other.stat().st_ino for other in others]:
        pytest.skip("this file system gives no inode twice so soon")
    assert complete_for(known, policy).protected == []


def test_what_may_lie_in_a_closed_folder_is_looked_for_until_that_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, known = PathPolicy(roots=(str(tmp_path),)), KnownFiles()
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube/config").write_text("hidden")
    complete_for(known, policy)
    closed = tmp_path / "node_modules"
    closed.mkdir()
    (tmp_path / ".kube").rename(closed / "kube")
    scan = os.scandir

    def refuse(folder: str) -> object:
        if folder == str(closed):
            raise PermissionError
        return scan(folder)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        assert not complete_for(known, policy).complete
        assert not complete_for(known, policy).complete

    found = complete_for(known, policy)
    assert found.complete
    assert str(closed / "kube/config") in found.sensitive


def complete_for(known: KnownFiles, policy: PathPolicy) -> guarded_files.GuardedFiles:
    found = find_guarded(policy.roots, policy)
    known.complete(found, policy.roots, is_busy=lambda _: False, check=lambda: None)
    return found


def test_a_guard_is_seen_by_the_identity_of_its_folder(tmp_path: Path) -> None:
    file, other = tmp_path / "a/file", tmp_path / "b/file"
    for each in (file, other):
        each.parent.mkdir()
        each.write_text("x")
    above, itself = file.parent.stat(), file.stat()
    guard = f"masked {above.st_dev} {above.st_ino} {itself.st_dev} {itself.st_ino} {file}".encode()

    assert find_uncovered([guard], "") == str(file).encode()  # it is in sight
    file.parent.rename(tmp_path / "c")
    other.parent.rename(file.parent)
    assert find_uncovered([guard], "") == str(file).encode()  # another folder stands in its place


def test_what_is_gone_while_a_command_runs_is_not_taken_for_deleted(tmp_path: Path) -> None:
    file = tmp_path / "api/.env"
    file.parent.mkdir()
    file.write_text("hidden")
    known, roots, policy = KnownFiles(), (str(tmp_path),), PathPolicy(roots=(str(tmp_path),))
    complete = lambda busy: known.complete(  # noqa: E731
        find_guarded(roots, policy), roots, is_busy=lambda _: busy, check=lambda: None
    )
    assert complete(False)

    file.unlink()
    file.parent.rmdir()

    assert not complete(True)
    assert complete(False)
    assert complete(True)


def test_a_folder_that_cannot_be_listed_leaves_the_search_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    list_entries = guarded_files._list_entries

    def refuse(folder: str) -> object:
        if folder == str(closed):
            raise PermissionError
        return list_entries(folder)

    monkeypatch.setattr(guarded_files, "_list_entries", refuse)

    assert not find_guarded([str(tmp_path)], PathPolicy(roots=(str(tmp_path),))).complete
