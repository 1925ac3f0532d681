"""The marked one of several options is seen without colours, too."""

import pytest
from textual.app import App, ComposeResult
from textual.widgets.option_list import Option

from quorum.tui.widgets.dialog_parts import MarkedOptions


class Options(App[None]):
    def compose(self) -> ComposeResult:
        texts = ("  one", "  two\n    of two lines", "three")
        yield MarkedOptions(*map(Option, texts), markup=False, compact=True)

    def lines(self) -> list[str]:
        options = self.query_one(MarkedOptions)
        return [options.render_line(y).text.rstrip() for y in range(4)]


@pytest.mark.parametrize(
    ("marked", "shown"),
    [
        (None, ["  one", "  two", "    of two lines", "three"]),
        (0, ["› one", "  two", "    of two lines", "three"]),
        (1, ["  one", "› two", "    of two lines", "three"]),
        (2, ["  one", "  two", "    of two lines", "three"]),
    ],
)
async def test_the_marked_option_has_a_sign_and_no_text_gives_way_to_it(
    marked: int | None, shown: list[str]
) -> None:
    app = Options()
    async with app.run_test(size=(30, 6)) as pilot:
        app.query_one(MarkedOptions).highlighted = marked
        await pilot.pause()
        assert app.lines() == shown


async def test_the_sign_stays_with_the_option_when_the_list_scrolls() -> None:
    app = Options()
    async with app.run_test(size=(30, 2)) as pilot:
        app.query_one(MarkedOptions).highlighted = 1
        await pilot.pause()
        assert "› two" in app.lines()
