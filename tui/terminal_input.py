"""What the terminal sends, made safe before Textual reads it."""

from __future__ import annotations

import codecs
from functools import partial

from textual.drivers import linux_driver


def survive_bytes_that_are_no_text() -> None:
    """Let a byte that is no UTF-8, as a paste of anything may hold, become � instead of ending the app.

    Textual 8 decodes strictly and has no setting for it; its reader asks this name for the decoder.
    """
    strict = codecs.getincrementaldecoder("utf-8")
    linux_driver.getincrementaldecoder = lambda _name: partial(strict, errors="replace")  # type: ignore[attr-defined]
