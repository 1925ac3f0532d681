"""Taking back turns: what is shown first, what is asked for each file, and what comes back to the prompt."""

import asyncio
import random

import pytest

from quorum.domain.calls.effects import ChangeKind, FileChange
from quorum.domain.errors import LedgerError, RestoreError
from quorum.domain.replacing import replace
from quorum.tui.screens.help import HelpScreen
from quorum.tui.screens.rewind.restore_screen import RestoreScreen
from quorum.tui.screens.rewind.turn_list import TurnList
from tests.support.app_stage import Clock, on_stage
from tests.support.fake_agent import FakeAgent, break_off, hold, say
from tests.tui.rewind_scenes import EDITED, PLAN, ROOT, TURNS, a_turn, state, with_turns

STORM = ("escape", "escape", "escape", "c", "f", "b", "space", "enter", "up", "down", "pagedown", "f1", "x")


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def listed(stage):
    await stage.until(lambda: isinstance(stage.app.screen, TurnList) and stage.app.screen.is_mounted)
    await stage.shows("Go back to before")


async def shown(stage, text="Take back"):
    await stage.until(lambda: isinstance(stage.app.screen, RestoreScreen) and stage.app.screen.is_mounted)
    await stage.shows(text)
    await stage.until(lambda: "checking the files" not in stage.text())


async def rewinding(stage):
    """Open what taking back the second turn, and all after it, would change."""
    await stage.send("/rewind")
    await listed(stage)
    await stage.pilot.press("down", "enter")
    await shown(stage, "src/retry.py")


# -- the list -----------------------------------------------------------------------------------------------


@pytest.mark.long
async def test_the_turns_are_listed_newest_first_without_those_taken_back(tmp_path):
    async with on_stage(tmp_path, prepare=with_turns) as stage:
        await stage.send("/rewind")
        await listed(stage)
        rows = [line for line in stage.text().splitlines() if " ago" in line]
        assert stage.app.screen.query_one("#turns").region.bottom == stage.app.size.height

    assert [row.strip("│› ")[:14] for row in rows] == ["write the docs", "fix the retry ", "explain the pa"]
    assert "2 files" in rows[1]
    assert "file" not in rows[2]


async def test_a_file_that_a_turn_renamed_counts_once(tmp_path):
    held = state("d" * 64)
    renamed = (
        FileChange(path=f"{ROOT}/CHANGES.md", kind=ChangeKind.DELETED, declared=False, before=held),
        FileChange(path=f"{ROOT}/HISTORY.md", kind=ChangeKind.CREATED, declared=False, after=held),
    )

    def prepare(agent):
        agent.turns = (replace(a_turn(0, "rename it"), changes=renamed),)

    async with on_stage(tmp_path, prepare=prepare) as stage:
        await stage.send("/rewind")
        await listed(stage)
        (row,) = (line for line in stage.text().splitlines() if "rename it" in line)
        assert "1 file " in row


async def test_without_a_turn_there_is_nothing_to_take_back(tmp_path):
    async with on_stage(tmp_path) as stage:
        for command in ("/undo", "/rewind"):
            await stage.send(command)
            await stage.shows("there is no turn to undo")
            assert stage.app.screen is stage.app.chat


# -- what would change --------------------------------------------------------------------------------------


@pytest.mark.long
async def test_what_would_change_is_shown_first_and_esc_leads_back_with_nothing_done(tmp_path):
    async with on_stage(tmp_path, prepare=with_turns, size=(100, 40)) as stage:
        await rewinding(stage)
        text = stage.text()
        await stage.pilot.press("escape")
        await listed(stage)
        await stage.pilot.press("escape")
        await stage.unasked()

        assert stage.agent.rewound == []
        assert stage.prompt.text == ""
    assert "fix the retry test" in text
    assert "and the 1 turn after it" in text
    assert "edited by you since: left alone" in text
    assert "cannot be undone: its former content was not kept" in text
    assert "What `make all` changed outside the workspace was not seen." in text
    assert "await asyncio.sleep(max(delay, 0.0))" in text


@pytest.mark.long
async def test_the_diff_is_that_of_the_marked_file(tmp_path):
    async with on_stage(tmp_path, prepare=with_turns, size=(100, 40)) as stage:
        await rewinding(stage)
        await stage.pilot.press("down")
        await stage.shows("what I wrote since")

        assert "asyncio.sleep" not in stage.text()


@pytest.mark.long
@pytest.mark.parametrize(
    ("key", "conversation", "plan", "prompt"),
    [("c", True, None, TURNS[1].prompt), ("f", False, PLAN, ""), ("b", True, PLAN, TURNS[1].prompt)],
)
async def test_each_key_takes_back_what_it_says(tmp_path, key, conversation, plan, prompt):
    async with on_stage(tmp_path, prepare=with_turns) as stage:
        await rewinding(stage)
        await stage.pilot.press(key)
        await stage.unasked()

        assert stage.agent.rewound == [(1, conversation, plan, frozenset())]
        assert stage.prompt.text == prompt


@pytest.mark.long
async def test_after_an_undo_the_end_of_the_transcript_is_in_sight(tmp_path):
    long = "\n\n".join(f"paragraph {n}" for n in range(100))
    async with on_stage(tmp_path, say(long), prepare=with_turns) as stage:
        await stage.send("hello")
        await stage.shows("paragraph 99")
        await stage.pilot.press("ctrl+home")
        await stage.until(lambda: "paragraph 99" not in stage.text())
        await rewinding(stage)
        await stage.pilot.press("f")
        await stage.unasked()
        await stage.shows("paragraph 99")


@pytest.mark.long
async def test_a_turn_that_broke_off_and_was_taken_back_is_not_offered_to_go_on(tmp_path):
    async with on_stage(tmp_path, break_off("half an "), prepare=with_turns) as stage:
        await stage.send("go")
        await stage.shows("/retry continues")
        await stage.send("/undo")
        await shown(stage)
        await stage.pilot.press("c")
        await stage.unasked()
        await stage.until(lambda: "/retry continues" not in stage.text().splitlines()[-1])
        stage.prompt.replace_text("")
        await stage.send("/retry")
        await stage.shows("there is no turn to continue yet")


@pytest.mark.long
async def test_a_prompt_that_comes_back_goes_before_what_was_being_written(tmp_path):
    async with on_stage(tmp_path, prepare=with_turns) as stage:
        await rewinding(stage)
        stage.prompt.replace_text("draft")
        await stage.pilot.press("c")
        await stage.unasked()

        assert stage.prompt.text == f"{TURNS[1].prompt}\ndraft"


@pytest.mark.long
async def test_a_file_edited_since_is_overwritten_only_where_it_is_marked(tmp_path):
    async with on_stage(tmp_path, prepare=with_turns) as stage:
        await rewinding(stage)
        await stage.pilot.press("space")
        await stage.shows("only a file edited since is left alone")
        await stage.pilot.press("down", "space")
        await stage.shows("edited by you since: goes back all the same")
        await stage.pilot.press("space")
        await stage.shows("edited by you since: left alone")
        await stage.pilot.press("space", "down", "down", "space")
        await stage.shows("this file cannot be restored")
        await stage.pilot.press("b")
        await stage.unasked()

        assert stage.agent.rewound == [(1, True, PLAN, frozenset({EDITED.path}))]


@pytest.mark.long
async def test_undo_shows_the_last_turn_that_was_not_taken_back(tmp_path):
    async with on_stage(tmp_path, prepare=with_turns) as stage:
        await stage.send("/undo")
        await shown(stage, "docs/retry.md")
        assert "is removed" in stage.text()
        await stage.pilot.press("b")
        await stage.unasked()

        assert [turn for turn, *_ in stage.agent.rewound] == [3]
        assert stage.prompt.text == "write the docs"
        await stage.send("/undo")
        await shown(stage, "fix the retry test")


@pytest.mark.long
async def test_where_no_file_would_change_only_the_conversation_is_taken_back(tmp_path):
    def prepare(agent: FakeAgent):
        agent.turns = TURNS[:1]

    async with on_stage(tmp_path, prepare=prepare) as stage:
        await stage.send("/undo")
        await shown(stage, "no file would change")
        await stage.pilot.press("f")
        await stage.shows("no file would be restored")
        await stage.pilot.press("b")
        await stage.unasked()

        assert stage.agent.rewound == [(0, True, None, frozenset())]


async def test_where_no_file_would_change_only_keys_for_the_conversation_are_shown(tmp_path):
    def prepare(agent: FakeAgent):
        agent.turns = TURNS[:1]

    async with on_stage(tmp_path, prepare=prepare) as stage:
        await stage.send("/undo")
        await shown(stage, "no file would change; c takes back the conversation")
        lines = stage.text().splitlines()
        (keys,) = [line for line in lines if "esc back" in line]

        assert "c conversation" in keys
        assert "files" not in keys
        assert "both" not in keys
        assert "space" not in keys
        box = stage.app.screen.query_one("#restoring").region
        assert box.height == 4  # the turn, what there is to say, and the border
        assert box.bottom == stage.app.size.height


@pytest.mark.long
async def test_files_that_cannot_be_looked_at_leave_the_conversation_to_be_taken_back(tmp_path):
    def prepare(agent: FakeAgent):
        with_turns(agent)
        agent.restore_plans[3] = LedgerError("the list of files is lost")

    async with on_stage(tmp_path, prepare=prepare) as stage:
        await stage.send("/undo")
        await shown(stage, "the list of files is lost")
        await stage.pilot.press("b")
        await stage.shows("c undoes only the conversation")
        await stage.pilot.press("c")
        await stage.unasked()

        assert stage.agent.rewound == [(3, True, None, frozenset())]


@pytest.mark.long
async def test_what_cannot_be_done_is_shown_and_nothing_is_put_into_the_prompt(tmp_path):
    async with on_stage(tmp_path, prepare=with_turns) as stage:
        stage.agent.rewind_fails = RestoreError("a.py was left as it is: [b]no space[/b]")
        await rewinding(stage)
        await stage.pilot.press("b")
        await stage.shows("a.py was left as it is: [b]no space[/b]")
        assert isinstance(stage.app.screen, RestoreScreen)
        assert stage.prompt.text == ""

        stage.agent.rewind_fails = None
        await stage.pilot.press("b")
        await stage.unasked()


# -- the worst moments --------------------------------------------------------------------------------------


@pytest.mark.long
async def test_nothing_stops_half_way_while_files_are_given_back(tmp_path):
    async with on_stage(tmp_path, prepare=with_turns) as stage:
        stage.agent.may_rewind.clear()
        await rewinding(stage)
        await stage.pilot.press("b")
        await stage.shows("taking back…")
        await stage.pilot.press("escape", "q", "b", "c", "space")
        await stage.pilot.press("ctrl+c")
        assert isinstance(stage.app.screen, RestoreScreen)
        stage.agent.may_rewind.set()
        await stage.unasked()
        await stage.until(lambda: not stage.app.chat.turns.busy)

        assert stage.agent.rewound == [(1, True, PLAN, frozenset())]


@pytest.mark.long
async def test_leaving_the_app_while_files_are_given_back_waits_for_them(tmp_path):
    async with on_stage(tmp_path, prepare=with_turns) as stage:
        stage.agent.may_rewind.clear()
        await rewinding(stage)
        await stage.pilot.press("b")
        await stage.shows("taking back…")
        stage.hit("ctrl+q")
        await stage.until(lambda: stage.app.chat.turns.interrupting)
        stage.agent.may_rewind.set()
        await stage.until(lambda: stage.app.return_code == 0)

        assert len(stage.agent.rewound) == 1


@pytest.mark.parametrize("screen", [TurnList, RestoreScreen])
async def test_the_app_can_be_left_from_either_screen(tmp_path, screen):
    async with on_stage(tmp_path, prepare=with_turns) as stage:
        await stage.send("/rewind")
        await listed(stage)
        if screen is RestoreScreen:
            await stage.pilot.press("enter")
            await shown(stage)
        stage.hit("ctrl+q")
        await stage.until(lambda: stage.app.return_code == 0)

        assert stage.agent.rewound == []


@pytest.mark.long
async def test_a_screen_that_is_covered_when_all_is_done_closes_once_it_is_on_top(tmp_path):
    async with on_stage(tmp_path, prepare=with_turns) as stage:
        stage.agent.may_rewind.clear()
        await rewinding(stage)
        await stage.pilot.press("b", "f1")
        await stage.until(lambda: isinstance(stage.app.screen, HelpScreen))
        stage.agent.may_rewind.set()
        await stage.until(lambda: stage.agent.rewound and not stage.app.chat.turns.running)
        await stage.pilot.press("escape")
        await stage.unasked()


@pytest.mark.long
async def test_screens_follow_a_terminal_that_changes_its_size(tmp_path):
    async with on_stage(tmp_path, prepare=with_turns, size=(120, 40)) as stage:
        await rewinding(stage)
        for size in ((30, 8), (200, 60), (80, 24)):
            await stage.pilot.resize_terminal(*size)
            await stage.pilot.pause()
        await stage.shows("edited by you since: left alone")
        await stage.shows("asyncio.sleep")


@pytest.mark.long
@pytest.mark.parametrize(("seed", "rounds"), [(4, 5), (1, 15), (2, 15), (3, 15)])
async def test_a_storm_of_keys_takes_back_no_more_than_turns_and_does_not_end_the_app(tmp_path, seed, rounds):
    chance = random.Random(seed)
    async with on_stage(tmp_path, prepare=with_turns) as stage:
        for _ in range(rounds):
            for key in ("escape", "escape", *chance.choices(STORM, k=chance.choice([1, 3, 6]))):
                stage.hit(key)
            await stage.pilot.pause()

        assert stage.app.is_running
        assert all(
            EDITED.path not in overwrite or plan is PLAN for _, _, plan, overwrite in stage.agent.rewound
        )


# -- esc esc ------------------------------------------------------------------------------------------------


async def test_esc_twice_in_an_empty_prompt_lists_the_turns(tmp_path):
    async with on_stage(tmp_path, prepare=with_turns) as stage:
        await stage.pilot.press("escape")
        assert stage.app.screen is stage.app.chat
        await stage.pilot.press("escape")
        await listed(stage)


async def test_esc_twice_slowly_is_esc_and_esc(tmp_path):
    clock = Clock()
    async with on_stage(tmp_path, prepare=with_turns, clock=clock) as stage:
        await stage.pilot.press("escape")
        clock.now = 1.5
        await stage.pilot.press("escape")
        await stage.pilot.pause()

        assert stage.app.screen is stage.app.chat


@pytest.mark.long
async def test_esc_twice_clears_what_is_typed_and_up_brings_it_back(tmp_path):
    async with on_stage(tmp_path, prepare=with_turns) as stage:
        await stage.pilot.press(*"half a thought")
        await stage.pilot.press("escape")
        await stage.shows("esc again clears the prompt")
        assert stage.prompt.text == "half a thought"
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.prompt.text == "")
        assert stage.app.screen is stage.app.chat

        await stage.pilot.press("up")
        assert stage.prompt.text == "half a thought"


@pytest.mark.long
async def test_escs_that_stop_a_turn_do_not_open_anything(tmp_path):
    clock = Clock()
    async with on_stage(tmp_path, hold(), say("x"), prepare=with_turns, clock=clock) as stage:
        await stage.send("go")
        await stage.agent.reached.wait()
        for _ in range(5):
            stage.hit("escape")
        await stage.until(lambda: stage.agent.reports)
        for _ in range(5):
            await stage.pilot.press("escape")
        assert stage.app.screen is stage.app.chat

        clock.now = 2.0
        await stage.pilot.press("escape", "escape")
        await listed(stage)


@pytest.mark.long
async def test_before_there_is_a_turn_or_an_agent_esc_twice_does_nothing(tmp_path):
    async def compose(person, observer, choice, folder):
        await asyncio.Event().wait()

    async with on_stage(tmp_path, compose=compose, ready=False) as stage:
        await stage.pilot.press("escape", "escape", "escape")

        assert stage.app.screen is stage.app.chat
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press("escape", "escape", "escape")

        assert stage.app.screen is stage.app.chat
