"""Wide characters at every width: nothing is wider than its place, and columns stay below each other."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult

from quorum.application.view.session_view import SessionView
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events import event as ev
from quorum.tui.chat.status_bar import Status, StatusBar
from quorum.tui.side_panel.drawing import draw_present
from quorum.tui.transcript.cells.palette import TERMINAL
from quorum.tui.transcript.layout.transcript_layout import TranscriptLayout
from tests.support.app_stage import on_stage
from tests.support.fake_agent import FakeAgent, say
from tests.tui.transcript_scenes import Clock, finished, planned, started

WORDS = (
    "日本語のファイル",
    "🧑‍💻👩🏽‍🚀",
    "❤️ ✈️ ☎️",
    "e\u0301a\u0308",
    "ｱｲｳ ＡＢＣ",
    "한국어 中文",
    "🇩🇪🇯🇵",
    "ไทย नमस्ते",
)
TEXT = " ".join(WORDS)
TABLE = "| 名前 | 値 |\n|---|--:|\n| 待機 🧑‍💻 | ❤️ |\n| abc | 12 |\n"
ANSWER = (
    f"# {TEXT}\n\n{TEXT * 3}\n\n{TABLE}\n\n```python\n# {TEXT}\nx = '{TEXT}'\n```\n\n- {TEXT}\n\n> {TEXT}\n"
)
CALLS = tuple(("grep_search", {"pattern": word, "path": TEXT}, RiskLevel.LOW, ()) for word in WORDS)
WIDTHS = [20, 23, 40, 41, 60, 79, 80, 100, 119, 120, 160, 200]


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def a_session() -> SessionView:
    clock = Clock()
    transcript = SessionView(clock)
    events = [ev.TurnStarted(prompt=TEXT * 2), ev.TextDelta(text=ANSWER), planned(*CALLS)]
    for place, (tool, arguments, _, _) in enumerate(CALLS):
        events.append(started(tool, arguments, place))
        if place % 2:
            events.append(finished(tool, f"{TEXT}\n" * 3, place, secs=0.5))
    events.append(ev.ErrorOccurred(message=TEXT))
    for event in events:
        transcript.apply(event)
        clock.now += 0.1
    return transcript


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("unfolded", [False, True])
def test_no_line_of_the_transcript_is_wider_than_it(width, unfolded):
    transcript = a_session()
    for entry in transcript.entries:
        for foldable in (entry, *getattr(entry, "calls", ())):
            if hasattr(foldable, "expanded"):
                foldable.expanded = unfolded
    page = TranscriptLayout(transcript)
    page.use(width, TERMINAL)
    page.settle(1000, pinned=True)
    lines = page.render_strips(1000)

    assert len(lines) > 20
    assert [(line.cell_length, line.text) for line in lines if line.cell_length > width] == []
    assert [line.text for line in lines if cell_len(line.text) != line.cell_length] == []


@pytest.mark.parametrize("width", [44, 60, 90])
def test_the_columns_of_the_panel_stay_below_each_other(width):
    board = SessionView(Clock())
    board.apply(planned(*CALLS))
    for place, (tool, arguments, _, _) in enumerate(CALLS):
        board.apply(started(tool, arguments, place))
    lines = draw_present(board.present, width, 60, TERMINAL, board.clock())

    assert [line.text for line in lines if line.cell_length > width] == []
    rows = [line.text for line in lines if "search" in line.text]
    assert rows
    assert len({cell_len(row.partition("search")[0]) for row in rows}) == 1


class Bar(App[None]):
    def __init__(self, status: Status) -> None:
        super().__init__()
        self.bar = StatusBar(lambda: status)

    def compose(self) -> ComposeResult:
        yield self.bar


async def test_only_what_is_not_done_is_in_the_colour_of_a_warning():
    for refuses, style in ((True, "bold $text-warning"), (False, "bold")):
        app = Bar(Status(ready=True, mode="ask", notice="written to x.md", refuses=refuses))
        async with app.run_test(size=(80, 2)):
            drawn = app.bar.render()
            said = [span for span in drawn.spans if "written" in drawn.plain[span.start : span.end]]
            assert [span.style for span in said] == [style]


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    "status",
    [
        Status(ready=True, mode="ask", notice=TEXT),
        Status(ready=True, mode="auto", context=(90_000, 100_000), used="12.3k in · 1.2k out · $0.04"),
        Status(ready=True, running=True, does="作業中", elapsed=75, waiting=3, context=(400, 1000)),
        Status(ready=True, answer_needed=True, waiting=2, used="1 in"),
        Status(ready=True, running=True, retry="rate limited, again in 12 s (2 of 5)"),
        Status(closing=True),
    ],
    ids=lambda status: str(status.notice or status.retry or status.does)[:12],
)
async def test_the_status_bar_fits_at_every_width_and_says_the_most_important_thing(status):
    app = Bar(status)
    async with app.run_test(size=(80, 2)) as pilot:
        for width in (12, 30, 40, 57, 80, 99, 100, 130, 200):
            await pilot.resize_terminal(width, 2)
            await pilot.pause()
            line = app.bar.render()
            assert line.cell_length <= width
            if status.answer_needed and width >= 20:
                assert "answer needed" in line.plain
            if status.context[1] and width >= 40:
                assert "context" in line.plain


@pytest.mark.long(after=1)
@pytest.mark.parametrize("size", [(40, 10), (80, 24), (121, 45), (170, 40)])
async def test_the_whole_screen_is_as_wide_as_the_terminal_on_every_line(tmp_path, size):
    project = tmp_path / "プロジェクト-🧑‍💻"
    project.mkdir()

    async def scene(agent: FakeAgent) -> None:
        agent.tell(planned(*CALLS))
        await say(ANSWER)(agent)

    async with on_stage(project, scene, size=size, ready=False) as stage:
        await stage.until(lambda: stage.app.chat.current.session is not None)
        await stage.send(TEXT)
        await stage.until(lambda: stage.agent.reports)
        stage.prompt.replace_text(TEXT * 3)
        await stage.pilot.pause()
        strips = stage.app.screen._compositor.render_strips()

    assert {strip.cell_length for strip in strips} == {size[0]}
    assert len(strips) == size[1]
