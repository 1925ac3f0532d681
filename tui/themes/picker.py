"""The screen on which a theme is picked: the one that is marked is seen at once."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from quorum.tui.themes.own import THEMES
from quorum.tui.widgets.dialog_parts import ClosesItself, DialogFrame, MarkedOptions

_SAMPLE = Content("\n").join(
    [
        Content.assemble(("heading", "bold $text-primary"), " · ", ("muted", "$text-muted")),
        Content.assemble(("+ added", "$text-success"), "  ", ("- removed", "$text-error")),
        Content.assemble(("! warning", "$text-warning"), "  ", ("accent", "$text-accent")),
    ]
)


class ThemePicker(ClosesItself, ModalScreen[None]):
    """Lists all themes, our own first. Enter keeps the marked one, Esc brings back the one before."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "give_up", "Close, keep the previous theme", id="themes_leave")
    ]
    DEFAULT_CSS = """
    ThemePicker {
        align: right top;
        background: transparent;
        #themes {
            width: 34;
            max-width: 96%;
            height: auto;
            max-height: 90%;
            margin: 1 2;
        }
        OptionList {
            height: auto;
            max-height: 11;
            border: none;
            padding: 0;
            background: $surface;
            scrollbar-size-vertical: 1;
        }
        Static { margin-top: 1; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._before = self.app.theme

    def compose(self) -> ComposeResult:
        """The list, and below it what its colours are like."""
        own = [theme.name for theme in THEMES]
        names = own + sorted(set(self.app.available_themes) - set(own))
        with DialogFrame(id="themes") as box:
            box.border_title = Content("Theme")
            box.name_keys("enter keeps · esc leaves")
            choices = MarkedOptions(
                *(Option(f"  {name}", id=name) for name in names), markup=False, compact=True
            )
            choices.highlighted = names.index(self._before)
            yield choices
            yield Static(_SAMPLE)

    @on(OptionList.OptionHighlighted)
    def _preview(self, message: OptionList.OptionHighlighted) -> None:
        self.app.theme = message.option_id or self._before

    @on(OptionList.OptionSelected)
    def _keep(self) -> None:
        self.dismiss()

    def action_give_up(self) -> None:
        """Bring back the theme from before."""
        self.app.theme = self._before
        self.dismiss()
