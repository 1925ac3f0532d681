from collections.abc import Iterable
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult

from quorum.tui.chat.header import Header
from quorum.tui.transcript.cells.lines import fit_text_end

MODEL = "anthropic/claude-模型-🧑‍💻-4"


class Stand(App[None]):
    def __init__(self, cwd: Path) -> None:
        super().__init__()
        self.header = Header(cwd)

    def compose(self) -> ComposeResult:
        yield self.header


def a_project(tmp_path: Path, branch: str = "topic/修正") -> Path:
    project = tmp_path / "プロジェクト" / "e\u0301tude-❤️"
    project.mkdir(parents=True)
    (project / ".git").mkdir()
    (project / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n", encoding="utf-8")
    return project


async def lines_at(widths: Iterable[int], cwd: Path, **shown: object) -> dict[int, str]:
    """The line that a terminal of each width shows."""
    lines = {}
    async with Stand(cwd).run_test(size=(120, 3)) as pilot:
        header = pilot.app.query_one(Header)
        header.show(**{"model": MODEL, "mode": "ask", "sandbox": "sandbox on", **shown})
        for width in widths:
            await pilot.resize_terminal(width, 3)
            while header.size.width != width:
                await pilot.pause(0)
            lines[width] = header.render().plain
    return lines


async def line_at(width: int, cwd: Path, **shown: object) -> str:
    return (await lines_at([width], cwd, **shown))[width]


@pytest.mark.long
@pytest.mark.parametrize("mode", ["ask", "auto", "accept-edits"])
async def test_at_no_width_is_the_line_wider_than_the_screen_or_without_the_mode(tmp_path, mode):
    widths = (*range(16, 64), 79, 80, 100, 119, 160, 200)
    for width, line in (await lines_at(widths, a_project(tmp_path), mode=mode)).items():
        assert cell_len(line) <= width, width
        assert (" AUTO" if mode == "auto" else f" {mode}") in line, width


@pytest.mark.long
async def test_what_matters_least_is_left_out_first(tmp_path):
    project = a_project(tmp_path, "topic/one")
    gone = []
    for width, line in (await lines_at(range(120, 15, -1), project, model="fake/model-1")).items():
        assert cell_len(line) <= width
        for part in ("sandbox on", "topic", " quorum ", "fake/"):
            if part not in line and part not in gone:
                gone.append(part)

    assert gone == ["sandbox on", "topic", " quorum ", "fake/"]


async def test_that_commands_run_without_a_sandbox_is_shown_longer_than_anything_but_the_mode(tmp_path):
    line = await line_at(22, a_project(tmp_path), sandbox="sandbox off")

    assert line.split() == ["ask", "sandbox", "off"]


async def test_a_session_that_is_open_elsewhere_says_so_where_it_is_narrow_too(tmp_path):
    line = await line_at(30, a_project(tmp_path), mode="auto", read_only=True)

    assert "read-only" in line
    assert "AUTO" not in line


@pytest.mark.parametrize("room", range(12))
def test_a_path_is_cut_from_its_left_by_cells_and_never_too_wide(room):
    assert cell_len(fit_text_end("~/日本語/src", room)) <= room
