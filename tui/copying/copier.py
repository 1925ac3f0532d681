"""What can be copied as a whole, and copying it by every way there is.

Answers, blocks of code in them, outputs and prompts are listed, the latest first. What is known of a copy is
told.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from pathlib import Path

from textual.app import App

from quorum.application.view.entries import AnswerEntry, Batch, Call, Entry, Kept, PromptEntry
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.text.amounts import format_amount, format_size
from quorum.domain.text.printable import SEQUENCE, make_printable
from quorum.tui.transcript.draw.rows import shorten_arguments
from quorum.tui.transcript.model.tokens import make_parser

KINDS = ("answer", "code", "output", "prompt")


@dataclass(frozen=True, slots=True)
class Piece:
    """A text, and in a few words what it is. Of an output that is stored, the call knows where all of it is."""

    text: str
    what: str
    call: Call | None = None


def list_pieces(entries: Sequence[Entry], kind: str) -> Iterator[Piece]:
    """All pieces of one of the KINDS, the latest first."""
    for entry in reversed(entries):
        match entry, kind:
            case AnswerEntry(), "answer" if text := entry.text.strip("\n"):
                yield Piece(text, "the answer")
            case AnswerEntry(), "code":
                yield from reversed(find_code(entry.text))
            case Batch(), "output":
                yield from (
                    build_output_piece(call) for call in reversed(entry.calls) if call.output is not None
                )
            case PromptEntry(), "prompt":
                yield Piece(entry.text, "the prompt")


def find_piece(entries: Sequence[Entry], kind: str, nth: int) -> Piece | None:
    """The nth latest piece of a kind (1: the latest), or None where there are fewer."""
    return next(islice(list_pieces(entries, kind), nth - 1, None), None)


def find_code(text: str) -> list[Piece]:
    """The blocks of code in Markdown, also those inside lists, without the indentation of these."""
    if "```" not in text and "~~~" not in text and "    " not in text:
        return []
    blocks = (token for token in make_parser().parse(text) if token.type in ("fence", "code_block"))
    return [
        Piece(block.content.removesuffix("\n"), block.info.strip().partition(" ")[0] or "code")
        for block in blocks
        if block.content.strip()
    ]


def build_output_piece(call: Call) -> Piece:
    return Piece(
        _get_kept_text(call.output),
        f"the output of {format_tool_name(call.tool)} {shorten_arguments(call)[0]}".strip(),
        call,
    )


def _get_kept_text(output: Kept | None) -> str:
    if output is None:
        return ""
    if not output.tail:
        return output.head
    return f"{output.head}\n… {format_amount(output.left_out_lines, 'line')} not kept here …\n{output.tail}"


_PATIENCE_SECS = 3.0
_SURE_BYTES = 74_000
"""What every terminal that knows the sequence takes; some ignore a longer one."""
MOST_BYTES = 1_000_000
"""Nothing longer is put into the sequence."""

_TERMS = ("xterm-kitty", "xterm-ghostty", "foot", "alacritty", "wezterm", "contour", "rio")
_VARIABLES = ("KITTY_WINDOW_ID", "WEZTERM_PANE", "GHOSTTY_RESOURCES_DIR", "WT_SESSION", "ALACRITTY_WINDOW_ID")


def make_pasteable(text: str) -> str:
    """The text without what would act where it is pasted: terminal sequences go, other controls become visible.

    Bidirectional and invisible characters become visible too. Tabs stay.
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    text = SEQUENCE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return "\t".join(make_printable(part) for part in text.split("\t"))


def describe_extent(text: str) -> str:
    """How much it is: lines, or characters where it is one line."""
    lines = text.rstrip("\n").count("\n") + 1
    return format_amount(lines, "line") if lines > 1 else format_amount(len(text), "character")


async def copy(app: App[None], text: str, what: str, *, workspace: Path) -> str:
    """Copy the text; a sentence about `what` was copied, and about what is not known.

    The terminal is asked by OSC 52, which never answers; a clipboard program of this machine does.
    """
    text = make_pasteable(text)
    count = len(text.encode("utf-8", "replace"))
    way = choose_way(count, os.environ)
    extent = f"{describe_extent(text)} of {what}" if what else describe_extent(text)
    if way is not Way.REFUSED:
        app.copy_to_clipboard(text)
    command = find_clipboard_program(os.environ, workspace)
    if command is not None and await send_to_program(command, text):
        return f"copied {extent}"
    match way:
        case Way.SURE:
            return f"copied {extent}"
        case Way.MAYBE:
            return f"copied {extent} · by OSC 52, which not every terminal takes"
        case Way.TOO_LONG:
            return f"copied {extent} · {format_size(count)} by OSC 52: some terminals take no more than 74 kB"
        case Way.REFUSED:
            size = format_size(count)
            return f"not copied: {extent}, {size}: too much for a terminal, and no clipboard program works"


class Way(Enum):
    """What is known of a text that was handed to the terminal."""

    SURE = "taken"
    MAYBE = "not known"
    TOO_LONG = "too long to be known"
    REFUSED = "not sent"


def choose_way(size: int, environment: Mapping[str, str]) -> Way:
    """What becomes of so many bytes that are handed to the terminal of this environment."""
    if size > MOST_BYTES or environment.get("TERM") == "linux":
        return Way.REFUSED
    if size > _SURE_BYTES:
        return Way.TOO_LONG
    nested = any(name in environment for name in ("TMUX", "STY", "ZELLIJ"))
    known = environment.get("TERM", "").startswith(_TERMS) or any(name in environment for name in _VARIABLES)
    return Way.SURE if known and not nested else Way.MAYBE


def find_clipboard_program(environment: Mapping[str, str], workspace: Path) -> list[str] | None:
    """The command that takes a clipboard's new content; None where there is none that would reach the person.

    One in the workspace is none.

    Over SSH the programs of this machine would fill a clipboard that nobody sees, except tmux's, which hands
    on to the terminal it is shown in.
    """
    if environment.get("TMUX"):
        return _find_programs(environment, workspace, ["tmux", "load-buffer", "-w", "-"])
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return None
    if sys.platform == "darwin":
        return _find_programs(environment, workspace, ["pbcopy"])
    if environment.get("WAYLAND_DISPLAY") and (command := _find_programs(environment, workspace, ["wl-copy"])):
        return command
    if environment.get("DISPLAY"):
        return _find_programs(environment, workspace, ["xclip", "-selection", "clipboard"]) or _find_programs(
            environment, workspace, ["xsel", "--input", "--clipboard"]
        )
    return None


def _find_programs(environment: Mapping[str, str], workspace: Path, command: list[str]) -> list[str] | None:
    from quorum.application.program_lookup import find_program

    found = find_program(command[0], environment.get("PATH"), (str(workspace),))
    return [found, *command[1:]] if found else None


async def send_to_program(command: list[str], text: str) -> bool:
    """Give the text to a program; whether it took it within three seconds."""
    return await asyncio.to_thread(_run, command, text.encode("utf-8", "replace"))


def _run(command: list[str], given: bytes) -> bool:
    from quorum.application.program_lookup import filter_environment

    try:
        # Such programs stay behind to serve the clipboard, and must not hold on to anything of ours.
        ended = subprocess.run(
            command,
            input=given,
            env=filter_environment(os.environ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=_PATIENCE_SECS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ended.returncode == 0
