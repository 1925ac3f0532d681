"""`/worktree`: a tab of its own with a real git worktree, shown, merged and dropped."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.app.worktree_service import WorktreeService
from quorum.domain.calls.execution import Outcome
from quorum.domain.sessions.session_summary import LatestSession, NamedSession, NewSession, SessionSummary
from quorum.tui.screens.pager_screen import PagerScreen
from quorum.tui.screens.question_card import QuestionCard
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import FakeAgent, hold
from tests.support.fake_archive import FakeArchive, a_session
from tests.support.headless_run import configure
from tests.support.real_session import SessionStage


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionStage:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folders = SessionStage(tmp_path)
    folders.git("init", "-q", "-b", "main")
    (folders.root / "a.txt").write_text("one\n")
    folders.git("config", "user.name", "n")
    folders.git("config", "user.email", "n@localhost")
    folders.git("add", "-A")
    folders.git("commit", "-qm", "one")
    return folders


def have_worktrees(stage: Stage, folders: SessionStage, *sessions: SessionSummary) -> None:
    """Give the app the worktrees of the repository, and an archive with these sessions."""
    archive = FakeArchive(sessions)

    async def open_archive() -> FakeArchive:
        return archive

    stage.app.open_worktrees = lambda folder: WorktreeService(
        folder,
        root=folders.root,
        environ=folders.environ,
        open_archive=open_archive,
        load=folders.load,
        open_own_file=folders.open_own_file,
    )


async def open_fix(stage: Stage, folders: SessionStage) -> Path:
    """Open a tab with the worktree; its folder."""
    before = len(stage.agents)
    await stage.send("/worktree fix")
    await stage.until(lambda: len(stage.agents) > before and stage.app.chat.current.session is not None)
    await stage.until(lambda: not stage.app.chat.turns.busy)  # it is set up
    return stage.app.tabs.front.folder


async def card(stage: Stage) -> None:
    await stage.until(lambda: isinstance(stage.app.screen, QuestionCard) and stage.app.screen.is_awake)


async def test_a_worktree_is_worked_in_shown_merged_and_dropped_in_tabs(folders: SessionStage) -> None:
    async with on_stage(folders.root) as stage:
        have_worktrees(stage, folders)
        folder = await open_fix(stage, folders)
        assert stage.agent.folder == folder != folders.root
        assert stage.agent.choice == NewSession()
        await stage.shows("quorum/fix")
        (folder / "a.txt").write_text("hunter2-hunter2\n")
        await stage.send("/worktree diff")
        await stage.until(lambda: isinstance(stage.app.screen, PagerScreen))
        await stage.shows("[secret:X]")
        await stage.pilot.press("q")

        await stage.send("/worktree merge")
        await card(stage)
        await stage.shows("1 file not committed")
        await stage.shows("diff --git a/a.txt b/a.txt")
        await stage.shows("1 + [secret:X]")
        await stage.shows("as Change a.txt")
        await stage.pilot.press("escape")
        assert (folders.root / "a.txt").read_text() == "one\n"
        await stage.send("/worktree merge")
        await card(stage)
        await stage.pilot.press("y")
        await stage.shows("merged into main")
        assert folders.git("log", "-1", "--format=%B").strip() == "Change a.txt"
        assert (folders.root / "a.txt").read_text() == "hunter2-hunter2\n"

        (folder / "b.txt").write_text("b\n")
        await stage.send("/worktree drop")
        await card(stage)
        await stage.shows("1 file not committed will be lost for good")
        await stage.pilot.press("y")
        await stage.shows("dropped fix")
        assert not folder.exists()
        assert [tab.folder for tab in stage.app.tabs.all] == [folders.root]


@pytest.mark.parametrize("words", ["fix", "merge fix", "drop fix"])
async def test_in_a_layer_no_worktree_is_made_or_changed(folders: SessionStage, words: str) -> None:
    async with on_stage(folders.root) as stage:
        have_worktrees(stage, folders)
        stage.agent.effects = object()
        before = folders.git("worktree", "list"), folders.git("branch")
        await stage.send(f"/worktree {words}")
        await stage.shows("a worktree is not changed from a layer")

        assert (folders.git("worktree", "list"), folders.git("branch")) == before


@pytest.mark.long
async def test_one_that_was_left_behind_is_listed_and_goes_on_where_it_was(folders: SessionStage) -> None:
    async with on_stage(folders.root) as stage:
        have_worktrees(stage, folders)
        folder = await open_fix(stage, folders)
        (folder / "a.txt").write_text("two\n")

    async with on_stage(folders.root) as stage:
        have_worktrees(stage, folders)
        await stage.send("/worktree")
        await stage.until(lambda: isinstance(stage.app.screen, PagerScreen))
        await stage.shows("fix quorum/fix from main: 1 file not committed · /worktree fix")
        await stage.pilot.press("q")
        assert await open_fix(stage, folders) == folder
        assert stage.agent.choice == LatestSession()
        await stage.app.action_go_to_tab(1)
        await stage.send("/worktree fix")
        await stage.until(lambda: stage.app.tabs.front.folder == folder)
        assert len(stage.app.tabs.all) == 2


@pytest.mark.long
async def test_a_session_of_a_worktree_is_resumed_there_and_one_of_the_repository_in_its_folder(
    folders: SessionStage,
) -> None:
    async with on_stage(folders.root) as stage:
        have_worktrees(stage, folders)
        folder = await open_fix(stage, folders)
        there, here = a_session("there", cwd=str(folder)), a_session("here", cwd=str(folders.root))
        have_worktrees(stage, folders, there, here)
        for name, expected in (("here", folders.root), ("there", folder)):
            before = len(stage.agents)
            stage.app.chat.sessions.resume_by_id(name)
            await stage.until(lambda count=before: len(stage.agents) > count)
            assert (stage.agent.choice, stage.agent.folder) == (NamedSession(name), expected)
            await stage.until(lambda: stage.app.chat.current.session is not None)


@pytest.mark.long
async def test_the_first_session_of_all_is_resumed_in_its_worktree_too(folders: SessionStage) -> None:
    async def open_archive() -> FakeArchive:
        return FakeArchive()

    service = WorktreeService(
        folders.root,
        root=folders.root,
        environ=folders.environ,
        open_archive=open_archive,
        load=folders.load,
        open_own_file=folders.open_own_file,
    )
    opened = await service.open("fix")
    async with on_stage(folders.root, ready=False, choose=lambda: NamedSession("there")) as stage:
        have_worktrees(stage, folders, a_session("there", cwd=str(opened.folder)))
        await stage.until(lambda: len(stage.agents) == 2)
        found = {str(agent.choice): agent.folder for agent in stage.agents}
        assert found == {str(NewSession()): folders.root, str(NamedSession("there")): opened.folder}
        assert stage.app.tabs.front.folder == opened.folder


@pytest.mark.long
async def test_what_stands_in_the_way_of_a_merge_is_said_before_anything_is_asked(
    folders: SessionStage,
) -> None:
    async with on_stage(folders.root) as stage:
        have_worktrees(stage, folders)
        folder = await open_fix(stage, folders)
        (folder / "a.txt").write_text("two\n")
        (folders.root / "a.txt").write_text("mine\n")
        await stage.send("/worktree merge")
        await stage.shows("has changes that are not committed (a.txt)")
        assert not isinstance(stage.app.screen, QuestionCard)


async def test_nothing_is_merged_or_dropped_while_a_turn_runs_there_or_another_process_works_there(
    folders: SessionStage,
) -> None:
    async with on_stage(folders.root, hold()) as stage:
        have_worktrees(stage, folders)
        folder = await open_fix(stage, folders)
        (folder / "a.txt").write_text("two\n")
        await stage.send("work")
        await stage.until(lambda: stage.app.chat.turns.running)
        for words in ("merge", "drop"):
            stage.app.action_worktree(words)
            await stage.shows("tab 2: a turn is running")
            stage.app.chat.say("")
        await stage.pilot.press("escape")
        await stage.until(lambda: not stage.app.chat.turns.running)
        have_worktrees(stage, folders, a_session("other", cwd=str(folder), open_in=1))
        stage.app.action_worktree("drop")
        await stage.shows("process 1 works in the worktree fix")
        stage.app.chat.say("")
        stage.app.action_worktree("merge")
        await card(stage)
        await stage.pilot.press("y")
        await stage.shows("process 1 works in the worktree fix")
    assert (folder / "a.txt").read_text() == "two\n"


@pytest.mark.long
async def test_what_changed_since_one_was_asked_is_not_dropped_and_keeps_its_tab(
    folders: SessionStage,
) -> None:
    async with on_stage(folders.root) as stage:
        have_worktrees(stage, folders)
        folder = await open_fix(stage, folders)
        stage.app.action_worktree("drop")
        await card(stage)
        (folder / "new.txt").write_text("new\n")
        await stage.pilot.press("y")
        await stage.shows("fix has changed since you were asked; nothing is dropped")
        assert len(stage.app.tabs.all) == 2
    assert (folder / "new.txt").exists()


async def test_what_cannot_be_is_said(folders: SessionStage) -> None:
    async with on_stage(folders.root) as stage:
        stage.app.action_worktree("fix")
        await stage.shows("there are no worktrees here")
        have_worktrees(stage, folders)
        for words, said in (
            ("", "there is no worktree; /worktree NAME opens a tab with one"),
            ("diff", "this tab works in no worktree"),
            ("drop \x1b[2J", "there is no worktree"),
            ("a/b", "a worktree's name is at most 40 letters"),
            ("one two", "one name, or one of diff, merge, drop"),
        ):
            stage.app.action_worktree(words)
            await stage.shows(said)


def want(folders: SessionStage, table: str) -> None:
    """Have the person's own settings say this of worktrees, and a folder be there that git ignores."""
    (folders.root / ".venv").mkdir()
    with (folders.root / ".git/info/exclude").open("a") as file:
        file.write(".venv/\n")
    configure(folders.home, f"[worktrees]\n{table}")


async def test_a_new_worktree_gets_the_links_and_the_command_that_the_settings_name(
    folders: SessionStage,
) -> None:
    want(folders, 'links = [".venv", "plain", "none"]\nsetup = "make setup"\n')
    (folders.root / "plain").mkdir()
    async with on_stage(folders.root) as stage:
        have_worktrees(stage, folders)
        folder = await open_fix(stage, folders)
        await stage.shows("plain is not linked: git does not ignore it")
        assert "none is not linked" not in stage.text()  # own settings are for all repositories
        await stage.until(lambda: bool(stage.agent.called))
        assert stage.agent.called == [("run_command", {"command": "make setup", "timeout_secs": 1800})]
        assert (folder / ".venv").readlink() == folders.root / ".venv"
        assert "run again" not in stage.text()
        await stage.send("/worktree")
        await stage.until(lambda: isinstance(stage.app.screen, PagerScreen))
        await stage.shows("fix quorum/fix from main: nothing that is not merged")


@pytest.mark.long
@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((Outcome.OK, "no rule\nexit code 2\nof the sandbox"), "not set up: the command ended with exit 2"),
        ((Outcome.OK, "exit code 0\nkilled by SIGKILL"), "not set up: the command ended with SIGKILL"),
        ((Outcome.ERROR, "time ran out"), "not set up: the command did not run to its end"),
        ((Outcome.REJECTED, "no"), "not set up: the command was not approved"),
    ],
)
async def test_a_set_up_that_failed_is_named_with_what_runs_it_again(
    folders: SessionStage, ends: tuple[Outcome, str], said: str
) -> None:
    want(folders, 'setup = "make setup"\n')

    def fail(agent: FakeAgent) -> None:
        agent.called_ends = ends

    async with on_stage(folders.root, prepare=fail) as stage:
        have_worktrees(stage, folders)
        await open_fix(stage, folders)
        await stage.shows("the set-up can be run again, without review: ! make setup")
        assert said in stage.agent.reports[-1].text


def own_settings(folders: SessionStage) -> str:
    return (folders.home / "config/quorum/quorum.toml").read_text(encoding="utf-8")


async def begin_fix(stage: Stage, folders: SessionStage) -> None:
    """Ask for the worktree, and wait for the question about what it lacks."""
    have_worktrees(stage, folders)
    await stage.send("/worktree fix")
    await card(stage)
    await stage.until(lambda: not stage.app.screen.query_one("#choices").has_class("-dead"))


async def test_links_to_what_is_installed_are_offered_written_down_and_made(folders: SessionStage) -> None:
    want(folders, "")
    async with on_stage(folders.root, size=(80, 24)) as stage:
        await begin_fix(stage, folders)
        await stage.shows("lacks .venv")
        await stage.shows('+ links = [".venv"]')
        assert len(stage.agents) == 1  # the session there begins with the settings that are written
        await stage.pilot.press("y")
        await stage.until(lambda: len(stage.agents) == 2 and stage.app.chat.current.session is not None)
        folder = stage.app.tabs.front.folder
        await stage.until((folder / ".venv").is_symlink)
        assert (folder / ".venv").readlink() == folders.root / ".venv"
        assert folders.load(folder).settings.worktrees.links == (".venv",)

        before = len(stage.agents)
        await stage.app.action_go_to_tab(1)  # a worktree in a worktree is refused
        await stage.send("/worktree other")
        await stage.until(lambda: len(stage.agents) > before)
        assert not isinstance(stage.app.screen, QuestionCard)


async def test_links_that_are_refused_are_not_offered_again_and_what_is_missing_is_said(
    folders: SessionStage,
) -> None:
    want(folders, "")
    async with on_stage(folders.root) as stage:
        await begin_fix(stage, folders)
        await stage.pilot.press("n")
        await stage.shows("! this worktree lacks what git ignores: .venv")
        assert not (stage.app.tabs.front.folder / ".venv").exists()
        assert not folders.load(folders.root).settings.worktrees.offer_links
        before = len(stage.agents)
        await stage.app.action_go_to_tab(1)  # a worktree in a worktree is refused
        await stage.send("/worktree other")
        await stage.until(lambda: len(stage.agents) > before)
        assert not isinstance(stage.app.screen, QuestionCard)


async def test_an_offer_of_links_that_is_put_off_writes_nothing_and_comes_again(folders: SessionStage) -> None:
    want(folders, "")
    before = own_settings(folders)
    async with on_stage(folders.root) as stage:
        await begin_fix(stage, folders)
        await stage.pilot.press("escape")
        await stage.shows("! this worktree lacks what git ignores: .venv")
        assert own_settings(folders) == before
        await stage.app.action_go_to_tab(1)  # a worktree in a worktree is refused
        await stage.send("/worktree other")
        await card(stage)


async def test_settings_that_change_while_links_are_offered_are_left_as_they_are(folders: SessionStage) -> None:
    want(folders, "")
    async with on_stage(folders.root) as stage:
        await begin_fix(stage, folders)
        configure(folders.home, "[tui]\nnotifications = false\n")
        meanwhile = own_settings(folders)
        await stage.pilot.press("y")
        await stage.shows("was changed meanwhile and is left as it is")
        await stage.until(lambda: len(stage.agents) == 2)
        assert own_settings(folders) == meanwhile


@pytest.mark.parametrize("table", ['setup = "make setup"\n', "offer_links = false\n", 'links = [".venv"]\n'])
async def test_nothing_is_offered_where_the_settings_say_what_a_worktree_gets(
    folders: SessionStage, table: str
) -> None:
    want(folders, table)
    async with on_stage(folders.root) as stage:
        have_worktrees(stage, folders)
        await open_fix(stage, folders)
        assert not isinstance(stage.app.screen, QuestionCard)


@pytest.mark.long
async def test_nothing_is_offered_while_settings_of_the_project_wait_for_trust(folders: SessionStage) -> None:
    want(folders, "")
    (folders.root / "quorum.toml").write_text('[worktrees]\nlinks = [".venv"]\n', encoding="utf-8")
    async with on_stage(folders.root) as stage:
        have_worktrees(stage, folders)
        await open_fix(stage, folders)
        assert not isinstance(stage.app.screen, QuestionCard)


async def test_without_a_table_what_is_missing_is_said_with_the_remedy(folders: SessionStage) -> None:
    want(folders, "offer_links = false\n")
    async with on_stage(folders.root) as stage:
        have_worktrees(stage, folders)
        folder = await open_fix(stage, folders)
        await stage.shows(
            "! this worktree lacks what git ignores: .venv; in quorum.toml, below [worktrees], links"
        )
        assert [tab.title for tab in stage.app.tabs.all] == ["new", "fix"]
        assert not stage.agent.called
        assert not (folder / ".venv").exists()


async def test_a_long_change_leaves_room_for_the_message_and_the_choices(folders: SessionStage) -> None:
    async with on_stage(folders.root, size=(80, 24)) as stage:
        have_worktrees(stage, folders)
        folder = await open_fix(stage, folders)
        (folder / "new.txt").write_text("new\n" * 60)
        await stage.send("/worktree merge")
        await card(stage)
        await stage.until(lambda: not stage.app.screen.query_one("#choices").has_class("-dead"))
        await stage.pilot.press("e")
        await stage.shows("enter keeps the message")
        await stage.until(lambda: stage.app.screen.query_one("#question").region.height <= 23)
        assert "y merge as shown" in stage.text()


async def test_the_message_of_a_merge_can_be_edited_before_it_is_answered(folders: SessionStage) -> None:
    async with on_stage(folders.root) as stage:
        have_worktrees(stage, folders)
        folder = await open_fix(stage, folders)
        (folder / "new.txt").write_text("new\n")
        folders.git("commit", "-q", "--allow-empty", "-m", "meanwhile")
        await stage.send("/worktree merge")
        await card(stage)
        await stage.shows("as Add new.txt")
        await stage.shows("e edits the message")
        await stage.until(lambda: not stage.app.screen.query_one("#choices").has_class("-dead"))
        await stage.pilot.press("e", "ctrl+u", "y", "n", "escape")
        await stage.shows("as Add new.txt")
        await stage.until(lambda: not stage.app.screen.query_one("#choices").has_class("-dead"))
        await stage.pilot.press("e", "ctrl+u", "enter")
        await stage.shows("a commit needs a message")
        await stage.pilot.press("y", "space", "n", "space", "space", "#", "enter")
        await stage.shows("as y n #")
        assert not (folders.root / "new.txt").exists()
        await stage.until(lambda: not stage.app.screen.query_one("#choices").has_class("-dead"))
        await stage.pilot.press("y")
        await stage.shows("merged into main")
    merge, commit, *_ = folders.git("log", "--topo-order", "--format=%s").splitlines()
    assert (merge, commit) == ("y n #", "y n #")
