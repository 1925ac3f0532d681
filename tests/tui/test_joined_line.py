"""Header and status bar in one line, on screens of few lines."""

from __future__ import annotations

import pytest
from textual.content import Content

from quorum.domain.events import event as ev
from quorum.tui.chat.header import SessionLabel
from quorum.tui.chat.status_bar import join_line
from tests.support.app_stage import on_stage
from tests.support.builders import a_context
from tests.support.fake_agent import hold

LABEL = SessionLabel("ask", False, "sandbox on", "sonnet", "~/src/app", "main")


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def line(width: int = 80, label: SessionLabel = LABEL, happening: str = "", *urgent: str) -> str:
    joined = join_line(
        label,
        Content(happening),
        urgent,
        ("enter sends", "? help"),
        context=Content("context 2 %"),
        cost="$0.04",
        width=width,
    )
    assert joined.cell_length <= width
    return joined.plain


def test_at_rest_it_says_mode_sandbox_model_and_place_and_on_the_right_what_was_used():
    assert line() == " ask · sandbox on · sonnet · ~/src/app · main               $0.04 · context 2 % "


def test_what_happens_and_how_it_ends_come_before_what_describes_the_session():
    busy = line(60, LABEL, "working 3 s", "esc interrupts")

    assert busy.startswith(" ask · sonnet · working 3 s · esc interrupts")
    assert busy.endswith("context 2 % ")


@pytest.mark.parametrize("width", range(24, 130, 7))
def test_the_loud_mode_and_a_missing_sandbox_are_seen_at_every_width(width):
    label = LABEL._replace(mode="auto", sandbox="sandbox off")

    assert " AUTO" in line(width, label)
    assert "sandbox off" in line(width, label)


ERROR = "≤ 12 % of commands wrong (95 %, n = 24)"


def test_how_often_a_mode_was_wrong_stands_beside_it():
    assert line(80, LABEL._replace(mode="auto", error=ERROR)).startswith(f" AUTO: {ERROR} ")
    assert line(80, LABEL._replace(mode="quorum", error=ERROR)).startswith(f" quorum · {ERROR} · sonnet")


def test_what_a_mode_asks_about_comes_before_how_often_it_was_wrong():
    label = LABEL._replace(mode="auto", error=ERROR, asked="commands")

    assert line(80, label).startswith(" AUTO: commands are asked about ")
    assert line(120, label).startswith(f" AUTO: commands are asked about  {ERROR} · sandbox on · sonnet")


def test_a_notice_leaves_the_mode_where_it_is():
    assert line(80, LABEL, "esc again clears").startswith(" ask · ")
    assert "esc again clears" in line(40, LABEL, "esc again clears")


def test_a_notice_that_needs_the_whole_line_has_it_unless_the_mode_is_loud():
    notice = "n" * 78

    assert line(80, LABEL, notice) == f" {notice} "
    assert line(80, LABEL._replace(mode="auto"), notice).startswith(" AUTO")


def test_a_session_that_another_process_writes_says_so_in_the_place_of_the_mode():
    assert line(80, LABEL._replace(read_only=True)).startswith(" read-only · open elsewhere ")


@pytest.mark.long
async def test_a_screen_of_few_lines_has_no_header_and_no_lower_rule(tmp_path):
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        await stage.until(lambda: stage.text().splitlines()[-1].startswith(" ask · "))
        chat = stage.app.chat

        assert chat.status.header.size.height == 0
        assert stage.text().splitlines()[-2].startswith(" › ")

        await stage.pilot.resize_terminal(80, 40)
        await stage.until(lambda: stage.text().startswith(" quorum "))
        assert stage.text().splitlines()[-2].startswith("───")


@pytest.mark.long
async def test_background_commands_are_counted_there(tmp_path):
    async with on_stage(tmp_path, size=(80, 24)) as stage:
        stage.agent.tell(ev.JobStarted(job_id="job-1", context=a_context(), command="npm run dev"))
        await stage.until(lambda: "● 1 running · /board" in stage.text().splitlines()[-1])


async def test_a_model_is_named_without_its_provider_where_there_is_no_other(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        header = stage.app.chat.status.header
        assert "fake/" in header.render().plain

        stage.agent.set_up = ("fake",)
        stage.app.chat.refresh_state()
        assert "fake/" not in header.render().plain
        assert stage.agent.model.partition("/")[2] in header.render().plain
