"""Settings of git in which a token stands are asked about before a tool or a command shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.calls.tool import ToolCall
from tests.support.fake_ports import FakePerson
from tests.support.real_session import SessionStage, call

HARMLESS = '[core]\n\tbare = false\n[remote "origin"]\n\turl = https://example.com/a.git\n'
IN_ADDRESS = '[remote "origin"]\n\turl = https://me:not-a-real-one@example.com/a.git\n'
IN_HEADER = '[http "https://example.com"]\n\textraheader = AUTHORIZATION: basic bm90LWEtcmVhbC1vbmU=\n'


async def questions(folder: Path, name: str, settings: str, *calls: ToolCall) -> list[tuple[str, ...]]:
    stage, person = SessionStage(folder), FakePerson()
    place = stage.root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(settings)
    async with stage.opened(person=person) as session:
        await session.turn(calls)
    return [request.reasons for request in person.requests]


def reads(name: str) -> tuple[ToolCall, ...]:
    return call("read_file", path=name), call("grep_search", path=name, pattern="url")


@pytest.mark.parametrize("name", [".git/config", ".git/modules/a/config", "mirror.git/config", ".gitconfig"])
@pytest.mark.parametrize("settings", [IN_ADDRESS, IN_HEADER])
async def test_settings_in_which_a_token_stands_are_asked_about(
    tmp_path: Path, name: str, settings: str
) -> None:
    asked = await questions(tmp_path, name, settings, *reads(name))

    path = str(tmp_path / "work" / name)
    assert asked == [(f"a token may stand in {path}",)] * 2


async def test_settings_that_sign_in_nowhere_are_read_unasked(tmp_path: Path) -> None:
    assert await questions(tmp_path, ".git/config", HARMLESS, *reads(".git/config")) == []


async def test_a_link_to_such_settings_is_asked_about(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/notes").symlink_to(".git/config")

    assert len(await questions(tmp_path, ".git/config", IN_ADDRESS, call("read_file", path="notes"))) == 1


async def test_a_search_below_a_folder_leaves_such_settings_out_and_says_so(tmp_path: Path) -> None:
    stage = SessionStage(tmp_path)
    (stage.root / "mirror.git").mkdir()
    (stage.root / "mirror.git/config").write_text(IN_ADDRESS)
    async with stage.opened() as session:
        await session.turn(call("grep_search", path=".", pattern="url"))
        (result,) = session.container.parts().core.conversation.messages[2].results

    assert "not-a-real-one" not in result.output
    assert "1 sensitive file was not searched" in result.output
