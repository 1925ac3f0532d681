import asyncio
import threading

import pytest
from textual import events
from textual.widgets import Input

from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import BlobError
from quorum.domain.text.amounts import format_size
from quorum.infrastructure.store.blobs.line_index import FileLines
from quorum.tui.keys.keyboard_guard import TYPING_PACE
from quorum.tui.keys.slash_commands import NotACommand, find_action
from quorum.tui.screens.pager_screen import KeptLines, PagerScreen, build_pager
from tests.support.app_stage import on_stage
from tests.tui.panel_scenes import play, stored
from tests.tui.transcript_scenes import Clock, finished, planned

RUN = ("run_command", {"command": "make test"}, RiskLevel.HIGH, ())
READ = ("read_file", {"path": "a.py"}, RiskLevel.LOW, ())


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


class Counting(KeptLines):
    """A source that remembers which lines were asked for, and counts 1,000 lines at a time."""

    def __init__(self, text):
        super().__init__(text)
        self.asked = []
        self.counted = 0

    def read_lines(self, start, count):
        self.asked.append((start, count))
        return super().read_lines(start, count)

    def count_so_far(self):
        total = super().count_so_far()[0]
        self.counted = min(self.counted + 1_000, total)
        return self.counted, self.counted == total


class Stuck(KeptLines):
    """A source whose search, or whose counting, does not come to an end before it is let go."""

    def __init__(self, text):
        super().__init__(text)
        self.begun = threading.Event()
        self.free = threading.Event()

    def find(self, needle, start, *, backwards):
        self.begun.set()
        self.free.wait(60)
        return super().find(needle, start, backwards=backwards)


class Slow(KeptLines):
    """A source whose lines are read when it is let go."""

    def __init__(self, text):
        super().__init__(text)
        self.begun, self.free = threading.Event(), threading.Event()

    def read_lines(self, start, count):
        self.begun.set()
        self.free.wait(60)
        return super().read_lines(start, count)


class Broken(KeptLines):
    """A source that cannot be read any more."""

    def read_lines(self, start, count):
        raise BlobError("out.txt was cut short while it was open")


def numbered(count):
    return "".join(f"line {number}\n" for number in range(1, count + 1))


async def open_pager(stage, source, name="run make"):
    stage.app.push_screen(PagerScreen(source, name, "1.2 MB"))
    await stage.until(lambda: isinstance(stage.app.screen, PagerScreen))
    await stage.until(lambda: not stage.app.screen._reading)
    return stage.app.screen


@pytest.mark.long
async def test_it_shows_name_place_and_size_and_closes_with_q_or_escape(tmp_path):
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        for key in ("q", "escape"):
            await open_pager(stage, KeptLines(numbered(100)))
            await stage.shows("run make")
            await stage.shows("lines 1–22 of 100 · 22 % · 1.2 MB")
            await stage.pilot.press(key)
            assert stage.app.screen is stage.app.chat


@pytest.mark.long
async def test_of_a_long_output_only_the_lines_looked_at_are_read(tmp_path):
    source = Counting(numbered(1_000_000))
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        await open_pager(stage, source)
        await stage.shows("of more than 1,000")
        await stage.pilot.press("pagedown")
        await stage.shows("line 42 ")
        await stage.pilot.press("end")
        await stage.shows("line 1000000")
        await stage.shows("lines 999,979–1,000,000 of 1,000,000 · 100 %")
        await stage.pilot.press("home")
        await stage.shows("lines 1–22")

    assert sum(count for _, count in source.asked) < 250


@pytest.mark.long
async def test_a_file_of_many_megabytes_is_read_from_its_disk(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("".join(f"{number:>9} {'.' * 80}\n" for number in range(200_000)))
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        await open_pager(stage, FileLines(path))
        await stage.pilot.press("g", *"150000", "enter")
        await stage.shows("149999 ....")
        await stage.pilot.press("slash", *"199998", "enter")
        await stage.shows("› 199,999")


@pytest.mark.long
async def test_arrows_and_pages_move_and_stop_at_both_ends(tmp_path):
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        await open_pager(stage, KeptLines(numbered(30)))
        await stage.pilot.press("down", "down")
        await stage.shows("lines 3–24 of 30")
        await stage.pilot.press("pagedown", "pagedown", "down")
        await stage.shows("lines 9–30 of 30")
        await stage.pilot.press("up")
        await stage.shows("lines 8–29 of 30")
        await stage.pilot.press("pageup", "up")
        await stage.shows("lines 1–22 of 30")


@pytest.mark.long
async def test_search_goes_on_with_n_and_back_with_shift_n(tmp_path):
    text = "".join(f"{'needle' if number in (50, 90, 130) else 'hay'} {number}\n" for number in range(1, 201))
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        await open_pager(stage, KeptLines(text))
        await stage.pilot.press("slash", *"needle", "enter")
        await stage.shows("›   50  needle 50")
        await stage.pilot.press("n")
        await stage.shows("›   90  needle 90")
        await stage.pilot.press("n")
        await stage.shows("›  130  needle 130")
        await stage.pilot.press("n")
        await stage.shows("no “needle” from line 131 on · N searches above")
        await stage.pilot.press("N")
        await stage.shows("›   90  needle 90")
        await stage.pilot.press("N")
        await stage.shows("›   50  needle 50")
        await stage.pilot.press("N")
        await stage.shows("no “needle” above line 50 · n searches below")


@pytest.mark.long
async def test_letters_typed_into_the_search_do_nothing_else(tmp_path):
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        pager = await open_pager(stage, KeptLines(numbered(100)))
        await stage.pilot.press("slash", *"qngN/:jk ")
        assert stage.app.screen is pager
        assert pager.query_one("#asked").value == "qngN/:jk "
        await stage.pilot.press("escape")
        assert not pager.has_class("-asking")
        assert stage.app.screen is pager


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("typed", "seen"), [("7,0", "›   70"), ("999", "there are only 100 lines"), ("x", "“x” is no")]
)
async def test_a_line_is_gone_to_by_its_number(tmp_path, typed, seen):
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        await open_pager(stage, KeptLines(numbered(100)))
        await stage.pilot.press("colon", *typed, "enter")
        await stage.shows(seen)


@pytest.mark.long
async def test_escape_gives_up_a_search_and_the_pager_stays_usable(tmp_path):
    source = Stuck(numbered(100))
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        pager = await open_pager(stage, source)
        try:
            await stage.pilot.press("slash", *"line 99", "enter")
            await stage.until(source.begun.is_set)
            await stage.shows("searching “line 99”… · esc stops")
            await stage.pilot.press("escape")
            await stage.shows("stopped")
            await stage.pilot.press("down")
            await stage.shows("lines 2–23 of 100")
            assert stage.app.screen is pager
        finally:
            source.free.set()
        await stage.pilot.press("n")
        await stage.shows("›   99  line 99")


async def test_a_pager_that_is_closed_as_it_still_reads_ends_nothing_else(tmp_path):
    source = Slow(numbered(100))
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        stage.app.push_screen(PagerScreen(source, "run make", "1.2 MB"))
        await stage.until(source.begun.is_set)
        screen = stage.app.screen
        await stage.pilot.press("q")
        await stage.until(lambda: stage.app.screen is stage.app.chat and not screen.is_running)
        source.free.set()
        await stage.until(lambda: not screen._reading)
        await stage.pilot.pause()
        assert stage.app.is_running


@pytest.mark.long
async def test_the_way_to_the_end_says_that_it_counts(tmp_path):
    class Slow(Counting):
        free = threading.Event()

        def count_so_far(self):
            if self.counted:
                self.free.wait(60)
            return super().count_so_far()

    source = Slow(numbered(5_000))
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        await open_pager(stage, source)
        try:
            await stage.pilot.press("end")
            await stage.shows("counting… · esc stops")
        finally:
            source.free.set()
        await stage.shows("line 5000")


async def test_long_lines_are_moved_sideways(tmp_path):
    async with on_stage(tmp_path, size=(40, 24)) as stage:
        await open_pager(stage, KeptLines("abcdefgh" * 10 + "\n" + "short\n"))
        await stage.shows("abcdefghabcdefghabcdefghabcdefg›")
        await stage.pilot.press("right")
        await stage.until(lambda: "short" not in stage.text())
        await stage.pilot.press("left")
        await stage.shows("short")


async def test_what_is_read_is_drawn_literally(tmp_path):
    evil = "[/red] \x1b[2J\x1b]52;c;aGk=\x07 \u202eevil \x00 \tend\n"
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        await open_pager(stage, KeptLines(evil), name=evil)
        await stage.shows("⟨U+202E⟩evil ␀")
        assert not {"\x1b", "\x07", "\u202e", "\x00"} & set(stage.text())


def styles_in(stage, text):
    """The styles that a text is drawn in, piece by piece."""
    for strip in stage.app.screen._compositor.render_strips():
        if text in strip.text:
            start = strip.text.index(text)
            return [part.style for part in strip.crop(start, start + len(text))]
    raise AssertionError(text)


@pytest.mark.long
async def test_an_output_has_the_colours_it_asks_for_and_what_is_found_stands_out_in_them(tmp_path):
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        await open_pager(stage, KeptLines("a \x1b[32mgreen word\x1b[0m here\n\x1b[30;40mhidden\x1b[0m\n"))
        await stage.shows("a green word here")

        (green,), (plain,) = styles_in(stage, "green word"), styles_in(stage, " here")
        (hidden,) = styles_in(stage, "hidden")
        assert green.color != plain.color
        assert hidden.color == plain.color
        await stage.pilot.press("/", *"word", "enter")
        await stage.until(lambda: len(styles_in(stage, "green word")) == 2)
        assert styles_in(stage, "green word")[0] == green


async def test_lines_of_a_diff_have_the_colours_of_what_they_do(tmp_path):
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@\n same\n-gone\n--- removed\n+new\n"
        stage.app.push_screen(build_pager(diff, "edit_file a", is_diff=True))
        await stage.shows("+new")

        def colour(text):
            return styles_in(stage, text)[0].color

        assert len({colour(text) for text in ("@@ -1", "same", "-gone", "+new")}) == 4
        assert colour("--- removed") == colour("-gone")
        assert colour("--- a/x") == colour("+++ b/x") == colour("same"), "names of a file are no change"


async def test_an_output_that_cannot_be_read_any_more_says_so(tmp_path):
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        await open_pager(stage, Broken("x\n"))
        await stage.shows("out.txt was cut short while it was open")


async def test_an_empty_output_is_empty(tmp_path):
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        await open_pager(stage, KeptLines(""))
        await stage.shows("empty · 1.2 MB")


# -- opening it ---------------------------------------------------------------------------------------------


def ran(output, *, batch="b1", outcome=Outcome.OK):
    return [planned(RUN, batch=batch), finished("run_command", output, batch=batch, outcome=outcome)]


@pytest.mark.long
async def test_a_click_on_a_stored_output_opens_it(tmp_path):
    async with on_stage(tmp_path) as stage:
        stage.agent.outputs["blob-1"] = KeptLines(numbered(9_000))
        play(stage, Clock(), [*ran(numbered(9_000)), stored()])
        await stage.shows("… 8,994 lines above · stored 1.2 MB · click or /output opens")
        await stage.pilot.pause()  # until all of it stands where it stays
        line = next(y for y, text in enumerate(stage.text().splitlines()) if "stored 1.2 MB" in text)
        await stage.pilot.click(offset=(10, line))
        await stage.shows("of 9,000")
        await stage.shows("run make test")


async def test_a_click_on_the_lines_left_out_opens_what_was_kept_of_them(tmp_path):
    async with on_stage(tmp_path) as stage:
        play(stage, Clock(), ran("head\n" + numbered(30)))
        await stage.shows("… 25 lines above")
        await stage.pilot.pause()  # the transcript may still move to its end
        line = next(y for y, text in enumerate(stage.text().splitlines()) if "25 lines above" in text)
        await stage.pilot.click(offset=(10, line))
        await stage.shows("lines 1–28 of 31")


@pytest.mark.long
async def test_what_was_not_kept_for_the_screen_is_said_in_the_pager(tmp_path):
    async with on_stage(tmp_path) as stage:
        play(stage, Clock(), ran("x" * 99 + "\n" + "y\n" * 300_000))
        await stage.shows("lines above")
        await stage.pilot.pause()  # the transcript may still move to its end
        line = next(y for y, text in enumerate(stage.text().splitlines()) if "lines above" in text)
        await stage.pilot.click(offset=(10, line))
        await stage.shows("of ")
        await stage.pilot.press("slash", *"not kept", "enter")
        await stage.shows("lines not kept here …")


async def test_what_names_a_key_in_the_transcript_names_the_one_there_is_now(tmp_path):
    async with on_stage(tmp_path) as stage:
        play(stage, Clock(), ran(numbered(90)))
        await stage.shows("lines above · ctrl+o opens")
        stage.app.rebind({"toggle_fold": "f7"})
        await stage.shows("lines above · f7 opens")


@pytest.mark.long
async def test_the_command_opens_the_latest_stored_output_or_an_earlier_one(tmp_path):
    async with on_stage(tmp_path) as stage:
        stage.agent.outputs |= {"one": KeptLines("first\n"), "two": KeptLines("second\n")}
        play(
            stage,
            Clock(),
            [*ran("a"), stored(blob="one"), *ran("b", batch="b2"), stored(blob="two", batch="b2")],
        )
        await stage.send("/output")
        await stage.shows("second")
        await stage.pilot.press("q")
        await stage.send("/output 2")
        await stage.shows("first")
        await stage.pilot.press("q")
        await stage.send("/output 3")
        await stage.shows("there are fewer than 3 outputs")


async def test_the_command_opens_what_a_command_printed_though_none_of_it_is_stored(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.send("/output")
        await stage.shows("no command has printed anything yet")
        play(stage, Clock(), ran(numbered(90)))
        await stage.shows("lines above · ctrl+o opens")
        await stage.send("/output")
        await stage.shows("26  line 26")


async def test_a_stored_output_that_is_gone_is_shown_and_opens_nothing(tmp_path):
    async with on_stage(tmp_path) as stage:
        play(stage, Clock(), [*ran("a"), stored(blob="gone")])
        await stage.send("/output 1")
        await stage.shows("there is no stored output gone")
        assert stage.app.screen is stage.app.chat


@pytest.mark.long
async def test_an_error_and_an_unfolded_card_offer_their_stored_output_too(tmp_path):
    async with on_stage(tmp_path) as stage:
        play(stage, Clock(), [*ran("no such file\n", outcome=Outcome.ERROR), stored(size=999)])
        await stage.shows("stored 999 bytes · click or /output opens")
        await stage.pilot.press("ctrl+o")
        await stage.shows("decision: allowed")
        await stage.shows("stored 999 bytes · click or /output opens")


@pytest.mark.long
async def test_a_question_of_a_review_comes_up_over_the_pager(tmp_path):
    from tests.support.fake_agent import a_command, a_request, review

    async with on_stage(tmp_path, review(a_request(a_command("make")))) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("escape")
        await stage.unasked()
        await open_pager(stage, KeptLines(numbered(100)))
        asking = asyncio.create_task(stage.agent.ask(a_request(a_command("make"))))
        await stage.asked()
        await stage.pilot.press("escape")
        await asking
        assert isinstance(stage.app.screen, PagerScreen)


@pytest.mark.parametrize(
    "typed", ["/output x", "/output 0", "/output -1", "/output 1 2", f"/output {'9' * 5000}"]
)
def test_the_command_takes_nothing_but_a_number(typed):
    with pytest.raises(NotACommand, match="takes a number from 1 on"):
        find_action(typed)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_200, "1.2 kB"),
        (340_000_000, "340 MB"),
        (5 * 10**12, "5,000 GB"),
    ],
)
def test_sizes_are_shown_in_the_unit_that_suits_them(count, text):
    assert format_size(count) == text


def test_kept_lines_count_and_find_as_a_file_does(tmp_path):
    text = "one\r\ntwo two\n\nfour"
    path = tmp_path / "t.txt"
    path.write_bytes(text.encode())
    kept, filed = KeptLines(text), FileLines(path)
    for start in range(6):
        assert kept.read_lines(start, 2) == filed.read_lines(start, 2)
        for needle in ("o", "two", "absent", ""):
            for backwards in (False, True):
                ours = kept.find(needle, start, backwards=backwards)
                assert ours == filed.find(needle, start, backwards=backwards)
    assert kept.count_so_far() == filed.count_so_far() == (4, True)


@pytest.mark.parametrize(
    ("typed", "in_prompt", "in_field"),
    [("go on", "go on", ""), ("next", "next", ""), ("g42", "", "42"), (":7", "", "7"), ("/go", "", "go")],
)
async def test_a_word_is_not_split_by_a_letter_that_opens_a_field(tmp_path, typed, in_prompt, in_field):
    async with on_stage(tmp_path, clock=lambda: 0.0, pace=TYPING_PACE) as stage:
        stage.app.push_screen(pager := build_pager("a line\n" * 99, "cat x", is_diff=False))
        await stage.shows("lines 1")
        for place, key in enumerate(typed):
            event = events.Key({" ": "space", "/": "slash", ":": "colon"}.get(key, key), key)
            event.time = 100 + place / 10
            stage.app.post_message(event)
            await stage.pilot.pause()

        await stage.until(lambda: stage.prompt.text == in_prompt)
        assert pager.query_one(Input).value == in_field
