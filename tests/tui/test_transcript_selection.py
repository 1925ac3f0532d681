import pytest
from textual.events import MouseDown, MouseMove, MouseUp

from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events import event as ev
from tests.tui.transcript_scenes import TranscriptApp, completed, finished, planned, started

RUN = ("run_command", {"command": "make test"}, RiskLevel.HIGH, ())
LONG = "the quick brown fox jumps over the lazy dog and " * 6


def where(app, text):
    """The cell at which a text begins on the screen."""
    for y, line in enumerate(app.lines()):
        if text in line:
            return line.index(text), y
    raise AssertionError(f"{text!r} is not in sight: {app.lines()}")


def mouse(kind, app, x, y, button=1):
    return kind(app.view, x, y, 0, 0, button, False, False, False, screen_x=x, screen_y=y)


async def drag(app, pilot, start, *ways):
    app.view.post_message(mouse(MouseDown, app, *start))
    for way in ways:
        app.view.post_message(mouse(MouseMove, app, *way))
    await pilot.pause()


async def drop(app, pilot, at=(0, 0)):
    app.view.post_message(mouse(MouseUp, app, *at))
    await pilot.pause()


def selected(app):
    return app.screen.get_selected_text()


async def test_dragging_over_entries_selects_their_text_without_margins_and_marks():
    app = TranscriptApp()
    async with app.run_test(size=(60, 30)) as pilot:
        app.show([ev.TurnStarted(prompt="please test it"), completed("I run the tests.\n\nNow.", calls=True)])
        app.show([planned(RUN), started("run_command", {}), finished("run_command", "all\n  green\n")])
        await drag(app, pilot, where(app, "test it"), where(app, "green"))
        x, y = where(app, "green")
        await drag(app, pilot, where(app, "test it"), (x + 4, y))
        await drop(app, pilot)
        lines = selected(app).split("\n")
    assert lines[:5] == ["test it", "", "I run the tests.", "", "Now."]
    assert lines[-2:] == ["all", "  green"]
    assert not any(mark in selected_line for selected_line in lines for mark in "▸▾│")


@pytest.mark.parametrize("width", [40, 80, 120, 200])
async def test_lines_that_were_broken_to_fit_are_copied_whole(width):
    text = LONG.strip()
    code = "print('" + "x" * 230 + "')  # 漢字" + "漢" * 30
    app = TranscriptApp()
    async with app.run_test(size=(width, 60)):
        app.show(
            [ev.TurnStarted(prompt=text), completed(f"{text}\n\n- {text}\n\n```python\n{code}\n    y\n```")]
        )
        app.view.text_select_all()
        copied = selected(app)
    assert copied.strip("\n").split("\n") == [text, "", text, "", f"• {text}", "", code, "    y"]


async def test_what_is_selected_looks_selected_and_stays_so_while_text_streams():
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.show([completed("\n\n".join(f"paragraph {number}" for number in range(30)))])
        x, y = where(app, "paragraph 27")
        await drag(app, pilot, (x, y), (x + 11, y))
        await drop(app, pilot)
        assert selected(app) == "paragraph 27"
        plain = app.view.render_line(0)
        app.show([ev.TextDelta(text="more\n\n" * 3)])
        assert selected(app) == "paragraph 27"
        x, y = where(app, "paragraph 27")
        app.view.clear()
        assert selected(app) in (None, "")
    assert plain is not None


async def test_a_selection_stays_on_its_text_when_what_is_above_is_unfolded():
    app = TranscriptApp()
    async with app.run_test(size=(60, 40)) as pilot:
        app.show([planned(RUN), started("run_command", {}), finished("run_command", "line\n" * 20)])
        app.show([completed("the answer to it")])
        x, y = where(app, "answer")
        await drag(app, pilot, (x, y), (x + 5, y))
        await drop(app, pilot)
        app.view.toggle_fold_all()
        app.view.flush()
        assert where(app, "answer") != (x, y)
        assert selected(app) == "answer"


@pytest.mark.long
async def test_dragging_beyond_the_edge_scrolls_and_selects_on():
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.show([completed("\n\n".join(f"paragraph {number}" for number in range(60)))])
        x, y = where(app, "paragraph 58")
        await drag(app, pilot, (x, y), (x, -3))
        while "paragraph 40" not in selected(app):
            await pilot.pause(0.01)
        await drop(app, pilot)
        assert not app.view.is_at_end
        top = app.view.scroll_y
        await pilot.pause(0.1)
        assert app.view.scroll_y == top
        assert selected(app).endswith("paragraph 57\n\np")


@pytest.mark.long
async def test_two_clicks_select_a_word_or_a_path_and_three_the_line_however_it_was_broken():
    app = TranscriptApp()
    text = (
        "look at src/deeply/nested/folders/with/a/very/long/path/of/many/parts/module.py:42, the rest is fine"
    )
    app_size = (40, 20)
    async with app.run_test(size=app_size) as pilot:
        app.show([completed(text)])
        x, y = where(app, "look")
        await pilot.click(app.view, offset=(x + 1, y), times=2)
        assert selected(app) == "look"
        x, y = where(app, "parts")
        await pilot.click(app.view, offset=(x, y), times=2)
        assert selected(app) == "src/deeply/nested/folders/with/a/very/long/path/of/many/parts/module.py:42"
        await pilot.click(app.view, offset=(x, y), times=3)
        assert selected(app) == text


async def test_wide_characters_are_selected_one_by_one():
    app = TranscriptApp()
    async with app.run_test(size=(60, 20)) as pilot:
        app.show([completed("漢字 👩‍👧 שלום ok")])
        y = where(app, "漢字")[1]
        await drag(app, pilot, (5, y), (5, y))
        await drop(app, pilot)
        assert selected(app) == "字"
        await pilot.click(app.view, offset=(3, y), times=2)
        assert selected(app) == "漢字"


async def test_the_text_of_an_unfolded_card_can_be_clicked_without_folding_it():
    app = TranscriptApp()
    async with app.run_test(size=(60, 30)) as pilot:
        app.show([planned(RUN), started("run_command", {}), finished("run_command", "alpha beta\n" * 12)])
        app.view.toggle_fold_all()
        app.view.flush()
        x, y = where(app, "beta")
        await pilot.click(app.view, offset=(x, y), times=2)
        assert selected(app) == "beta"
        assert "▾ run " in app.lines()[1]


async def test_a_click_elsewhere_drops_the_selection():
    app = TranscriptApp()
    async with app.run_test(size=(60, 20)) as pilot:
        app.show([completed("some words")])
        x, y = where(app, "words")
        await pilot.click(app.view, offset=(x, y), times=2)
        assert selected(app) == "words"
        await pilot.click(app.view, offset=(30, 15))
        assert not selected(app)
