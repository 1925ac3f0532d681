"""`quorum run --image`: the image reaches the model, is kept with the session, which survives its loss."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.headless_run import Ended, configure_for, environment, run
from tests.support.pictures import png
from tests.support.request_rules import Said, read_chat
from tests.support.sse_server import Refuse, Say, SseServer

SHOT = png(40, 30)
OK = Say(pieces=("ok",))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "shot.png").write_bytes(SHOT)
    return folder


async def _run(home: Path, project: Path, *arguments: str) -> Ended:
    return await run(*arguments, cwd=project, env=environment(home))


def _last(server: SseServer) -> list[Said]:
    """What the last request said, but for the instructions."""
    return read_chat(server.bodies[-1])


@pytest.mark.long
async def test_an_image_reaches_the_model_and_is_there_again_when_the_session_goes_on_or_is_forked(
    tmp_path: Path, project: Path
) -> None:
    async with SseServer("openai-chat") as server:
        configure_for(tmp_path, server)
        server.script = [OK, OK, OK]
        first = await _run(tmp_path, project, "what is this?", "--image", "shot.png", "--output", "stream-json")
        assert first.code == 0, first.err
        label = "[image shot.png 40×30]"
        assert _last(server) == [("image", "image/png", SHOT), ("user", f"what is this?\n{label}")]
        (message,) = [e["message"] for e in first.events if e["type"] == "message_added"]
        assert [image["name"] for image in message["images"]] == ["shot.png"]
        assert "iVBOR" not in first.out

        again = await _run(tmp_path, project, "and now?", "--continue")
        assert again.code == 0, again.err
        assert ("image", "image/png", SHOT) in _last(server)
        forked = await _run(tmp_path, project, "and here?", "--continue", "--fork")
        assert forked.code == 0, forked.err
        assert ("image", "image/png", SHOT) in _last(server)


@pytest.mark.long
async def test_where_its_content_was_lost_a_line_says_so_and_the_session_goes_on(
    tmp_path: Path, project: Path
) -> None:
    async with SseServer("openai-chat") as server:
        configure_for(tmp_path, server)
        server.script = [OK, OK]
        await _run(tmp_path, project, "what is this?", "--image", "shot.png")
        (database,) = (tmp_path / "state").rglob("ledger.sqlite")
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute("DELETE FROM contents")
        connection.close()
        (project / "shot.png").unlink()  # else it may be stored again, for undo

        again = await _run(tmp_path, project, "and now?", "--continue")

        assert again.code == 0, again.err
        assert _last(server)[0] == (
            "user",
            "what is this?\n[image shot.png 40×30: its content is no longer stored]",
        )


@pytest.mark.long
async def test_what_is_no_image_ends_the_run_before_anything_is_sent(tmp_path: Path, project: Path) -> None:
    (project / "notes.png").write_text("hello")
    async with SseServer("openai-chat") as server:
        configure_for(tmp_path, server)
        ended = await _run(tmp_path, project, "look", "--image", "shot.png", "--image", "notes.png")

        assert ended.code == 2
        assert "notes.png cannot be shown to a model: it is neither a PNG, JPEG, GIF or WebP image" in ended.err
        assert server.bodies == []


async def test_offline_says_that_it_cannot_see_and_does_the_rest(tmp_path: Path, project: Path) -> None:
    (project / "a.py").write_text("x = 1\n")
    offline = ("-m", "offline/offline", "--output", "stream-json")
    ended = await _run(tmp_path, project, "read a.py", *offline, "--image", "shot.png")

    assert ended.code == 0, ended.err
    assert "I cannot see `shot.png`" in ended.out
    assert "x = 1" in ended.events[-1]["text"]


@pytest.mark.long
@pytest.mark.parametrize("wide", [False, True])
async def test_a_refused_image_is_left_out_by_each_process_after_the_one_that_showed_it(
    tmp_path: Path, project: Path, wide: bool
) -> None:
    if wide:  # than the API takes: quorum itself refuses it
        (project / "shot.png").write_bytes(png(9000, 2))
    async with SseServer("anthropic") as server:
        configure_for(tmp_path, server)
        refused = Refuse(status=400, message="Could not process image")
        server.script = [OK, OK, OK] if wide else [refused, OK, OK, OK]
        first = await _run(tmp_path, project, "what is this?", "--image", "shot.png")
        second = await _run(tmp_path, project, "and now?", "--continue")
        third = await _run(tmp_path, project, "and here?", "--continue")
        asked = [json.dumps(body) for body in server.bodies]

    assert (first.code, second.code, third.code) == (4, 0, 0)
    assert "later requests to this model go without it" in first.err
    assert "/retry" not in first.err
    assert len(asked) == (2 if wide else 3)
    assert all("base64" not in each and "left out, as" in each for each in asked[-2:])
