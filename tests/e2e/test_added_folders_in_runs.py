"""`quorum run` with more than one folder: added by an option, kept by the session, refused with a reason."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.headless_run import configure_for, environment, run
from tests.support.quorum_rig import DONE, call, calling
from tests.support.sse_server import SseServer


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path, Path]:
    for name in ("project", "home", "library"):
        (tmp_path / name).mkdir()
    (tmp_path / "library" / "paint.py").write_text("COLOUR = 'teal'\n")
    return tmp_path / "project", tmp_path / "home", tmp_path / "library"


@pytest.fixture
async def model(places: tuple[Path, Path, Path]) -> AsyncIterator[SseServer]:
    async with SseServer("anthropic") as server:
        configure_for(places[1], server)
        yield server


@pytest.mark.long
async def test_a_run_reads_in_an_added_folder_and_the_session_keeps_it(
    places: tuple[Path, Path, Path], model: SseServer
) -> None:
    project, home, library = places
    model.script = [calling(call("c1", "read_file", path=f"{library}/paint.py")), DONE]
    first = await run("go", "--add-dir", "../library", cwd=project, env=environment(home))
    assert first.code == 0, first.err
    assert "teal" in json.dumps(model.bodies[-1])
    assert f"- {library}" in json.dumps(model.bodies[0]["system"])

    model.script = [calling(call("c2", "read_file", path=f"{library}/paint.py")), DONE]
    again = await run("go on", "--continue", cwd=project, env=environment(home))
    assert again.code == 0, again.err
    assert json.dumps(model.bodies[-1]).count("teal") == 2


@pytest.mark.long(after=1)
@pytest.mark.parametrize(("folder", "why"), [("/", "whole file system"), ("../missing", "No such file")])
async def test_what_cannot_be_added_ends_the_run_before_it_begins(
    places: tuple[Path, Path, Path], model: SseServer, folder: str, why: str
) -> None:
    project, home, _ = places
    ended = await run("go", "--add-dir", folder, cwd=project, env=environment(home))
    assert ended.code == 2
    assert why in ended.err
    assert model.bodies == []


@pytest.mark.long
async def test_a_project_adds_no_folder(places: tuple[Path, Path, Path], model: SseServer) -> None:
    project, home, library = places
    (project / "quorum.toml").write_text(f'[workspace]\ndirectories = ["{library}"]\n')
    model.script = [DONE]
    ended = await run("go", cwd=project, env=environment(home))
    assert ended.code == 0, ended.err
    assert "workspace.directories" in ended.err
    assert str(library) not in json.dumps(model.bodies[-1])
