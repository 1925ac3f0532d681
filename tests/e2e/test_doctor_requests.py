"""`quorum doctor --probe`, installed, against servers on this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.headless_run import configure, environment, run_quorum
from tests.support.sse_server import Raw, Refuse, Say, SseServer


async def _doctor(*arguments: str, cwd: Path, env: Mapping[str, str]) -> tuple[int | None, str]:
    ended = await run_quorum("doctor", *arguments, cwd=cwd, env=env)
    return ended.code, re.sub(" +", " ", ended.out)  # the widths of its columns say nothing here


@pytest.mark.long
async def test_every_provider_is_asked_once_and_only_when_that_is_wanted(tmp_path: Path) -> None:
    async with SseServer("anthropic") as used, SseServer("openai") as idle:
        used.script = [Say(pieces=["ok"]), Refuse(status=529, message="sk-secret is busy")]
        idle.script = [Raw(body=b'{"data": [{"id": "a"}]}', content_type="application/json")] * 2
        configure(
            tmp_path,
            f'[models]\ndecision = "used/m"\n'
            f'[providers.used]\ntype = "anthropic"\nbase_url = "{used.base_url}"\napi_key_env = "USED_KEY"\n'
            f'[providers.idle]\ntype = "openai"\nbase_url = "{idle.base_url}"\n',
        )
        env = environment(tmp_path, USED_KEY="sk-secret", TERM="xterm")

        silent = await _doctor(cwd=tmp_path, env=env)
        asked_before = used.asked + idle.asked
        well = await _doctor("--probe", cwd=tmp_path, env=env)
        ill = await _doctor("--probe", "-m", "ask=used/other", "-m", "used/other", cwd=tmp_path, env=env)

    assert silent[0] == 0
    assert asked_before == []
    assert well[0] == 0
    roles = "(decision, exploration, ask, moderator, participants)"
    assert f"ok request used/m {roles}: answered in " in well[1]
    assert "ok request idle: listed 1 model in " in well[1]
    assert ill[0] == 1
    assert "fail request used/other (" in ill[1]
    assert "used is overloaded (529): … is busy" in ill[1]
    assert [len(used.asked), len(idle.asked)] == [2, 2]
    assert "sk-secret" not in silent[1] + well[1] + ill[1]
