import pytest

from quorum.application.view.entries import Phase
from quorum.application.view.present import StepStatus
from quorum.application.view.session_view import SessionView
from quorum.domain.calls.effects import ChangeKind, Effects, FileChange
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.hook_points import HookPoint
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events import event as ev
from quorum.domain.events.report import RunStatus
from quorum.domain.review.mode import Mode
from quorum.tui.side_panel.drawing import PanelUsage, draw_present
from quorum.tui.transcript.cells.palette import TERMINAL
from tests.support.app_stage import on_stage
from tests.tui.panel_scenes import HOOKED, MIDWAY, READ, hook, plan, play, progressed
from tests.tui.transcript_scenes import DIFF, Clock, asked, context, finished, planned, started, turn_finished

WIDE, NARROW = (150, 40), (139, 40)
CALL = ("read_file", READ, RiskLevel.LOW, ())
SLOW = ("run_command", {"command": "make"}, RiskLevel.HIGH, (0,))


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def board(clock):
    return SessionView(clock)


def feed(board, *script):
    for step in script:
        if isinstance(step, float):
            board.clock.now += step
        else:
            board.apply(step)


def lines(board, width=44, height=40):
    strips = draw_present(board.present, width, height, TERMINAL, board.clock())
    assert all(strip.cell_length <= width for strip in strips)
    return [strip.text.rstrip() for strip in strips]


def row(board, index):
    """The line of the call at this index; a person counts from 1."""
    return next(line for line in lines(board, 70)[1:] if line.startswith(f"{index + 1} "))


@pytest.mark.requirement("B08")
def test_at_any_moment_it_is_seen_what_waits_runs_is_done_and_has_reported_progress(board):
    feed(board, planned(CALL, SLOW), ev.CallQueued(context=context(1), waiting_for=(0,)))
    assert row(board, 0).endswith("queued")
    assert row(board, 1).endswith("waits for 1")

    feed(board, started("read_file", READ), 3.0)
    assert row(board, 0).endswith("running 3.0 s")

    feed(board, progressed("half\n"), progressed("nearly\n"))
    assert "    ↳ 2 updates · nearly" in lines(board)

    feed(board, finished("read_file", "x", secs=3.0))
    assert row(board, 0).endswith("✓ 3.0 s")
    assert "    ↳ 2 updates" in lines(board)

    feed(board, asked("run_command", {"command": "make"}, 1))
    assert row(board, 1).endswith("waits for you")
    assert lines(board)[0].endswith(" 1 for you")


def test_a_batch_that_was_interrupted_is_gone_from_the_panel(board):
    feed(board, planned(CALL), turn_finished(RunStatus.INTERRUPTED))
    assert board.present.batch.calls[0].phase is Phase.ABANDONED
    assert lines(board) == []
    assert not board.present.is_running


def test_the_bars_of_a_batch_lie_in_time(board):
    feed(board, planned(CALL, SLOW), started("read_file", READ), 1.0, finished("read_file", "x", secs=1.0))
    feed(board, started("run_command", {"command": "make"}, 1), 1.0)
    first, second = ({x for x, cell in enumerate(row(board, n)) if cell == "▆"} for n in (0, 1))
    assert first
    assert second
    assert max(first) <= min(second)


def test_only_the_newest_batch_is_shown(board):
    feed(board, planned(CALL, SLOW), turn_finished(RunStatus.COMPLETED), planned(CALL, batch="b2"))
    assert len(board.present.batch.calls) == 1


def test_the_plan_stays_over_batches_until_it_is_cleared(board):
    feed(board, plan(("look", "done"), ("fix", "in_progress"), ("test", "pending")), planned(CALL))
    feed(board, turn_finished(RunStatus.COMPLETED), ev.TurnStarted(prompt=""))
    assert lines(board)[:4] == ["Plan" + " " * 34 + "1 of 3", "✓ look", "● fix", "○ test"]

    feed(board, ev.StateMerged(batch_id="b", changed={"other": 1}))
    assert len(board.present.plan) == 3

    feed(board, ev.StateMerged(batch_id="b", changed={"plan": None}))
    assert board.present.plan == ()


def test_a_plan_of_an_earlier_turn_is_gone_until_a_turn_brings_another(board):
    feed(board, ev.TurnStarted(prompt="go"), plan(("look", "done")), turn_finished(RunStatus.COMPLETED))
    assert len(board.present.current_plan) == 1
    feed(board, ev.TurnStarted(prompt=""))
    assert len(board.present.current_plan) == 1
    feed(board, ev.TurnStarted(prompt="what else"))
    assert board.present.current_plan == ()
    assert board.present.is_empty
    feed(board, plan(("fix", "pending")))
    assert [step.text for step in board.present.current_plan] == ["fix"]


def test_an_approved_plan_stays_until_it_is_carried_out(board):
    def merge(*statuses):
        steps = [{"id": str(n), "text": "a", "status": status} for n, status in enumerate(statuses)]
        return ev.StateMerged(batch_id="b", changed={"plan": steps})

    feed(board, ev.TurnStarted(prompt="go"), merge("done", "pending"), ev.TurnStarted(prompt="more"))
    assert len(board.present.current_plan) == 2
    feed(board, merge("done", "done"), ev.TurnStarted(prompt="something else"))
    assert board.present.current_plan == ()


def test_the_plan_is_there_as_soon_as_its_call_has_ended(board):
    items = {"items": [{"text": "look", "status": "completed"}, {"text": "fix"}]}
    update = ("update_plan", items, RiskLevel.LOW, ())
    feed(board, planned(update, CALL), started("update_plan", items), finished("update_plan", "1 ✓ look"))
    assert [(step.text, step.status) for step in board.present.current_plan] == [
        ("look", StepStatus.DONE),
        ("fix", StepStatus.PENDING),
    ]


def test_a_card_of_a_plan_shows_what_changed_since_the_one_before(board):
    def update(*statuses):
        items = {"items": [{"text": f"step {n}", "status": status} for n, status in enumerate(statuses, 1)]}
        feed(board, planned(("update_plan", items, RiskLevel.LOW, ())))
        feed(board, started("update_plan", items), finished("update_plan", "x"))
        return board.present.batch.calls[0].plan_changes

    assert update("in_progress", "pending", "pending") is None
    assert update("done", "in_progress", "pending") == ("1 ✓ step 1", "2 ● step 2")
    assert update("done", "done") == ("2 ✓ step 2", "− step 3")
    assert update("done", "done") == ()


def test_the_boxes_of_an_approved_plan_fill_together_and_fold_into_one_line_once_all_are_full(board):
    def tasks(*statuses):
        named = zip(("lexer", "docs", "parser"), statuses, strict=True)
        steps = [{"id": name, "text": name, "status": status} for name, status in named]
        feed(board, ev.StateMerged(batch_id="b", changed={"plan": steps}))
        return lines(board)[:4]

    heading = "Plan" + " " * 17
    assert tasks("in_progress", "in_progress", "blocked") == [
        f"{heading}2 run together · 0 of 3",
        "● lexer",
        "● docs",
        "– parser",
    ]
    assert tasks("done", "unknown", "in_progress")[1:] == ["☑ lexer", "? docs", "● parser"]
    assert tasks("done", "done", "done")[:2] == ["Plan" + " " * 34 + "3 of 3", "☑ all tasks are done"]


def test_a_cleared_screen_keeps_what_is_shown_beside_the_transcript(board):
    feed(board, ev.TurnStarted(prompt="go"), plan(("look", "done")), planned(CALL))
    cleared = board.create_successor()

    feed(cleared, started("read_file", READ), ev.ModelChanged(model="m/2"))

    assert row(cleared, 0) == row(board, 0)
    assert [step.text for step in cleared.present.plan] == ["look"]
    assert (cleared.status.title, board.status.model) == ("go", "m/2")


@pytest.mark.parametrize("value", ["steps", 3, {"text": "a"}, [1, None, {"status": "done"}, {"text": 4}]])
def test_a_plan_of_another_form_shows_no_steps(board, value):
    feed(board, ev.StateMerged(batch_id="b", changed={"plan": value}))
    assert board.present.plan == ()


def test_a_step_of_unknown_status_is_one_to_come(board):
    feed(board, ev.StateMerged(batch_id="b", changed={"plan": [{"text": "a", "status": ["odd"]}]}))
    assert board.present.plan[0].status is StepStatus.PENDING


def test_the_hooks_of_the_turn_have_a_line_each_and_go_with_the_next_turn(board):
    feed(board, hook("continue", 0, name="audit"), hook("skip", 1, name="blocker", reason="no rm"))
    assert lines(board) == [
        "Hooks" + " " * 33 + "2 runs",
        "· audit let call 1 pass",
        "! blocker skipped call 2: no rm",
    ]
    feed(board, ev.TurnStarted(prompt="next"))
    assert board.present.is_empty


def test_in_little_room_what_is_over_makes_way_for_what_is_not(board):
    feed(board, planned(*[CALL] * 30))
    feed(board, *(finished("read_file", "x", n) for n in range(25)))
    shown = lines(board, height=10)
    assert len(shown) == 10
    assert shown[1] == "… 22 ended"
    assert shown[2].startswith("✓ 23 ")
    assert shown[-1].startswith("· 30 ")


def test_a_batch_of_many_that_wait_says_how_many_more_there_are(board):
    feed(board, planned(*[CALL] * 30))
    shown = lines(board, height=10)
    assert len(shown) == 10
    assert shown[-1] == "… 22 more"


def test_beside_the_transcript_signs_stand_for_states_so_that_arguments_have_room(board):
    feed(board, *MIDWAY, 2.0)
    assert [line for line in lines(board, 33) if line[2:4].rstrip().isdigit()] == [
        "✓ 1 read       tests/test_retry…",
        '✓ 2 search     "sleep(" src/',
        "? 3 edit       src/retry.py",
        "· 4 run        python -m pytest…",
        "✗ 5 run        curl https://exa…",
        "● 6 index_sou… src/         2.8 s",
    ]


@pytest.mark.parametrize("height", range(1, 30))
def test_however_low_the_screen_nothing_is_drawn_below_it(board, height):
    feed(board, *MIDWAY)
    assert len(lines(board, height=height)) <= height


@pytest.mark.parametrize("script", [MIDWAY, HOOKED])
def test_text_of_models_tools_and_hooks_is_drawn_literally(board, script):
    evil = "[/red]\x1b[2J\x1b]52;c;aGk=\x07\u202e"
    feed(
        board,
        planned((evil, {}, RiskLevel.LOW, ())),
        started(evil, {}),
        progressed(evil),
        plan((evil, "pending")),
        hook("skip", 0, name=evil, reason=evil),
        *(step for step in script if isinstance(step, ev.HookRan)),
    )
    assert all(line.isprintable() for line in lines(board))


async def test_the_panel_appears_with_the_first_batch_where_there_is_room(tmp_path, clock):
    async with on_stage(tmp_path, size=WIDE) as stage:
        assert not stage.app.chat.side_panel.display

        play(stage, clock, MIDWAY)

        await stage.shows("Calls")
        await stage.shows("1 of 3")
        assert stage.app.chat.side_panel.region.width <= 40


@pytest.mark.long
async def test_on_a_narrow_screen_there_is_no_panel_until_it_grows(tmp_path, clock):
    async with on_stage(tmp_path, size=NARROW) as stage:
        play(stage, clock, MIDWAY)
        await stage.shows("waits for 1, 2, 3")
        assert not stage.app.chat.side_panel.display
        await stage.pilot.press("ctrl+b")
        await stage.shows("the side panel needs 140 columns; here are 139")

        await stage.pilot.resize_terminal(*WIDE)
        await stage.shows("Calls")


@pytest.mark.long
async def test_ctrl_b_hides_the_panel_and_events_do_not_bring_it_back(tmp_path, clock):
    async with on_stage(tmp_path, size=WIDE) as stage:
        play(stage, clock, MIDWAY)
        await stage.shows("Calls")

        await stage.pilot.press("ctrl+b")
        play(stage, clock, [finished("index_sources", "done", 5)])
        await stage.pilot.pause()
        assert "Calls" not in stage.text()

        await stage.pilot.press("ctrl+b")
        await stage.shows("1 for you · 1 waiting")


async def test_the_panel_rests_when_nothing_runs(tmp_path, clock):
    async with on_stage(tmp_path, size=WIDE) as stage:
        play(stage, clock, MIDWAY)
        await stage.shows("Calls")
        panel = stage.app.chat.side_panel
        assert panel._live._active.is_set()

        play(stage, clock, [finished("index_sources", "done", 5)])

        await stage.until(lambda: not panel._live._active.is_set() and not panel._pace._timer._active.is_set())


async def test_the_palette_offers_the_panel(tmp_path):
    async with on_stage(tmp_path, size=WIDE) as stage:
        titles = [command.title for command in stage.app.get_system_commands(stage.app.chat)]
        assert "Send a running command to the background; else show or hide the side panel" in titles


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    ("event", "text"),
    [
        (hook("skip", 2, name="blocker", reason="no rm"), "! hook blocker skipped call 3: no rm"),
        (
            hook("continue", 2, point=HookPoint.AFTER_TOOL_CALL, edited={"output": "x"}),
            "· hook masker changed the result of call 3",
        ),
        (hook("continue", 2, edited={"arguments": {}}), "· hook masker changed the arguments of call 3"),
        (
            hook("skip", 2, point=HookPoint.AFTER_TOOL_CALL, reason="secret"),
            "! hook masker withheld the result of call 3: secret",
        ),
        (hook("error", 2, reason="boom"), "✗ hook masker failed before call 3: boom"),
        (hook("abort", 2, reason="enough"), "✗ hook masker ended the run: enough"),
        (
            hook("skip", point=HookPoint.ON_MESSAGE_SEND, reason="late"),
            "! hook masker withheld the request: late",
        ),
        (hook("continue_with_messages", point=HookPoint.ON_TURN_END), "· hook masker made the turn continue"),
    ],
)
async def test_the_transcript_tells_what_a_hook_did(tmp_path, clock, event, text):
    async with on_stage(tmp_path) as stage:
        play(stage, clock, [planned(CALL, CALL, CALL), event])
        await stage.shows(text)


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    "event",
    [hook("continue", 0), hook("continue", 0, point=HookPoint.AFTER_TOOL_CALL)],
    ids=["before", "after"],
)
async def test_a_hook_that_changed_nothing_is_shown_only_where_details_are_open(tmp_path, clock, event):
    async with on_stage(tmp_path) as stage:
        play(stage, clock, [planned(CALL), event])
        await stage.shows("read   tests/test_retry.py")
        assert "masker" not in stage.text()
        await stage.pilot.press("ctrl+o")
        await stage.shows("hook masker let")


async def test_an_output_that_a_hook_masked_is_shown_masked(tmp_path, clock):
    edit = hook("continue", 0, point=HookPoint.AFTER_TOOL_CALL, edited={"output": "TOKEN=***\n"})
    async with on_stage(tmp_path) as stage:
        run = ("run_command", {"command": "env"}, RiskLevel.HIGH, ())
        play(stage, clock, [planned(run), finished("run_command", "TOKEN=hunter2\n"), edit])
        await stage.shows("TOKEN=***")
        assert "hunter2" not in stage.text()


async def test_a_hook_answer_of_another_kind_is_shown_as_it_is(tmp_path, clock):
    odd = hook("{odd}", 0)
    async with on_stage(tmp_path) as stage:
        play(stage, clock, [planned(CALL), odd])
        await stage.shows("hook masker answered {odd} at before_tool_call")


def test_the_files_of_the_session_are_counted_over_turns_until_they_go_back(board):
    edit = ("edit_file", {"path": "src/retry.py"}, RiskLevel.HIGH, ())
    other = DIFF.replace("src/retry.py", "docs/a/long/way/down/to/the/page/about/retries.md")
    for number, diff in enumerate((DIFF, DIFF, other)):
        batch = f"b{number}"
        feed(board, ev.TurnStarted(prompt="go"), planned(edit, batch=batch))
        feed(board, ev.CallStarted(context=context(0, batch), tool="edit_file", arguments={}, diff=diff))
        feed(board, finished("edit_file", "edited", batch=batch), turn_finished(RunStatus.COMPLETED))

    assert lines(board, 40) == [
        "Changed                            +3 −3",
        "…down/to/the/page/about/retries.md +1 −1",
        "src/retry.py                       +2 −2",
    ]
    feed(board, ev.SessionRewound(turn=1, conversation=True, files=False))
    assert len(lines(board, 40)) == 3
    feed(board, ev.SessionRewound(turn=1, conversation=True, files=True))
    assert lines(board, 40) == ["Changed", "src/retry.py                       +1 −1"]


def test_what_others_than_edits_changed_is_counted_below_the_edits_until_it_goes_back(board):
    def observe(batch, *paths):
        changes = tuple(
            FileChange(path=path, kind=ChangeKind.DELETED, declared=False, ignored="cache" in path)
            for path in paths
        )
        effects = Effects(changes=changes, complete=True)
        return ev.EffectsObserved(context=context(0, batch), effects=effects)

    edit = ("edit_file", {"path": "src/retry.py"}, RiskLevel.HIGH, ())
    feed(board, ev.SessionStarted(session_id="s", cwd="/w", model="m/1", mode=Mode.ASK))
    feed(board, ev.TurnStarted(prompt="go"), planned(SLOW, batch="b0"))
    feed(board, observe("b0", "/w/docs/a.md", "/w/docs/b.md", "/w/.cache/x"))
    feed(board, finished("run_command", "", batch="b0"), turn_finished(RunStatus.COMPLETED))
    assert lines(board, 40) == ["Changed", "2 files, not by edits"]

    feed(board, ev.TurnStarted(prompt="go on"), planned(edit, batch="b1"))
    feed(board, ev.CallStarted(context=context(0, "b1"), tool="edit_file", arguments={}, diff=DIFF))
    feed(board, finished("edit_file", "edited", batch="b1"), turn_finished(RunStatus.COMPLETED))
    edited = ["Changed", "src/retry.py                       +1 −1"]
    assert lines(board, 40) == [*edited, "+2 files, not by edits"]

    feed(board, ev.TurnStarted(prompt="again"), planned(SLOW, batch="b2"), observe("b2", "/w/src/retry.py"))
    feed(board, finished("run_command", "", batch="b2"), turn_finished(RunStatus.COMPLETED))
    assert lines(board, 40) == [*edited, "+2 files, not by edits"]

    feed(board, ev.SessionRewound(turn=0, conversation=True, files=True))
    assert lines(board, 40) == []


def test_a_call_that_failed_changed_no_file(board):
    feed(board, planned(("edit_file", {}, RiskLevel.HIGH, ())), started("edit_file", {}, diff=DIFF))
    feed(board, finished("edit_file", "stale", outcome=Outcome.ERROR))
    assert lines(board) == []


def test_the_plan_stands_first_and_what_was_used_below_the_calls(board):
    feed(board, *MIDWAY)
    usage = PanelUsage(tokens=31_000, window=100_000, spent="31.0k in · $0.04")
    shown = [
        strip.text.rstrip() for strip in draw_present(board.present, 36, 40, TERMINAL, board.clock(), usage)
    ]
    heads = [line.split()[0] for line in shown if line[:1].isupper()]
    assert heads == ["Plan", "Calls", "Context", "Hooks"]
    place = next(n for n, line in enumerate(shown) if line.startswith("Context"))
    assert shown[place : place + 3] == [
        "Context                         31 %",
        "━" * 11 + "─" * 25,
        "31.0k in · $0.04",
    ]


async def test_the_panel_stays_after_the_batch_and_says_what_was_used(tmp_path, clock):
    async with on_stage(tmp_path, size=WIDE) as stage:
        play(stage, clock, [planned(CALL), started("read_file", READ)])
        await stage.shows("Calls")
        play(stage, clock, [finished("read_file", "x"), turn_finished(RunStatus.COMPLETED)])
        await stage.until(lambda: "Calls" not in stage.text())
        assert stage.app.chat.side_panel.display
