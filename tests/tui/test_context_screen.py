import pytest

from quorum.domain.conversation.context_account import ContextAccount, ContextEntry, ContextKind, ContextShare
from tests.support.app_stage import on_stage

ACCOUNT = ContextAccount(
    tokens=84_200,
    window=200_000,
    limit=160_000,
    freed=51_000,
    shares=(
        ContextShare(kind=ContextKind.INSTRUCTIONS, tokens=1_200),
        ContextShare(kind=ContextKind.PROMPTS, tokens=3_000),
        ContextShare(kind=ContextKind.OUTPUTS, name="read_file", tokens=80_000),
    ),
    largest=(
        ContextEntry(kind=ContextKind.OUTPUTS, label="read_file src/\x1b[31mretry.py", tokens=40_000),
        ContextEntry(kind=ContextKind.PROMPTS, label="the key is hunter2-hunter2", tokens=900),
    ),
)


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.long
@pytest.mark.parametrize("size", [(80, 30), (200, 50)])
async def test_the_parts_of_the_window_are_shown_and_what_could_be_freed(tmp_path, size):
    async with on_stage(
        tmp_path, size=size, prepare=lambda agent: setattr(agent, "context_account", ACCOUNT)
    ) as stage:
        await stage.send("/context")
        await stage.shows("about 84.2k of 200k tokens, 42 %")
        shown = stage.text()

    for text in ("outputs of read", "80.0k", "free", "116k", "58 %", "Largest entries"):
        assert text in shown
    assert "At 160k (80 %) it is compacted automatically" in shown
    assert "/compact would free about 51.0k or more" in shown
    bar = next(line for line in shown.splitlines() if "░" in line)
    assert bar.count("█") == 30  # 42 % of 72 cells
    assert "┃" in bar


async def test_what_entries_say_can_neither_steer_the_terminal_nor_tell_a_secret(tmp_path):
    async with on_stage(tmp_path, prepare=lambda agent: setattr(agent, "context_account", ACCOUNT)) as stage:
        await stage.send("/context")
        await stage.shows("Largest entries")

        assert "\x1b[31mretry" not in stage.text()
        assert "hunter2-hunter2" not in stage.text()


async def test_a_window_that_is_not_known_is_shown_as_such(tmp_path):
    account = ContextAccount(tokens=900, window=0, limit=0, freed=0, shares=(), largest=())
    async with on_stage(tmp_path, prepare=lambda agent: setattr(agent, "context_account", account)) as stage:
        await stage.send("/context")
        await stage.shows("about 900 tokens; how many fit is not known")
        await stage.shows("/compact would free too little now")
        await stage.pilot.press("escape")
        await stage.unasked()


@pytest.mark.long
async def test_bars_keep_to_their_lines_in_a_window_of_any_width(tmp_path):
    async with on_stage(
        tmp_path, size=(120, 40), prepare=lambda agent: setattr(agent, "context_account", ACCOUNT)
    ) as stage:
        await stage.send("/context")
        await stage.shows("Largest entries")
        await stage.pilot.resize_terminal(50, 40)
        await stage.until(lambda: len(stage.text().splitlines()[0].rstrip()) <= 50)
        await stage.shows("outputs of read              80.0k")
        row = next(line for line in stage.text().splitlines() if "outputs of read " in line)

        assert row.count("█") == 50 - 43 - 5  # what the name, the number and the frame leave
        bars = [line for line in stage.text().splitlines() if "░" in line]
        assert [bar.count("█") + bar.count("░") + bar.count("┃") for bar in bars] == [44]
