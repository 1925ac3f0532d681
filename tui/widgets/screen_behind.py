"""What shows through a transparent screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from textual._context import visible_screen_stack
from textual.geometry import Region
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget

_Result = TypeVar("_Result")


class SeeThroughScreen(ModalScreen[_Result]):
    """A dialog with a transparent ground. It draws of the screen behind it the lines that are in sight.

    Textual's own way draws all of them whenever one has changed, and sends each through a console of Rich.
    """

    cover: Widget | None = None
    """A child as wide as the screen, through which nothing is to be seen."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """These lines of the screen behind, without what could be clicked in them."""
        try:
            compositor = visible_screen_stack.get().pop()._compositor
        except LookupError:  # none is drawn behind it
            return super().render_lines(crop)
        covered = range(self.cover.region.y, self.cover.region.bottom) if self.cover is not None else ()
        chops = compositor._render_chops(crop, lambda y: y not in covered)
        blank = Strip.blank(crop.width, self.rich_style)
        return [
            blank if y in covered or y >= len(chops) else self._crop_line(chops[y].values(), crop)
            for y in crop.line_range
        ]

    def _crop_line(self, chops: Iterable[Strip | None], crop: Region) -> Strip:
        """A line as wide as the crop: the screen behind may have the size of a moment ago."""
        drawn = Strip.join(chop for chop in chops if chop is not None)
        return drawn.crop(*crop.column_span).discard_meta().adjust_cell_length(crop.width, self.rich_style)
