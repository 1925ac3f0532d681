"""The names of the layouts. They stand here, so that a run without a screen loads nothing that draws."""

from __future__ import annotations

LAYOUTS = ("auto", "default", "wide", "stacked", "minimal")
"""What may be asked for. `auto` goes by the size of the screen."""
