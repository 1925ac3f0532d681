"""What would change in one file, to be scrolled."""

from __future__ import annotations

from typing import ClassVar

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from quorum.domain.text.printable import make_printable
from quorum.tui.transcript.cells.lines import build_strip, wrap_words
from quorum.tui.transcript.cells.palette import Palette, name_component_class, read_palette, render_role_styles
from quorum.tui.transcript.kinds.changes import draw_diff


class DiffSheet(ScrollView, can_focus=False):
    """Draws a unified diff, or words where there is none."""

    DEFAULT_CSS = """
    DiffSheet {
        height: 1fr;
        background: $background;
        scrollbar-size-vertical: 1;
        overflow-x: hidden;
    }
    """ + render_role_styles("DiffSheet")
    COMPONENT_CLASSES: ClassVar[set[str]] = {name_component_class(role) for role in Palette.list_roles()}

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text = ""
        self._strips: list[Strip] = []

    def show(self, text: str) -> None:
        """Show this from its beginning."""
        self._text = text
        self._draw()
        self.scroll_to(y=0, animate=False)

    def _draw(self) -> None:
        width, palette = max(self.size.width - 1, 20), read_palette(self)
        self._strips = draw_diff(self._text, width, palette)
        if not any(line.startswith("@@") for line in self._text.split("\n")):
            lines = wrap_words(make_printable(self._text), width) if self._text else []
            self._strips = [build_strip((line, palette.muted)) for line in lines]
        self.virtual_size = Size(self.size.width, len(self._strips))
        self.refresh()

    def on_resize(self) -> None:
        """Lines are broken for the new width."""
        self._draw()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_mounted:
            self._draw()

    def render_line(self, y: int) -> Strip:
        """One line of those in sight."""
        place = y + self.scroll_offset.y
        strip = self._strips[place] if place < len(self._strips) else Strip([])
        return strip.apply_style(self.rich_style).adjust_cell_length(self.size.width, self.rich_style)
