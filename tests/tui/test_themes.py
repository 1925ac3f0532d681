"""Themes: what they do to the eye is computed, not believed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.color import Color
from textual.constants import DIM_FACTOR
from textual.theme import BUILTIN_THEMES
from textual.widgets import TextArea

from quorum.tui.screens.review.choice_bar import ChoiceBar, ReviewOffer
from quorum.tui.screens.review.widgets import Rows, ScrollableText
from quorum.tui.side_panel.side_panel import SidePanel
from quorum.tui.terminal.line_filters import IndexedColours
from quorum.tui.themes import looks
from quorum.tui.themes.looks import Looks, adjust_theme, build_terminal_theme
from quorum.tui.themes.own import ANSI, ANSI_LIGHT, CONTRAST, DARK, LIGHT, THEMES, choose_theme
from quorum.tui.themes.picker import ThemePicker
from quorum.tui.transcript.cells.palette import Palette, name_component_class
from quorum.tui.transcript.layout.view import TranscriptView
from tests.support.app_stage import on_stage
from tests.support.fake_agent import say

UNREADABLE_ON_WHITE = {3, 6, 7, 11, 14, 15}
LEAST = {DARK.name: 4.5, LIGHT.name: 4.5, CONTRAST.name: 7.0}


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


class Stand(Looks):
    CSS_PATH = "../../tui/app/quorum.tcss"

    def compose(self) -> ComposeResult:
        yield TranscriptView()
        yield SidePanel()
        yield ScrollableText()
        yield ChoiceBar()
        yield TextArea(placeholder="ask")

    def list_roles(self) -> dict[str, Style]:
        """Every style something is drawn in, complete."""
        styles: dict[str, Style] = {}
        for widget in (self.query_one(TranscriptView), self.query_one(SidePanel)):
            for role in Palette.list_roles():
                look = widget.get_component_rich_style(name_component_class(role), partial=True)
                styles[f"{type(widget).__name__} {role}"] = widget.rich_style + look
        reading = self.query_one(ScrollableText)
        for name in ScrollableText.COMPONENT_CLASSES | Rows.COMPONENT_CLASSES:
            styles[name] = reading.get_component_rich_style(name)
        styles["choice"] = self.query_one(ChoiceBar).rich_style
        styles["placeholder"] = self.query_one(TextArea).get_component_rich_style("text-area--placeholder")
        return styles


def contrast(style: Style) -> float:
    """The ratio of WCAG 2, from 1 to 21."""
    assert style.color is not None
    assert style.bgcolor is not None
    ground, text = Color.from_rich_color(style.bgcolor), Color.from_rich_color(style.color)
    if style.dim:
        text = ground.blend(text, DIM_FACTOR)
    lighter, darker = sorted((_luminance(text), _luminance(ground)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Color) -> float:
    parts = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


@pytest.mark.parametrize("name", LEAST)
async def test_everything_that_is_drawn_can_be_read_on_its_ground(tmp_path, name):
    app = Stand(tmp_path)
    async with app.run_test() as pilot:
        app.theme = name
        await pilot.pause()
        ratios = {role: contrast(style) for role, style in app.list_roles().items()}

    assert len(ratios) > 25
    assert {role: ratio for role, ratio in ratios.items() if ratio < LEAST[name]} == {}


@pytest.mark.parametrize("theme", [DARK, LIGHT, CONTRAST], ids=lambda theme: theme.name)
def test_code_and_the_output_of_programs_can_be_read_on_every_ground_of_a_theme(theme):
    colours = build_terminal_theme(theme).ansi_colors
    changed = [theme.variables[name] for name in ("success-muted", "error-muted")]
    for ground in (theme.background, theme.surface, *changed):
        for number in range(1, 16):
            text = Color(*colours[number])
            style = Style(color=text.rich_color, bgcolor=Color.parse(ground).rich_color)
            assert contrast(style) >= LEAST[theme.name], (ground, number)


@pytest.mark.parametrize("theme", [ANSI, ANSI_LIGHT], ids=lambda theme: theme.name)
async def test_the_ansi_themes_have_no_colour_but_the_terminals_own(tmp_path, theme):
    app = Stand(tmp_path)
    async with app.run_test() as pilot:
        app.theme = theme.name
        await pilot.pause()
        styles = app.list_roles()

    for role, style in styles.items():
        for colour in (style.color, style.bgcolor):
            assert colour is None or colour.is_default or colour.is_system_defined, (role, colour)
        if theme is ANSI_LIGHT:
            assert style.color is None or style.color.number not in UNREADABLE_ON_WHITE, role
        assert style.color is None or style.color != style.bgcolor or style.color.is_default, role


async def test_a_theme_is_named_in_the_prompt_and_a_wrong_name_is_answered_with_the_right_ones(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.send("/theme quorum-light")
        await stage.until(lambda: stage.app.theme == LIGHT.name)
        await stage.send("/theme pink")
        await stage.shows("there is no theme 'pink'")

        assert stage.app.theme == LIGHT.name


@pytest.mark.long
async def test_the_picker_shows_each_theme_as_it_is_marked_and_esc_brings_the_old_one_back(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.send("/theme")
        await stage.until(lambda: isinstance(stage.app.screen, ThemePicker))
        await stage.pilot.press("down")
        await stage.until(lambda: stage.app.theme == THEMES[1].name)
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.screen is stage.app.chat)
        assert stage.app.theme == THEMES[0].name

        await stage.send("/theme")
        await stage.until(lambda: isinstance(stage.app.screen, ThemePicker))
        await stage.pilot.press("down", "down", "enter")
        await stage.until(lambda: stage.app.screen is stage.app.chat)
        assert stage.app.theme == THEMES[2].name


@pytest.mark.parametrize(
    ("colours", "theme"), [("0;15", LIGHT), ("0;default;7", LIGHT), ("15;0", DARK), ("", DARK), ("x;y", DARK)]
)
def test_auto_goes_by_what_the_terminal_says_of_its_ground(colours, theme):
    assert choose_theme("auto", {"COLORFGBG": colours}) == theme.name


@pytest.mark.long
async def test_a_choice_that_is_marked_differs_by_more_than_its_colours_in_every_theme(tmp_path):
    app = Stand(tmp_path)
    async with app.run_test() as pilot:
        for theme in THEMES:
            app.theme = theme.name
            await pilot.pause()
            choice = app.query_one(ChoiceBar)
            choice.show([ReviewOffer("n", "reject", "reject")], marked=0)
            choice.focus()
            await pilot.pause()
            content = choice.render()
            assert content.plain.startswith("[")
            assert all("bold" in str(span.style) for span in content.spans)


async def test_without_colours_nothing_on_the_screen_has_one(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with on_stage(tmp_path, say("hello")) as stage:
        await stage.send("hi")
        await stage.shows("hello")
        update = stage.app.screen._compositor.render_strips()

    colours = [
        part.style
        for strip in update
        for part in strip
        if part.style and (part.style.color or part.style.bgcolor)
    ]
    assert colours == []


async def test_the_colours_of_a_theme_are_computed_once(tmp_path, monkeypatch):
    computed = []
    monkeypatch.setattr(
        looks,
        "adjust_theme",
        lambda theme, variables: computed.append(theme.name) or adjust_theme(theme, variables),
    )
    app = Stand(tmp_path)
    async with app.run_test() as pilot:
        assert computed == [DARK.name]
        app.theme = LIGHT.name
        await pilot.pause()
        assert computed == [DARK.name, LIGHT.name]
        assert app.theme_variables["background"].lower() == LIGHT.background


@pytest.mark.parametrize(("value", "is_colourless"), [("1", True), ("0", True), ("", False)])
def test_any_value_but_an_empty_one_wants_no_colours(tmp_path, monkeypatch, value, is_colourless):
    monkeypatch.setenv("NO_COLOR", value)

    assert Stand(tmp_path).no_color is is_colourless


async def test_without_colours_the_cursor_is_reversed(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with on_stage(tmp_path) as stage:
        await stage.pilot.press(*"ab")
        strips = stage.app.screen._compositor.render_strips()

    line = next(strip for strip in strips if re.match(" › ab", strip.text))
    assert any(part.style and part.style.reverse for part in line)


def in_256_colours(colour: Color) -> Color:
    """The colour that a terminal of 256 colours shows for this one."""
    (drawn,) = IndexedColours().apply([Segment("x", Style(color=colour.rich_color))], Color(0, 0, 0))
    assert drawn.style is not None
    assert drawn.style.color is not None
    return Color(*drawn.style.color.downgrade(ColorSystem.EIGHT_BIT).get_truecolor())


@pytest.mark.parametrize("theme", [DARK, LIGHT, CONTRAST], ids=lambda theme: theme.name)
async def test_on_256_colours_grounds_stay_grey_apart_and_readable(tmp_path, theme):
    app = Stand(tmp_path)
    async with app.run_test() as pilot:
        app.theme = theme.name
        await pilot.pause()
        variables = app.theme_variables
        grounds = [in_256_colours(Color.parse(variables[name])) for name in ("background", "surface", "panel")]

        assert all(ground.r == ground.g == ground.b for ground in grounds)
        assert len(set(grounds)) == 3
        ratios = {role: contrast(_on_256_colours(style)) for role, style in app.list_roles().items()}
    assert {role: ratio for role, ratio in ratios.items() if ratio < 4.5} == {}


def _on_256_colours(style: Style) -> Style:
    assert style.color is not None
    assert style.bgcolor is not None
    text, ground = (in_256_colours(Color.from_rich_color(each)) for each in (style.color, style.bgcolor))
    return style + Style(color=text.rich_color, bgcolor=ground.rich_color)


@pytest.mark.parametrize("name", ["success-muted", "error-muted"])
@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_on_256_colours_the_grounds_of_changed_lines_keep_their_tint(theme, name):
    drawn = in_256_colours(Color.parse(theme.variables[name]))

    assert max(drawn.rgb) - min(drawn.rgb) >= 40


def test_no_text_is_faded_but_by_the_colours_that_a_theme_keeps_readable():
    faded = re.compile(r"\$(?:foreground|text)[a-z-]* \d+%")
    found = [
        f"{path.name}: {fade[0]}"
        for path in Path(looks.__file__).parents[1].rglob("*")
        if path.suffix in (".py", ".tcss")
        for fade in faded.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize("theme", [*THEMES, *BUILTIN_THEMES.values()], ids=lambda theme: theme.name)
def test_quiet_and_usual_text_can_be_read_also_in_the_marked_line_of_a_list(theme):
    if theme.ansi:
        return  # what it looks like is the terminal's
    colours = adjust_theme(theme, theme.to_color_system().generate() | theme.variables)
    marked = Color.parse(colours["marked-line"])
    assert marked.a > 0.1
    plain = [Color.parse(colours[name]) for name in ("background", "surface", "panel")]
    for ground in (*plain, plain[0] + marked, plain[1] + marked):
        for text in ("foreground", "text-quiet", "text-error", "text-warning", "text-success"):
            assert looks.compute_contrast(Color.parse(colours[text]), ground) >= looks.TEXT, (ground, text)
