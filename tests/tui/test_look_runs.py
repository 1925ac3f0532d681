"""Reads and searches of several answers in a row fold into one row, and come back whole."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

import pytest

from quorum.application.view.batches import find_segment
from quorum.application.view.entries import AnswerEntry, Batch
from quorum.application.view.session_view import SessionView
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.hook_points import HookPoint
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events import event as ev
from tests.support.app_stage import on_stage
from tests.tui.test_marked_part_keys import marked
from tests.tui.transcript_scenes import TranscriptApp, completed, context, finished, planned


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def look(name: str, outcome: Outcome = Outcome.OK) -> Iterator[ev.Event]:
    """An answer with nothing but one read, from its plan to its end."""
    batch = f"b-{name}"
    yield planned(("read_file", {"path": f"src/{name}.py"}, RiskLevel.LOW, ()), batch=batch)
    yield finished("read_file", f"1\tof {name}", outcome=outcome, batch=batch)


def looks(names: str) -> list[ev.Event]:
    return [event for name in names for event in look(name)]


def shown(app: TranscriptApp) -> list[str]:
    return [line.strip() for line in app.lines() if line.strip()]


async def test_three_answers_that_only_read_are_one_row_which_a_click_unfolds_and_folds():
    app = TranscriptApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.show([ev.TurnStarted(prompt="look"), *looks("ab")])
        assert sum("read   src/" in line for line in shown(app)) == 2
        app.show([*looks("c"), completed("It is in c.")])
        assert shown(app)[1].startswith("▸ read 3 files")
        assert shown(app)[2:] == ["It is in c."]

        row = next(y for y, line in enumerate(app.lines()) if "read 3 files" in line)
        await pilot.click(app.view, offset=(6, row))
        assert [line.partition(" · ")[0][:17].rstrip() for line in shown(app)[1:5]] == [
            "▾ read 3 files",
            "▸ read   src/a.py",
            "▸ read   src/b.py",
            "▸ read   src/c.py",
        ]
        await pilot.click(app.view, offset=(6, row))
        assert shown(app)[1:] == [shown(app)[1], "It is in c."]


async def test_a_call_under_way_has_its_own_row_below_those_that_are_folded():
    app = TranscriptApp()
    async with app.run_test(size=(100, 30)):
        app.show([*looks("abc"), planned(("read_file", {"path": "d.py"}, RiskLevel.LOW, ()), batch="b-d")])
        assert shown(app)[0].startswith("▸ read 3 files")
        assert shown(app)[1].startswith("▸ read   d.py")


async def test_a_failure_and_a_sentence_part_the_rows_and_stay_in_sight():
    app = TranscriptApp()
    async with app.run_test(size=(100, 40)):
        app.show([*looks("abc"), *look("d", Outcome.ERROR), *looks("efg"), completed("So far."), *looks("hij")])
        text = "\n".join(shown(app))
        assert text.count("read 3 files") == 3
        assert "src/d.py" in text
        assert "error" in text
        assert text.index("src/d.py") < text.index("So far.")


async def test_thoughts_between_are_counted_and_come_back_with_the_row():
    app = TranscriptApp()
    async with app.run_test(size=(100, 40)):
        between = [ev.ReasoningDelta(text="And the next one."), completed("")]
        app.show([*looks("a"), *between, *looks("b"), *between, *looks("c")])
        assert len(shown(app)) == 1
        assert shown(app)[0].startswith("▸ read 3 files, 2 thoughts")
        app.view.toggle_fold_all()
        app.view.flush()
        text = "\n".join(shown(app))
        assert text.count("And the next one.") == 2
        assert all(f"src/{name}.py" in text for name in "abc")


async def test_a_remark_that_comes_later_takes_its_call_out_of_the_row():
    app = TranscriptApp()
    async with app.run_test(size=(100, 40)):
        app.show(looks("abcd"))
        assert len(shown(app)) == 1
        app.show(
            [
                ev.HookRan(
                    hook="guard",
                    point=HookPoint.AFTER_TOOL_CALL,
                    answer="error",
                    reason="it failed",
                    context=context(0, "b-d"),
                )
            ]
        )
        text = "\n".join(shown(app))
        assert text.count("read 3 files") == 1
        assert "src/d.py" in text
        assert "it failed" in text


@pytest.mark.long
async def test_find_unfolds_the_row_that_hides_a_hit_and_folds_it_again(tmp_path):
    async with on_stage(tmp_path, size=(100, 40)) as stage:
        view = stage.app.chat.transcript
        for event in (ev.TurnStarted(prompt="look"), *looks("abc")):
            view.apply(event)
        view.flush()
        await stage.shows("read 3 files")
        await stage.pilot.press("ctrl+f", *"src/b.py")
        await stage.shows("read   src/b.py")
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.chat.prompt.has_focus)


@pytest.mark.long
async def test_the_row_is_marked_in_the_place_of_what_it_stands_for(tmp_path):
    async with on_stage(tmp_path, size=(100, 40)) as stage:
        view = stage.app.chat.transcript
        for event in (ev.TurnStarted(prompt="look"), *looks("abc")):
            view.apply(event)
        view.flush()
        await stage.pilot.press("alt+up")
        await stage.until(lambda: marked(stage).startswith("▸ read 3 files"))
        await stage.pilot.press("space")
        await stage.until(lambda: "src/c.py" in marked(stage))


async def test_after_clearing_the_screen_in_the_middle_of_a_batch_nothing_breaks():
    app = TranscriptApp()
    async with app.run_test(size=(100, 40)):
        app.show([*looks("ab"), planned(("read_file", {"path": "c.py"}, RiskLevel.LOW, ()), batch="b-c")])
        app.view.clear()
        app.show([finished("read_file", "x", batch="b-c"), *looks("def")])
        assert any(line.startswith("▸ read 4 files") for line in shown(app)), shown(app)


async def test_any_order_of_folding_and_scrolling_keeps_the_screen_whole():
    app = TranscriptApp()
    steps = random.Random(7)
    async with app.run_test(size=(60, 12)):
        for number in range(40):
            app.show(
                looks("abc"[: steps.randrange(1, 4)]) if steps.random() < 0.7 else [completed(f"say {number}")]
            )
            if steps.random() < 0.4:
                app.view.toggle_fold_all()
            if steps.random() < 0.4:
                app.view.scroll_to(y=steps.randrange(0, 60), animate=False)
            app.view.flush()
            assert len(app.lines()) == app.view.size.height


async def test_a_look_that_joins_a_long_run_has_nothing_drawn_anew_but_the_row_and_itself():
    app = TranscriptApp()
    async with app.run_test(size=(100, 40)):
        app.show([event for number in range(60) for event in look(f"f{number}")])
        versions = {id(entry): entry.version for entry in app.view.session_view.entries}
        app.show(looks("x"))
        changed = [
            place
            for place, entry in enumerate(app.view.session_view.entries)
            if versions.get(id(entry)) != entry.version
        ]
        assert "read 61 files" in shown(app)[0]
        assert changed == [0, 60]


@pytest.mark.parametrize("seed", range(20))
def test_what_belongs_together_is_the_same_whether_found_one_by_one_or_at_once(seed):
    """Looks, failures, thoughts and remarks that come later, in any order."""
    steps, view, names = random.Random(seed), SessionView(), [f"f{number}" for number in range(30)]
    for place, name in enumerate(names):
        for event in look(name, Outcome.ERROR if steps.random() < 0.1 else Outcome.OK):
            view.apply(event)
        if steps.random() < 0.3:
            view.apply(ev.ReasoningDelta(text="And the next one."))
            view.apply(completed(""))
        if steps.random() < 0.1:
            about = context(0, f"b-{steps.choice(names[: place + 1])}")
            view.apply(
                ev.HookRan(
                    hook="guard",
                    point=HookPoint.AFTER_TOOL_CALL,
                    answer="error",
                    reason="failed",
                    context=about,
                )
            )
    entries = [entry for entry in view.entries if isinstance(entry, Batch | AnswerEntry)]
    one_by_one = [find_segment(entry) for entry in entries]
    for entry in entries:
        if entry.run is not None:
            entry.run.touch()
    at_once = [find_segment(entry) for entry in entries]

    assert any(one_by_one)
    for grown, found in zip(one_by_one, at_once, strict=True):
        assert (grown and (grown.members, grown.batches, grown.calls)) == (
            found and (found.members, found.batches, found.calls)
        )


async def count_calls_to_draw(looks):
    """How many calls of Python it takes to add so many looks to a transcript, one by one."""
    app, calls = TranscriptApp(), 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event == "call"

    async with app.run_test(size=(100, 40)):
        events = [event for number in range(looks) for event in look(f"f{number}")]
        sys.setprofile(count)
        try:
            for event in events:
                app.view.apply(event)
            app.view.flush()
        finally:
            sys.setprofile(None)
        assert f"read {looks} files" in shown(app)[0]
    return calls


@pytest.mark.long(after=1)
@pytest.mark.parametrize("count", [20, 150])
async def test_a_long_run_costs_no_more_than_its_length(count):
    assert await count_calls_to_draw(2 * count) < 2.5 * await count_calls_to_draw(count)
