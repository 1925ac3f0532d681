"""Folders added to a real session: what its tools, its sandbox, its undo and its record make of them."""

import os
import shutil
from pathlib import Path

import pytest

from quorum.application.session_folders import WantedFolder
from quorum.domain.errors import ConfigError
from quorum.domain.events.event import CallFinished, FolderAdded, SessionResumed
from quorum.domain.events.session import FolderOrigin
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import Approve, Reject, ReviewAnswer, ReviewRequest
from quorum.domain.sessions.session_summary import NewSession
from quorum.infrastructure.container import Container
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.real_session import SessionStage, call, shell, write
from tests.support.session_parts import change_inputs


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    return SessionStage(tmp_path)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "paint.py").write_text("COLOUR = 'teal'\n")
    return folder


def output(observer: RecordingObserver) -> str:
    """What the last call returned."""
    finished = observer.of(CallFinished)[-1]
    assert isinstance(finished, CallFinished)
    return finished.output


@pytest.mark.long
async def test_tools_read_search_and_write_in_a_folder_from_when_it_is_added(
    stage: SessionStage, library: Path
) -> None:
    observer = RecordingObserver()
    async with stage.opened(observer=observer) as session:
        assert await session.agent.folders.add("../library") == str(library)
        await session.turn(call("read_file", path=f"{library}/src/paint.py"))
        assert "teal" in output(observer)
        await session.turn(call("grep_search", pattern="teal", path=str(library)))
        assert "paint.py" in output(observer)
        await session.turn(write(f"{library}/new.py", "x = 1\n"))
        assert (library / "new.py").read_text() == "x = 1\n"


async def test_edits_in_an_added_folder_are_edits_inside_the_workspace(
    stage: SessionStage, library: Path
) -> None:
    person = FakePerson()
    async with stage.opened(person=person) as session:
        await session.agent.folders.add(str(library))
        await session.agent.review.set_mode(Mode.ACCEPT_EDITS)
        await session.turn(write(f"{library}/new.py", "x = 1\n"))
        await session.turn(write(f"{library}/.envrc", "x"))
    assert [request.packet.call.arguments["path"] for request in person.requests] == [f"{library}/.envrc"]


@pytest.mark.long
async def test_undo_gives_back_what_commands_changed_in_an_added_folder(
    stage: SessionStage, library: Path
) -> None:
    async with stage.opened() as session:
        await session.turn(shell("true"))
        await session.agent.folders.add(str(library))
        await session.turn(shell(f"rm {library}/src/paint.py; echo made > {library}/made"))
        assert not (library / "src" / "paint.py").exists()
        await session.undo()
        assert (library / "src" / "paint.py").read_text() == "COLOUR = 'teal'\n"
        assert not (library / "made").exists()
        await session.check()


async def test_a_change_by_a_command_that_ran_when_the_folder_was_added_does_not_confuse_the_next(
    stage: SessionStage, library: Path
) -> None:
    async with stage.opened() as session:
        keeper = session.container.parts().shared.keeper
        before = await keeper.keep()
        await session.agent.folders.add(str(library))
        assert (await keeper.find_changes(before, frozenset())).changes == ()
        now = await keeper.keep()
        assert str(library / "src" / "paint.py") in now.states


async def test_the_model_reads_in_its_system_text_and_at_once_what_was_added(
    stage: SessionStage, library: Path
) -> None:
    async with stage.opened() as session:
        await session.agent.folders.add(str(library))
        await session.turn()
        assert f"- {library}" in session.container.parts().models.system_prompt.text
        await session.undo(0)
        assert session.agent.folders.added == (str(library),)  # it came before the turn


async def test_going_back_to_before_it_was_added_withdraws_a_folder(stage: SessionStage, library: Path) -> None:
    observer = RecordingObserver()
    async with stage.opened(observer=observer) as session:
        await session.turn()
        await session.agent.folders.add(str(library))
        await session.turn()
        await session.undo(0)
        assert session.agent.folders.added == ()
        await session.turn()
        assert str(library) not in session.container.parts().models.system_prompt.text
        assert not session.container.parts().shared.paths.is_inside(str(library / "src"))
    async with stage.opened() as again:
        assert again.agent.folders.added == ()


@pytest.mark.long
async def test_a_resumed_session_keeps_its_folders(stage: SessionStage, library: Path) -> None:
    observer = RecordingObserver()
    async with stage.opened() as session:
        await session.turn()
        await session.agent.folders.add(str(library))
    async with stage.opened(observer=observer) as session:
        assert session.agent.folders.added == (str(library),)
        await session.turn(call("read_file", path=f"{library}/src/paint.py"))
        assert "teal" in output(observer)
    async with stage.opened(NewSession()) as session:
        assert session.agent.folders.added == ()


@pytest.mark.parametrize("becomes", ["nothing", "a link"])
async def test_a_folder_that_is_not_what_it_was_is_left_out_of_a_resumed_session(
    stage: SessionStage, library: Path, becomes: str
) -> None:
    async with stage.opened() as session:
        await session.turn()
        await session.agent.folders.add(str(library))
    shutil.move(library, library.with_name("moved"))
    if becomes == "a link":
        os.symlink(stage.home, library)
    observer = RecordingObserver()
    async with stage.opened(observer=observer) as session:
        assert session.agent.folders.added == ()
    (resumed,) = observer.of(SessionResumed)
    assert isinstance(resumed, SessionResumed)
    assert any("left out" in notice and str(library) in notice for notice in resumed.told)


@pytest.mark.long
async def test_a_folder_that_goes_away_in_use_fails_calls_and_not_the_session(
    stage: SessionStage, library: Path
) -> None:
    observer = RecordingObserver()
    async with stage.opened(observer=observer) as session:
        await session.agent.folders.add(str(library))
        await session.turn(shell("true"))
        shutil.rmtree(library)
        await session.turn(call("read_file", path=f"{library}/src/paint.py"))
        assert "no such file or folder" in output(observer)
        await session.turn(shell("echo still here"))
        assert "still here" in output(observer)


def approve_commands(request: ReviewRequest) -> ReviewAnswer:
    """Approve commands, and no file outside of the workspace."""
    is_command = request.packet.call.tool_name == "run_command"
    return Approve(request.packet.digest) if is_command else Reject()


async def test_a_link_put_in_the_place_of_an_added_folder_opens_nothing(
    stage: SessionStage, library: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "paint.py").write_text("not yours")
    observer, person = RecordingObserver(), FakePerson(approve_commands)
    async with stage.opened(person=person, observer=observer) as session:
        await session.agent.folders.add(str(library))
        shutil.rmtree(library)
        os.symlink(tmp_path / "elsewhere", library)
        await session.turn(shell("true"))
        await session.turn(call("grep_search", pattern="yours", path=str(library)))
        assert "not yours" not in output(observer)
        files = await session.container.parts().shared.keeper.keep()
        assert not [path for path in files.states if "elsewhere" in path]


async def test_adding_what_belongs_to_the_workspace_already_records_nothing(
    stage: SessionStage, library: Path
) -> None:
    observer = RecordingObserver()
    (stage.root / "src").mkdir()
    async with stage.opened(observer=observer) as session:
        assert await session.agent.folders.add("src") is None
        await session.agent.folders.add(str(library))
        assert await session.agent.folders.add(f"{library}/src") is None
    assert len(observer.of(FolderAdded)) == 1


async def test_secrets_of_an_added_folder_are_hidden(stage: SessionStage, library: Path) -> None:
    (library / ".env").write_text("API_TOKEN=sk_3fR9vX2mQ7pL8wZt5Yb1Nc\n")
    async with stage.opened() as session:
        mask = session.container.inputs().mask
        assert "sk_3fR9vX2mQ7pL8wZt5Yb1Nc" in mask.mask_text("sk_3fR9vX2mQ7pL8wZt5Yb1Nc")
        await session.agent.folders.add(str(library))
        assert "sk_3fR9vX2mQ7pL8wZt5Yb1Nc" not in mask.mask_text("sk_3fR9vX2mQ7pL8wZt5Yb1Nc")


async def test_instructions_of_an_added_folder_need_trust(stage: SessionStage, library: Path) -> None:
    (library / "AGENTS.md").write_text("Paint everything teal.")
    for trusts in (False, True):
        person = FakePerson(trusts=trusts)
        async with stage.opened(NewSession(), person=person) as session:
            await session.agent.folders.add(str(library))
            await session.turn()
            assert ("Paint everything teal." in session.container.parts().models.system_prompt.text) is trusts
        ((item,),) = [question.items for question in person.trust_questions]
        assert item.file == str(library / "AGENTS.md")


async def test_folders_of_the_settings_belong_to_each_session_and_missing_ones_are_named(
    tmp_path: Path, library: Path
) -> None:
    settings = f'[workspace]\ndirectories = ["{library}", "{tmp_path}/missing"]'
    stage = SessionStage(tmp_path, more_settings=settings)
    observer = RecordingObserver()
    async with stage.opened(observer=observer) as session:
        assert session.agent.folders.added == (str(library),)
        await session.turn(call("read_file", path=f"{library}/src/paint.py"))
        assert "teal" in output(observer)
        await session.undo(0)
        assert session.agent.folders.added == (str(library),)
    assert observer.of(FolderAdded) == []
    assert any("workspace.directories" in getattr(event, "message", "") for event in observer.events)


@pytest.mark.long
async def test_folders_of_options_are_recorded_once(stage: SessionStage, library: Path) -> None:
    observer = RecordingObserver()

    def want(container: Container) -> None:
        folder = WantedFolder(path=str(library), origin=FolderOrigin.OPTION)
        change_inputs(container, wanted_folders=(folder,))

    for _ in range(2):
        async with stage.opened(observer=observer, adjust=want) as session:
            assert session.agent.folders.added == (str(library),)
            await session.turn()
    assert observer.of(FolderAdded) == [FolderAdded(folder=str(library), origin=FolderOrigin.OPTION)]


async def test_what_may_not_be_added_leaves_the_workspace_as_it_is(stage: SessionStage) -> None:
    async with stage.opened() as session:
        with pytest.raises(ConfigError, match="whole file system"):
            await session.agent.folders.add("/")
        assert session.agent.folders.added == ()


async def test_the_file_menu_names_files_of_added_folders_by_their_whole_paths(
    stage: SessionStage, library: Path
) -> None:
    (stage.root / "here.py").write_text("x")
    async with stage.opened() as session:
        await session.agent.folders.add(str(library))
        found = {file.path for file in await session.agent.files.find("paint", 10)}
        assert str(library / "src" / "paint.py") in found
        assert {file.path for file in await session.agent.files.find("here", 10)} == {"here.py"}
        everything = {file.path for file in await session.agent.files.find("", 50)}
        assert f"{library}/" in everything
        assert f"{library.parent}/" not in everything
