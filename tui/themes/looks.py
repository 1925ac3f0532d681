"""How the app looks and sounds: themes, layout, no colours, a screen reader, the title, calls for attention.

Colours with too little contrast are moved towards black or white until they have enough.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from rich.color import parse_rgb_hex
from rich.segment import Segment
from rich.terminal_theme import TerminalTheme
from textual import events
from textual.app import App
from textual.color import BLACK, WHITE, Color
from textual.constants import DIM_FACTOR
from textual.driver import Driver
from textual.filter import LineFilter, Monochrome, NoColor
from textual.geometry import Offset
from textual.reactive import var
from textual.theme import Theme
from textual.widget import Widget
from textual.widgets import Input, TextArea

from quorum.tui.keys.keyboard_guard import Guarded
from quorum.tui.keys.keyed_app import READER
from quorum.tui.terminal.background_colour import BackgroundReported
from quorum.tui.terminal.line_filters import IndexedColours, PlainGlyphs, needs_plain_glyphs
from quorum.tui.terminal.notifications import Notifier, TerminalTitle
from quorum.tui.themes.own import (
    ANSI,
    ANSI_LIGHT,
    AUTO,
    COLOURLESS_STYLES,
    CONTRAST,
    LIGHT,
    THEMES,
    choose_automatic_theme,
    choose_theme,
)
from quorum.tui.widgets.colours import MARKED, QUIET

if TYPE_CHECKING:
    from quorum.domain.settings import TuiTable
    from quorum.domain.text.json_value import JsonObject
    from quorum.tui.prompt_box.unsent import UnsentTexts
    from quorum.tui.terminal.early_prompt import EarlyPrompt


TEXT, DECORATION = 4.5, 3.0
"""Least ratios of WCAG 2.1, for text (1.4.3) and for parts of the interface (1.4.11)."""

_MARGIN = 0.05  # for the rounding of what is blended and drawn later
_STEPS = 40
_TINT = 0.15
_TINTED = ("success", "error")
_TEXTS = ("primary", "secondary", "warning", "error", "success", "accent")
_FOCUSED = ("primary", "accent")  # also on the ground of a choice that has the focus
_PLAIN_GROUNDS = ("background", "surface", "panel")
_QUIET, _MARKED = 0.6, 0.25
_THUMBS = ("scrollbar", "scrollbar-hover", "scrollbar-active")


def compute_contrast(one: Color, other: Color) -> float:
    """The ratio of WCAG 2.1 of two opaque colours, from 1 to 21."""
    lighter, darker = sorted((_compute_luminance(one), _compute_luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _compute_luminance(colour: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def adjust_colour(colour: Color, grounds: Iterable[Color], least: float = TEXT, *, alpha: float = 1.0) -> Color:
    """The colour, as little changed as gives this ratio on all of the grounds, drawn on them with `alpha`.

    Where no colour gives it, the one that gives the most.
    """
    grounds = tuple(grounds)
    if _compute_least_ratio(colour, grounds, alpha) >= least:
        return colour
    end = max(WHITE, BLACK, key=lambda extreme: _compute_least_ratio(extreme, grounds, alpha))
    for step in range(1, _STEPS):
        moved = colour.blend(end, step / _STEPS, alpha=1.0)
        if _compute_least_ratio(moved, grounds, alpha) >= least + _MARGIN:
            return moved
    return end


def _compute_least_ratio(colour: Color, grounds: Sequence[Color], alpha: float) -> float:
    return min(compute_contrast(ground.blend(colour, alpha, alpha=1.0), ground) for ground in grounds)


def compute_tints(theme: Theme, variables: Mapping[str, str]) -> dict[str, str]:
    """The grounds of changed lines, faint enough for coloured text on them."""
    background = Color.parse(variables["background"])
    return {
        f"{name}-muted": background.blend(Color.parse(variables[name]), _TINT, alpha=1.0).hex
        for name in _TINTED
        if f"{name}-muted" not in theme.variables
    }


def list_grounds(variables: Mapping[str, str]) -> list[Color]:
    """All that text is drawn on."""
    names = (*_PLAIN_GROUNDS, *(f"{name}-muted" for name in _TINTED))
    return [Color.parse(variables[name]) for name in names]


def adjust_theme(theme: Theme, variables: Mapping[str, str]) -> dict[str, str]:
    """The variables of a theme, changed where something drawn with them could not be read.

    Terminal colours are left alone: what they look like is the terminal's.
    """
    if theme.ansi:
        faint = {
            QUIET[1:]: f"{variables['foreground']} {_QUIET:.0%}",
            MARKED[1:]: f"{variables['primary']} {_MARKED:.0%}",
        }
        return {**variables, **faint}
    changed = {**variables, **compute_tints(theme, variables)}
    grounds = list_grounds(changed)
    plain = [Color.parse(changed[name]) for name in _PLAIN_GROUNDS]
    foreground = adjust_colour(Color.parse(changed["foreground"]), grounds)
    # Quiet text is the foreground, dim.
    foreground = adjust_colour(foreground, plain[:2], alpha=DIM_FACTOR)
    changed["foreground"] = foreground.hex
    marked = _fade(Color.parse(changed["primary"]).with_alpha(_MARKED), plain[:2], foreground)
    lists = [ground + marked for ground in plain[:2]]
    quiet = adjust_colour(plain[0].blend(foreground, _QUIET, alpha=1.0), [*plain, *lists])
    changed |= {QUIET[1:]: quiet.hex, MARKED[1:]: marked.hex, "block-cursor-blurred-background": marked.hex}
    grounds += lists
    for name in _TEXTS:
        focused = [Color.parse(changed["primary-muted"])] if name in _FOCUSED else []
        changed[f"text-{name}"] = adjust_colour(Color.parse(changed[f"text-{name}"]), [*grounds, *focused]).hex
        changed[name] = adjust_colour(Color.parse(changed[name]), plain, DECORATION).hex
    changed["text-muted"] = _mute(changed["text-muted"], plain)
    tracks = [*plain, Color.parse(changed["scrollbar-background"])]
    for name in _THUMBS:
        changed[name] = adjust_colour(Color.parse(changed[name]), tracks, DECORATION).hex
    return changed


def _fade(marked: Color, grounds: Sequence[Color], text: Color) -> Color:
    """The ground of the marked line of a list, as faint as leaves its text readable."""
    for percent in range(round(marked.a * 100), 0, -2):
        faded = [ground.blend(marked.with_alpha(1), percent / 100, alpha=1.0) for ground in grounds]
        if _compute_least_ratio(text, faded, 1.0) >= TEXT + _MARGIN:
            return marked.with_alpha(percent / 100)
    return marked.with_alpha(0)


def _mute(written: str, grounds: Sequence[Color]) -> str:
    """`auto N%`, with the least N from the written one on that can be read on all of the grounds."""
    word, _, share = written.partition(" ")
    if word != "auto" or not share.endswith("%"):
        return adjust_colour(Color.parse(written), grounds).hex
    percent = int(float(share[:-1]))
    while percent < 100 and not all(
        compute_contrast(ground.blend(ground.get_contrast_text(1.0), percent / 100, alpha=1.0), ground)
        >= TEXT + _MARGIN
        for ground in grounds
    ):
        percent += 2
    return f"auto {min(percent, 100)}%"


PrintStatusLine = Callable[["JsonObject"], Awaitable[str]]
"""Runs a program on what is known of the session, for the line it prints. Raises QuorumError where it fails."""


class Looks(App[None]):
    """What all of the app's screens have in common to the eye. `cwd` is named in the title."""

    layout_wish: var[str] = var("auto", init=False)
    screen_reader: var[bool] = var(False, init=False)
    print_status_line: PrintStatusLine | None = None
    """The person's own program for the status line; None without one."""
    early_prompt: EarlyPrompt | None = None
    """What has the terminal until the app takes it over; None where nothing has."""
    typed_early: UnsentTexts | None = None
    """What was typed before and is kept for the case of a kill, until the app keeps it itself."""
    version: str = ""
    """The version of the program, for whoever asks which one this is."""

    _has_theme = False
    _adjusted: tuple[Theme, dict[str, str]] | None = None

    def __init__(self, cwd: Path, environ: Mapping[str, str] | None = None) -> None:
        self._environ: Mapping[str, str] = os.environ if environ is None else environ
        self._has_light_background = choose_theme(AUTO, self._environ) == LIGHT.name
        colourless = wants_no_colour(self._environ)
        super().__init__(ansi_color=True if colourless else None)
        self.no_color = colourless  # Textual goes by the variable's being there, and keeps greys
        self._filters = [each for each in self._filters if not isinstance(each, Monochrome | NoColor)]
        if colourless:
            self._filters.insert(0, Colourless())
        self.title_line = TerminalTitle(self, cwd)
        self.notifier = Notifier(self, cwd, self._environ)
        self._theme_by_background: str | None = None
        for own in THEMES:
            self.register_theme(own)
        first = THEMES[0]
        self.set_reactive(Looks.theme, first.name)  # nothing is styled yet that would have to be styled anew
        self.set_reactive(Looks.ansi_theme_dark, build_terminal_theme(first))
        self.set_class(True, f"-theme-{first.name}", update=False)
        self._refresh_truecolor_filter(self.ansi_theme)
        self._has_theme = True
        self.stylesheet.set_variables(self.get_css_variables())

    def on_mount(self) -> None:
        """Restore the look whenever the app is resumed after a suspension."""
        self.app_resume_signal.subscribe(self, self._come_back)

    def adopt_look(self, table: TuiTable) -> None:
        """Look as these settings say, which become known only after the first frame.

        Raises ConfigError for a theme that there is not.
        """
        self._use_theme(table.theme)
        self.layout_wish, self.screen_reader = table.layout, table.screen_reader
        self.notifier.wanted, self.notifier.by = table.notifications, table.notify_by

    def _use_theme(self, name: str) -> str:
        """Use this theme; where it goes by the terminal's background, also ask for that. Returns its name.

        Raises ConfigError for a theme that there is not.
        """
        self.theme = wanted = self._find_theme(name)
        goes_by_background = name == AUTO or self.theme != wanted
        self._theme_by_background = self.theme if goes_by_background else None
        if goes_by_background and self._driver is not None:
            from quorum.tui.terminal.driver import TerminalDriver

            if isinstance(self._driver, TerminalDriver):
                self._driver.query_background()
        return wanted

    def on_background_reported(self, report: BackgroundReported) -> None:
        """Follow the terminal, unless another theme was chosen meanwhile."""
        self._has_light_background = report.is_light
        if self._theme_by_background is not None and self.theme == self._theme_by_background:
            self.theme = choose_automatic_theme(is_light=report.is_light)
            self._theme_by_background = self.theme  # on a terminal of 16 colours another one

    def _find_theme(self, name: str) -> str:
        found = choose_theme(name, self._environ)
        if found not in self.available_themes:
            from quorum.domain.errors import ConfigError

            known = ", ".join(sorted({AUTO, *self.available_themes}))
            raise ConfigError(f"tui.theme: there is no theme {name!r}; choose one of {known}")
        return found

    # -- themes -----------------------------------------------------------------------------------------------

    def validate_theme(self, name: str) -> str:
        """On a terminal of 16 colours one of the two made of those, as its background is: nearest colours would
        make others alike."""
        if not self._has_16_colours or self.available_themes[name].ansi:
            return name
        return ANSI_LIGHT.name if self._has_light_background else ANSI.name

    @property
    def _has_16_colours(self) -> bool:
        if self.no_color or self._driver is None or self.is_headless:
            return False
        return self.console.color_system == "standard"

    def watch_theme(self) -> None:
        """Code and the output of programs take colours that can be read on this theme's ground."""
        theme = self.current_theme
        if theme.dark:
            self.ansi_theme_dark = build_terminal_theme(theme)
        else:
            self.ansi_theme_light = build_terminal_theme(theme)
        self._refresh_truecolor_filter(self.ansi_theme)

    def get_css_variables(self) -> dict[str, str]:
        """Those of the theme, made readable; where no colour may, a style marks cursors."""
        if not self._has_theme:
            return {}  # Textual's own first theme, in which nothing is drawn
        theme = self.current_theme
        if self._adjusted is None or self._adjusted[0] is not theme:
            self._adjusted = theme, adjust_theme(theme, super().get_css_variables())
        variables = self.theme_variables = dict(self._adjusted[1])
        return {**variables, **COLOURLESS_STYLES} if self.no_color else variables

    def action_change_theme(self, name: str = "") -> None:
        """Use this theme, say which there are where there is none of that name; without a name, let choose."""
        if not name:
            self.search_themes()
            return
        from quorum.domain.errors import ConfigError

        try:
            wanted = self._use_theme(name)
        except ConfigError as problem:
            self.tell_of_looks(str(problem))
            return
        if self.theme != wanted:
            self.tell_of_looks(f"this terminal has 16 colours: {self.theme} is used in place of {wanted}")

    def search_themes(self) -> None:
        """Show all themes to choose from, each as soon as it is marked."""
        from quorum.tui.themes.picker import ThemePicker

        self.push_screen(ThemePicker())

    def tell_of_looks(self, notice: str) -> None:
        """Say something in passing."""
        raise NotImplementedError

    # -- layout -----------------------------------------------------------------------------------------------

    def action_set_layout(self, name: str) -> None:
        """Arrange the screen like this from now on; `auto` goes by its size."""
        self.layout_wish = name

    def watch_layout_wish(self) -> None:
        """What is there goes by it."""
        self.arrange()

    def arrange(self) -> None:
        """Arrange what is there as it is wished for now."""
        raise NotImplementedError

    # -- a screen reader --------------------------------------------------------------------------------------

    def watch_screen_reader(self, wanted: bool) -> None:
        """All screens go by the class."""
        self.set_class(wanted, READER)
        if self._driver is not None and not self.is_headless:
            self._driver.write("\x1b[?25h" if wanted else "\x1b[?25l")
        self.arrange()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """The terminal's cursor goes where the focus is: what is typed into places it by itself."""
        if self.screen_reader:
            self.call_after_refresh(self._place_cursor, event.widget)

    def _place_cursor(self, widget: Widget) -> None:
        is_seen = widget.is_attached and bool(self.screen_stack) and widget.screen is self.screen
        if is_seen and not isinstance(widget, Input | TextArea):
            marked = widget.marked_offset if isinstance(widget, MarksOffset) else Offset(0, 0)
            self.cursor_position = widget.region.offset + marked
            widget.refresh()

    # -- the terminal -----------------------------------------------------------------------------------------

    def get_driver_class(self) -> type[Driver]:
        """The one that the environment names, else the terminal's; Textual's own ones are mended."""
        found = super().get_driver_class()
        match found.__name__:
            case "LinuxDriver":
                from quorum.tui.terminal.driver import TerminalDriver

                return TerminalDriver
            case "WebDriver":
                from quorum.tui.terminal.web_driver import BrowserDriver

                return BrowserDriver
            case _:
                return found

    def enter_terminal(self) -> None:
        """The screen is ours."""
        if needs_plain_glyphs(self._environ) and not any(isinstance(f, PlainGlyphs) for f in self._filters):
            self._filters.append(PlainGlyphs())
        if self.console.color_system == "256" and not any(isinstance(f, IndexedColours) for f in self._filters):
            self._filters.append(IndexedColours())
        self.title_line.begin()
        if self.screen_reader and self._driver is not None:
            self._driver.write("\x1b[?25h")

    def leave_terminal(self) -> None:
        """The screen is given back."""
        self.title_line.end()

    def lose_terminal(self) -> None:
        """The terminal is gone."""
        raise NotImplementedError

    def restore_terminal(self) -> None:
        """Give the terminal back at once, from any thread: the process is cut off."""
        from quorum.tui.terminal.driver import TerminalDriver

        if isinstance(self._driver, TerminalDriver):
            self._driver.restore_terminal()

    def copy_to_clipboard(self, text: str) -> None:
        """Keep a text for pasting here, and have the terminal take it into its clipboard."""
        from quorum.tui.terminal.clipboard import build_clipboard_sequence
        from quorum.tui.terminal.driver import TerminalDriver

        if isinstance(self._driver, TerminalDriver):
            self._clipboard = text
            self._driver.write(build_clipboard_sequence(text, self._environ))
        else:
            super().copy_to_clipboard(text)

    def hurry(self) -> None:
        """Wait for the terminal no more, however slow it is."""
        from quorum.tui.terminal.driver import TerminalDriver
        from quorum.tui.terminal.web_driver import BrowserDriver

        if isinstance(self._driver, TerminalDriver | BrowserDriver):
            self._driver.hurry()

    def _come_back(self, _app: object) -> None:
        """Woken again: everything is drawn anew, and a question has just come into sight."""
        for screen in self.screen_stack:
            screen.refresh(layout=True)
            if isinstance(screen, Guarded) and screen.is_awake:
                screen.arm()

    def on_app_focus(self) -> None:
        """The terminal has the focus, and tells when it has."""
        self.notifier.note_focus()

    def on_app_blur(self) -> None:
        """The terminal has lost the focus, and tells when it does."""
        self.notifier.note_focus()


def wants_no_colour(environ: Mapping[str, str]) -> bool:
    """Whether the person wants none: NO_COLOR is set, to anything but nothing."""
    return bool(environ.get("NO_COLOR"))


class Colourless(LineFilter):
    """Takes every colour out, the terminal's default ones too, so that no sequence for a colour is sent."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same text in the same styles, without colours."""
        return [
            Segment(text, style.without_color if style is not None else None, control)
            for text, style, control in segments
        ]


def _build_theme(ground: str, text: str, normal: str, bright: str) -> TerminalTheme:
    """From hexadecimal colours; `normal` and `bright` are eight each, in the order of terminals."""
    return TerminalTheme(
        parse_rgb_hex(ground),
        parse_rgb_hex(text),
        [parse_rgb_hex(each) for each in normal.split()],
        [parse_rgb_hex(each) for each in bright.split()],
    )


_DARK = _build_theme(
    "15181d",
    "d4d7dc",
    "4b5160 e8827c 8fc27a d9b25c 7fb0e0 c79be0 6cc3c9 c8ccd4",
    "8f97a5 f2a09b aad79a ecca7f a3c8ee dbb8ee 93dade eceff4",
)
_LIGHT = _build_theme(
    "fbfaf8",
    "23272e",
    "23272e a83232 2f6b2a 7a5600 2a5db0 80358f 00666f 5c6370",
    "5e646f b23737 37702e 765600 3264ba 8c3d9c 0a666e 2f343d",
)
_HIGH_CONTRAST = _build_theme(
    "000000",
    "ffffff",
    "6a6a6a ff9d96 8cf08c ffe066 9fc8ff f0b3ff 7fe9f0 ffffff",
    "c8c8c8 ffb8b3 b0f7b0 fff0a8 c2dcff f7d0ff b0f4f8 ffffff",
)


def build_terminal_theme(theme: Theme) -> TerminalTheme:
    """Those that can be read on the theme's ground."""
    if theme.name == CONTRAST.name:
        return _HIGH_CONTRAST
    usual = _DARK if theme.dark else _LIGHT
    return usual if theme in THEMES or theme.ansi else _fit_theme(usual, theme)


def _fit_theme(usual: TerminalTheme, theme: Theme) -> TerminalTheme:
    """The usual colours, moved as far as the grounds of a theme of others require."""
    variables = adjust_theme(theme, theme.to_color_system().generate())
    grounds = list_grounds(variables)
    colours = [adjust_colour(Color(*usual.ansi_colors[number]), grounds).rgb for number in range(16)]
    background, foreground = (Color.parse(variables[name]).rgb for name in ("background", "foreground"))
    return TerminalTheme(background, foreground, colours[:8], colours[8:])


@runtime_checkable
class MarksOffset(Protocol):
    """A widget that marks one of the things it draws."""

    @property
    def marked_offset(self) -> Offset:
        """Where that is, from the upper left corner of the widget."""
        ...
