"""Commands in the sandbox of a session to which folders were added."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from quorum.domain.events.event import CallFinished
from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap
from tests.support.fake_ports import RecordingObserver
from tests.support.real_session import SessionStage, shell

pytestmark = needs_bubblewrap


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    return SessionStage(tmp_path, sandbox="require", more_settings='[review]\nmode = "sandboxed"')


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    (folder / ".git" / "hooks").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".env").write_text("TOKEN=q7Zrt9vX2m4kPwd3Ls8Y\n")
    return folder


def output(observer: RecordingObserver) -> str:
    finished = observer.of(CallFinished)[-1]
    assert isinstance(finished, CallFinished)
    return finished.output


@pytest.mark.long
async def test_a_command_writes_in_an_added_folder_and_not_to_its_protected_paths(
    stage: SessionStage, library: Path
) -> None:
    observer = RecordingObserver()
    async with stage.opened(observer=observer) as session:
        await session.turn(shell(f"touch {library}/early"))
        assert not (library / "early").exists()
        await session.agent.folders.add(str(library))
        await session.turn(shell(f"touch {library}/late; touch {library}/.git/hooks/post-commit"))
        assert (library / "late").exists()
        assert not (library / ".git" / "hooks" / "post-commit").exists()
        await session.turn(shell(f"cat {library}/.env"))
        assert "q7Zrt9" not in output(observer)
        (stage.root / "make.sh").write_text(f"echo x > {library}/.envrc\n")
        await session.turn(shell("sh make.sh"))
        assert not (library / ".envrc").exists()


@pytest.mark.long
async def test_a_folder_that_went_away_or_became_a_link_does_not_stop_commands(
    stage: SessionStage, library: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    observer = RecordingObserver()
    async with stage.opened(observer=observer) as session:
        await session.agent.folders.add(str(library))
        shutil.rmtree(library)
        await session.turn(shell("echo still here"))
        assert "still here" in output(observer)
        os.symlink(elsewhere, library)
        await session.turn(shell(f"touch {library}/made; touch {elsewhere}/made; echo still here"))
        assert "still here" in output(observer)
        assert not (elsewhere / "made").exists()


async def test_a_folder_around_which_a_repository_lies_shows_nothing_of_that(
    stage: SessionStage, tmp_path: Path
) -> None:
    inner = stage.home / "repository" / "inner"
    inner.mkdir(parents=True)
    (inner.parent / ".git").mkdir()
    (inner.parent / "notes").write_text("of the repository around it")
    observer = RecordingObserver()
    async with stage.opened(observer=observer) as session:
        await session.agent.folders.add(str(inner))
        await session.turn(shell(f"cat {inner.parent}/notes"))
        assert "of the repository around it" not in output(observer)


async def test_protected_paths_of_a_folder_added_while_a_command_runs_stay_where_they_are(
    stage: SessionStage, library: Path
) -> None:
    """It looked for them before in the folders of then, and so it does afterwards."""
    async with stage.opened() as session:
        turn = asyncio.create_task(session.turn(shell("touch ready; while [ ! -e go ]; do sleep 0.05; done")))
        while not (stage.root / "ready").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        await session.agent.folders.add(str(library))
        (stage.root / "go").touch()
        await turn
    assert (library / ".git" / "HEAD").exists()


@pytest.mark.long
async def test_a_command_can_move_nothing_from_one_folder_to_another(
    stage: SessionStage, library: Path
) -> None:
    (stage.root / "conf").mkdir()
    (stage.root / "conf" / ".env").write_text("TOKEN=q7Zrt9vX2m4kPwd3Ls8Y\n")
    (library / "node_modules").mkdir()
    move = "import os; os.rename('conf', os.environ['TARGET'] + '/conf')"
    (stage.root / "move.py").write_text(move)
    observer = RecordingObserver()
    async with stage.opened(observer=observer) as session:
        await session.agent.folders.add(str(library))
        await session.turn(shell(f"TARGET={library}/node_modules python3 move.py"))
        assert "cross-device" in output(observer)
        await session.turn(shell(f"mv conf {library}/node_modules/; cat {library}/node_modules/conf/.env"))
        assert "q7Zrt9" not in output(observer)
