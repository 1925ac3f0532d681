"""Copies a text by every way there is, and tells what is known of it."""

from __future__ import annotations

import os
from pathlib import Path

from textual.app import App

from domain.text.amounts import amount, size
from domain.text.printable import SEQUENCE, printable
from tui.copying.clipboard import Way, hand_to, program_of, way_of


def pasteable(text: str) -> str:
    """The text without what would act where it is pasted: terminal sequences go, other controls become visible.

    Bidirectional and invisible characters become visible too. Tabs stay.
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    text = SEQUENCE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return "\t".join(printable(part) for part in text.split("\t"))


def extent_of(text: str) -> str:
    """How much it is: lines, or characters where it is one line."""
    lines = text.rstrip("\n").count("\n") + 1
    return amount(lines, "line") if lines > 1 else amount(len(text), "character")


async def copy(app: App[None], text: str, what: str, *, workspace: Path) -> str:
    """Copy the text; a sentence about `what` was copied, and about what is not known.

    The terminal is asked by OSC 52, which never answers; a clipboard program of this machine does.
    """
    text = pasteable(text)
    count = len(text.encode("utf-8", "replace"))
    way = way_of(count, os.environ)
    extent = f"{extent_of(text)} of {what}" if what else extent_of(text)
    if way is not Way.REFUSED:
        app.copy_to_clipboard(text)
    command = program_of(os.environ, workspace)
    if command is not None and await hand_to(command, text):
        return f"copied {extent}"
    match way:
        case Way.SURE:
            return f"copied {extent}"
        case Way.MAYBE:
            return f"copied {extent} · by OSC 52, which not every terminal takes"
        case Way.TOO_LONG:
            return f"copied {extent} · {size(count)} by OSC 52: some terminals take no more than 74 kB"
        case Way.REFUSED:
            return (
                f"not copied: {extent}, {size(count)}: too much for a terminal, and no clipboard program works"
            )
