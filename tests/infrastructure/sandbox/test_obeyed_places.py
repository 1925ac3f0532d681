"""What programs obey by a link, a setting of git or the shape of a folder is guarded as if by its name."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from quorum.domain.review.questions import Reject
from tests.infrastructure.sandbox.sandbox_bench import Household, a_repository, git, needs_bubblewrap
from tests.support.fake_ports import FakePerson
from tests.support.real_session import SessionStage, call, shell, write

pytestmark = [
    needs_bubblewrap,
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed here"),
]


def a_hook_behind_a_link(root: Path) -> str:
    (root / "scripts").mkdir()
    (root / "scripts/check.sh").write_text("mine\n")
    (root / ".git/hooks/pre-commit").symlink_to("../../scripts/check.sh")
    return "scripts/check.sh"


def a_hook_behind_two_links(root: Path) -> str:
    a_hook_behind_a_link(root)
    (root / "scripts/check.sh").rename(root / "real.sh")
    (root / "scripts/check.sh").symlink_to("../real.sh")
    return "real.sh"


def a_link_in_a_folder_of_hooks_that_is_a_link(root: Path) -> str:
    (root / "x/hooks").mkdir(parents=True)
    (root / "x/check.sh").write_text("mine\n")
    (root / "x/hooks/pre-commit").symlink_to("../check.sh")
    shutil.rmtree(root / ".git/hooks")
    (root / ".git/hooks").symlink_to("../x/hooks")
    return "x/check.sh"


def a_folder_of_hooks(root: Path) -> str:
    (root / "tools/hooks").mkdir(parents=True)
    (root / "tools/hooks/pre-push").write_text("mine\n")
    git(root, "config", "core.hooksPath", "tools/hooks")
    return "tools/hooks/pre-push"


def hooks_in_the_top_folder(root: Path) -> str:
    (root / "pre-commit").write_text("mine\n")
    git(root, "config", "core.hooksPath", ".")
    return "pre-commit"


def included_settings(root: Path) -> str:
    (root / "conf").mkdir()
    (root / "conf/git").write_text("# mine\n")
    git(root, "config", "include.path", "../conf/git")
    return "conf/git"


def a_program_of_included_settings(root: Path) -> str:
    (root / "conf").mkdir()
    (root / "conf/git").write_text("[filter \"x\"]\n\tclean = sh 'conf/clean.sh' %f\n")
    (root / "conf/clean.sh").write_text("mine\n")
    git(root, "config", "includeIf.onbranch:main.path", "../conf/git")
    return "conf/clean.sh"


def a_repository_kept_elsewhere(root: Path) -> str:
    (root / ".git").rename(root / "kept")
    (root / ".git").write_text("gitdir: ./kept\n")
    return "kept/config"


def a_repository_without_a_working_tree(root: Path) -> str:
    git(root, "clone", "--quiet", "--bare", ".", "mirror")
    return "mirror/config"


def a_link_in_a_protected_folder(root: Path) -> str:
    (root / ".claude").mkdir()
    (root / "shared").mkdir()
    (root / "shared/commit.md").write_text("mine\n")
    (root / ".claude/commands").symlink_to("../shared")
    return "shared/commit.md"


_CASES = [
    a_hook_behind_a_link,
    a_hook_behind_two_links,
    a_link_in_a_folder_of_hooks_that_is_a_link,
    a_folder_of_hooks,
    hooks_in_the_top_folder,
    included_settings,
    a_program_of_included_settings,
    a_repository_kept_elsewhere,
    a_repository_without_a_working_tree,
    a_link_in_a_protected_folder,
]


@pytest.mark.long(after=1)
@pytest.mark.parametrize("make", _CASES)
async def test_a_command_changes_nothing_that_is_obeyed(household: Household, make: object) -> None:
    a_repository(household.root)
    place = make(household.root)  # type: ignore[operator]
    before = (household.root / place).read_text()

    said = await household.run(f"echo theirs >> {place}; rm -f {place}")

    assert "Read-only file system" in said
    assert (household.root / place).read_text() == before


@pytest.mark.long
async def test_a_folder_above_that_is_replaced_is_seen(household: Household) -> None:
    a_repository(household.root)
    a_hook_behind_a_link(household.root)

    said = await household.run("mv scripts old; mkdir scripts; echo theirs > scripts/check.sh")

    assert f"{household.root}/scripts/check.sh is now set-aside-check.sh~1" in said
    assert not (household.root / ".git/hooks/pre-commit").exists()


@pytest.mark.long
@pytest.mark.parametrize("folder", ["scripts", "none"])
async def test_a_folder_that_was_made_before_and_is_moved_there_is_seen(
    household: Household, folder: str
) -> None:
    a_repository(household.root)
    (household.root / "scripts").mkdir()
    (household.root / "scripts/check.sh").write_text("mine\n")
    (household.root / ".git/hooks/pre-commit").symlink_to(f"../../{folder}/check.sh")
    await household.run("mkdir made; echo theirs > made/check.sh")

    said = await household.run(f"mv {folder} old; mv made {folder}")

    assert "set-aside-check.sh~1" in said
    assert not (household.root / ".git/hooks/pre-commit").exists()


@pytest.mark.parametrize("touches", [False, True])
async def test_scripts_that_the_person_makes_hooks_of_meanwhile_stay_unless_the_command_touched_them(
    household: Household, touches: bool
) -> None:
    a_repository(household.root)
    hooks = household.root / "tools"
    hooks.mkdir()
    launch = household.sandbox().confine().launch(["/bin/true"], cwd=household.root, environment={})
    assert launch.check is not None
    launch.check._began_ns += 10**10  # as if the folder had been there for long
    git(household.root, "config", "core.hooksPath", "tools")
    if touches:
        launch.check._began_ns = 0

    said = launch.finish(was_asked=False)

    assert hooks.exists() is not touches
    assert bool(said) is touches


@pytest.mark.parametrize(
    "command",
    [
        "mkdir objects refs; echo 'ref: refs/heads/main' > HEAD; echo '[core]' > config",
        "git init -q --bare .",
        "git init -q x && mv x/.git/* .",
        "mkdir -p objects refs && ln -s /dev/null HEAD",
        "echo . > commondir; echo 'ref: refs/heads/main' > HEAD",
    ],
)
@pytest.mark.long(after=1)
async def test_no_folder_becomes_a_repository(household: Household, command: str) -> None:
    (household.root / "src").mkdir()
    (household.root / "src/config.txt").write_text("mine\n")

    said = await household.run(f"cd src; {command}; true")

    assert "src/HEAD is now set-aside-HEAD~1" in said
    assert "HEAD" not in {entry.name for entry in (household.root / "src").iterdir()}
    assert (household.root / "src/config.txt").read_text() == "mine\n"


async def test_a_repository_that_was_renamed_is_none_under_its_new_name(household: Household) -> None:
    await household.run("git init -q deep")

    assert not (household.root / "deep/set-aside-git~1/HEAD").exists()
    assert (household.root / "deep/set-aside-git~1/set-aside-HEAD~1").exists()


async def test_what_links_in_a_sensitive_folder_lead_to_is_hidden(household: Household) -> None:
    household.write("src/project/.aws/config", "x\n")
    household.write("src/project/real/token", "hidden\n")
    (household.root / ".aws/token").symlink_to("../real/token")

    assert "hidden" not in await household.run("cat real/token")


async def test_passwords_in_the_folder_of_a_repository_are_hidden(household: Household) -> None:
    a_repository(household.root)
    household.write("src/project/.git/credentials", "hidden\n")

    assert "hidden" not in await household.run("cat .git/credentials")


async def test_a_pipe_in_place_of_git_holds_up_no_command(household: Household) -> None:
    os.mkfifo(household.root / ".git")

    assert (await household.run("echo done")).startswith("done")


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    found = SessionStage(tmp_path, sandbox="auto", more_settings='[review]\nmode = "sandboxed"')
    a_repository(found.root)
    return found


@pytest.mark.parametrize("make", _CASES[:-2])
@pytest.mark.long(after=1)
async def test_a_tool_that_would_change_it_asks(stage: SessionStage, make: object) -> None:
    place = make(stage.root)  # type: ignore[operator]
    person = FakePerson(lambda _: Reject())

    async with stage.opened(person=person) as session:
        await session.turn(write(place, "theirs\n"))

    assert len(person.requests) == 1
    assert "theirs" not in (stage.root / place).read_text()


@pytest.mark.long
async def test_what_a_search_has_found_is_asked_about_as_well(stage: SessionStage) -> None:
    places = [make(stage.root) for make in _CASES[-2:]]
    person = FakePerson(lambda _: Reject())

    async with stage.opened(person=person) as session:
        await session.turn(
            shell("true"),
            *(write(place, "theirs\n") for place in places),
            write("src/HEAD", "ref: refs/heads/x\n"),
        )

    assert len(person.requests) == 3


@pytest.mark.long
async def test_a_sensitive_file_that_a_command_has_moved_is_asked_about_where_it_is(
    stage: SessionStage,
) -> None:
    (stage.root / ".kube").mkdir()
    (stage.root / ".kube/config").write_text("hidden\n")
    person = FakePerson(lambda _: Reject())

    async with stage.opened(person=person) as session:
        (stage.root / "move.py").write_text("import os\nos.rename('.ku' + 'be', 'plain')\n")
        await session.turn(shell("python3 move.py"), call("read_file", path="plain/config"))
        searched = await session.turn(call("grep_search", pattern="hidden"))

    assert (stage.root / "plain/config").exists()
    assert len(person.requests) == 1
    assert "hidden\n" not in str(session.state.messages)
    assert searched is not None


@pytest.mark.long
async def test_a_protected_file_cannot_be_changed_between_two_moves(stage: SessionStage) -> None:
    (stage.root / "gradle/wrapper").mkdir(parents=True)
    (stage.root / "gradle/wrapper/gradle-wrapper.properties").write_text("mine\n")
    person = FakePerson(lambda _: Reject())

    async with stage.opened(person=person) as session:
        await session.turn(
            shell("mv gradle plain"),
            write("plain/wrapper/gradle-wrapper.properties", "theirs\n"),
            shell("mv plain gradle"),
        )

    assert len(person.requests) == 1
    assert (stage.root / "gradle/wrapper/gradle-wrapper.properties").read_text() == "mine\n"
