"""The image in the clipboard, through the program that this desktop has for it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from quorum.application.program_lookup import filter_environment, find_program
from quorum.domain.errors import AttachmentError
from quorum.domain.text.amounts import format_size
from quorum.infrastructure.execution.program import open_program

_PATIENCE_SECS = 5.0
_PIECE = 1 << 16
# Each with the variable that tells that its desktop runs; pngpaste is of macOS, which needs none.
_PROGRAMS = (
    ("WAYLAND_DISPLAY", ("wl-paste", "--no-newline", "--type", "image/png")),
    ("DISPLAY", ("xclip", "-selection", "clipboard", "-target", "image/png", "-out")),
    ("", ("pngpaste", "-")),
)


async def read_clipboard_image(environ: Mapping[str, str], most_bytes: int, workspace: Path) -> bytes:
    """The bytes of the PNG image in the clipboard. Raises AttachmentError where there is none to be had.

    The program that reads it is none that lies in the `workspace`, a resolved path.
    """
    command = _choose_command(environ, (str(workspace),))
    if command is None:
        raise AttachmentError(
            "no program reads images from the clipboard here: install wl-paste, xclip or pngpaste"
        )
    try:
        async with (
            open_program(command, environment=filter_environment(environ)) as process,
            asyncio.timeout(_PATIENCE_SECS),
        ):
            content = await _read_output(process, most_bytes)
            failed = await process.wait() != 0
    except TimeoutError as error:
        raise AttachmentError(f"{command[0]} did not answer in {_PATIENCE_SECS:.0f} seconds") from error
    except OSError as error:
        raise AttachmentError(f"{command[0]} cannot be run: {error.strerror}") from error
    if failed or not content:
        raise AttachmentError("there is no image in the clipboard; copy one first")
    return content


def _choose_command(environ: Mapping[str, str], workspace: Sequence[str]) -> tuple[str, ...] | None:
    for variable, (program, *arguments) in _PROGRAMS:
        runs = not variable or environ.get(variable)
        if runs and (found := find_program(program, environ.get("PATH"), workspace)):
            return (found, *arguments)
    return None


async def _read_output(process: asyncio.subprocess.Process, most_bytes: int) -> bytes:
    assert process.stdout is not None
    content = bytearray()
    while piece := await process.stdout.read(_PIECE):
        content += piece
        if len(content) > most_bytes:
            raise AttachmentError(f"the image in the clipboard is larger than {format_size(most_bytes)}")
    return bytes(content)
