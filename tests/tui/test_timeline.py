"""The timeline of a session on a screen of its own: its keys, what it tells, what it costs."""

from __future__ import annotations

import pytest
from textual.app import App

from quorum.application.view.session_view import SessionView
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.history import UserMessage
from quorum.domain.events import event as ev
from quorum.domain.events.report import RunStatus
from quorum.domain.review.questions import DecisionLabel
from quorum.tui.screens.timeline import chart
from quorum.tui.screens.timeline.chart import Axis, Columns
from quorum.tui.screens.timeline.timeline_screen import TimelineScreen
from tests.support.app_stage import on_stage
from tests.support.fake_agent import hold, say
from tests.tui.test_turn_timings import TURN
from tests.tui.transcript_scenes import Clock, asked, completed, finished, planned, started, turn_finished

HARMFUL = "[/red] \x1b[2J\x1b]52;c;aGk=\x07 \u202eevil \x00"
READ = ("read_file", {"path": "a.py"}, RiskLevel.LOW, ())


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


class Timeline(App[None]):
    """Nothing but the timeline of a script."""

    def __init__(self, *script):
        super().__init__()
        self.clock = Clock()
        self.view = SessionView(self.clock)
        self.chosen = []
        self.play(*script)

    def play(self, *script):
        for step in script:
            if isinstance(step, float):
                self.clock.now += step
            else:
                self.view.apply(step)

    def on_mount(self):
        self.push_screen(TimelineScreen(self.view.timings, self.clock), self.chosen.append)

    @property
    def chart(self):
        return self.screen.query_one(chart.Chart)

    def rows(self):
        return [self.chart.render_line(y).text.rstrip() for y in range(self.chart.size.height)]

    def marked(self):
        return next(row for row in self.rows() if row.startswith("›"))

    def read_details(self):
        about = self.screen.query_one("#about")
        return "\n".join(about.render_line(y).text.strip() for y in range(about.size.height))

    def totals(self):
        return self.screen.query_one("#totals").render_line(0).text.strip()


async def test_every_turn_answer_batch_and_call_has_a_row_on_the_axis_of_its_turn():
    app = Timeline(*TURN)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        turn, first, batch, read, _, run, last = app.rows()[:7]
    assert turn.startswith("› 1 go")
    assert "╷0" in turn
    assert turn.endswith("completed                    21.0 s")
    assert "━" in first
    assert first.endswith("2.0 s")
    assert "batch 1" in batch
    assert "▆" in read
    assert "ok" in read
    assert "·1░" in run or "1░" in run
    assert "░▆" in run
    assert run.index("░") > read.index("▆")
    assert last.rindex("━") > run.rindex("▆")


async def test_the_totals_tell_what_running_side_by_side_gained():
    app = Timeline(*TURN)
    async with app.run_test(size=(140, 30)) as pilot:
        await pilot.pause()
        reported = app.totals()
    assert "1 turn · waiting for you 10.0 s · model 6.0 s" in reported
    assert "tools 7.0 s in 5.0 s, 1.4× by running side by side" in reported


async def test_only_whole_keys_are_named_where_there_is_little_room():
    app = Timeline(*TURN)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        keys = app.screen.query_one("#keys").render_line(0).text.strip()
    assert keys.startswith("enter shows it · esc closes")
    assert keys.endswith(" turns")


@pytest.mark.long
async def test_details_of_the_marked_row_are_shown_below():
    approved = ev.ReviewDecided(
        context=asked("run_command", {}, 2).context, digest="", decision=DecisionLabel.APPROVED, reason="fine"
    )
    script = [*TURN]
    script.insert(script.index(TURN[14]), approved)
    place = next(
        n for n, step in enumerate(script) if isinstance(step, ev.CallFinished) and step.output == "built"
    )
    script[place] = finished("run_command", "built", 2, decision=DecisionLabel.APPROVED)
    app = Timeline(*script)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press(*["down"] * 5)
        assert "run make" in app.marked()
        reported = app.read_details()
        assert "call 3 of batch 1 in turn 1 · run make" in reported
        assert "waited 2.0 s for 1 · waited for you 10.0 s · ran 12 ms" in reported
        assert "decision: you approved · fine" in reported
        await pilot.press("up", "up", "up", "up")
        assert "first words after 1.0 s" in app.read_details()
        await pilot.press("up")
        assert "21.0 s · completed · 2 answers · 3 calls" in app.read_details()


@pytest.mark.long
async def test_keys_go_through_rows_and_turns():
    app = Timeline(*TURN * 12)
    async with app.run_test(size=(120, 24)) as pilot:
        await pilot.pause()
        assert app.marked().startswith("› 12 go")
        await pilot.press("home")
        assert app.marked().startswith("› 1 go")
        await pilot.press("right_square_bracket")
        assert app.marked().startswith("› 2 go")
        await pilot.press("j", "left_square_bracket", "left_square_bracket")
        assert app.marked().startswith("› 1 go")
        await pilot.press("end")
        assert "model done" in app.marked()
        await pilot.press("pageup", "pagedown", "k", "p")
        assert app.marked().startswith("› 12 go")
        await pilot.press("n")
        assert app.marked().startswith("› 12 go")


@pytest.mark.long
async def test_zooming_stretches_the_axis_around_what_is_marked_and_back():
    app = Timeline(*TURN)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press(*["down"] * 5)
        whole = app.marked()
        await pilot.press("plus", "plus")
        closer = app.marked()
        assert closer.count("·") > whole.count("·") + 4
        await pilot.press("right")
        assert app.marked() != closer
        await pilot.press("left", "minus", "minus")
        assert app.marked() == whole
        await pilot.press("equals_sign", "right", "0")
        assert app.marked() == whole


@pytest.mark.parametrize("key", ["escape", "q", "ctrl+s"])
async def test_it_closes_without_a_choice(key):
    app = Timeline(*TURN)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press(key)
        assert app.chosen == [None]


async def test_a_turn_under_way_goes_on_and_the_mark_stays_where_it_is():
    app = Timeline(*TURN, ev.TurnStarted(prompt="more"), ev.MessageAdded(message=UserMessage("x")), 1.0)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("home", "down")
        marked = app.marked()
        app.play(3.0, completed("", calls=True), planned(READ), started(*READ[:2]), 2.0)
        app.screen._follow()
        assert app.marked() == marked
        assert any("read a.py" in row and row.endswith("2.0 s") for row in app.rows())
        app.play(finished("read_file", "x"), turn_finished(RunStatus.FAILED))
        app.screen._follow()
        assert any("failed" in row for row in app.rows())


async def test_before_anything_happened_it_says_so():
    app = Timeline()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("down", "plus", "right", "enter", "right_square_bracket")
        assert app.screen.query_one("#nothing").display
        assert app.chosen == []


async def test_a_record_without_times_has_rows_without_lanes():
    app = Timeline()
    app.view.begin_past()
    app.play(*TURN)
    app.view.end_past("cut")
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("plus", "down", "down", "down")
        assert "read a.py" in app.marked()
        assert not set("▆░━─╷") & set("".join(app.rows()))


@pytest.mark.long
async def test_ten_thousand_calls_cost_only_the_rows_in_sight(monkeypatch):
    script = []
    for number in range(1_000):
        calls = [("read_file", {"path": f"{number}.py"}, RiskLevel.LOW, ())] * 10
        batch = f"b{number}"
        script += [ev.TurnStarted(prompt=f"turn {number}"), planned(*calls, batch=batch), 0.1]
        script += [finished("read_file", "x", index, batch=batch) for index in range(10)]
        script += [turn_finished(RunStatus.COMPLETED)]
    app = Timeline(*script)
    drawn = []
    draw_row = chart.draw_row
    monkeypatch.setattr(chart, "draw_row", lambda *args: drawn.append(1) or draw_row(*args))
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        assert "turn 999" in app.marked()
        drawn.clear()
        await pilot.press("home")
        await pilot.pause()
        assert "turn 0" in app.marked()
        assert len(drawn) < 200


async def test_text_of_models_and_files_is_data():
    calls = ((HARMFUL, {"path": HARMFUL}, RiskLevel.LOW, ()), READ)
    app = Timeline(ev.TurnStarted(prompt=HARMFUL), completed(HARMFUL, calls=True), planned(*calls))
    async with app.run_test(size=(120, 30)) as pilot:
        for _ in range(5):
            await pilot.press("down")
            shown = "\n".join([*app.rows(), app.read_details()])
            assert not set(shown) & set("\x1b\x07\x00\u202e")
            assert "[/red]" in shown


@pytest.mark.parametrize("width", [20, 40, 64, 80, 120, 200])
async def test_rows_fit_into_any_width(width):
    app = Timeline(ev.TurnStarted(prompt="待機" * 40), *TURN[1:])
    async with app.run_test(size=(width, 24)) as pilot:
        await pilot.pause()
        assert all(app.chart.render_line(y).cell_length == width for y in range(app.chart.size.height))


# -- the axis -----------------------------------------------------------------------------------------------


def test_an_axis_shows_all_of_a_span_and_closer_a_part_of_it():
    assert Axis().compute_window((10.0, 20.0), 50) == (10.0, 20.0)
    closer = Axis().zoom_by(1, 50, 0.5)
    assert closer.compute_window((10.0, 20.0), 50) == (12.5, 17.5)
    assert closer.zoom_by(-1, 50, 0.5) == Axis()


def test_an_axis_does_not_leave_its_span():
    axis = Axis().zoom_by(1, 50, 1.0)
    assert axis.compute_window((0.0, 10.0), 50) == (5.0, 10.0)
    assert axis.move_by(1_000, 50) == axis
    assert axis.move_by(-1_000, 50).compute_window((0.0, 10.0), 50) == (0.0, 5.0)
    for _ in range(40):
        axis = axis.zoom_by(1, 50, 0.3)
    begin, end = axis.compute_window((0.0, 10.0), 50)
    assert 0.0 <= begin < end <= 10.0


@pytest.mark.parametrize("seconds", [0.0, 1e-7, 0.004, 0.9, 17.0, 3_600.0, 400_000.0])
def test_ticks_are_round_and_fit(seconds):
    ticks = Axis().render_ticks((5.0, 5.0 + seconds), 60)
    assert len(ticks) == 60
    assert ticks.startswith("╷0 ")


def test_columns_fill_the_line():
    for width in range(16, 240):
        columns = Columns.of(width)
        assert columns.name + columns.lane + columns.state + columns.time == width - 3
        assert min(columns.name, columns.lane) >= 1


# -- in the app ---------------------------------------------------------------------------------------------


def tell_a_turn(agent):
    for step in TURN:
        if not isinstance(step, float):
            agent.tell(step)


@pytest.mark.long
async def test_ctrl_s_opens_it_over_the_chat_and_enter_shows_the_call_in_the_transcript(tmp_path):
    async with on_stage(tmp_path, say("done"), size=(120, 24)) as stage:
        tell_a_turn(stage.agent)
        for number in range(30):
            stage.agent.tell(ev.TurnStarted(prompt=f"prompt {number}"))
            stage.agent.tell(completed(f"answer {number}"))
        await stage.shows("answer 29")
        await stage.pilot.press("ctrl+s")
        await stage.shows("waiting for you")
        await stage.pilot.press("home", *["down"] * 5)
        await stage.pilot.press("enter")
        await stage.shows("▾  3 run    make")
        await stage.shows("$ make")
        assert not stage.app.chat.transcript.is_at_end


@pytest.mark.long
async def test_slash_timeline_opens_it_while_a_turn_runs_and_esc_leaves_the_turn_alone(tmp_path):
    async with on_stage(tmp_path, hold(), size=(120, 24)) as stage:
        await stage.send("go")
        await stage.until(lambda: stage.app.chat.turns.running)
        await stage.send("/timeline")
        await stage.until(lambda: isinstance(stage.app.screen, TimelineScreen))
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.screen is stage.app.chat)
        assert stage.app.chat.turns.running


async def test_what_was_cleared_off_the_screen_is_said_to_be(tmp_path):
    async with on_stage(tmp_path, say("done"), size=(120, 24)) as stage:
        tell_a_turn(stage.agent)
        await stage.shows("done")
        await stage.send("/clear")
        await stage.pilot.press("ctrl+s")
        await stage.until(lambda: isinstance(stage.app.screen, TimelineScreen))
        await stage.pilot.press("enter")
        await stage.shows("/clear took it off")
