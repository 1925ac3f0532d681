"""`quorum run` with mentions: what is attached reaches the model, and a line on stderr says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.headless_run import configure_for, environment, run
from tests.support.pictures import png
from tests.support.request_rules import read_chat
from tests.support.sse_server import Say, SseServer


@pytest.mark.long
async def test_a_mentioned_file_and_a_mentioned_image_reach_the_model(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("one\ntwo\n")
    (project / ".env").write_text("X=1\n")
    (project / "shot.png").write_bytes(png(40, 30))
    async with SseServer("openai-chat") as server:
        configure_for(tmp_path, server)
        server.script = [Say(pieces=("ok",))]
        prompt = "what is in @a.py:2, @.env and @shot.png?"
        ended = await run(prompt, cwd=project, env=environment(tmp_path))

        assert ended.code == 0, ended.err
        image, (_, said) = read_chat(server.bodies[-1])
    assert image == ("image", "image/png", png(40, 30))
    assert "[attached: a.py, lines 2-2 of 2, 8 bytes]\n2\ttwo\n[end of a.py]" in said
    assert "X=1" not in said
    assert "· attached a.py · lines 2-2 of 2 · 8 bytes" in ended.err
    assert "· .env · not attached: " in ended.err
