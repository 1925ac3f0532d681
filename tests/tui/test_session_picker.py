"""The list of sessions: what is shown of each, what fits, and that many of them stay fast to look through."""

from decimal import Decimal

import pytest
from textual import events
from textual.app import App

from quorum.domain.errors import LedgerError
from quorum.domain.replacing import replace
from quorum.domain.text.amounts import format_age
from quorum.tui.screens.session_picker import Register, SessionPicker, render_row
from tests.support.app_stage import Stage
from tests.support.fake_archive import FakeArchive, a_session
from tests.support.no_folder import NO_FOLDER, NO_HOME

HOUR_MS = 3_600_000
HERE = NO_FOLDER
SESSIONS = (
    a_session("s-1", "fix the flaky retry test", updated_ms=97 * HOUR_MS, turns=12, cost="0.12"),
    a_session("s-2", "explain the parser", updated_ms=76 * HOUR_MS, turns=1, model="other/model-2"),
    a_session("s-3", "write release notes", cwd=f"{NO_HOME}/notes", updated_ms=99 * HOUR_MS, open_in=4321),
)


@pytest.fixture(autouse=True)
def _home(monkeypatch):
    monkeypatch.setenv("HOME", NO_HOME)


class Picking(App[None]):
    """Nothing but the picker, and what was picked."""

    def __init__(self, archive, **options):
        super().__init__()
        self.archive, self.options, self.picked = archive, options, []

    def on_mount(self):
        async def open_archive():
            return self.archive

        picker = SessionPicker(open_archive, cwd=HERE, now_ms=lambda: 100 * HOUR_MS, **self.options)
        self.push_screen(picker, self.picked.append)


async def show(archive, *keys, size=(80, 24), waits_for="enter opens", **options):
    app = Picking(archive, **options)
    async with app.run_test(size=size) as pilot:
        stage = Stage(app, pilot, [])
        await stage.shows(waits_for)
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        return stage.text(), app.picked


async def test_the_sessions_of_this_folder_come_first_with_what_tells_them_apart():
    text, _ = await show(FakeArchive(SESSIONS), waits_for="flaky")
    row = next(line for line in text.splitlines() if "flaky" in line)

    assert row.index("fix the flaky retry test") < row.index("12 turns") < row.index("$0.12")
    assert row.index("$0.12") < row.index("3 h ago")
    assert "1 turn " in next(line for line in text.splitlines() if "parser" in line)
    assert "release notes" not in text
    assert "fake/model-1 · begun 4 d ago · s-1 · ~/app" in text


async def test_tab_shows_those_of_all_folders_and_marks_this_one_and_those_open_elsewhere():
    text, _ = await show(FakeArchive(SESSIONS), "tab", "end", "down", "down", waits_for="flaky")
    lines = text.splitlines()

    assert "• fix the flaky" in text
    row = next(line for line in lines if "release notes" in line)
    assert "• " not in row
    assert row.index("~/notes") < row.index("open now")
    assert "open in process 4321: here it can be read and forked" in text
    assert "tab this folder only" in text


async def test_where_this_folder_has_none_those_of_all_folders_are_shown_at_once():
    text, _ = await show(FakeArchive(SESSIONS[2:]), waits_for="release")

    assert "Sessions of all folders" in text
    assert "of another folder" not in text  # that it is open is what counts


@pytest.mark.long
async def test_what_is_typed_narrows_the_list():
    keys = ("space" if letter == " " else letter for letter in "test FIX")
    text, picked = await show(FakeArchive(SESSIONS), *keys, waits_for="flaky")

    assert "flaky" in text
    assert "parser" not in text
    assert picked == []


def test_a_query_looks_at_titles_folders_and_models_in_any_order():
    register = Register(SESSIONS, HERE)

    def found(query, *, everywhere=True):
        return [session.id for session in register.find_fitting(query, everywhere=everywhere)]

    assert found("") == ["s-1", "s-2", "s-3"]
    assert found("", everywhere=False) == ["s-1", "s-2"]
    assert found("test FIX") == ["s-1"]
    assert found("model-2") == ["s-2"]
    assert found("~/notes") == ["s-3"]
    assert found("notes parser") == []


def test_sessions_in_which_nothing_was_said_are_left_out():
    register = Register([a_session("s-0", "", cwd=HERE, turns=0), *SESSIONS], HERE)

    assert "s-0" not in [session.id for session in register.find_fitting("", everywhere=True)]
    assert (register.here, register.everywhere) == (2, 3)


@pytest.mark.long
async def test_enter_opens_the_marked_one_and_esc_none():
    assert (await show(FakeArchive(SESSIONS), "down", "enter", waits_for="flaky"))[1] == ["s-2"]
    assert (await show(FakeArchive(SESSIONS), "escape", "escape", waits_for="flaky"))[1] == [None]


async def test_enter_right_behind_an_arrow_opens_the_one_that_the_arrow_marks():
    app = Picking(FakeArchive(SESSIONS))
    async with app.run_test(size=(80, 24)) as pilot:
        stage = Stage(app, pilot, [])
        await stage.shows("flaky")
        await pilot.pause()
        for key in ("down", "enter"):
            app.post_message(events.Key(key, None))
        await stage.until(lambda: app.picked)

    assert app.picked == ["s-2"]


async def test_enter_with_nothing_that_fits_opens_nothing_and_says_where_else_to_look():
    text, picked = await show(FakeArchive(SESSIONS), *"zzz", "enter", waits_for="flaky")

    assert picked == []
    assert "no session of this folder matches; tab searches all folders" in text


async def test_an_archive_that_cannot_be_read_is_shown_in_a_sentence():
    failing = FakeArchive(LedgerError("the session ledger cannot be read: /state is gone"))
    text, picked = await show(failing, "enter", "tab", waits_for="/state is gone")

    assert "the session ledger cannot be read" in text
    assert picked == []


@pytest.mark.long
async def test_an_archive_without_sessions_says_so():
    text, _ = await show(FakeArchive(), "enter", waits_for="there is no session yet")

    assert "there is no session yet" in text


@pytest.mark.long
async def test_keys_pressed_while_the_list_is_read_break_nothing():
    archive = FakeArchive(SESSIONS)
    archive.may_list.clear()
    app = Picking(archive)
    async with app.run_test(size=(80, 24)) as pilot:
        stage = Stage(app, pilot, [])
        await stage.shows("reading the list of sessions")
        await pilot.press("down", "tab", "enter", *"pars", "pageup")
        archive.may_list.set()
        await stage.shows("explain the parser")

        assert "flaky" not in stage.text()
        await pilot.resize_terminal(40, 10)
        await pilot.press("enter")
        await stage.until(lambda: app.picked == ["s-2"])


async def test_a_title_cannot_draw_outside_its_row():
    evil = a_session("s-9", "[red]x[/]\x1b[2J\n\u202egnp\t" + "w" * 500)
    text, _ = await show(FakeArchive([evil]), waits_for="[red]x[/]")

    assert "\x1b" not in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert sum("www" in line for line in text.splitlines()) == 1


@pytest.mark.long
async def test_of_ten_thousand_sessions_only_those_in_sight_are_drawn():
    many = [a_session(f"s-{n}", f"session number {n}", updated_ms=n) for n in range(10_000)]
    app = Picking(FakeArchive(many))
    async with app.run_test(size=(80, 24)) as pilot:
        stage = Stage(app, pilot, [])
        await stage.shows("10,000")
        await pilot.press("ctrl+end")
        await stage.shows("session number 9999")
        await pilot.press(*"4321")
        await stage.shows("session number 4321")
        await pilot.press("enter")
        await stage.until(lambda: app.picked == ["s-4321"])


async def test_a_click_opens_what_it_is_on():
    app = Picking(FakeArchive(SESSIONS))
    async with app.run_test(size=(80, 24)) as pilot:
        stage = Stage(app, pilot, [])
        await stage.shows("parser")
        await pilot.click("LineList", offset=(10, 1))
        await stage.until(lambda: app.picked == ["s-2"])


@pytest.mark.parametrize(
    ("passed_ms", "expected"),
    [
        (-5, "just now"),
        (59_000, "just now"),
        (60_000, "1 min ago"),
        (3 * HOUR_MS, "3 h ago"),
        (24 * HOUR_MS, "1 d ago"),
        (24 * 29 * HOUR_MS, "29 d ago"),
        (24 * 61 * HOUR_MS, "2 mo ago"),
        (24 * 800 * HOUR_MS, "2 y ago"),
    ],
)
def test_ages_are_shown_in_the_unit_that_suits_them(passed_ms, expected):
    assert format_age(1_000_000, 1_000_000 + passed_ms) == expected


@pytest.mark.parametrize("cost", ["0.041", "0.00041", "999.99"])
@pytest.mark.parametrize("turns", [1, 99, 1_234])
def test_turns_cost_and_age_never_run_into_each_other(cost, turns):
    session = replace(a_session("s"), turns=turns, cost_usd=Decimal(cost), updated_ms=0)
    line = render_row(session, 80, 11 * 60_000, is_here=True, everywhere=False).plain

    assert len(line) == 80
    assert line.split("  ")[-1].strip() == "11 min ago"
    assert line.split("  ")[-2].strip().startswith("$")


def test_where_no_session_has_a_cost_the_title_takes_its_room():
    session = replace(a_session("s", "repair the retry of downloads"), cost_usd=None, updated_ms=0)
    line = render_row(session, 56, 60_000, is_here=True, everywhere=False, has_costs=False).plain

    assert "repair the retry of downlo" in line
    assert len(line) == 56
