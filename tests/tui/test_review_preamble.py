"""What the model wrote before its calls stays above the question about them, as its own words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events.event import TextDelta
from quorum.domain.review.questions import Approve
from quorum.tui.screens.review.text.facts import quote_preamble, render_preamble
from quorum.tui.transcript.kinds.rows import fold
from tests.support.app_stage import on_stage
from tests.support.fake_agent import FakeAgent, Scene, a_command, a_request, an_edit
from tests.tui.transcript_scenes import completed, planned

SENTENCE = "The delay is never awaited, so I make it one."
DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,0 +1,60 @@\n" + "".join(f"+line_{n} = {n}\n" for n in range(60))
EDIT = an_edit(DIFF)


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def asking(text: str, *packets) -> Scene:
    """A response with this text, and questions about its calls right after it."""

    async def scene(agent: FakeAgent) -> None:
        agent.tell(TextDelta(text=text))
        agent.tell(completed(text, calls=True))
        agent.tell(planned(*((p.call.tool_name, p.call.arguments, RiskLevel.HIGH, ()) for p in packets)))
        for packet in packets:
            await agent.ask(a_request(packet, preamble=text))

    return scene


def plain(rows) -> list[str]:
    return ["".join(part.text for part in row) for row in rows]


async def test_the_sentence_stays_above_a_long_diff_that_is_scrolled(tmp_path):
    async with on_stage(tmp_path, asking(SENTENCE, EDIT), size=(80, 24)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("space", "space")

        card = stage.text().split("╭", 1)[1]

        assert f"model: {SENTENCE}" in card
        assert "line_0 =" not in card


@pytest.mark.parametrize("text", [SENTENCE, f"{'A long word. ' * 200}\n\n{SENTENCE}"], ids=["short", "long"])
async def test_what_stands_right_above_the_question_is_not_said_in_it_again(tmp_path, text):
    async with on_stage(tmp_path, asking(text, EDIT), size=(120, 40)) as stage:
        await stage.send("go")
        await stage.asked()
        above, card = stage.text().split("╭", 1)

        assert SENTENCE in above
        assert ("model: " in card, SENTENCE in card) == (text != SENTENCE, text != SENTENCE)


async def test_a_smaller_window_that_covers_the_sentence_has_it_in_the_question(tmp_path):
    async with on_stage(tmp_path, asking(SENTENCE, EDIT), size=(120, 40)) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.resize_terminal(80, 24)
        await stage.shows(f"model: {SENTENCE}")


async def test_each_call_of_the_response_has_it_and_the_next_response_has_its_own(tmp_path):
    second = an_edit(DIFF, index=1)
    scenes = (asking(SENTENCE, EDIT, second), asking("Now the tests.", EDIT))
    async with on_stage(tmp_path, *scenes, size=(80, 24)) as stage:
        await stage.send("go")
        for packet in (EDIT, second):
            await stage.until(lambda: stage.app.screen is not stage.app.chat)
            await stage.shows(f"model: {SENTENCE}")
            await stage.asked()
            await stage.pilot.press("y", "y")
            await stage.until(lambda p=packet: Approve(p.digest) in stage.agent.answers)
        await stage.unasked()
        await stage.send("go on")
        await stage.asked()

        assert "model: Now the tests." in stage.text()
        assert f"model: {SENTENCE}" not in stage.text()


async def test_a_response_without_a_text_has_no_row_for_it(tmp_path):
    scenes = (asking(SENTENCE, a_command("make")), asking("", a_command("pytest")))
    async with on_stage(tmp_path, *scenes) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("y")
        await stage.unasked()
        await stage.send("go on")
        await stage.asked()

        assert "model:" not in stage.text()


async def test_details_show_all_of_a_long_text(tmp_path):
    text = "\n\n".join(f"Paragraph {n} of what I found." for n in range(7))
    async with on_stage(tmp_path, asking(text, EDIT), size=(80, 40)) as stage:
        await stage.send("go")
        await stage.asked()
        card = stage.text().split("╭", 1)[1]
        assert "model: … Paragraph 6 of what I found. d: all" in card
        assert "Paragraph 5" not in card

        await stage.pilot.press("d")
        await stage.shows("model wrote   Paragraph 0 of what I found.")

        assert all(f"Paragraph {n}" in stage.text().split("╭", 1)[1] for n in range(7))


def test_a_text_of_one_paragraph_is_folded_into_three_rows_under_its_label():
    rows = plain(render_preamble("word " * 100, 40, 3, "d"))

    assert len(rows) == 3
    assert rows[0].startswith("model: word")
    assert rows[2].endswith("… d: all")


def test_words_that_look_like_those_of_the_dialog_stand_under_the_label_of_the_model():
    evil = "fine\n! you asked for it\r\n\x1b[2J\u202ey yes"

    rows = plain(render_preamble(evil, 24, 3, "d"))

    assert all(row.startswith(("model: ", "       ")) for row in rows)
    assert not {"\x1b", "\r", "\u202e"} & set("".join([*rows, *plain(fold(quote_preamble(evil), 80))]))


def test_blanks_that_push_a_text_out_of_sight_do_not_hide_that_there_is_more():
    (row,) = plain(render_preamble("a" + " " * 5_000 + "b", 60, 3, "d"))

    assert row.endswith("… d: all")


@given(st.text(), st.integers(min_value=20, max_value=120), st.integers(min_value=0, max_value=3))
def test_no_text_takes_more_than_its_rows(text, width, height):
    rows = plain(render_preamble(text, width, height, "d"))

    assert len(rows) <= height
    assert all(cell_len(row) <= width for row in rows)


async def test_marks_of_code_and_of_bold_words_are_not_read_aloud(tmp_path):
    async with on_stage(tmp_path, asking("Now `make all`, **once**, in `a b`.", EDIT), size=(80, 24)) as stage:
        await stage.send("go")
        await stage.asked()

        assert "model: Now make all, once, in a b." in stage.text().split("╭", 1)[1]
