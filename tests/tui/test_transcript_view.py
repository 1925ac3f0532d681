import asyncio
import subprocess
import sys

import pytest
from textual.events import MouseScrollUp

from quorum.application.view.session_view import SessionView
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.hook_points import HookPoint
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events import event as ev
from quorum.domain.review.questions import DecisionLabel
from quorum.tui.transcript.layout.transcript_layout import TranscriptLayout
from tests.tui.transcript_scenes import (
    BATCH_RUNNING,
    DIFF,
    Clock,
    TranscriptApp,
    asked,
    completed,
    finished,
    planned,
    play,
    started,
)

RUN = ("run_command", {"command": "make test"}, RiskLevel.HIGH, ())


def many(count):
    for number in range(count // 2):
        yield ev.TurnStarted(prompt=f"prompt {number}")
        yield completed(f"answer {number} " + "with some more words " * (number % 9))


def last_line(app):
    return next(line for line in reversed(app.lines()) if line)


async def test_what_streams_stays_in_sight_at_the_bottom():
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)):
        for number in range(40):
            app.show([ev.TextDelta(text=f"line {number}\n\n")])
            assert last_line(app).strip() == f"line {number}"
        assert app.view.is_at_end
        assert app.view.new_below == ""


async def test_deltas_are_seen_without_anybody_asking_for_a_frame():
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.view.apply(ev.TextDelta(text="hello"))
        async with asyncio.timeout(60):
            while "   hello" not in app.lines():
                await pilot.pause()


async def test_what_happens_once_the_app_has_begun_to_end_is_kept_and_not_drawn():
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)) as pilot:
        view = app.view
        view.apply(ev.TextDelta(text="so"))
        await pilot.pause()
        await view.remove()

        view.apply(ev.TextDelta(text=" on"))


async def test_who_scrolled_up_stays_there_and_sees_that_something_is_new():
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.show(many(60))
        app.view.action_page_up()
        before = app.lines()
        app.show([ev.TextDelta(text="news\n\n" * 20)])
        await pilot.pause()
        assert app.lines() == before
        assert app.view.new_below == "↓ new"

        app.view.action_scroll_end()
        assert last_line(app).strip() == "news"
        assert app.view.new_below == ""


async def test_scrolling_down_to_the_end_by_hand_sticks_to_it_again():
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.show(many(60))
        app.view.action_page_up()
        assert not app.view.is_at_end
        for _ in range(3):
            app.view.action_page_down()
            await pilot.pause()
        assert app.view.is_at_end
        app.show([ev.TextDelta(text="news")])
        assert last_line(app).strip() == "news"


async def test_home_shows_the_beginning():
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)):
        app.show(many(400))
        app.view.action_scroll_home()
        assert app.lines()[1].strip() == "› prompt 0"


async def test_the_mouse_wheel_scrolls():
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.show(many(60))
        wheel = MouseScrollUp(app.view, 5, 5, 0, 0, 0, False, False, False)
        app.view.post_message(wheel)
        async with asyncio.timeout(60):
            while app.view.is_at_end:
                await pilot.pause()
        assert not app.view.is_at_end


async def test_paging_up_over_entries_never_seen_leaves_out_no_entry():
    app = TranscriptApp()
    async with app.run_test(size=(60, 14)):
        app.show(many(200))
        seen = {line for line in app.lines() if "prompt" in line}
        while app.view.scroll_y > 0:
            app.view.action_page_up()
            seen |= {line for line in app.lines() if "prompt" in line}
    assert {line.strip() for line in seen} == {f"› prompt {number}" for number in range(100)}


async def test_scrolling_up_line_by_line_moves_by_one_line_each_time():
    app = TranscriptApp()
    async with app.run_test(size=(60, 14)):
        app.show(many(200))
        app.view.scroll_to(y=app.view.scroll_y - 1, animate=False)
        for _ in range(120):
            before = app.lines()
            app.view.scroll_to(y=app.view.scroll_y - 1, animate=False)
            assert app.lines()[1:] == before[:-1]


async def test_a_resize_there_and_back_keeps_the_bottom():
    app = TranscriptApp()
    async with app.run_test(size=(120, 30)) as pilot:
        app.show([*many(200), completed("the very end")])
        before = app.lines()
        await pilot.resize_terminal(80, 30)
        await pilot.pause()
        assert last_line(app).strip() == "the very end"
        await pilot.resize_terminal(120, 30)
        await pilot.pause()
        assert app.lines() == before


async def test_a_resize_keeps_the_entry_at_the_top_of_who_scrolled_up():
    app = TranscriptApp()
    async with app.run_test(size=(120, 30)) as pilot:
        app.show(many(400))
        for _ in range(4):
            app.view.action_page_up()
        top = next(line for line in app.lines() if "prompt" in line)
        await pilot.resize_terminal(70, 30)
        await pilot.pause()
        assert top in app.lines()[:8]
        assert not app.view.is_at_end


@pytest.mark.long
async def test_a_resize_draws_only_what_is_in_sight():
    app = TranscriptApp()
    async with app.run_test(size=(120, 40)) as pilot:
        app.show(many(10_000))
        page = app.view._page
        assert page.drawings < 100
        before = page.drawings
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert page.drawings - before < 60
        assert "prompt 4999" in "\n".join(app.lines())


async def test_a_key_press_elsewhere_draws_nothing():
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.show(many(1_000))
        before = app.view._page.drawings
        await pilot.press("x")
        assert app.view._page.drawings == before


HARMFUL = "[/red] [bold]b[/bold] \x1b[2J\x1b]52;c;aGk=\x07 \u202eevil\u2066 \x9b31m \x00\x07"


@pytest.mark.long(after=7)
@pytest.mark.parametrize(
    "events",
    [
        [ev.TurnStarted(prompt=HARMFUL)],
        [ev.TextDelta(text=HARMFUL)],
        [ev.ReasoningDelta(text=HARMFUL)],
        [ev.ErrorOccurred(message=HARMFUL)],
        [planned((HARMFUL, {HARMFUL: HARMFUL, "path": HARMFUL}, RiskLevel.HIGH, ()))],
        [
            planned(RUN),
            started("run_command", {}),
            ev.CallProgressed(context=planned(RUN).lanes[0].context, text=HARMFUL),
        ],
        [planned(RUN), started("run_command", {}), finished("run_command", HARMFUL)],
        [planned(RUN), finished("run_command", HARMFUL, outcome=Outcome.ERROR)],
        [planned(RUN), asked("run_command", {"command": HARMFUL}, 0, f"@@ -1 +1 @@\n-{HARMFUL}\n+{HARMFUL}\n")],
        [
            planned(RUN),
            ev.VoteCast(
                context=planned(RUN).lanes[0].context,
                digest="",
                reviewer=HARMFUL,
                verdict="reject",
                confidence=None,
                reason=HARMFUL,
            ),
        ],
        [
            ev.HookRan(
                point=HookPoint.ON_MESSAGE_SEND, hook=HARMFUL, answer="skip", reason=HARMFUL, context=None
            )
        ],
    ],
)
@pytest.mark.parametrize("expanded", [False, True])
async def test_harmful_text_is_drawn_literally_and_acts_on_nothing(events, expanded):
    app = TranscriptApp()
    async with app.run_test(size=(100, 40)):
        app.show(events)
        if expanded:
            app.view.toggle_fold_all()
            app.view.flush()
        shown = app.lines()
        assert all(line.isprintable() for line in shown)
        assert not any(char in "".join(shown) for char in "\u202e\u2066")
        if not isinstance(events[-1], ev.CallProgressed | ev.VoteCast) or expanded:
            assert any("[/red]" in line for line in shown)


async def test_a_single_line_of_200_kilobytes_is_folded_and_can_be_unfolded():
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)):
        app.show([planned(RUN), started("run_command", {}), finished("run_command", "y" * 200_000)])
        assert app.view._page.lines < 10
        app.view.toggle_fold_all()
        app.view.flush()
        assert app.view._page.lines > 100  # of what does not fit into a card, the pager has the rest
        assert all(len(line) <= 80 for line in app.lines())


async def test_a_click_on_a_row_unfolds_that_call_and_another_folds_it():
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.show([planned(RUN), started("run_command", {}), finished("run_command", "line\n" * 12)])
        assert "… 6 lines above" in app.lines()[2]
        await pilot.click(app.view, offset=(5, 1))
        assert app.lines()[1].startswith(" ▾ run ")
        assert sum("line" in line for line in app.lines()) > 12
        await pilot.click(app.view, offset=(5, 1))
        assert app.lines()[1].startswith(" ▸ run ")


async def test_a_row_clicked_on_at_the_end_stays_under_the_mouse():
    app = TranscriptApp()
    async with app.run_test(size=(80, 12)) as pilot:
        app.show([*many(40), planned(RUN), started("run_command", {}), finished("run_command", "line\n" * 90)])
        row = next(y for y, line in enumerate(app.lines()) if " run " in line)
        await pilot.click(app.view, offset=(5, row))
        assert app.lines()[row].startswith(" ▾ run ")


async def test_a_batch_shows_what_runs_and_what_waits_for_whom():
    app = TranscriptApp()
    async with app.run_test(size=(110, 30)):
        clock = Clock()
        app.view._page = TranscriptLayout(SessionView(clock))
        play(app.view, clock, BATCH_RUNNING)
        app.view.flush()
        rows = [line for line in app.lines() if line.startswith(" ▸") and "thought" not in line]
    read, grep, edit, run, more = rows
    assert read.startswith(" ▸  1 read   tests/test_retry.py ")
    assert read.endswith("   140 lines")
    assert grep.endswith("   7 lines")
    assert edit.endswith("   waits for you")
    assert run.endswith("   waits for 1, 2, 3")
    assert more.endswith("   running")
    assert (
        len(
            {
                row.index(word)
                for row, word in zip(rows, ("tests/", '"sleep', "src/", "python", '"def'), strict=True)
            }
        )
        == 1
    )


async def test_a_rejection_says_why():
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)):
        rejected = finished(
            "run_command",
            "rejected by the user: not on main",
            outcome=Outcome.REJECTED,
            decision=DecisionLabel.REJECTED,
        )
        app.show([planned(RUN), rejected])
        assert app.lines()[1].endswith("rejected")
        assert app.lines()[2].strip() == "│ rejected by the user: not on main"


async def test_a_diff_is_readable_without_colour():
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)):
        edit = ("edit_file", {"path": "src/retry.py"}, RiskLevel.HIGH, ())
        app.show([planned(edit), started("edit_file", {"path": "src/retry.py"}, diff=DIFF)])
        text = "\n".join(app.lines())
        assert "42 -         time.sleep(delay)" in text
        assert "42 +         await asyncio.sleep(max(delay, 0.0))" in text


async def test_selected_text_is_copied_without_the_indentation_of_the_transcript():
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.show([completed("first line\n\nsecond line")])
        await pilot.pause()
        app.view.text_select_all()
        await pilot.pause()
        assert app.screen.get_selected_text().strip() == "first line\n\nsecond line"


async def test_clear_forgets_everything():
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)):
        app.show(many(60))
        app.view.clear()
        assert not any(app.lines())
        app.show([ev.TurnStarted(prompt="anew")])
        assert app.lines()[1].strip() == "› anew"


async def test_nothing_ticks_while_nothing_happens():
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.apply(ev.TextDelta(text="hello"))
        async with asyncio.timeout(60):
            while app.view._pace._timer._active.is_set() or app.view._live._active.is_set():
                await pilot.pause()


async def test_another_theme_changes_the_colours_of_what_was_drawn():
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.show([ev.TurnStarted(prompt="hi")])
        before = app.view.render_line(1)
        app.theme = "textual-light"
        await pilot.pause()
        app.view.flush()
        assert app.view.render_line(1) != before


@pytest.mark.long
def test_loading_the_view_loads_nothing_of_the_domain_but_its_texts_and_no_markdown():
    code = (
        "import sys, quorum.tui.transcript.layout.view; "
        "print([m for m in sys.modules if m.split('.')[0] in ('pygments', 'markdown_it')"
        " or m.startswith('quorum.domain.') and not m.startswith('quorum.domain.text')"
        " or m in ('rich.markdown', 'rich.syntax')])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert answer.stdout.strip() == "[]"


def long_outputs(count):
    for number in range(count):
        yield ev.TurnStarted(prompt=f"prompt {number}")
        call = ("run_command", {"command": f"make {number}"}, RiskLevel.HIGH, ())
        batch = f"b{number}"
        yield planned(call, batch=batch)
        output = "".join(f"{number}/{line}\n" for line in range(30))
        yield finished("run_command", output, batch=batch)


async def test_unfolding_and_folding_everything_keeps_what_stands_at_the_top():
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)):
        app.show(long_outputs(60))
        app.view.scroll_to(y=300, animate=False)
        while not app.lines()[0].startswith(" ▸"):
            app.view.scroll_to(y=app.view.scroll_y - 1, animate=False)
        name = app.lines()[0].split()[3]
        app.view.toggle_fold_all()
        app.view.flush()
        assert app.lines()[0].startswith(f" ▾ run    make {name} ")
        app.view.scroll_to(y=app.view.scroll_y + 20, animate=False)
        app.view.toggle_fold_all()
        app.view.flush()
        assert f"{name}/" in app.lines()[0]


async def test_thoughts_that_are_unfolded_push_nothing_away_that_stands_at_the_top():
    app = TranscriptApp()
    async with app.run_test(size=(80, 12)):
        app.show([ev.ReasoningDelta(text="a\n" * 20), completed("\n\n".join(map(str, range(100, 140))))])
        app.show(many(40))
        app.view.scroll_to(y=10, animate=False)
        top = app.lines()[0]
        assert top.strip().isdecimal()
        app.view.toggle_fold_all()
        app.view.flush()
        assert app.lines()[0] == top
        app.view.toggle_fold_all()
        app.view.flush()
        assert app.lines()[0] == top


async def test_the_mark_before_thoughts_is_upright_since_slanted_fonts_lack_it():
    app = TranscriptApp()
    async with app.run_test(size=(80, 12)):
        app.show([ev.ReasoningDelta(text="first of all"), completed("done")])
        drawn = [segment for row in range(12) for segment in app.view.render_line(row)]

        assert [each.style.italic for each in drawn if each.style and "▸" in each.text] == [None]
        assert [each.style.italic for each in drawn if each.style and "first of all" in each.text] == [True]


async def test_a_fold_of_everything_draws_only_what_is_in_sight():
    app = TranscriptApp()
    async with app.run_test(size=(120, 40)):
        app.show(long_outputs(2_000))
        before = app.view._page.drawings
        app.view.toggle_fold_all()
        app.view.flush()
        assert app.view._page.drawings - before < 60
